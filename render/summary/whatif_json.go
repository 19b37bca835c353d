package summary

import (
	"io"

	"nsysmem/align/whatif"
	"nsysmem/render/tables"
)

// WhatIfSchema names the layout of WriteWhatIfJSON's output. Fields may be added to it, none is renamed or removed.
const WhatIfSchema = "nsysmem.whatif/1"

// whatIfListed is how many failed requests of a setting are described; all are counted.
const whatIfListed = 20

// WriteWhatIfJSON writes a comparison of settings as one JSON object in the layout WhatIfSchema. Bytes and nanoseconds
// are integers, times are on the report's clock, or since the trace began without a report. What is unknown is null. The
// error is the writer's.
func WriteWhatIfJSON(w io.Writer, wi *whatif.Comparison) error {
	e := &encoder{output: output{w: w}}
	e.raw("{\"schema\":")
	e.text(WhatIfSchema)
	e.raw(",\n\"snapshot\":{\"path\":")
	e.text(wi.Snapshot)
	e.intField("device", int64(wi.Device))
	e.intField("allocations", int64(wi.Allocations))
	e.key("recorded_conf")
	if wi.Known {
		e.text(wi.Recorded)
	} else {
		e.raw("null")
	}
	e.intField("recorded_peak_reserved_bytes", wi.Measured)
	e.raw("},\n\"capacity_bytes\":")
	e.intOrNull(wi.Capacity)
	e.key("outside_pytorch_bytes")
	if wi.HasOutside {
		e.int(wi.Outside)
	} else {
		e.raw("null")
	}
	e.boolField("ranked", wi.Ranked)
	e.raw(",\n\"settings\":")
	rows := tables.SettingRows(wi)
	e.array("\n ", len(rows), func(i int) { e.setting(rows[i]) })
	e.raw(",\n\"notes\":")
	e.texts(wi.Notes)
	e.raw(",\n\"cannot_know\":")
	e.texts(wi.CannotKnow)
	e.raw("}\n")
	return e.close()
}

// texts writes an array of texts.
func (e *encoder) texts(list []string) {
	e.array("", len(list), func(i int) { e.text(list[i]) })
}

// setting writes a setting with all that it comes to. Where it peaks and where it differs are objects of the same members, so
// that a program reads all places alike.
func (e *encoder) setting(r *tables.Setting) {
	w := r.WhatIf
	s := &w.Settings[r.Place]
	e.raw("{")
	members(e, tables.Settings.Columns(tables.JSON), r)
	e.key("peak_at")
	object(e, tables.Moments.Columns(tables.JSON), &tables.Moment{WhatIf: w, Moment: &s.Peak})
	e.key("largest_gap_at")
	object(e, tables.Moments.Columns(tables.JSON), &tables.Moment{WhatIf: w, Moment: &s.Gap})
	e.key("differs_first")
	e.difference(tables.Difference(w, s.First))
	e.key("differs_most")
	e.difference(tables.Difference(w, s.Most))
	e.key("iterations")
	rows := make([]*tables.SettingStep, len(s.Iterations))
	for i := range rows {
		rows[i] = &tables.SettingStep{WhatIf: w, Place: i}
	}
	objects(e, "", tables.StepsUnder(tables.JSON, []int{r.Place}, func(int) string { return "peak_reserved_bytes" }), rows)
	e.key("grows_in")
	e.array("", len(s.Growth), func(i int) {
		g := &s.Growth[i]
		e.raw("{")
		e.textFieldOrNull("where", g.Name)
		e.intField("times", int64(g.Blocks))
		e.intField("bytes", g.Bytes)
		e.raw("}")
	})
	e.key("at_capacity")
	e.limits(w, s.Limited)
	e.key("notes")
	e.texts(s.Notes)
	e.raw("}")
}

// difference writes null for the base, and for what never differs from it.
func (e *encoder) difference(m *tables.Moment) {
	if m == nil {
		e.raw("null")
		return
	}
	object(e, tables.Differences.Columns(tables.JSON), m)
}

// limits writes what the setting comes to on the card that was asked for; null where none was. Of the requests that fail the
// first are described: the program would have stopped there.
func (e *encoder) limits(w *whatif.Comparison, l *whatif.Limits) {
	if l == nil {
		e.raw("null")
		return
	}
	e.raw("{")
	e.intField("left_for_pytorch_bytes", l.Capacity)
	e.intField("peak_reserved_bytes", l.PeakReserved)
	e.intField("cuda_mallocs", int64(l.CUDAMallocs))
	e.intField("cache_released", int64(l.Retries))
	e.key("failures")
	var rows []*tables.Moment
	for i := range l.Failures[:min(len(l.Failures), whatIfListed)] {
		rows = append(rows, tables.FailedRequest(w, &l.Failures[i]))
	}
	objects(e, "\n  ", tables.FailedRequests.Columns(tables.JSON), rows)
	e.raw("}")
}
