package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/render/phrase"
)

// A failedRow is an allocating call that returned an error.
type failedRow = Row[align.FailedAlloc]

func failedPlace(f *align.FailedAlloc) (int, string) { return f.Iteration, f.Phase + f.Range }

var failures = slices.Concat(trackColumns[align.FailedAlloc](), []Column[*failedRow]{
	{Key: "at_ns", Head: "at", Unit: Time, Int: func(r *failedRow) int64 { return r.after(r.Item.Time) }},
	{Key: "time_ns", Unit: Time, Int: func(r *failedRow) int64 { return r.Item.Time }},
	{Key: "duration_ns", Head: "duration", Unit: Short, Int: func(r *failedRow) int64 { return r.Item.Duration }},
	unknown(Column[*failedRow]{Key: "tid", Head: "thread", Unit: ID, Int: func(r *failedRow) int64 { return r.Item.TID }}),
	{Key: "call", Head: "call", Text: func(r *failedRow) string { return r.Item.Call }},
	optional(Column[*failedRow]{Key: "library", Head: "library", Text: func(r *failedRow) string { return r.Item.Caller.Library }}),
	optional(Column[*failedRow]{Key: "function", Head: "function", Text: func(r *failedRow) string { return r.Item.Caller.Function }}),
	{Key: "return", Unit: ID, Int: func(r *failedRow) int64 { return r.Item.Return }},
	{Key: "returned", Head: "returned", Text: func(r *failedRow) string { return phrase.Return(r.Item.Return) }},
	iterationOf("iteration", "iteration", func(f *align.FailedAlloc) int { return f.Iteration }),
	unknown(iterationName("iteration name", failedPlace)),
	unknown(Column[*failedRow]{Key: "phase", Head: "phase", Text: func(r *failedRow) string { return r.Item.Phase }}),
	unknown(Column[*failedRow]{Key: "range", Head: "range outside iterations", Text: func(r *failedRow) string { return r.Item.Range }}),
	{Key: "in", Head: "in", Text: func(r *failedRow) string { return phrase.FailedPlace(r.Track, r.Item) }},
	originOf(failedPlace),
	{Key: "level_bytes", Head: "traced then", Unit: Bytes, Int: func(r *failedRow) int64 { return r.Item.Level },
		Known: func(r *failedRow) bool { return r.Report.Collected.Memory && r.Item.Level >= 0 }},
})

// Failures has a row for each allocating call that returned an error.
var Failures = define(failures, Views{
	Terminal: "at_ns, call:1/10, library:3/8, function:4/14, returned:2, level_bytes, in:0/12",
	Markdown: "call, library, function, returned, in, at_ns, level_bytes",
	JSON:     "time_ns, duration_ns, tid, call, library, function, return, iteration, iteration_name, phase, range, level_bytes",
	Workbook: "pid, device, at_ns=Time, iteration, iteration_name, phase, from, range, call, library, function, returned, duration_ns, tid, " +
		"level_bytes=Traced level then, level_bytes!=Traced level then",
})[0]
