package tables

import (
	"slices"

	"nsysmem/align"
)

// A RunPhase is what is compared of a phase of a run: figures over its steady iterations.
type RunPhase struct {
	Path                    string
	Depth                   int
	Inferred                bool
	Iterations, Calls       int64 // steady iterations that have it, and median of its calls in one
	Duration                int64 // ns, median
	Peak, Need              int64 // bytes, highest
	NeedMedian, NetMedian   int64 // bytes
	Kernels, KernelNS       int64 // median
	AllocNS, SyncNS, Copied int64 // median; ns, ns, bytes
}

// NewRunPhase takes what is compared from a phase.
func NewRunPhase(p *align.PhaseStat) RunPhase {
	m := &p.Median
	return RunPhase{Path: p.Path, Depth: p.Depth, Inferred: p.Inferred, Iterations: int64(p.Iterations), Calls: int64(p.Calls),
		Duration: p.DurationNS, Peak: p.Max.Memory.Peak, Need: p.Max.Memory.Need, NeedMedian: m.Memory.Need, NetMedian: m.Memory.Net,
		Kernels: m.GPU.Kernels, KernelNS: m.GPU.KernelNS, AllocNS: m.API.AllocNS, SyncNS: m.API.SyncNS,
		Copied: m.GPU.H2D + m.GPU.D2H + m.GPU.D2D}
}

type runPhaseRow = Owned[*RunPhase]

// phaseFigure is a figure of a phase of a run.
func phaseFigure(key, head string, u Unit, of string, get func(*RunPhase) int64, known func(*align.Collected) bool) Column[runPhaseRow] {
	return Column[runPhaseRow]{Key: key, Head: head, Unit: u, Of: of, Int: func(r runPhaseRow) int64 { return get(r.Row) },
		Known: func(r runPhaseRow) bool { return known == nil || known(r.Run.Collected) }}
}

// RunPhases has a row for each phase of each run.
var RunPhases = define([]Column[runPhaseRow]{
	{Key: "path", Head: "phase", Text: func(r runPhaseRow) string { return r.Row.Path }},
	{Key: "run", Head: "run", Text: func(r runPhaseRow) string { return r.Run.Label }},
	{Key: "rank", Head: "rank", Unit: ID, Int: func(r runPhaseRow) int64 { return r.Run.Rank }, Known: func(r runPhaseRow) bool { return r.Run.Rank >= 0 }},
	phaseFigure("depth", "depth", ID, "", func(p *RunPhase) int64 { return int64(p.Depth) }, nil),
	{Key: "from", Head: "from", Text: func(r runPhaseRow) string { return Origins[one(r.Row.Inferred)] }},
	phaseFigure("iterations", "steady iterations", Count, "", func(p *RunPhase) int64 { return p.Iterations }, nil),
	phaseFigure("calls", "calls", Count, "median", func(p *RunPhase) int64 { return p.Calls }, nil),
	barred(phaseFigure("peak_bytes", "peak", Bytes, "max", func(p *RunPhase) int64 { return p.Peak }, knowsMemory)),
	barred(phaseFigure("need_bytes", "need", Bytes, "max", func(p *RunPhase) int64 { return p.Need }, knowsMemory)),
	phaseFigure("median.need_bytes", "need", Bytes, "median", func(p *RunPhase) int64 { return p.NeedMedian }, knowsMemory),
	phaseFigure("median.net_bytes", "net", Change, "median", func(p *RunPhase) int64 { return p.NetMedian }, knowsMemory),
	phaseFigure("duration_ns", "time", Time, "median", func(p *RunPhase) int64 { return p.Duration }, nil),
	phaseFigure("kernels", "kernels", Count, "median", func(p *RunPhase) int64 { return p.Kernels }, knowsKernels),
	phaseFigure("kernel_ns", "kernel time", Time, "median", func(p *RunPhase) int64 { return p.KernelNS }, knowsKernels),
	phaseFigure("copied_bytes", "copied", Bytes, "median", func(p *RunPhase) int64 { return p.Copied }, knowsCopies),
	phaseFigure("alloc_ns", "API alloc time", Time, "median", func(p *RunPhase) int64 { return p.AllocNS }, knowsAPI),
	phaseFigure("sync_ns", "API sync time", Time, "median", func(p *RunPhase) int64 { return p.SyncNS }, knowsAPI),
}, Views{
	BatchWorkbook: "path, run, rank, depth, from, iterations, calls, peak_bytes, need_bytes, median.need_bytes, median.net_bytes, " +
		"duration_ns, kernels, kernel_ns, copied_bytes, alloc_ns, sync_ns, peak_bytes!",
})[0]

// A Spread is the least, median and greatest of a figure over runs.
type Spread struct {
	N             int // runs that have the figure; 0 where none does
	Low, Mid, Top int64
	Who           string // the first run that has the greatest; empty where all are alike
}

// The figures that spreads are of.
const (
	PeakSpread = iota
	NeedSpread
	EndSpread
	KernelSpread
	TimeSpread
	Spreads
)

// A SpreadRow is an iteration, or a phase, over the runs of one job.
type SpreadRow struct {
	Job       string
	Iteration int
	Phase     string
	N         int // runs that have it
	Of        [Spreads]Spread
}

// spreadColumns are the columns of one figure; of is what stands behind its name, such as ", median".
func spreadColumns(key, head, of string, u Unit, figure int) []Column[*SpreadRow] {
	known := func(r *SpreadRow) bool { return r.Of[figure].N > 0 }
	return []Column[*SpreadRow]{
		{Key: key + ".low", Head: head + of + ", least", Unit: u, Known: known, Int: func(r *SpreadRow) int64 { return r.Of[figure].Low }},
		{Key: key + ".mid", Head: head + of + ", median", Unit: u, Known: known, Int: func(r *SpreadRow) int64 { return r.Of[figure].Mid }},
		{Key: key + ".top", Head: head + of + ", greatest", Unit: u, Known: known, Int: func(r *SpreadRow) int64 { return r.Of[figure].Top }},
		{Key: key + ".who", Head: head + of + ": greatest in run", Text: func(r *SpreadRow) string { return r.Of[figure].Who }},
	}
}

func spreadView(keys ...string) string {
	view := ""
	for _, k := range keys {
		view += ", " + k + ".low, " + k + ".mid, " + k + ".top, " + k + ".who"
	}
	return view
}

// IterationSpreads has a row for each iteration of each job, PhaseSpreads for each phase.
var (
	spreadTables = define(slices.Concat([]Column[*SpreadRow]{
		{Key: "job", Head: "job", Text: func(r *SpreadRow) string { return r.Job }},
		{Key: "iteration", Head: "iteration", Unit: ID, Int: func(r *SpreadRow) int64 { return int64(r.Iteration) }},
		{Key: "phase", Head: "phase", Text: func(r *SpreadRow) string { return r.Phase }},
		{Key: "runs", Head: "runs with it", Unit: Count, Int: func(r *SpreadRow) int64 { return int64(r.N) }},
		{Key: "range_bytes", Head: "peak, range", Unit: Whole, Bar: true, Known: func(r *SpreadRow) bool { return r.Of[PeakSpread].N > 0 },
			Int: func(r *SpreadRow) int64 { return r.Of[PeakSpread].Top - r.Of[PeakSpread].Low }},
	},
		spreadColumns("peak", "peak", "", Bytes, PeakSpread), spreadColumns("need", "need", "", Bytes, NeedSpread),
		spreadColumns("end", "end", "", Bytes, EndSpread), spreadColumns("kernels", "kernel time", "", Time, KernelSpread),
		spreadColumns("time", "time", "", Time, TimeSpread),
		spreadColumns("kernels_median", "kernel time", ", median", Time, KernelSpread),
		spreadColumns("time_median", "time", ", median", Time, TimeSpread),
	), Views{
		BatchWorkbook: "job, iteration, runs" + spreadView("peak", "need", "end", "kernels", "time") + ", range_bytes",
	}, Views{
		BatchWorkbook: "job, phase, runs" + spreadView("peak", "need", "kernels_median", "time_median"),
	})
	IterationSpreads = spreadTables[0]
	PhaseSpreads     = spreadTables[1]
)

// A Failed report is one that a comparison leaves out.
type Failed struct{ Run, Report, What, Reason string }

// FailedReports has a row for each.
var FailedReports = define([]Column[Failed]{
	{Key: "run", Head: "run", Text: func(f Failed) string { return f.Run }},
	{Key: "report", Head: "report", Text: func(f Failed) string { return f.Report }},
	{Key: "what", Head: "what", Text: func(f Failed) string { return f.What }},
	{Key: "reason", Head: "reason", Text: func(f Failed) string { return f.Reason }},
}, Views{BatchWorkbook: "run, report, what, reason~"})[0]
