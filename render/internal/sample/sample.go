// Package sample makes a report for the tests of the renderers. Its figures agree with each other as a real report's
// do, and it holds what is easily got wrong: two tracks, names that hurt, a truncated iteration, a phase called twice.
package sample

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/findings"
)

// Hostile names: formulas, control characters, a terminal escape, text that turns its direction, bad UTF-8, wide runes.
var Hostile = []string{
	`=HYPERLINK("http://x","y")`, "+1", "-x", "@a", "\t=1", "\r=1", "a,b\"c", "esc\x1b[31mred\x1b]0;t\x07", "x\u202ey", "bad\xff\xfe",
	"日本語の名前", "a|b`c`<b>*d*", "line\nbreak", "nul\x00\x01",
}

const (
	mib = 1 << 20
	ms  = 1_000_000
)

// Report makes a report of two tracks with the given number of iterations each. Everything is collected.
func Report(iterations int) *findings.Report {
	aligned := &align.Report{
		Source: align.Source{
			Path: "runs/train.sqlite", NsysVersion: "2025.3.2.0", SchemaVersion: "3.20.3", StartUTC: 1_760_000_000_000_000_000,
			Start: 50 * ms, End: int64(iterations+2)*100*ms + 50*ms, OS: "Ubuntu 24.04.3 LTS", Driver: "580.159.04", CUDADriver: "13.0",
		},
		Collected: align.Collected{Memory: true, NVTX: true, Kernels: true, API: true, Copies: true},
		Families: []align.Family{
			{PID: 734, TID: 735, Pattern: "iteration #", Count: iterations, Total: int64(iterations) * 90 * ms, Launches: 0.98, Chosen: true, Why: "named as iterations are, holds 98 % of the launches"},
			{PID: 734, TID: 735, Pattern: "layer#", Count: 3 * iterations, Total: int64(iterations) * 20 * ms, Launches: 0.31, Why: "lies within others"},
		},
	}
	rep := &findings.Report{
		Report: aligned,
		Findings: []findings.Finding{
			{ID: "growth", Severity: findings.Warn, Text: "the level at the end of an iteration rises by 1.00 MiB from step to step since iteration 2",
				Advice: "look at Live at end for blocks that are born in forward", Evidence: riseEvidence{int64(mib), 2, []string{"forward"}}},
			{ID: "failed", Severity: findings.Error, Text: "2 allocations failed", Evidence: callEvidence{2}},
		},
		Warnings: []findings.Warning{{Code: "diagnostic", Text: "the profiler says: 12 events were dropped"}},
	}
	rep.Tracks = append(rep.Tracks, track(734, "python3", iterations), track(900, "python3", 2))
	rep.Tracks[1].Failed, rep.Tracks[1].Ranges = nil, nil
	rep.Tracks[1].Levels[0].FailedAllocs = 0
	return rep
}

// riseEvidence and callEvidence are figures behind the sample's findings.
type (
	riseEvidence struct {
		Bytes  int64    `json:"bytes_per_iteration"`
		Since  int      `json:"since"`
		Phases []string `json:"phases"`
	}
	callEvidence struct {
		Calls int `json:"calls"`
	}
)

// Hurt gives the report's first iterations and phases hostile names.
func Hurt(rep *findings.Report) {
	t := rep.Tracks[0]
	for i := range t.Iterations {
		it := &t.Iterations[i]
		it.Name = Hostile[i%len(Hostile)]
		for j := range it.Phases {
			if it.Phases[j].Path != align.OtherPhase {
				it.Phases[j].Name = Hostile[(i+j)%len(Hostile)]
				it.Phases[j].Path = it.Phases[j].Name
			}
		}
	}
	for i := range t.Blocks {
		t.Blocks[i].Phase = Hostile[i%len(Hostile)]
	}
	for i := range t.Kernels {
		t.Kernels[i].Name = Hostile[i%len(Hostile)]
	}
	rep.Warnings = append(rep.Warnings, findings.Warning{Code: "hostile", Text: Hostile[7]})
}

// Infer gives the report's first track iterations and phases that are inferred, and takes out the other tracks.
func Infer(rep *findings.Report) {
	rep.Tracks = rep.Tracks[:1]
	t := rep.Tracks[0]
	t.IterationsFrom.How = "kernels"
	for i := range t.Iterations {
		for j := range t.Iterations[i].Phases {
			t.Iterations[i].Phases[j].Inferred = true
		}
	}
	for i := range t.Phases {
		t.Phases[i].Inferred = true
	}
}

func use(start, peak, end, at int64, kernels int64) align.Use {
	return align.Use{
		Memory: align.MemoryUse{Start: start, End: end, Net: end - start, Peak: peak, PeakAt: at, Need: peak - start,
			Allocs: 3, AllocBytes: peak - start, Frees: 2, FreeBytes: peak - end},
		GPU: align.GPUUse{Kernels: kernels, KernelNS: kernels * 12_345, BusyNS: kernels * 12_000, Copies: 2, H2D: 4 * mib, D2H: 4,
			MemcpyNS: 77_000, Memsets: 1, MemsetBytes: 512, MemsetNS: 900},
		API:   align.APIUse{Calls: kernels + 5, AllocNS: 250_000, FreeNS: 90_001, SyncNS: 5 * ms},
		Other: []align.LevelUse{{Level: "pinned", MemoryUse: align.MemoryUse{Start: mib, End: mib, Peak: mib, PeakAt: at}}},
	}
}

func track(pid int64, process string, n int) *align.Track {
	t := &align.Track{PID: pid, Process: process, Device: 0, DeviceName: "NVIDIA H200", DeviceUUID: "GPU-1", DeviceTotal: 150_109_880_320}
	base := int64(100*mib + 3)
	peak, peakAt := int64(0), int64(0)
	for i := 0; i < n; i++ {
		at := int64(i+1)*100*ms + 50*ms
		start := base + int64(i)*mib
		it := align.Iteration{Index: i, Name: fmt.Sprintf("iteration %d", i), Start: at, End: at + 90*ms, Warmup: i == 0, Truncated: i > 1 && i == n-1}
		top := start + 300*mib
		it.Use = use(start, top, start+mib, at+40*ms, 30)
		if top > peak {
			peak, peakAt = top, at+40*ms
		}
		forward := use(start, start+200*mib, start+150*mib, at+20*ms, 10)
		layer := use(start, start+60*mib, start+50*mib, at+12*ms, 6)
		backward := use(start+150*mib, top, start+mib, at+40*ms, 19)
		other := use(start, start, start, at, 1)
		it.Phases = []align.Phase{
			{Path: "forward", Name: "forward", Depth: 1, Calls: 1, Start: at + ms, End: at + 30*ms, Duration: 29 * ms, Use: forward},
			{Path: "forward/layer0", Name: "layer0", Depth: 2, Calls: 2, Start: at + 5*ms, End: at + 25*ms, Duration: 15 * ms, Use: layer},
			{Path: "backward", Name: "backward", Depth: 1, Calls: 1, Inferred: true, Start: at + 30*ms, End: at + 80*ms, Duration: 50 * ms, Use: backward},
			{Path: align.OtherPhase, Name: align.OtherPhase, Depth: 1, Calls: 1, Start: at, End: at + 90*ms, Duration: 11 * ms, Use: other},
		}
		t.Iterations = append(t.Iterations, it)
		t.Blocks = append(t.Blocks,
			align.Block{Start: at + 3*ms, End: at + 70*ms, Address: 0x7f00_0000_0000 + uint64(i)<<28, Bytes: 200 * mib, Kind: "device", MemKind: "device", Stream: 7,
				Call: "cudaMalloc", FreeCall: "cudaFree", Iteration: i, Phase: "forward", EndIteration: i, EndPhase: "backward"},
			align.Block{Start: at + 9*ms, End: align.Never, Address: 0xffff_8000_0000_0000 + uint64(i)<<21, Bytes: mib, Kind: "device", MemKind: "device", Stream: -1,
				Call: "cudaMalloc", Iteration: i, Phase: "forward/layer0", EndIteration: -1})
	}
	t.Blocks = append(t.Blocks, align.Block{Start: align.Never, End: align.Never, Address: 0x10, Bytes: 3, Kind: "pinned", MemKind: "pinned", Stream: -1, Iteration: -1, EndIteration: -1})
	t.LiveAtPeak = append(t.LiveAtPeak, t.Blocks[0])
	t.LiveAtEnd = append(t.LiveAtEnd, t.Blocks[1])
	last := t.Iterations[n-1]
	t.Levels = []align.Level{
		{Kind: "device", Peak: peak, PeakAt: peakAt, End: last.Memory.End, Baseline: 3, Allocs: int64(3 * n), AllocBytes: int64(n) * 300 * mib,
			Frees: int64(2 * n), FreeBytes: int64(n) * 299 * mib, UnmatchedFrees: 1, FailedAllocs: 2, Partial: true},
		{Kind: "pinned", Peak: mib, PeakAt: 60 * ms, End: mib, Allocs: 1, AllocBytes: mib},
	}
	t.Pool = &align.Pool{PeakSize: 64 * mib, PeakUsed: 40 * mib, EndSize: 32 * mib, EndUsed: 0, Pools: 1}
	t.IterationsFrom = align.IterationsFrom{How: "nvtx", Pattern: "iteration #", Confidence: 1, Count: n, TID: 735, Why: "named as iterations are, holds 98 % of the launches", Gaps: []int{4}}
	for i, p := range t.Iterations[min(1, n-1)].Phases {
		t.Phases = append(t.Phases, align.PhaseStat{Path: p.Path, Name: p.Name, Depth: p.Depth, Inferred: p.Inferred, Iterations: n - 2, Calls: p.Calls,
			DurationNS: p.Duration, Median: p.Use, Max: t.Iterations[n-1].Phases[i].Use})
	}
	t.Ranges = []align.RangeUse{{Name: "model_init", TID: 735, Start: 60 * ms, End: 140 * ms, Duration: 80 * ms, Use: use(3, 100*mib+3, 100*mib+3, 130*ms, 4)}}
	t.Attribution = align.Attribution{Kernels: int64(30*n + 4), SameThread: int64(11*n + 4), OtherThread: int64(19 * n)}
	t.Total = use(3, peak, last.Memory.End, peakAt, int64(30*n+4))
	t.Failed = []align.FailedAlloc{
		{Time: last.Start + 2*ms, Duration: 40_000, TID: 735, Call: "cudaMalloc", Return: 2, Iteration: n - 1, Phase: "forward", Level: 123*mib + 4},
		{Time: 70 * ms, Duration: 40_000, TID: 735, Call: "cudaMalloc", Return: 2, Iteration: -1, Range: "model_init", Level: 7 * mib},
	}
	t.Kernels = []align.KernelStat{
		{Path: "forward", Where: "iteration", Name: "gemm_kernel", Count: int64(6 * n), NS: int64(n) * 70_001, MinNS: 9_001, MaxNS: 14_000},
		{Path: "backward", Where: "iteration", Name: "gemm_kernel", Count: int64(19 * n), NS: int64(n) * 230_000, MinNS: 9_000, MaxNS: 15_000},
		{Path: "", Where: "none", Name: "init_kernel", Count: 4, NS: 4_000, MinNS: 1_000, MaxNS: 1_000},
	}
	t.Copies = []align.CopyStat{{Path: "forward", Where: "iteration", Kind: "host to device", Count: int64(2 * n), Bytes: int64(n) * 4 * mib, NS: int64(n) * 77_000}}
	t.Calls = []align.CallStat{{Path: "forward", Where: "iteration", Name: "cudaMalloc", Count: int64(3 * n), NS: int64(n) * 250_000, MaxNS: 100_000, Failed: 1}}
	return t
}
