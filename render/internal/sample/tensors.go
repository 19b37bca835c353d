package sample

import (
	"nsysmem/align"
	"nsysmem/align/caller"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/align/theory"
)

// Tensors gives the report's first track what a snapshot of it would tell: levels, blocks, categories, who holds memory at
// the peak and at a failed request, memory outside, the cache, and theory. The figures are easily told apart.
func Tensors(rep *findings.Report) {
	t := rep.Tracks[0]
	level := func(u *align.Use, less int64) align.MemoryUse {
		m := u.Memory
		m.Start, m.End, m.Peak = m.Start-less, m.End-less, m.Peak-less
		return m
	}
	add := func(u *align.Use) {
		u.Other = append(u.Other, align.LevelUse{Level: "allocated", MemoryUse: level(u, 20*mib)}, align.LevelUse{Level: "reserved", MemoryUse: level(u, 7*mib)})
	}
	for i := range t.Iterations {
		it := &t.Iterations[i]
		for j := range it.Phases {
			add(&it.Phases[j].Use)
		}
		add(&it.Use)
	}
	for i := range t.Phases {
		add(&t.Phases[i].Median)
		add(&t.Phases[i].Max)
	}
	d := t.Levels[0]
	for _, x := range []struct {
		kind align.LevelKind
		less int64
	}{{"allocated", 20 * mib}, {"reserved", 7 * mib}} {
		l := align.Level{Kind: x.kind, Peak: d.Peak - x.less, PeakAt: d.PeakAt, End: d.End - x.less, Allocs: d.Allocs, Frees: d.Frees}
		t.Levels = append(t.Levels, l)
	}
	at := t.Iterations[1].Start
	ten := &tensor.Memory{From: "snapshot", File: "run.snapshot.pickle", Conf: "max_split_size_mb:128", Clock: &tensor.Clock{Offset: 1_234, Spread: 21_000, Matched: 18, Segments: 19}}
	ten.Blocks = []tensor.Block{
		{Start: align.Never, End: align.Never, Address: 0x7f00_0000_0000, Bytes: 863_176, Counted: 863_232, Category: "parameter", Rule: "module", Iteration: -1, EndIteration: -1, Lifetime: len(t.Iterations), Frame: "train.py:7 <module>"},
		{Start: at + 2*ms, End: at + 70*ms, Address: 0x7f00_4000_0000, Bytes: 200*mib - 3, Counted: 200 * mib, Stream: 7, Category: "activation", Rule: "saved", Iteration: 1, Phase: "forward", EndIteration: 1, EndPhase: "backward", Frame: "model.py:40 forward"},
		{Start: at + 40*ms, End: align.Never, Address: 0xffff_8000_0000_0000, Bytes: 860_576, Counted: 860_672, Stream: 0x7fff_0000_1234, Category: "gradient", Rule: "zero_grad", Iteration: 1, Phase: "backward", EndIteration: -1, Lifetime: 3},
	}
	ten.Categories = []tensor.CategoryUse{{Name: "parameter", Max: 863_176, AtPeak: 863_176}, {Name: "optimizer state", Max: 1_721_152, AtPeak: 1_721_152},
		{Name: "gradient", Max: 860_576}, {Name: "activation", Max: 200*mib - 3, AtPeak: 200*mib - 3}}
	hold := tensor.Holding{Time: at + 40*ms, Iteration: 1, Phase: "backward", Bytes: 863_176 + 1_721_152 + 200*mib - 3,
		ByFrame:    []tensor.Share{{Name: "model.py:40 forward", Blocks: 19, Bytes: 200*mib - 3}, {Name: tensor.NoFrame, Blocks: 44, Bytes: 1_721_152}, {Name: "train.py:7 <module>", Blocks: 37, Bytes: 863_176}},
		ByPhase:    []tensor.Share{{Name: "forward", Blocks: 19, Bytes: 200*mib - 3}, {Name: "optimizer", Blocks: 44, Bytes: 1_721_152}, {Name: "(before recording)", Blocks: 37, Bytes: 863_176}},
		ByCategory: []tensor.Share{{Name: "activation", Blocks: 19, Bytes: 200*mib - 3}, {Name: "optimizer state", Blocks: 44, Bytes: 1_721_152}, {Name: "parameter", Blocks: 37, Bytes: 863_176}}}
	ten.Peak = hold
	cache := tensor.Cache{Time: at + 50*ms, Iteration: 1, Phase: "backward", Request: 64 * mib, Allocated: 210 * mib, Reserved: 300 * mib, Free: 90 * mib, LargestFree: 40 * mib,
		Stuck: 88 * mib, DeviceFree: 12 * mib}
	failed := hold
	failed.Time, failed.Request, failed.Cache = cache.Time, cache.Request, &cache
	ten.Failures = []tensor.Holding{failed}
	ten.AtReserved = &tensor.Cache{Time: at + 45*ms, Iteration: 1, Phase: "backward", Allocated: 205 * mib, Reserved: 301 * mib, Free: 96 * mib, LargestFree: 41 * mib, Stuck: 55 * mib}
	ten.Growth = []tensor.Cache{{Time: 70 * ms, Iteration: -1, Phase: "model_init", Request: 6_912},
		{Time: at + 45*ms, Iteration: 1, Phase: "backward", Request: 50 * mib, Allocated: 205 * mib, Reserved: 250 * mib, Free: 60 * mib, LargestFree: 33 * mib, Stuck: 55 * mib}}
	ten.Outside = &tensor.Outside{Bytes: 67_266_308, Peak: 67_300_000, Static: 13_041, Blocks: 3, Takers: []tensor.Taker{
		{Caller: caller.Caller{Library: "cuBLAS", Function: "cublasCreate_v2"}, Call: "cudaMalloc", Iteration: 0, Phase: "forward", Blocks: 5, Bytes: 67_266_308, Live: 67_266_308},
		{Iteration: -1, Blocks: 1, Bytes: 33_692}},
		Libraries: []tensor.Library{{Name: "cuBLAS", Blocks: 5, Bytes: 67_266_308, AtPeak: 67_266_308, Live: 67_266_308}, {Blocks: 1, Bytes: 33_692, AtPeak: 33_692}}}
	t.Tensors = ten
	t.Libraries = []tensor.Library{{Name: "PyTorch", Blocks: 19, Bytes: 901 * mib, AtPeak: 301 * mib, Live: 103 * mib}, {Name: "train", Blocks: 1, Bytes: 5, AtPeak: 5},
		{Static: true, Blocks: 3, Bytes: 13_041, AtPeak: 13_041, Live: 13_041}}
	t.Theory = &theory.Need{Params: 215_144, DType: "float32", Optimizer: "adamw", Parameter: 860_576, Gradient: 860_576, State: 1_721_152}
}
