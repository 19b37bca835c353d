package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// A rangeRow is an outermost range outside any iteration.
type rangeRow = Row[align.RangeUse]

// rangeNote says what is special about a range.
func rangeNote(r *rangeRow) string {
	switch u := r.Item; {
	case u.Open:
		return "never closed"
	case u.Contains > 0:
		return "holds " + wording.Plural(u.Contains, "iteration")
	case u.Calls > 1:
		return wording.Count(u.Calls) + " calls, time is their sum"
	}
	return ""
}

// rangeCollected is what is known of a range.
func rangeCollected(r *rangeRow) *align.Collected {
	c := r.collected()
	if r.Item.Lost != (align.Lost{}) {
		known := c.Without(r.Item.Lost)
		c = &known
	}
	return c
}

var ranges = slices.Concat([]Column[*rangeRow]{
	{Key: "name", Head: "range", Text: func(r *rangeRow) string { return r.Item.Name }},
	unknown(Column[*rangeRow]{Key: "domain", Text: func(r *rangeRow) string { return r.Item.Domain }}),
	unknown(Column[*rangeRow]{Key: "tid", Unit: ID, Int: func(r *rangeRow) int64 { return r.Item.TID }}),
	{Key: "calls", Unit: Count, Int: func(r *rangeRow) int64 { return int64(r.Item.Calls) }},
	{Key: "start_ns", Unit: Time, Int: func(r *rangeRow) int64 { return r.Item.Start }},
	{Key: "end_ns", Unit: Time, Int: func(r *rangeRow) int64 { return r.Item.End }},
	{Key: "at_ns", Head: "at", Unit: Time, Int: func(r *rangeRow) int64 { return r.after(r.Item.Start) }},
	{Key: "duration_ns", Head: "time", Unit: Time, Int: func(r *rangeRow) int64 { return r.Item.Duration }},
	{Key: "open", Unit: Flag, Int: func(r *rangeRow) int64 { return one(r.Item.Open) }},
	{Key: "contains_iterations", Unit: Count, Int: func(r *rangeRow) int64 { return int64(r.Item.Contains) }},
	{Key: "note", Text: rangeNote},
}, useColumns("", "", func(r *rangeRow) *align.Use { return &r.Item.Use }, rangeCollected))

// Ranges has a row for each outermost range outside the iterations.
var Ranges = define(ranges, Views{
	Terminal: "name:0/12, at_ns:5, duration_ns:3, net_bytes:1, peak_bytes, need_bytes:2, kernels:6, kernel_ns:4, note:7=",
	JSON:     "name, domain, tid, calls, start_ns, end_ns, duration_ns, open, contains_iterations, " + allFigures,
})[0]
