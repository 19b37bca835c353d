package summary

import (
	"io"

	"nsysmem/align"
)

// WhatIfSchema names the layout of WriteWhatIfJSON's output. Fields may be added to it, none is renamed or removed.
const WhatIfSchema = "nsysmem.whatif/1"

// whatIfListed is how many failed requests of a setting are described; all are counted.
const whatIfListed = 20

// WriteWhatIfJSON writes a comparison of settings as one JSON object in the layout WhatIfSchema. Bytes and nanoseconds
// are integers, times are on the report's clock, or since the trace began without a report. What is unknown is null. The
// error is the writer's.
func WriteWhatIfJSON(w io.Writer, wi *align.WhatIf) error {
	e := &whatIfEncoder{encoder{out: output{w: w}}, wi}
	e.raw("{\"schema\":")
	e.text(WhatIfSchema)
	e.raw(",\n\"snapshot\":{\"path\":")
	e.text(wi.Snapshot)
	e.field("device", int64(wi.Device))
	e.field("allocations", int64(wi.Allocations))
	e.raw(`,"recorded_conf":`)
	if wi.Known {
		e.text(wi.Recorded)
	} else {
		e.raw("null")
	}
	e.field("recorded_peak_reserved_bytes", wi.Measured)
	e.raw("},\n\"capacity_bytes\":")
	e.intOrNull(wi.Capacity)
	e.raw(`,"outside_pytorch_bytes":`)
	if wi.HasOutside {
		e.int(wi.Outside)
	} else {
		e.raw("null")
	}
	e.raw(`,"ranked":`)
	e.bool(wi.Ranked)
	e.raw(",\n\"settings\":[")
	for i := range wi.Settings {
		e.next(i, "\n ")
		e.setting(i)
	}
	e.raw("],\n\"notes\":")
	e.texts(wi.Notes)
	e.raw(",\n\"cannot_know\":")
	e.texts(wi.CannotKnow)
	e.raw("}\n")
	return e.out.close()
}

type whatIfEncoder struct {
	encoder
	wi *align.WhatIf
}

func (e *whatIfEncoder) field(name string, v int64) {
	e.raw(`,"` + name + `":`)
	e.int(v)
}

func (e *whatIfEncoder) texts(list []string) {
	e.raw("[")
	for i, s := range list {
		e.next(i, "")
		e.text(s)
	}
	e.raw("]")
}

func (e *whatIfEncoder) setting(i int) {
	s := &e.wi.Settings[i]
	e.raw(`{"conf":`)
	e.text(s.Conf)
	e.raw(`,"recorded":`)
	e.bool(s.IsRecorded)
	e.raw(`,"default":`)
	e.bool(s.IsDefault)
	e.field("peak_reserved_bytes", s.PeakReserved)
	e.raw(`,"peak_reserved_range_bytes":[`)
	e.int(s.ReservedRange[0])
	e.raw(",")
	e.int(s.ReservedRange[1])
	e.raw("]")
	e.field("peak_allocated_bytes", s.PeakAllocated)
	e.field("largest_gap_bytes", s.LargestGap)
	e.field("segments", int64(s.Segments))
	e.field("cuda_mallocs", int64(s.CUDAMallocs))
	e.field("failed_requests", int64(s.Failed()))
	e.field("smallest_capacity_bytes", s.SmallestCard)
	e.raw(`,"peak_at":`)
	e.moment(&s.Peak)
	e.raw(`,"largest_gap_at":`)
	e.moment(&s.Gap)
	e.raw(`,"differs_first":`)
	e.apart(s.First)
	e.raw(`,"differs_most":`)
	e.apart(s.Most)
	e.raw(`,"iterations":[`)
	for k, v := range s.Iterations {
		e.next(k, "")
		e.raw(`{"index":`)
		e.int(int64(e.wi.Track.Iterations[k].Index))
		e.field("peak_reserved_bytes", v)
		e.raw("}")
	}
	e.raw(`],"grows_in":[`)
	for k, g := range s.Growth {
		e.next(k, "")
		e.raw(`{"where":`)
		e.textOrNull(g.Name)
		e.field("times", int64(g.Blocks))
		e.field("bytes", g.Bytes)
		e.raw("}")
	}
	e.raw(`],"at_capacity":`)
	e.limits(s.Limited)
	e.raw(`,"notes":`)
	e.texts(s.Notes)
	e.raw("}")
}

// moment writes where in the program something is.
func (e *whatIfEncoder) moment(m *align.Moment) {
	e.raw("{")
	e.place(m)
	e.raw("}")
}

func (e *whatIfEncoder) place(m *align.Moment) {
	e.raw(`"event":`)
	e.int(int64(m.Event))
	e.raw(`,"time_ns":`)
	if e.wi.Timed {
		e.int(m.Time)
	} else {
		e.raw("null")
	}
	e.raw(`,"iteration":`)
	if it := e.iteration(m.Iteration); it != nil {
		e.int(int64(it.Index))
	} else {
		e.raw("null")
	}
	e.raw(`,"phase":`)
	e.textOrNull(m.Phase)
	e.raw(`,"frame":`)
	e.textOrNull(m.Frame)
}

func (e *whatIfEncoder) iteration(place int) *align.Iteration {
	if e.wi.Track == nil {
		return nil
	}
	return iterationAt(e.wi.Track, place)
}

func (e *whatIfEncoder) apart(a *align.Apart) {
	if a == nil {
		e.raw("null")
		return
	}
	e.raw("{")
	e.place(&a.Moment)
	e.field("reserved_bytes", a.Reserved)
	e.field("base_reserved_bytes", a.Base)
	e.raw("}")
}

func (e *whatIfEncoder) limits(l *align.Limits) {
	if l == nil {
		e.raw("null")
		return
	}
	e.raw(`{"left_for_pytorch_bytes":`)
	e.int(l.Capacity)
	e.field("peak_reserved_bytes", l.PeakReserved)
	e.field("cuda_mallocs", int64(l.CUDAMallocs))
	e.field("cache_released", int64(l.Retries))
	e.raw(`,"failures":[`)
	for i := range l.Failures {
		if i == whatIfListed {
			break
		}
		f := &l.Failures[i]
		e.next(i, "\n  ")
		e.raw("{")
		e.place(&f.Moment)
		e.field("request_bytes", f.Request)
		e.field("rounded_bytes", f.Rounded)
		e.field("free_cache_bytes", f.FreeCache)
		e.field("largest_free_bytes", f.LargestFree)
		e.field("reserved_bytes", f.Reserved)
		e.field("allocated_bytes", f.Allocated)
		e.raw("}")
	}
	e.raw("]}")
}
