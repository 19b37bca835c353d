package tables

import (
	"slices"
	"strings"

	"nsysmem/align"
)

// tensorLevels are the three levels that a snapshot gives: what tensors hold, what PyTorch's allocator holds, and all that
// was traced.
var tensorLevels = [...]struct {
	kind align.LevelKind
	word string
}{{align.LevelAllocated, "allocated"}, {align.LevelReserved, "reserved"}, {align.LevelDevice, "traced"}}

// threeLevels are some figures of the three levels, as columns of rows that have an align.Use. The keys begin with the
// level's word and of. What is known of the traced level may be less than of the snapshot's.
func threeLevels[R any](of string, use func(R) *align.Use, collected, traced func(R) *align.Collected, figures ...string) []Column[R] {
	var out []Column[R]
	some := slices.DeleteFunc(slices.Clone(Memory), func(f Figure[align.MemoryUse]) bool { return !slices.Contains(figures, f.Key) })
	for _, l := range tensorLevels {
		key := l.word + "."
		if of != "" {
			key += of + "."
		}
		known := collected
		if l.kind == align.LevelDevice {
			known = traced
		}
		level := part[R, align.MemoryUse]{key: key, of: of, collected: known, needs: knowsMemory,
			use: func(r R) *align.MemoryUse { return use(r).Level(l.kind) }}
		for _, c := range level.columns(some) {
			c.Head, c.Over = l.word+" "+c.Head, l.word
			out = append(out, c)
		}
	}
	return out
}

// eachLevel is a view of columns that each of the three levels has, level by level.
func eachLevel(keys string) string {
	var out []string
	for _, l := range tensorLevels {
		for _, k := range strings.Fields(keys) {
			out = append(out, l.word+"."+k)
		}
	}
	return strings.Join(out, ", ")
}

// leveledSteps is the catalogue of the iterations and phases of tracks that have the three levels.
var leveledSteps = slices.Concat(
	columnsOf(steps, "pid", "device", "iteration", "iteration_name", "flags", "from", "path", "depth", "calls"),
	threeLevels("", (*Step).use, (*Step).recorded, (*Step).collected, "start_bytes", "end_bytes", "net_bytes", "peak_bytes", "need_bytes"),
	gapColumns,
	[]Column[*Step]{
		someGraphs(gapColumns[1]),
		{Key: "allocated_peak_phase", Head: "allocated peaks in", Text: func(s *Step) string { return s.Iteration.PeakBy(align.LevelAllocated).String() }},
		{Key: "allocated_peak_short", Head: "allocated peaks in", Named: true,
			Text: func(s *Step) string { return s.Iteration.PeakBy(align.LevelAllocated).Short() }},
	})

// allLevels is what the sheets show of the three levels and of the gaps between them.
var allLevels = eachLevel("start_bytes end_bytes net_bytes peak_bytes need_bytes") + ", unused_end_bytes, graph_pools_end_bytes, outside_end_bytes, " +
	eachLevel("start_bytes! end_bytes! net_bytes! peak_bytes! need_bytes!") + ", unused_end_bytes!, graph_pools_end_bytes!, outside_end_bytes!"

// TensorLevels has a row for each iteration, TensorPhaseRows one for each phase of each iteration.
var (
	leveledTables = define(leveledSteps, Views{
		// Ends and gaps add up to the traced level at the end: they stay together where the width is short.
		Terminal: "iteration=#, allocated.peak_bytes=peak, allocated.need_bytes:6=need, allocated.end_bytes:3=end, " +
			"reserved.peak_bytes:5=peak, reserved.need_bytes:9=need, traced.peak_bytes:8=peak, traced.need_bytes:10=need, " +
			"unused_end_bytes:1=unused, some_graph_pools:1=graph pools, outside_end_bytes:2=outside, allocated_peak_short:7/18, flags:4=",
		Markdown: "iteration_name=Iteration, allocated_peak_phase, allocated.peak_bytes, allocated.need_bytes, " +
			"reserved.peak_bytes, reserved.need_bytes, traced.peak_bytes, traced.need_bytes, " +
			"unused_end_bytes=Unused at end, some_graph_pools=Graph pools at end, outside_end_bytes=Outside at end, flags=Note",
		Workbook: "pid, device, iteration, iteration_name, flags, from, allocated_peak_phase, " + allLevels,
	}, Views{
		Workbook: "pid, device, iteration, path, depth, from, calls, " + allLevels,
	})
	TensorLevels    = leveledTables[0]
	TensorPhaseRows = leveledTables[1]
)

// leveled is the number of iterations of a track that have the three levels.
func leveled(t *align.Track) int {
	if !t.HasTensorLevels() {
		return 0
	}
	return len(t.Iterations)
}

// TensorLevelGrid is the table of the iterations of all tracks that have the three levels, for a workbook.
func TensorLevelGrid(rep *align.Report) Grid {
	return iterationGrid(rep, TensorLevels.Columns(Workbook), leveled)
}

// TensorLevelRows are the rows of one track in that table, half-open.
func TensorLevelRows(rep *align.Report, t *align.Track) (from, to int) {
	return rowsOf(rep, t, leveled)
}

// TensorPhaseRowGrid is the table of the phases of their iterations.
func TensorPhaseRowGrid(rep *align.Report) Grid {
	return PhaseGrid(rep, TensorPhaseRows.Columns(Workbook), (*align.Track).HasTensorLevels)
}

// rowsOf are the rows of one track in a table over all, half-open.
func rowsOf(rep *align.Report, of *align.Track, count func(*align.Track) int) (from, to int) {
	for _, t := range rep.Tracks {
		if t == of {
			return from, from + count(t)
		}
		from += count(t)
	}
	return from, from
}

// TensorPhases has a row for each phase of a track over its steady iterations.
var TensorPhases = define(slices.Concat(
	columnsOf(phases, "pid", "device", "path", "indented", "path_note", "depth", "from", "iterations"),
	[]Column[*phaseRow]{
		{Key: "note", Head: "from", Text: func(r *phaseRow) string {
			if r.Item.Inferred {
				return Origins[1]
			}
			return ""
		}},
	},
	threeLevels("median", medianUse, (*phaseRow).collected, (*phaseRow).collected, "start_bytes", "end_bytes", "net_bytes", "need_bytes"),
	threeLevels("max", maxUse, (*phaseRow).collected, (*phaseRow).collected, "peak_bytes", "need_bytes"),
), Views{
	Terminal: "indented:0/12, allocated.max.peak_bytes=peak, allocated.max.need_bytes:1=need, allocated.median.net_bytes:6=net (median), " +
		"reserved.max.peak_bytes:2=peak, reserved.max.need_bytes:4=need, traced.max.peak_bytes:3=peak, traced.max.need_bytes:5=need, note:1",
	Markdown: "path_note, allocated.max.peak_bytes, allocated.max.need_bytes, allocated.median.net_bytes=Allocated net (median), " +
		"reserved.max.peak_bytes, reserved.max.need_bytes, traced.max.peak_bytes, traced.max.need_bytes",
	Workbook: "pid, device, path, depth, from, iterations, " +
		eachLevel("median.start_bytes median.end_bytes median.net_bytes max.peak_bytes median.need_bytes max.need_bytes") + ", " +
		eachLevel("max.peak_bytes! max.need_bytes!"),
})[0]

// TensorPhaseGrid is the table of the phases of all tracks that have the three levels.
func TensorPhaseGrid(rep *align.Report) Grid {
	return RowGrid(rep, TensorPhases.Columns(Workbook), func(t *align.Track) []align.PhaseStat {
		if !t.HasTensorLevels() {
			return nil
		}
		return t.Phases
	})
}
