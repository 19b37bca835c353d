package align

import (
	"strings"
	"testing"

	"nsysmem/nsysdb"
)

// rowAt makes a row of the device level: its highest bytes, when, and its need.
func rowAt(path string, peak, at, need int64) Phase {
	return Phase{Path: path, Name: path[strings.LastIndexByte(path, '/')+1:], Depth: 1 + strings.Count(path, "/"),
		Use: Use{Memory: MemoryUse{Start: peak - need, Peak: peak, PeakAt: at, Need: need}}}
}

// TestPeakBy: of phases that come within 1 % of a peak, the one that took the memory made it.
func TestPeakBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		top    Phase // the iteration
		phases []Phase
		want   string
		at     int64
	}{
		{"clear", rowAt("it", 1000, 5, 900), []Phase{rowAt("forward", 980, 4, 880), rowAt("backward", 1000, 5, 20)}, "backward", 5},
		{"tie", rowAt("it", 1000, 5, 900), []Phase{rowAt("forward", 990, 4, 890), rowAt("backward", 1000, 5, 20)}, "forward (tie: backward)", 4},
		{"just no tie", rowAt("it", 1000, 5, 900), []Phase{rowAt("forward", 989, 4, 889), rowAt("backward", 1000, 5, 20)}, "backward", 5},
		{"tie that the first made", rowAt("it", 1000, 4, 900), []Phase{rowAt("forward", 1000, 4, 900), rowAt("backward", 995, 5, 20)}, "forward (tie: backward)", 4},
		{"one that took next to nothing", rowAt("it", 1000, 5, 900), []Phase{rowAt("data", 999, 3, 0), rowAt("forward", 999, 4, 900), rowAt("optimizer", 1000, 5, 1)}, "forward", 4},
		{"three", rowAt("it", 1000, 5, 300), []Phase{rowAt("a", 995, 3, 100), rowAt("b", 999, 4, 110), rowAt("c", 1000, 5, 90)}, "b (tie: a, c)", 4},
		{"equal needs", rowAt("it", 1000, 5, 300), []Phase{rowAt("a", 1000, 4, 100), rowAt("b", 1000, 5, 100)}, "b (tie: a)", 5},
		{"layers", rowAt("it", 1000, 5, 30), []Phase{rowAt("forward", 1000, 5, 30), rowAt("forward/0", 980, 3, 10), rowAt("forward/1", 990, 4, 11),
			rowAt("forward/2", 1000, 5, 10), rowAt("backward", 980, 6, 0)}, "forward/2", 5},
		{"innermost of the taker", rowAt("it", 1000, 5, 900), []Phase{rowAt("forward", 995, 4, 890), rowAt("forward/0", 400, 3, 400), rowAt("forward/1", 995, 4, 500),
			rowAt("backward", 1000, 5, 20), rowAt("backward/1", 1000, 5, 20)}, "forward/1 (tie: backward)", 4},
		{"phases below one range", rowAt("it", 1000, 5, 900), []Phase{rowAt("step", 1000, 5, 900), rowAt("step/forward", 995, 4, 890),
			rowAt("step/backward", 1000, 5, 20)}, "step/forward (tie: step/backward)", 4},
		{"outside of phases", rowAt("it", 1000, 5, 900), []Phase{rowAt("forward", 995, 4, 200), rowAt(OtherPhase, 1000, 5, 800)}, "(other)", 5},
		{"outside of phases, in the range of them", rowAt("it", 1000, 5, 900), []Phase{rowAt("step", 1000, 5, 900), rowAt("step/a", 995, 4, 800),
			rowAt("step/b", 995, 4, 10)}, "step", 5},
		{"names that begin alike", rowAt("it", 1000, 5, 900), []Phase{rowAt("for", 995, 4, 890), rowAt("forward", 1000, 5, 20)}, "for (tie: forward)", 4},
		{"flat", rowAt("it", 1000, 1, 0), []Phase{rowAt("forward", 1000, 1, 0)}, AtStart, 1},
		{"no phases", rowAt("it", 1000, 5, 900), nil, "", 0},
	} {
		it := Iteration{Use: c.top.Use, Phases: c.phases}
		by := it.PeakBy(LevelDevice)
		if by.String() != c.want || by.At != c.at {
			t.Errorf("%s: %s at %d, want %s at %d", c.name, by, by.At, c.want, c.at)
		}
	}
	it := Iteration{Use: rowAt("it", 10, 5, 9).Use, Phases: []Phase{rowAt("forward", 10, 5, 9)}}
	if by := it.PeakBy(LevelPinned); by.String() != "" {
		t.Errorf("of a level that is not there: %s", by)
	}
}

// TestPeakStatic: static memory of modules, loaded in the optimizer, moves the peak's bytes and not what made it.
func TestPeakStatic(t *testing.T) {
	t.Parallel()
	load := func(s *script, kind, bytes int64) *script {
		s.mem(3000+650, procP, 0, 0x9000, bytes, kind, nsysdb.OpAlloc, null) // in the optimizer of iteration 2
		return s
	}
	steps := func() *script {
		return loop(t, 4, func(s *script, i, at int64) {
			s.alloc(at+150, tid(procP, 1), 10*i+1, 0x1000, 100_000) // in forward, which is freed in the optimizer
			s.alloc(at+450, tid(procP, 1), 10*i+2, 0x2000, 10)
			s.free(at+700, tid(procP, 1), 10*i+3, 0x1000, 100_000)
			s.free(at+710, tid(procP, 1), 10*i+4, 0x2000, 10)
		})
	}
	tr := onlyTrack(t, load(steps(), nsysdb.KindDeviceStatic, 1028).report(Options{}))
	it := &tr.Iterations[2]
	equal(t, "peak", it.Memory.Peak, 101_038)
	equal(t, "peak at", it.Memory.PeakAt, 3650)
	equal(t, "made by", it.PeakBy(LevelDevice).String(), "forward")
	equal(t, "made at", it.PeakBy(LevelDevice).At, 3150)
	equal(t, "own peak", it.Own.Bytes, 100_010)
	equal(t, "own need", it.Own.Need, 100_010)
	_, by := tr.PeakPlace(tr.Level(LevelDevice))
	equal(t, "track's peak", by.Phase, "forward")
	equal(t, "track's static memory", tr.Level(LevelDevice).StaticBytes, 1028)
	equal(t, "of it in next", tr.Iterations[3].Own.Bytes, 100_010)
	equal(t, "peak of next", tr.Iterations[3].Memory.Peak, 101_038)

	// The same bytes as the program's own, a little more than 1 %, are the optimizer's doing.
	tr = onlyTrack(t, load(steps(), nsysdb.KindDevice, 1028).report(Options{}))
	equal(t, "made by, own", tr.Iterations[2].PeakBy(LevelDevice).String(), "optimizer")
	if tr.Iterations[2].Own != nil {
		t.Errorf("an own level without static memory: %+v", tr.Iterations[2].Own)
	}
}

// TestPeakPlaceStatic: modules that are loaded late do not take the run's peak to their iteration; of a device with nothing
// but modules, the phase that loads them made it.
func TestPeakPlaceStatic(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		s := loop(t, 4, func(s *script, i, at int64) {
			if i == 0 && own {
				s.alloc(at+150, tid(procP, 1), 10, 0x1000, 100_000)
			}
			if i == 3 {
				s.mem(at+450, procP, 0, 0x9000, 1028, nsysdb.KindDeviceStatic, nsysdb.OpAlloc, null)
			}
		})
		tr := onlyTrack(t, s.report(Options{}))
		it, by := tr.PeakPlace(tr.Level(LevelDevice))
		want, phase := 3, "optimizer"
		if own {
			want, phase = 0, "forward"
			equal(t, "peak of the last", tr.Iterations[3].PeakPhase(LevelDevice), AtStart)
		}
		equal(t, "iteration", it.Index, want)
		equal(t, "phase", by.Phase, phase)
	}
}

// TestStaticCounts: allocations of static memory are counted among all and apart, for the phase of the call that loads them.
func TestStaticCounts(t *testing.T) {
	t.Parallel()
	s := loop(t, 4, func(s *script, i, at int64) {
		if i == 1 {
			s.rt(at+150, at+160, tid(procP, 1), 77, "cuModuleLoadData")
			s.mem(at+155, procP, 0, 0x9000, 30, nsysdb.KindDeviceStatic, nsysdb.OpAlloc, 77)
			s.mem(at+156, procP, 0, 0xa000, 12, nsysdb.KindDeviceStatic, nsysdb.OpAlloc, 77)
			s.alloc(at+170, tid(procP, 1), 78, 0x1000, 100)
		}
	})
	tr := onlyTrack(t, s.report(Options{}))
	for i, want := range []MemoryUse{{}, {Allocs: 3, AllocBytes: 142, StaticAllocs: 2, StaticAllocBytes: 42}} {
		for _, m := range []*MemoryUse{&tr.Iterations[i].Memory, &tr.Iterations[i].Phases[0].Memory} {
			got := MemoryUse{Allocs: m.Allocs, AllocBytes: m.AllocBytes, StaticAllocs: m.StaticAllocs, StaticAllocBytes: m.StaticAllocBytes}
			equal(t, "counts", got, want)
		}
	}
	equal(t, "of the track", tr.Total.Memory.StaticAllocs, 2)
	equal(t, "bytes of the track", tr.Total.Memory.StaticAllocBytes, 42)
}
