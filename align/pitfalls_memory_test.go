package align

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nsysmem/nsysdb"
)

func TestHostMemoryIsNotDeviceMemory(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, 0x1000, 1024, nsysdb.KindDevice, 0, 1)
	s.mem(15, procP, 0, 0x2000, 512, nsysdb.KindPinned, 0, 2)
	s.mem(16, procP, 0, 0x3000, 256, nsysdb.KindPageable, 0, 3)
	s.mem(17, procP, 0, 0x4000, 128, nsysdb.KindManagedStatic, 0, 4)
	s.mem(18, procP, 0, 0x5000, 64, nsysdb.KindArray, 0, 5)
	s.mem(19, procP, 0, 0x6000, 32, nsysdb.KindDeviceStatic, 0, 0)
	tr := onlyTrack(t, s.report(Options{}))
	var got []string
	for _, l := range tr.Levels {
		got = append(got, fmt.Sprint(l.Kind, " ", l.Peak))
	}
	if want := []string{"device 1120", "managed 128", "pinned 512", "pageable 256"}; !slices.Equal(got, want) {
		t.Errorf("levels %v, want %v", got, want)
	}
}

func TestManagedIsNotDeviceMemory(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.mem(30, procP, 0, 0x1000, 100<<30, nsysdb.KindManaged, 0, 1)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "device peak", tr.Level("device").Peak, 0)
	equal(t, "managed peak", tr.Level("managed").Peak, 100<<30)
	f := tr.use("iteration 0: forward")
	equal(t, "device allocations", f.Memory.Allocs, 0)
	if len(f.Other) != 1 || f.Other[0].Level != "managed" || f.Other[0].Need != 100<<30 || f.Other[0].Allocs != 1 {
		t.Errorf("managed in forward: %+v", f.Other)
	}
	equal(t, "live at the end", len(tr.LiveAtEnd), 1)
	equal(t, "live at the device's peak", len(tr.LiveAtPeak), 0)
}

func TestCaptureStartsInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(3, 10, "iteration 7", tid(procP, 1))
	s.mem(1, procP, 0, 0xA000, 64, 2, 1, 1)
	s.mem(5, procP, 0, 0xB000, 100, 2, 0, 2)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "level", *tr.Level("device"), Level{Kind: "device", Peak: 100, PeakAt: 5, End: 100, Baseline: 64, Allocs: 1, AllocBytes: 100,
		Frees: 1, FreeBytes: 64, UnmatchedFrees: 1, Partial: true})
	equalSteps(t, s, rep, "device", 64, 0, 100)
	m := tr.use("iteration 7").Memory
	equal(t, "start and peak", fmt.Sprint(m.Start, m.Peak, m.End), "0 100 100")
	equal(t, "blocks live before", tr.Blocks[0].Start, Never)
	if w := hasWarning(rep, "unmatched_frees"); !strings.Contains(w, "1 frees") || !strings.Contains(w, "64 B") {
		t.Errorf("warning %q", w)
	}
}

// A free without its allocation lifts all that came before it.
func TestUnmatchedFreeAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(10, 20, "iteration 0", tid(procP, 1))
	s.mem(12, procP, 0, 0xB000, 100, 2, 0, 2)
	s.mem(15, procP, 0, 0xB000, 100, 2, 1, 3)
	s.mem(30, procP, 0, 0xA000, 64, 2, 1, 4)
	s.mem(40, procP, 0, 0xA000, 64, 2, 1, 5) // freed twice: another block was there
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	m := tr.use("iteration 0").Memory
	equal(t, "start, peak, end", fmt.Sprint(m.Start, m.Peak, m.End), "128 228 128")
	equalSteps(t, s, rep, "device", 128, 228, 128, 64, 0)
	checkLaws(t, tr)
}

func TestLostFree(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, 0xA000, 100, 2, 0, 1)
	s.mem(20, procP, 0, 0xA000, 30, 2, 0, 2)
	s.mem(30, procP, 0, 0xA000, 30, 2, 1, 3)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	l := tr.Level("device")
	equal(t, "peak, end, lost", fmt.Sprint(l.Peak, l.End, l.LostFrees), "100 0 1")
	equalSteps(t, s, rep, "device", 0, 100, 0, 30, 0)
	if b := tr.Blocks[0]; !b.Lost || b.End != 20 {
		t.Errorf("block %+v", b)
	}
	if hasWarning(rep, "lost_frees") == "" {
		t.Errorf("lost frees are not told: %v", rep.Warnings)
	}
}

// What a free says of size and kind gives way to what its allocation said.
func TestFreeSaysOtherwise(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, 0xA000, 100, nsysdb.KindDevice, 0, 1)
	s.mem(20, procP, 0, 0xA000, 0, nsysdb.KindManaged, 1, 2)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "levels", len(tr.Levels), 1)
	equal(t, "end", tr.Level("device").End, 0)
	equal(t, "freed", tr.Level("device").FreeBytes, 100)
}

// loop is a program of n iterations with a forward phase of one kernel; f adds what an iteration does more.
func loop(t *testing.T, n int64, f func(s *script, i, at int64)) *script {
	s := newScript(t)
	s.table("CUDA_GPU_MEMORY_USAGE_EVENTS")
	for i := range n {
		at := 1000*i + 1000
		s.nv(at, at+900, fmt.Sprintf("iteration %d", i), tid(procP, 1))
		s.nv(at+100, at+400, "forward", tid(procP, 1))
		s.nv(at+400, at+800, "optimizer", tid(procP, 1))
		s.launch(at+200, tid(procP, 1), 1_000_000+i, at+210, at+300)
		f(s, i, at)
	}
	return s
}

func TestLiveAtEndIsNoLeak(t *testing.T) {
	t.Parallel()
	s := loop(t, 6, func(s *script, i, at int64) {
		if i == 0 {
			for k := int64(0); k < 3; k++ {
				s.alloc(at+150+10*k, tid(procP, 1), k+1, 0x1000*(k+1), 1000)
			}
			s.free(at+190, tid(procP, 1), 9, 0x1000, 1000)
		}
	})
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "live at the end", len(tr.LiveAtEnd), 2)
	equal(t, "level at the end", tr.Level("device").End, 2000)
	equal(t, "warm-up", tr.Iterations[0].Warmup, true)
	equal(t, "warm-up of the next", tr.Iterations[1].Warmup, false)
	if f := hasFinding(rep, "growth"); f != nil {
		t.Errorf("growth is told: %+v", f)
	}
	if hasFinding(rep, "flat_cache") == nil {
		t.Error("the flat level is not told")
	}
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	s := loop(t, 8, func(s *script, i, at int64) {
		if i == 0 {
			s.alloc(at+150, tid(procP, 1), 900, 0x900000, 50_000)
		}
		s.alloc(at+500, tid(procP, 1), i+1, 0x1000*(i+1), 1000)
	})
	rep := s.report(Options{})
	f := hasFinding(rep, "growth")
	if f == nil {
		t.Fatalf("growth is not told: %+v", rep.Warnings)
	}
	equal(t, "phase", f.Facts["phase"], any("optimizer"))
	equal(t, "an iteration", f.Facts["median_bytes"], any(int64(1000)))
	equal(t, "grown", f.Facts["grown_bytes"], any(int64(7000)))
	if hasFinding(rep, "flat_cache") != nil {
		t.Error("a growing level is called flat")
	}
}

func TestCachingAllocatorIsFlat(t *testing.T) {
	t.Parallel()
	s := loop(t, 8, func(s *script, i, at int64) {
		if i < 2 {
			s.alloc(at+150, tid(procP, 1), i+1, 0x1000*(i+1), 1000)
		}
	})
	rep := s.report(Options{})
	f := hasFinding(rep, "flat_cache")
	if f == nil || !strings.Contains(f.Text, "cache") || !strings.Contains(f.Advice, "snapshot") {
		t.Fatalf("finding %+v", f)
	}
	// A level that moves is not flat, even where it ends as it began.
	s = loop(t, 8, func(s *script, i, at int64) {
		s.alloc(at+150, tid(procP, 1), 2*i+1, 0x1000, 1000)
		s.free(at+500, tid(procP, 1), 2*i+2, 0x1000, 1000)
	})
	if f := hasFinding(s.report(Options{}), "flat_cache"); f != nil {
		t.Errorf("a moving level is called flat: %+v", f)
	}
}

func TestFailedAllocation(t *testing.T) {
	t.Parallel()
	s := loop(t, 3, func(s *script, i, at int64) {
		s.alloc(at+150, tid(procP, 1), 10*i+1, 0x1000*(i+1), 1000)
		if i == 1 {
			s.rts = append(s.rts, rtRow{at + 160, at + 170, tid(procP, 1), 10*i + 2, "cudaMalloc_v3020", 2},
				rtRow{at + 450, at + 451, tid(procP, 2), 10*i + 3, "cudaMalloc_v3020", 2},
				rtRow{at + 460, at + 461, tid(procP, 1), 10*i + 4, "cudaMallocHost_v3020", 2},
				rtRow{at + 470, at + 471, tid(procP, 1), 10*i + 5, "cudaMemGetInfo_v3020", 2},
				rtRow{at + 950, at + 951, tid(procP, 1), 10*i + 6, "cudaMalloc_v3020", 2})
		}
	})
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	var got []string
	for _, f := range tr.Failed {
		got = append(got, fmt.Sprint(f.Time, " ", f.Call, " ", f.Return, " ", f.Iteration, " ", f.Phase, f.Range, " ", f.Level))
	}
	want := []string{"2160 cudaMalloc 2 1 forward 2000", "2450 cudaMalloc 2 1 optimizer 2000", "2460 cudaMallocHost 2 1 optimizer 2000", "2950 cudaMalloc 2 -1  2000"}
	if !slices.Equal(got, want) {
		t.Errorf("failed: %q, want %q", got, want)
	}
	equal(t, "failed in forward", tr.use("iteration 1: forward").Memory.FailedAllocs, 1)
	equal(t, "failed in optimizer", tr.use("iteration 1: optimizer").Memory.FailedAllocs, 1)
	equal(t, "failed in all", tr.Level("device").FailedAllocs, 3)
	equal(t, "failed, pinned", tr.Level("pinned").FailedAllocs, 1)
	equal(t, "end", tr.Level("device").End, 3000)
	equal(t, "allocations", tr.Level("device").Allocs, 3)
	if hasFinding(rep, "failed_allocs") == nil {
		t.Errorf("findings %+v", rep.Warnings)
	}
	checkLaws(t, tr)

	// Levels are those just before the call, on top of what was there before the report.
	s = newScript(t)
	s.alloc(100, tid(procP, 1), 1, 0x1000, 1000)
	s.free(200, tid(procP, 1), 2, 0x1000, 1000)
	s.free(300, tid(procP, 1), 3, 0x2000, 70)
	for i, at := range []int64{50, 100, 150, 200, 201, 400} {
		s.rts = append(s.rts, rtRow{at, at + 1, tid(procP, 1), int64(10 + i), "cudaMalloc_v3020", 2})
	}
	got = got[:0]
	for _, f := range onlyTrack(t, s.report(Options{})).Failed {
		got = append(got, fmt.Sprint(f.Level))
	}
	if want := []string{"70", "70", "1070", "1070", "70", "0"}; !slices.Equal(got, want) {
		t.Errorf("levels %q, want %q", got, want)
	}
}

func TestPhaseWithoutEvents(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(5, procP, 0, 0x1000, 5<<30, 2, 0, 1)
	s.nv(10, 100, "iteration 0", tid(procP, 1))
	s.nv(20, 50, "forward", tid(procP, 1))
	tr := onlyTrack(t, s.report(Options{}))
	m := tr.use("iteration 0: forward").Memory
	equal(t, "forward", m, MemoryUse{Start: 5 << 30, End: 5 << 30, Peak: 5 << 30, PeakAt: 20})
}

// Events at the stamps at which a range begins and ends: the first are inside, the last outside.
func TestEventsAtTheEdges(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(10, 100, "iteration 0", tid(procP, 1))
	s.nv(20, 50, "forward", tid(procP, 1))
	s.mem(10, procP, 0, 0x1000, 1, 2, 0, 1)
	s.mem(20, procP, 0, 0x2000, 10, 2, 0, 2)
	s.mem(50, procP, 0, 0x3000, 100, 2, 0, 3)
	s.mem(100, procP, 0, 0x4000, 1000, 2, 0, 4)
	tr := onlyTrack(t, s.report(Options{}))
	f, it := tr.use("iteration 0: forward").Memory, tr.use("iteration 0").Memory
	equal(t, "forward", fmt.Sprint(f.Start, f.End, f.Net, f.Peak, f.Need), "1 11 10 11 10")
	equal(t, "iteration", fmt.Sprint(it.Start, it.End, it.Net, it.Peak, it.Need), "0 111 111 111 111")
}

func TestPhaseOfSeveralCalls(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(10, 100, "iteration 0", tid(procP, 1))
	s.nv(20, 30, "forward", tid(procP, 1))
	s.nv(40, 50, "forward", tid(procP, 1))
	s.nv(60, 70, "forward", tid(procP, 1))
	s.mem(22, procP, 0, 0x1000, 100, 2, 0, 1)
	s.mem(42, procP, 0, 0x2000, 500, 2, 0, 2)
	s.mem(44, procP, 0, 0x2000, 500, 2, 1, 3)
	s.mem(55, procP, 0, 0x3000, 300, 2, 0, 4) // between the calls
	s.mem(62, procP, 0, 0x4000, 250, 2, 0, 5)
	s.mem(64, procP, 0, 0x1000, 100, 2, 1, 6)
	tr := onlyTrack(t, s.report(Options{}))
	p := tr.Iterations[0].Phases[0]
	equal(t, "forward", p.Memory, MemoryUse{Start: 0, End: 550, Net: 250, Peak: 650, PeakAt: 62, Need: 500})
	equal(t, "calls", fmt.Sprint(p.Calls, p.Start, p.End, p.Duration), "3 20 70 30")
	equal(t, "the rest", tr.use("iteration 0: (other)").Memory.Net, 300)
}

func TestVirtualMemoryUnseen(t *testing.T) {
	t.Parallel()
	build := func(context int64) *Report {
		s := loop(t, 2, func(s *script, i, at int64) {
			for k := int64(0); k < 20; k++ {
				s.rt(at+120+k, at+121+k, tid(procP, 1), 100*i+k+1, "cuMemCreate")
			}
			s.alloc(at+500, tid(procP, 1), 900+i, 0x1000*(i+1), 1000)
		})
		s.mems[0].ctx = context
		return s.report(Options{})
	}
	if w := hasWarning(build(1), "vmm_unseen"); !strings.Contains(w, "40 virtual-memory calls") {
		t.Errorf("warning %q", w)
	}
	if w := hasWarning(build(vmmContext), "vmm_unseen"); w != "" {
		t.Errorf("warning %q although the rows are there", w)
	}
}

// pooled adds an allocation or a free that says what its pool is like.
func pooled(s *script, at, addr, bytes, op, pool, size, used, imported int64) {
	s.mems = append(s.mems, memRow{start: at, pid: procP, ctx: 1, addr: addr, bytes: bytes, kind: 2, op: op, corr: at,
		stream: 7, pool: pool, poolSize: size, poolUsed: used, imported: imported})
}

func TestPools(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	pooled(s, 10, 0x1000, 200<<20, 0, 0xF000, 1<<30, 200<<20, null)
	pooled(s, 20, 0x2000, 100<<20, 0, 0xE000, 2<<30, 100<<20, 0) // 0 stands for none
	pooled(s, 30, 0x1000, 200<<20, 1, 0xF000, 1<<30, 0, null)
	pooled(s, 40, 0x3000, 50<<20, 0, 0xF000, null, null, null) // nothing new said
	pooled(s, 50, 0x4000, 9<<20, 0, 0xF000, 64<<30, 64<<30, 0xABC)
	pooled(s, 60, 0x5000, 1<<20, 0, 0, 5<<30, 5<<30, null)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	if tr.Pool == nil {
		t.Fatal("no pool")
	}
	equal(t, "pool", *tr.Pool, Pool{PeakSize: 3 << 30, PeakUsed: 300 << 20, EndSize: 3 << 30, EndUsed: 100 << 20, Pools: 2})
	equal(t, "device peak", tr.Level("device").Peak, 300<<20)
	equalSteps(t, s, rep, "pool size", 0, 1<<30, 3<<30, 3<<30, 3<<30)
	equalSteps(t, s, rep, "pool used", 0, 200<<20, 300<<20, 100<<20, 100<<20)
}

func TestPoolEvents(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	pooled(s, 10, 0x1000, 200, 0, 0xF000, 1000, 200, null)
	pooled(s, 50, 0x1000, 200, 1, 0xF000, 1000, 0, null)
	s.sql("CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, address INTEGER, operationType INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER)")
	s.sql("INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (60, %d, 0, 61440, 3, 400, 0), (5, %d, 0, 61440, 1, 4000, 0), (70, %d, 0, 61440, 2, 400, 0)",
		int64(procP)<<24, int64(procP)<<24, int64(procP)<<24)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "pool", *tr.Pool, Pool{PeakSize: 4000, PeakUsed: 200, EndSize: 0, EndUsed: 0, Pools: 1})
	c := curve(t, s.path, rep, tr, "pool size", 0)
	hi, last := int64(0), int64(0)
	for _, p := range c.Points {
		hi, last = max(hi, p.High), p.Last
	}
	equal(t, "highest and last of the curve", fmt.Sprint(hi, last), "4000 0")
}

// A level that is flat because nothing runs is no cache.
func TestNoMemoryAtAll(t *testing.T) {
	t.Parallel()
	rep := loop(t, 4, func(*script, int64, int64) {}).report(Options{})
	if f := hasFinding(rep, "flat_cache"); f != nil {
		t.Errorf("finding %+v", f)
	}
}
