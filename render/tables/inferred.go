package tables

import (
	"slices"

	"nsysmem/align"
)

// amountColumns are the figures of a level over a phase, as it was inferred and as it is annotated.
func amountColumns[T any](of string, found, annotated func(*T) *align.Amounts) []Column[*Row[T]] {
	var out []Column[*Row[T]]
	for _, f := range []struct {
		key, head string
		unit      Unit
		get       func(*align.Amounts) int64
	}{
		{"net_bytes", "net", Change, func(a *align.Amounts) int64 { return a.Net }},
		{"peak_bytes", "peak", Bytes, func(a *align.Amounts) int64 { return a.Peak }},
		{"need_bytes", "need", Bytes, func(a *align.Amounts) int64 { return a.Need }},
	} {
		out = append(out,
			Column[*Row[T]]{Key: f.key, Head: f.head, Unit: f.unit, Of: of, Int: func(r *Row[T]) int64 { return f.get(found(r.Item)) }},
			Column[*Row[T]]{Key: "annotated_" + f.key, Head: f.head + " annotated", Unit: f.unit, Of: of,
				Int: func(r *Row[T]) int64 { return f.get(annotated(r.Item)) },
				Has: func(r *Row[T]) bool { return annotated(r.Item) != nil }})
	}
	return out
}

type phaseMemoryRow = Row[align.PhaseMemory]

// PhaseMemory has a row for each inferred phase and level, with what the annotated phase of that name has.
var PhaseMemory = define(slices.Concat(trackColumns[align.PhaseMemory](), []Column[*phaseMemoryRow]{
	iterationOf("iteration", "iteration", func(m *align.PhaseMemory) int { return m.Iteration }),
	{Key: "path", Head: "phase", Text: func(r *phaseMemoryRow) string { return r.Item.Path }},
	{Key: "level", Head: "level", Text: func(r *phaseMemoryRow) string { return string(r.Item.Level) }},
	{Key: "same", Head: "same", Unit: Flag, Int: func(r *phaseMemoryRow) int64 { return one(r.Item.Same()) },
		Has: func(r *phaseMemoryRow) bool { return r.Item.Annotated != nil }},
}, amountColumns("", func(m *align.PhaseMemory) *align.Amounts { return &m.Found },
	func(m *align.PhaseMemory) *align.Amounts { return m.Annotated })), Views{
	Workbook: "pid, device, iteration, path, level, same, net_bytes, annotated_net_bytes, peak_bytes, annotated_peak_bytes, need_bytes, " +
		"annotated_need_bytes, net_bytes!, annotated_net_bytes!, peak_bytes!, annotated_peak_bytes!, need_bytes!, annotated_need_bytes!",
})[0]

// PhaseMemoryGrid is the table of the inferred phases of all tracks.
func PhaseMemoryGrid(rep *align.Report) Grid {
	return RowGrid(rep, PhaseMemory.Columns(Workbook), func(t *align.Track) []align.PhaseMemory {
		if t.Inferred == nil {
			return nil
		}
		return t.Inferred.Memory
	})
}

type phaseMedianRow = Row[align.PhaseMedian]

// PhaseMedians has a row for each phase that is both inferred and annotated, on each level, over the steady iterations.
var PhaseMedians = define(slices.Concat([]Column[*phaseMedianRow]{
	{Key: "path", Head: "phase", Text: func(r *phaseMedianRow) string { return r.Item.Path }},
	{Key: "level", Head: "level", Text: func(r *phaseMedianRow) string { return string(r.Item.Level) }},
	{Key: "iterations", Head: "iterations", Unit: Count, Int: func(r *phaseMedianRow) int64 { return int64(r.Item.Iterations) }},
	{Key: "same", Head: "the same in", Unit: Count, Int: func(r *phaseMedianRow) int64 { return int64(r.Item.Same) }},
}, amountColumns("median", func(m *align.PhaseMedian) *align.Amounts { return &m.Found },
	func(m *align.PhaseMedian) *align.Amounts { return &m.Annotated })), Views{
	Terminal: "path:0/10, level:0/9, net_bytes=net, annotated_net_bytes:1, need_bytes:2=need, annotated_need_bytes:2, peak_bytes:4=peak, " +
		"annotated_peak_bytes:4, same:3, iterations:5",
	Markdown: "path, level, iterations, same, net_bytes, annotated_net_bytes, need_bytes, annotated_need_bytes, peak_bytes, annotated_peak_bytes",
	JSON:     "path, level, iterations, same, net_bytes, annotated_net_bytes, peak_bytes, annotated_peak_bytes, need_bytes, annotated_need_bytes",
})[0]
