package tables

import (
	"slices"
	"strings"

	"nsysmem/align"
)

// A phaseRow is a phase over the steady iterations of its track.
type phaseRow = Row[align.PhaseStat]

// inferredNote says where a phase comes from, where some phases of its track are inferred; empty where none is, and for
// what no phase covers.
func inferredNote(r *phaseRow) string {
	p := r.Item
	switch {
	case p.Inferred:
		return Origins[1]
	case p.Path == align.OtherPhase || !slices.ContainsFunc(r.Track.Phases, func(p align.PhaseStat) bool { return p.Inferred }):
		return ""
	}
	return Origins[0]
}

func hasGraphs(r *phaseRow) bool { return r.Track.Total.GPU.Graphs > 0 }

// phases is the catalogue of phases. A phase has each figure twice: its median and its highest over the iterations.
var phases = slices.Concat(trackColumns[align.PhaseStat](), []Column[*phaseRow]{
	{Key: "path", Head: "phase", Text: func(r *phaseRow) string { return r.Item.Path }},
	{Key: "indented", Head: "phase", Text: func(r *phaseRow) string {
		return strings.Repeat("  ", min(max(r.Item.Depth-1, 0), 8)) + r.Item.Name
	}},
	{Key: "path_note", Head: "phase", Text: func(r *phaseRow) string {
		if r.Item.Inferred {
			return r.Item.Path + " (inferred)"
		}
		return r.Item.Path
	}},
	{Key: "name", Text: func(r *phaseRow) string { return r.Item.Name }},
	{Key: "depth", Head: "depth", Unit: ID, Int: func(r *phaseRow) int64 { return int64(r.Item.Depth) }},
	{Key: "from", Head: "from", Unit: Origin, Int: func(r *phaseRow) int64 { return one(r.Item.Inferred) }},
	{Key: "from_note", Head: "from", Text: inferredNote},
	{Key: "iterations", Head: "steady iterations", Unit: Count, Int: func(r *phaseRow) int64 { return int64(r.Item.Iterations) }},
	{Key: "calls", Head: "calls", Unit: Count, Of: "median", Int: func(r *phaseRow) int64 { return int64(r.Item.Calls) }},
	{Key: "duration_ns", Head: "time", Unit: Time, Of: "median", Int: func(r *phaseRow) int64 { return r.Item.DurationNS }},
	{Key: "some_graphs", Head: "graphs", Unit: Count, Of: "median", Int: func(r *phaseRow) int64 { return r.Item.Median.GPU.Graphs },
		Has: hasGraphs},
	{Key: "some_graph_ns", Head: "graph time", Unit: Time, Of: "median", Int: func(r *phaseRow) int64 { return r.Item.Median.GPU.GraphNS },
		Has: hasGraphs},
},
	useColumns("median.", "median", medianUse, (*phaseRow).collected),
	useColumns("max.", "max", maxUse, (*phaseRow).collected),
	heldColumns("held.median.", "median", medianUse),
	heldColumns("held.max.", "max", maxUse))

// held is the level that tells phases apart: what tensors hold where a snapshot says it, for the device level is flat under
// a cache.
func held(r *phaseRow, u *align.Use) *align.MemoryUse {
	if r.Track.HasTensorLevels() {
		if m := u.Level(align.LevelAllocated); m != nil {
			return m
		}
	}
	return &u.Memory
}

// HeldNeed is the highest need of a phase in an iteration, in bytes of the level that tells phases apart.
func HeldNeed(r *Row[align.PhaseStat]) int64 { return held(r, &r.Item.Max).Need }

// heldColumns are the figures of that level.
func heldColumns(key, of string, use func(r *phaseRow) *align.Use) []Column[*phaseRow] {
	return part[*phaseRow, align.MemoryUse]{key: key, of: of, collected: (*phaseRow).collected, needs: knowsMemory,
		use: func(r *phaseRow) *align.MemoryUse { return held(r, use(r)) }}.columns(Memory)
}

func medianUse(r *phaseRow) *align.Use { return &r.Item.Median }

func maxUse(r *phaseRow) *align.Use { return &r.Item.Max }

var phaseTables = define(phases, Views{
	Terminal: "indented:0/14, max.peak_bytes=peak max, median.net_bytes:2, median.need_bytes:1, max.need_bytes:3=need max, " +
		"duration_ns:5, median.kernels:6, median.kernel_ns:4, some_graphs:5, some_graph_ns:5, calls:8, iterations:9=iterations, from_note:7",
	Markdown: "path_note, iterations=Iterations, calls, median.net_bytes=Net (median), median.need_bytes=Need (median), " +
		"max.need_bytes=Need (max), max.peak_bytes=Peak (max), duration_ns=Time (median), median.kernels, median.kernel_ns, " +
		"some_graphs=Graphs (median), some_graph_ns=Graph time (median)",
	JSON: "path, name, depth, from, iterations, calls, duration_ns",
	Workbook: "pid, device, path, depth, from, iterations, calls, duration_ns, median.start_bytes, median.end_bytes, " +
		"median.net_bytes, max.net_bytes, median.peak_bytes, max.peak_bytes, median.need_bytes, max.need_bytes, " +
		"median.allocs, max.allocs, median.kernels, max.kernels, median.kernel_ns, max.kernel_ns, median.busy_ns, median.graphs, median.graph_ns, " +
		"median.h2d_bytes=Copies to device, median.api_alloc_ns, median.api_sync_ns, " +
		"median.net_bytes!, median.peak_bytes!, max.peak_bytes!, median.need_bytes!, max.need_bytes!",
}, Views{
	Workbook: "pid, device, path~, from, held.max.peak_bytes, held.max.need_bytes, held.median.need_bytes, held.median.net_bytes, " +
		"duration_ns, median.kernels, median.kernel_ns",
})

// Phases has a row for each phase of a track, PhasePeaks has some of them, with the level that tells phases apart.
var (
	Phases     = phaseTables[0]
	PhasePeaks = phaseTables[1]
)
