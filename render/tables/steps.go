package tables

import (
	"nsysmem/align"
	"nsysmem/render/phrase"
	"slices"
	"strings"
)

// A Step is a row that stands for one iteration of a track, or for one of its phases.
type Step struct {
	Collected *align.Collected
	From      int64  // ns; start of the report, from which people count
	Path      string // of the report
	Track     *align.Track
	Iteration *align.Iteration
	Phase     *align.Phase  // nil for the iteration itself
	Peak      *align.PeakBy // what made the iteration's device peak where the phases are not at hand; else nil

	known   align.Collected         // of collected
	indexed *align.Iteration        // whose phases are in paths
	paths   map[string]*align.Phase // by path

	made   *align.Iteration // whose answer madeBy is
	madeBy align.PeakBy

	asked        *align.Track // whose answer someInferred is
	someInferred bool
}

// use is what is counted for the step.
func (s *Step) use() *align.Use {
	if s.Phase != nil {
		return &s.Phase.Use
	}
	return &s.Iteration.Use
}

// collected is what is known of the step.
func (s *Step) collected() *align.Collected {
	lost := s.Iteration.Lost
	if s.isPhase() {
		lost = s.Phase.Lost
	}
	if lost == (align.Lost{}) {
		return s.Collected
	}
	s.known = s.Collected.Without(lost)
	return &s.known
}

// recorded is what was collected of the whole report.
func (s *Step) recorded() *align.Collected { return s.Collected }

func (s *Step) knowsMemory() bool { return s.collected().Memory }

func (s *Step) knowsKernels() bool { return s.collected().Kernels }

// hasGraphs says that graphs of the track were traced whole: their kernels are not among its kernels.
func (s *Step) hasGraphs() bool { return s.Track.Total.GPU.Graphs > 0 }

func (s *Step) isPhase() bool { return s.Phase != nil }

// inferred says that the step was found in the GPU work.
func (s *Step) inferred() bool {
	return s.Track.IterationsFrom.Inferred() || s.isPhase() && s.Phase.Inferred
}

// partly says that something of the track was found in the GPU work. Steps of a track follow each other.
func (s *Step) partly() bool {
	if s.asked != s.Track {
		s.asked, s.someInferred = s.Track, phrase.Inferred(s.Track) != ""
	}
	return s.someInferred
}

func (s *Step) start() int64 {
	if s.isPhase() {
		return s.Phase.Start
	}
	return s.Iteration.Start
}

func (s *Step) end() int64 {
	if s.isPhase() {
		return s.Phase.End
	}
	return s.Iteration.End
}

// duration is the time of an iteration, or of all calls of a phase.
func (s *Step) duration() int64 {
	if s.isPhase() {
		return s.Phase.Duration
	}
	return s.Iteration.End - s.Iteration.Start
}

func (s *Step) depth() int64 {
	if s.isPhase() {
		return int64(s.Phase.Depth)
	}
	return 0
}

func (s *Step) calls() int64 {
	if s.isPhase() {
		return int64(s.Phase.Calls)
	}
	return 1
}

func (s *Step) phasePath() string {
	if s.isPhase() {
		return s.Phase.Path
	}
	return ""
}

// PeakBy is what made the device peak of the iteration. Several columns ask for it.
func (s *Step) PeakBy() align.PeakBy {
	if s.Peak != nil {
		return *s.Peak
	}
	if s.made != s.Iteration {
		s.made, s.madeBy = s.Iteration, s.Iteration.PeakBy(align.LevelDevice)
	}
	return s.madeBy
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// steps is the catalogue of iterations and their phases.
var steps = append([]Column[*Step]{
	{Key: "report", Text: func(s *Step) string { return s.Path }},
	{Key: "pid", Head: "process", Unit: ID, Int: func(s *Step) int64 { return s.Track.PID }},
	{Key: "process", Text: func(s *Step) string { return s.Track.Process }},
	{Key: "device", Head: "device", Unit: ID, Int: func(s *Step) int64 { return s.Track.Device }},
	{Key: "device_name", Text: func(s *Step) string { return s.Track.DeviceName }},
	{Key: "iteration", Head: "iteration", Unit: ID, Int: func(s *Step) int64 { return int64(s.Iteration.Index) }},
	{Key: "iteration_name", Head: "name", Distinct: true, Text: func(s *Step) string { return s.Iteration.Name }},
	{Key: "warmup", Unit: Flag, Int: func(s *Step) int64 { return one(s.Iteration.Warmup) }},
	{Key: "truncated", Unit: Flag, Int: func(s *Step) int64 { return one(s.Iteration.Truncated) }},
	{Key: "flags", Head: "flags", Text: func(s *Step) string { return phrase.Flags(s.Iteration) }},
	{Key: "path", Head: "phase", Text: (*Step).phasePath},
	{Key: "name", Text: func(s *Step) string { return s.Phase.Name }, Known: (*Step).isPhase},
	{Key: "depth", Head: "depth", Unit: Small, Int: (*Step).depth},
	{Key: "calls", Head: "calls", Unit: Count, Int: (*Step).calls},
	{Key: "from", Head: "from", Unit: Origin, Int: func(s *Step) int64 { return one(s.inferred()) }},
	{Key: "annotated", Unit: Origin, Int: func(s *Step) int64 { return one(s.isPhase() && s.Phase.Inferred) }},
	{Key: "some_from", Unit: Origin, Named: true, Int: func(s *Step) int64 { return one(s.partly()) }},
	{Key: "inferred", Unit: Flag, Int: func(s *Step) int64 { return one(s.isPhase() && s.Phase.Inferred) }},
	{Key: "start_ns", Unit: Time, Int: (*Step).start},
	{Key: "end_ns", Unit: Time, Int: (*Step).end},
	{Key: "at_ns", Head: "at", Unit: Time, Int: func(s *Step) int64 { return s.start() - s.From }},
	{Key: "duration_ns", Head: "time", Unit: Time, Int: (*Step).duration},
	// For people, who need them where graphs are traced whole alone.
	{Key: "some_graphs", Head: "graphs", Unit: Count, Int: func(s *Step) int64 { return s.use().GPU.Graphs },
		Has: (*Step).hasGraphs, Known: (*Step).knowsKernels},
	{Key: "some_graph_ns", Head: "graph time", Unit: Time, Int: func(s *Step) int64 { return s.use().GPU.GraphNS },
		Has: (*Step).hasGraphs, Known: (*Step).knowsKernels},
	{Key: "peak_phase", Head: "peak phase", Text: func(s *Step) string { return s.PeakBy().Phase }, Known: (*Step).knowsMemory},
	{Key: "peak_by", Head: "peak phase", Text: func(s *Step) string { return s.PeakBy().String() }, Known: (*Step).knowsMemory},
	{Key: "peak_short", Head: "peak phase", Text: func(s *Step) string { return s.PeakBy().Short() }, Known: (*Step).knowsMemory},
	{Key: "peak_ties", Head: "peak ties with", Text: func(s *Step) string { return strings.Join(s.PeakBy().Ties, ", ") },
		Known: (*Step).knowsMemory},
	{Key: "peak_after_ns", Head: "peak at", Unit: Time, Known: (*Step).knowsMemory,
		Int: func(s *Step) int64 { return s.use().Memory.PeakAt - s.From }},
}, useColumns("", "", (*Step).use, (*Step).collected)...)

// What several views have in common.
const (
	levelFigures = "start_bytes, end_bytes, net_bytes, peak_bytes, need_bytes"
	wholeLevel   = "start_bytes!, end_bytes!, net_bytes!, peak_bytes!, need_bytes!"
	workFigures  = "allocs, alloc_bytes, static_allocs, frees, free_bytes, failed_allocs, kernels, kernel_ns, busy_ns, graphs, graph_ns, " +
		"h2d_bytes, d2h_bytes, d2d_bytes, memcpy_ns, api_alloc_ns, api_free_ns, api_sync_ns"
	allFigures = "start_bytes, end_bytes, net_bytes, peak_bytes, peak_at_ns, need_bytes, " +
		"allocs, alloc_bytes, frees, free_bytes, failed_allocs, " +
		"kernels, kernel_ns, busy_ns, graphs, graph_ns, copies, h2d_bytes, d2h_bytes, d2d_bytes, memcpy_ns, " +
		"memsets, memset_bytes, memset_ns, api_calls, api_alloc_ns, api_free_ns, api_sync_ns, static_allocs, static_alloc_bytes"
	parquetFigures = "start_bytes, end_bytes, net_bytes, peak_bytes, peak_at_ns, need_bytes, " +
		"allocs, alloc_bytes, frees, free_bytes, failed_allocs, " +
		workInParquet
	workInParquet = "kernels, kernel_ns, busy_ns, graphs, graph_ns, h2d_bytes, d2h_bytes, d2d_bytes, memcpy_ns, memset_bytes, " +
		"api_alloc_ns, api_free_ns, api_sync_ns, api_calls, copies, static_allocs, static_alloc_bytes"
)

// Iterations has a row for each iteration, PhaseRows one for each phase of each iteration.
var (
	stepTables = define(steps, Views{
		Terminal: "iteration=#, iteration_name:12/10, start_bytes:3, end_bytes:2, net_bytes:7, peak_bytes, need_bytes:4, " +
			"peak_short:6/10, duration_ns:11, kernels:10, kernel_ns:8, some_graphs:5, some_graph_ns:5, flags:1=",
		Markdown: "iteration_name=Iteration, peak_by, start_bytes, end_bytes, net_bytes, peak_bytes, need_bytes, duration_ns, " +
			"kernels, kernel_ns, some_graphs, some_graph_ns, flags=Note",
		CSV: "report, pid, process, device, device_name, iteration, iteration_name, warmup, truncated, path, depth, calls, from, " +
			"start_ns, end_ns, duration_ns, " + allFigures,
		JSON: "iteration=index, iteration_name=name, start_ns, end_ns, duration_ns, warmup, truncated, peak_phase, " + allFigures,
		Workbook: "pid, device, iteration, iteration_name, flags, from, peak_phase, peak_ties, " + levelFigures +
			", at_ns, duration_ns, peak_after_ns, " + workFigures + ", " + wholeLevel,
		BatchWorkbook: "iteration, iteration_name, flags, peak_phase, peak_ties, " + levelFigures + ", duration_ns, allocs, static_allocs, frees, failed_allocs, " +
			"kernels, kernel_ns, busy_ns, api_alloc_ns, api_sync_ns, peak_bytes!, net_bytes!",
		Parquet: "iteration, iteration_name=name, start_ns, end_ns, warmup, truncated, peak_phase, peak_ties, " + parquetFigures,
	}, Views{
		JSON: "path, name, depth, calls, annotated=from, start_ns, end_ns, duration_ns, " + allFigures,
		Workbook: "pid, device, iteration, path, depth, from, calls, at_ns, duration_ns, " + levelFigures + ", " +
			workFigures + ", " + wholeLevel,
		Parquet: "iteration, warmup, truncated, path=phase, name, depth, calls, inferred, start_ns, end_ns, duration_ns, " + parquetFigures,
	})
	// matrixLead leads the rows of Matrix.
	matrixLead = "pid, device, iteration, iteration_name, flags, some_from=From"
	Iterations = stepTables[0]
	PhaseRows  = stepTables[1]
)

// LevelColumns are the figures of a level beside the device level, such as "managed", with a prefix before their keys.
func LevelColumns(kind align.LevelKind, prefix string) []Column[*Step] {
	collected := (*Step).collected
	if kind.FromSnapshot() { // whatever became of the trace
		collected = (*Step).recorded
	}
	p := part[*Step, align.MemoryUse]{key: prefix, collected: collected, needs: knowsMemory,
		use: func(s *Step) *align.MemoryUse { return s.use().Level(kind) }}
	return headed(p.columns(LevelFigures(kind)))
}

// gapColumns are what lies between the levels allocated, reserved and traced at the end of a step.
var gapColumns = []Column[*Step]{
	gapColumn("unused_end_bytes", "unused cache at end", func(g align.Gaps) int64 { return g.Unused }, (*Step).recorded),
	gapColumn("graph_pools_end_bytes", "graph pools at end", func(g align.Gaps) int64 { return g.Graphs }, (*Step).recorded),
	gapColumn("outside_end_bytes", "outside PyTorch at end", func(g align.Gaps) int64 { return g.Outside }, (*Step).collected),
}

// hasGraphPools says that the program has private pools of CUDA graphs.
func hasGraphPools(s *Step) bool { return s.use().Level(align.LevelGraphs) != nil }

// someGraphs shows a column in rows of programs that have private pools alone.
func someGraphs(c Column[*Step]) Column[*Step] {
	c.Key, c.Has, c.Named = "some_graph_pools", hasGraphPools, true
	return c
}

func gapColumn(key, head string, of func(align.Gaps) int64, collected func(*Step) *align.Collected) Column[*Step] {
	return Column[*Step]{Key: key, Head: head, Unit: Bytes, Over: "end gaps",
		Int: func(s *Step) int64 {
			g, _ := s.use().Gaps()
			return of(g)
		},
		Known: func(s *Step) bool {
			_, ok := s.use().Gaps()
			return ok && collected(s).Memory
		}}
}

// GapColumns are those columns for CSV.
func GapColumns() []Column[*Step] { return headed(slices.Clone(gapColumns)) }

// headed gives columns for machines their keys as heads.
func headed(cols []Column[*Step]) []Column[*Step] {
	for i := range cols {
		cols[i].Head = cols[i].Key
	}
	return cols
}
