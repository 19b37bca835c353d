package tables

import (
	"nsysmem/align"
	"nsysmem/align/whatif"
	"nsysmem/render/phrase"
)

// A Moment is a place in a recorded run whose settings are compared: where a level is highest, where a request fails, or
// where two settings differ.
type Moment struct {
	WhatIf *whatif.Comparison
	*whatif.Moment
	Failure *whatif.Failure // nil where no request fails
	Apart   *whatif.Apart   // nil where nothing is compared
}

// iteration is the one that the moment lies in; nil for none, and without a report.
func (m *Moment) iteration() *align.Iteration {
	if m.WhatIf.Track == nil {
		return nil
	}
	return m.WhatIf.Track.IterationAt(m.Iteration)
}

// failure is a figure of a request that fails.
func failure(key, head string, get func(*whatif.Failure) int64) Column[*Moment] {
	return Column[*Moment]{Key: key, Head: head, Unit: Bytes, Int: func(m *Moment) int64 { return get(m.Failure) },
		Has: func(m *Moment) bool { return m.Failure != nil }}
}

// apart is a figure of a difference.
func apart(key, head string, u Unit, get func(*whatif.Apart) int64) Column[*Moment] {
	return Column[*Moment]{Key: key, Head: head, Unit: u, Int: func(m *Moment) int64 { return get(m.Apart) },
		Has: func(m *Moment) bool { return m.Apart != nil }}
}

// moments is the catalogue of moments, which settings have several of.
var moments = []Column[*Moment]{
	{Key: "event", Unit: ID, Int: func(m *Moment) int64 { return int64(m.Event) }},
	{Key: "time_ns", Unit: Time, Int: func(m *Moment) int64 { return m.Time }, Known: func(m *Moment) bool { return m.WhatIf.Timed }},
	{Key: "iteration", Unit: ID, Int: func(m *Moment) int64 { return int64(m.iteration().Index) }, Has: func(m *Moment) bool { return m.iteration() != nil }},
	optional(Column[*Moment]{Key: "phase", Text: func(m *Moment) string { return m.Phase }}),
	optional(Column[*Moment]{Key: "frame", Text: func(m *Moment) string { return m.Frame }}),
	{Key: "place", Named: true, Text: func(m *Moment) string { return phrase.ShortMoment(m.WhatIf, m.Moment) }},
	{Key: "moment", Named: true, Text: func(m *Moment) string { return phrase.Moment(m.WhatIf, m.Moment) }},
	failure("request_bytes", "asks for", func(f *whatif.Failure) int64 { return f.Request }),
	failure("rounded_bytes", "", func(f *whatif.Failure) int64 { return f.Rounded }),
	failure("free_cache_bytes", "free in cache", func(f *whatif.Failure) int64 { return f.FreeCache }),
	failure("largest_free_bytes", "largest piece", func(f *whatif.Failure) int64 { return f.LargestFree }),
	failure("failed_reserved_bytes", "", func(f *whatif.Failure) int64 { return f.Reserved }),
	failure("failed_allocated_bytes", "", func(f *whatif.Failure) int64 { return f.Allocated }),
	apart("reserved_bytes", "", Bytes, func(a *whatif.Apart) int64 { return a.Reserved }),
	apart("base_reserved_bytes", "", Bytes, func(a *whatif.Apart) int64 { return a.Base }),
	{Key: "by_bytes", Head: "by", Unit: Change, Named: true, Int: func(m *Moment) int64 { return m.Apart.Reserved - m.Apart.Base },
		Has: func(m *Moment) bool { return m.Apart != nil }},
}

const momentView = "event, time_ns, iteration, phase, frame"

// Moments are objects of JSON, so are FailedRequests and Differences.
var (
	momentTables = define(moments,
		Views{JSON: momentView},
		Views{JSON: momentView + ", request_bytes, rounded_bytes, free_cache_bytes, largest_free_bytes, " +
			"failed_reserved_bytes=reserved_bytes, failed_allocated_bytes=allocated_bytes"},
		Views{JSON: momentView + ", reserved_bytes, base_reserved_bytes"})
	Moments        = momentTables[0]
	FailedRequests = momentTables[1]
	Differences    = momentTables[2]
)

// FailedRequest is the row of a request that could not be served.
func FailedRequest(w *whatif.Comparison, f *whatif.Failure) *Moment {
	return &Moment{WhatIf: w, Moment: &f.Moment, Failure: f}
}

// Difference is the row of a difference between two settings; nil for none.
func Difference(w *whatif.Comparison, a *whatif.Apart) *Moment {
	if a == nil {
		return nil
	}
	return &Moment{WhatIf: w, Moment: &a.Moment, Apart: a}
}

// momentColumns are some columns of a moment that a setting may have, behind a prefix. at gives nil where it has none.
// They are shown by the views that name them alone.
func momentColumns(prefix string, at func(*Setting) *Moment, keys ...string) []Column[*Setting] {
	out := Lift(columnsOf(moments, keys...), at)
	for i := range out {
		has := out[i].Has
		out[i].Key, out[i].Named = prefix+out[i].Key, true
		out[i].Has = func(s *Setting) bool { return at(s) != nil && (has == nil || has(s)) }
	}
	return out
}
