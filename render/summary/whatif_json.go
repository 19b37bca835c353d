package summary

import (
	"io"

	"nsysmem/align"
	"nsysmem/align/whatif"
)

// WhatIfSchema names the layout of WriteWhatIfJSON's output. Fields may be added to it, none is renamed or removed.
const WhatIfSchema = "nsysmem.whatif/1"

// whatIfListed is how many failed requests of a setting are described; all are counted.
const whatIfListed = 20

// WriteWhatIfJSON writes a comparison of settings as one JSON object in the layout WhatIfSchema. Bytes and nanoseconds
// are integers, times are on the report's clock, or since the trace began without a report. What is unknown is null. The
// error is the writer's.
func WriteWhatIfJSON(w io.Writer, wi *whatif.Comparison) error {
	e := &whatIfEncoder{encoder{out: output{w: w}}, wi}
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
	wi *whatif.Comparison
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
	e.raw("{")
	e.textField("conf", s.Conf)
	e.boolField("recorded", s.IsRecorded)
	e.boolField("default", s.IsDefault)
	e.intField("peak_reserved_bytes", s.PeakReserved)
	e.raw(`,"peak_reserved_range_bytes":[`)
	e.int(s.ReservedRange[0])
	e.raw(",")
	e.int(s.ReservedRange[1])
	e.raw("]")
	e.intField("peak_allocated_bytes", s.PeakAllocated)
	e.intField("cache_at_allocated_peak_bytes", s.CacheAtPeak)
	e.intField("largest_gap_bytes", s.LargestGap)
	e.intField("segments", int64(s.Segments))
	e.intField("cuda_mallocs", int64(s.CUDAMallocs))
	e.intField("failed_requests", int64(s.Failed()))
	e.intField("smallest_capacity_bytes", s.SmallestCard)
	e.key("peak_at")
	e.moment(&s.Peak)
	e.key("largest_gap_at")
	e.moment(&s.Gap)
	e.key("differs_first")
	e.apart(s.First)
	e.key("differs_most")
	e.apart(s.Most)
	e.raw(`,"iterations":[`)
	for k, v := range s.Iterations {
		e.next(k, "")
		e.raw("{")
		e.intField("index", int64(e.wi.Track.Iterations[k].Index))
		e.intField("peak_reserved_bytes", v)
		e.raw("}")
	}
	e.raw(`],"grows_in":[`)
	for k, g := range s.Growth {
		e.next(k, "")
		e.raw("{")
		e.textFieldOrNull("where", g.Name)
		e.intField("times", int64(g.Blocks))
		e.intField("bytes", g.Bytes)
		e.raw("}")
	}
	e.raw(`],"at_capacity":`)
	e.limits(s.Limited)
	e.key("notes")
	e.texts(s.Notes)
	e.raw("}")
}

// moment writes where in the program something is.
func (e *whatIfEncoder) moment(m *whatif.Moment) {
	e.raw("{")
	e.place(m)
	e.raw("}")
}

func (e *whatIfEncoder) place(m *whatif.Moment) {
	e.raw(`"event":`)
	e.int(int64(m.Event))
	e.key("time_ns")
	if e.wi.Timed {
		e.int(m.Time)
	} else {
		e.raw("null")
	}
	e.key("iteration")
	if it := e.iteration(m.Iteration); it != nil {
		e.int(int64(it.Index))
	} else {
		e.raw("null")
	}
	e.textFieldOrNull("phase", m.Phase)
	e.textFieldOrNull("frame", m.Frame)
}

func (e *whatIfEncoder) iteration(place int) *align.Iteration {
	if e.wi.Track == nil {
		return nil
	}
	return e.wi.Track.IterationAt(place)
}

func (e *whatIfEncoder) apart(a *whatif.Apart) {
	if a == nil {
		e.raw("null")
		return
	}
	e.raw("{")
	e.place(&a.Moment)
	e.intField("reserved_bytes", a.Reserved)
	e.intField("base_reserved_bytes", a.Base)
	e.raw("}")
}

func (e *whatIfEncoder) limits(l *whatif.Limits) {
	if l == nil {
		e.raw("null")
		return
	}
	e.raw("{")
	e.intField("left_for_pytorch_bytes", l.Capacity)
	e.intField("peak_reserved_bytes", l.PeakReserved)
	e.intField("cuda_mallocs", int64(l.CUDAMallocs))
	e.intField("cache_released", int64(l.Retries))
	e.raw(`,"failures":[`)
	for i := range l.Failures {
		if i == whatIfListed {
			break
		}
		f := &l.Failures[i]
		e.next(i, "\n  ")
		e.raw("{")
		e.place(&f.Moment)
		e.intField("request_bytes", f.Request)
		e.intField("rounded_bytes", f.Rounded)
		e.intField("free_cache_bytes", f.FreeCache)
		e.intField("largest_free_bytes", f.LargestFree)
		e.intField("reserved_bytes", f.Reserved)
		e.intField("allocated_bytes", f.Allocated)
		e.raw("}")
	}
	e.raw("]}")
}
