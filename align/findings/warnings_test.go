package findings

import (
	"slices"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// sound makes a report without a doubt.
func sound() *align.Report {
	return &align.Report{
		Collected: align.Collected{Memory: true, NVTX: true, Kernels: true, API: true, Copies: true},
		Recording: align.Recording{MemoryEvents: 5, MemoryKinds: true, Launches: 3},
		Tracks: []*align.Track{{PID: 7, Device: 1, Levels: []align.Level{{Kind: "device"}, {Kind: "pinned"}},
			Tensors: &tensor.Memory{From: "snapshot", Replay: &torchmem.Replay{}, Clock: &tensor.Clock{Matched: 9, Segments: 10}}}},
	}
}

// TestWarnings checks that each doubt is told, and nothing else.
func TestWarnings(t *testing.T) {
	if got := Of(sound()).Warnings; len(got) > 0 {
		t.Fatalf("warnings %v", got)
	}
	for _, c := range []struct {
		doubt func(r *align.Report)
		pid   int64
		code  string
		text  string
	}{
		{func(r *align.Report) {
			r.Recording.File = []nsysdb.Warning{{Code: "newer-schema", Text: "100 %s newer"}}
		}, 0, "newer-schema", "100 %s newer"},
		{func(r *align.Report) {
			r.Recording.Diagnostics = []align.Diagnostic{{Severity: "error", Text: "lost", Count: 1}}
		}, 0, "profiler_error", "the profiler said: lost"},
		{func(r *align.Report) { r.Recording.WholeGraphs = true }, 0, "graphs_whole", "--cuda-graph-trace=node"},
		{func(r *align.Report) { r.Collected.Memory = false }, 0, "memory_not_collected", "--cuda-memory-usage=true"},
		{func(r *align.Report) { r.Recording.MemoryEvents = 0 }, 0, "no_memory_events", "none in the recorded time"},
		{func(r *align.Report) { r.Recording.MemoryKinds = false }, 0, "no_memory_kind", "cannot be told apart"},
		{func(r *align.Report) { r.Collected.Kernels, r.Collected.Launches = false, 3210 }, 0, "no_gpu_activity",
			"CUDA launches were traced (3,210 calls), GPU activity was not: as under WSL, in containers without CUPTI permissions (ERR_NVGPUCTRPERM)"},
		{func(r *align.Report) { r.Collected.Memory, r.Collected.Allocs = false, 4 }, 0, "memory_not_collected",
			"memory usage was to be recorded, but 4 allocations of device memory left no event"},
		{func(r *align.Report) { r.Collected.API = false }, 0, "api_not_collected", "-t cuda,nvtx"},
		{func(r *align.Report) { r.Collected.NVTX = false }, 0, "nvtx_not_collected", "-t cuda,nvtx"},
		{func(r *align.Report) { r.Recording.Unseen = []align.Unseen{{PID: 8, Calls: 4}} }, 8, "vmm_unseen", "process 8: 4 virtual-memory calls"},
		{func(r *align.Report) { r.Tracks[0].Levels[0].UnmatchedFrees, r.Tracks[0].Levels[0].Baseline = 2, 2*mib }, 7,
			"unmatched_frees", "process 7 device 1: 2 frees of device memory (2 MiB) have no allocation"},
		{func(r *align.Report) {
			r.Source.Start = 1_000_000_000
			r.Warnings = []align.Warning{{Code: align.TraceEnded, PID: 7, Count: 4, Time: 3_500_000_000, Name: "step 2",
				Events: []align.Events{align.EventsAPI, align.EventsGPU, align.EventsMemory}}}
		}, 7, "trace_ended", "process 7: CUDA API calls, kernels and memory events end at 2.500 s, in step 2, although the program goes on: the trace ended, and what they tell of the 4 iterations"},
		{func(r *align.Report) {
			r.Warnings = []align.Warning{{Code: align.KernelsLost, PID: 7, Count: 3, Name: "step 2"}}
		}, 7, "kernels_lost", "process 7: kernels are missing from 3 iterations, first from step 2,"},
		{func(r *align.Report) {
			r.Warnings = []align.Warning{{Code: align.MemoryLost, PID: 7, Count: 23}}
		}, 7, "memory_lost", "process 7: 23 allocations of device memory left no event"},
		{func(r *align.Report) { r.Tracks[0].Levels[1].LostFrees = 2 }, 7, "lost_frees", "process 7 device 1: 2 blocks of pinned memory"},
		{func(r *align.Report) { r.Tracks[0].Levels[1] = align.Level{Kind: "kind 9", Allocs: 2} }, 7, "unknown_kind", "2 allocations are of memory \"kind 9\""},
		{func(r *align.Report) { r.Tracks[0].Levels[1] = align.Level{Kind: "unknown", Allocs: 2} }, 7, "unknown_kind", "2 allocations are of memory \"unknown\""},
		{func(r *align.Report) { r.Tracks[0].Attribution = align.Attribution{Kernels: 5, NoLaunch: 2} }, 7, "no_launch", "2 of 5 kernels"},
		{func(r *align.Report) { r.Tracks[0].Tensors.Replay.Doubts.Cut = true }, 7, "snapshot_doubts", "began after the program did (true)"},
		{func(r *align.Report) { r.Tracks[0].Tensors.Replay.Doubts.LostFrees = 2 }, 7, "snapshot_doubts", "2 blocks lost"},
		{func(r *align.Report) { r.Tracks[0].Tensors.Clock.Matched = 8 }, 7, "snapshot_match", "only 8 of 10 segments"},
	} {
		r := sound()
		c.doubt(r)
		got := Of(r).Warnings
		if len(got) != 1 || got[0].PID != c.pid || got[0].Code != c.code || !strings.Contains(got[0].Text, c.text) {
			t.Errorf("%s: warnings %v, want %q", c.code, got, c.text)
		}
	}
}

// TestMet checks that each code of align has words, and their order.
func TestMet(t *testing.T) {
	r := sound()
	r.Tracks = nil
	r.Warnings = []align.Warning{
		{Code: align.UnknownEvents, Count: 2}, {Code: align.DamagedEvents, Count: 2}, {Code: align.MemoryColumns},
		{Code: align.DamagedRanges, Count: 2}, {Code: align.OpenRanges, Count: 2}, {Code: align.ClippedRanges, Count: 2},
		{Code: align.IterationGap, PID: 7, Numbers: []int{3, 5}, Pattern: "step #"}, {Code: align.Aside, PID: 7, Device: 1, Count: 2},
		{Code: "new"}, {Code: align.ClippedRanges, Count: 1},
	}
	var got []string
	for _, w := range Of(r).Warnings {
		got = append(got, w.Code+": "+w.Text[:min(len(w.Text), 28)])
	}
	want := []string{"aside: process 7 device 1: 2 kernel", "damaged_events: 2 memory events have no usab", "damaged_ranges: 2 ranges end at 0 or before ",
		"iteration_gap: process 7: numbers [3 5] are", "memory_columns: the memory table lacks a col", "new: new", "open_ranges: 2 ranges were never closed: ",
		"range_clipped: 1 ranges outlast their itera", "range_clipped: 2 ranges outlast their itera", "unknown_events: 2 memory events are neither "}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
