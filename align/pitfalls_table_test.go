package align

import (
	"strings"
	"testing"

	"nsysmem/nsysdb"
)

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// steps are the levels that a curve takes one after the other.
func steps(c *Curve) []int64 {
	out := []int64{c.Before}
	for _, p := range c.Points {
		out = append(out, p.Last)
	}
	return out
}

func equalSteps(t *testing.T, s *script, rep *Report, kind LevelKind, want ...int64) {
	t.Helper()
	c := curve(t, s.path, rep, rep.Tracks[0], kind, 0)
	if c == nil {
		t.Fatalf("no curve of %s", kind)
	}
	got := steps(c)
	if len(got) != len(want) {
		t.Fatalf("curve of %s: %v, want %v", kind, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("curve of %s: %v, want %v", kind, got, want)
		}
	}
}

// step is a small program: one iteration with a forward phase and a kernel.
func step(t *testing.T) *script {
	s := newScript(t)
	s.nv(10, 100, "iteration 0", tid(procP, 1))
	s.nv(20, 50, "forward", tid(procP, 1))
	s.launch(30, tid(procP, 1), 1, 60, 70)
	return s
}

func TestMemoryTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		setting   string
		table     bool
		collected bool
		warning   string
	}{
		{"flag left out", "false", false, false, "memory_not_collected"},
		{"nothing said", "", false, false, "memory_not_collected"},
		{"no allocation came", "true", false, true, "no_memory_events"},
		{"no rows", "", true, true, "no_memory_events"},
		{"no rows, but not wanted", "false", true, false, "memory_not_collected"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := step(t)
			if test.setting != "" {
				s.capture("COLLECT_GPU_MEMORY_USAGE", test.setting)
			}
			if test.table {
				s.table("CUDA_GPU_MEMORY_USAGE_EVENTS")
			}
			rep := s.report(Options{})
			tr := onlyTrack(t, rep)
			equal(t, "collected", rep.Collected.Memory, test.collected)
			if hasWarning(rep, test.warning) == "" {
				t.Errorf("no warning %s: %v", test.warning, rep.Warnings)
			}
			equal(t, "a device level is there", tr.Level("device") != nil, test.collected)
			// The rest is made all the same.
			equal(t, "iterations", len(tr.Iterations), 1)
			equal(t, "kernels of forward", tr.use("iteration 0: forward").GPU.Kernels, 1)
			if test.collected {
				equal(t, "level", *tr.Level("device"), Level{Kind: "device", PeakAt: rep.Source.Start})
			}
		})
	}
}

func TestMemoryFlagOffWithRows(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.capture("COLLECT_GPU_MEMORY_USAGE", "false")
	s.mem(30, procP, 0, 0x1000, 64, 2, 0, 1)
	rep := s.report(Options{})
	equal(t, "collected", rep.Collected.Memory, true)
	equal(t, "peak", onlyTrack(t, rep).Level("device").Peak, 64)
}

func TestOnlyFrees(t *testing.T) {
	t.Parallel()
	rep := sqlReport(t, "only_frees.sql")
	l := onlyTrack(t, rep).Level("device")
	equal(t, "level", *l, Level{Kind: "device", Peak: 64, PeakAt: 1, End: 0, Baseline: 64, Frees: 1, FreeBytes: 64, UnmatchedFrees: 1, Partial: true})
	if !strings.Contains(hasWarning(rep, "unmatched_frees"), "lower bounds") {
		t.Errorf("the warnings do not tell: %v", rep.Warnings)
	}
}

func TestNoKernelTable(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.alloc(30, tid(procP, 1), 1, 0x1000, 64)
	rep := s.report(Options{})
	equal(t, "kernels collected", rep.Collected.Kernels, false)
	equal(t, "copies collected", rep.Collected.Copies, false)
	equal(t, "peak", onlyTrack(t, rep).Level("device").Peak, 64)
	equal(t, "warned of launches", hasWarning(rep, "no_gpu_activity"), "")
}

func TestNothing(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.table("NVTX_EVENTS")
	rep := s.report(Options{})
	equal(t, "tracks", len(rep.Tracks), 0)
	equal(t, "time", rep.Source.Duration(), 0)
}

func TestNewerTableName(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.renames["NVTX_EVENTS"] = "NVTX_EVENTS_V2"
	s.renames["CUPTI_ACTIVITY_KIND_KERNEL"] = "CUPTI_ACTIVITY_KIND_KERNEL_V3"
	s.sql("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2 (start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER, correlationId INTEGER, copyKind INTEGER, bytes INTEGER)")
	s.sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES (61, 62, 0, %d, 1, 1, 99)", int64(procP)<<24)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "kernels of forward", tr.use("iteration 0: forward").GPU.Kernels, 1)
	equal(t, "copies", tr.Total.GPU.Copies, 0)
}

func TestMissingColumns(t *testing.T) {
	t.Parallel()
	build := func(drop ...string) (*Report, *Track) {
		s := step(t)
		s.mem(30, procP, 0, 0x1000, 1000, nsysdb.KindDevice, 0, 1)
		s.mem(40, procP, 0, 0x2000, 200, nsysdb.KindPinned, 0, 1)
		s.drop("CUDA_GPU_MEMORY_USAGE_EVENTS", drop...)
		rep := s.report(Options{})
		return rep, onlyTrack(t, rep)
	}
	_, whole := build()
	for _, drop := range []string{"streamId", "contextId", "deviceId",
		"localMemoryPoolAddress localMemoryPoolSize localMemoryPoolUtilizedSize importedMemoryPoolAddress"} {
		_, tr := build(strings.Fields(drop)...)
		for _, l := range whole.Levels {
			if got := tr.Level(l.Kind); got == nil || *got != l {
				t.Errorf("without %s: level %+v, want %+v", drop, got, l)
			}
		}
	}
	rep, tr := build("memKind")
	equal(t, "levels", len(tr.Levels), 1)
	equal(t, "peak without kinds", tr.Level("device").Peak, 1200)
	if !strings.Contains(hasWarning(rep, "no_memory_kind"), "cannot be told apart") {
		t.Errorf("the warnings do not tell: %v", rep.Warnings)
	}
	_, tr = build("correlationId")
	equal(t, "peak without calls", tr.Level("device").Peak, 1000)
	equal(t, "allocations of forward", tr.use("iteration 0: forward").Memory.Allocs, 0)
	for _, drop := range []string{"address", "bytes", "memoryOperationType", "start"} {
		rep, tr := build(drop)
		equal(t, "allocations without "+drop, tr.Level("device").Allocs, 0)
		if hasWarning(rep, "memory_columns") == "" {
			t.Errorf("without %s: no warning: %v", drop, rep.Warnings)
		}
	}
}

func TestMissingOtherColumns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		table, columns string
		same, none     int64
	}{
		{"CUPTI_ACTIVITY_KIND_KERNEL", "deviceId", 1, 0},
		{"CUPTI_ACTIVITY_KIND_KERNEL", "correlationId", 0, 0},
		{"CUPTI_ACTIVITY_KIND_RUNTIME", "end", 1, 0},
		{"CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue", 1, 0},
		{"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", 1, 0},
		{"NVTX_EVENTS", "textId endGlobalTid domainId", 1, 0},
		{"NVTX_EVENTS", "textId", 1, 0},
	} {
		s := step(t)
		s.drop(test.table, strings.Fields(test.columns)...)
		tr := onlyTrack(t, s.report(Options{Iteration: "iteration"}))
		equal(t, test.table+" without "+test.columns+": same thread", tr.Attribution.SameThread, test.same)
		equal(t, test.table+" without "+test.columns+": kernels", tr.Attribution.Kernels, 1)
		equal(t, test.table+" without "+test.columns+": iterations", len(tr.Iterations), 1)
	}
}

func TestMissingStoredAsZero(t *testing.T) {
	t.Parallel()
	rep := sqlReport(t, "not_null.sql")
	tr := onlyTrack(t, rep)
	equal(t, "iterations", len(tr.Iterations), 3)
	for i := range tr.Iterations {
		it := &tr.Iterations[i]
		equal(t, it.Name+" index", it.Index, 8+i)
		equal(t, it.Name+" kernels", it.GPU.Kernels, 1)
		if it.End < it.Start {
			t.Errorf("%s lasts %d ns", it.Name, it.End-it.Start)
		}
	}
	equal(t, "step 10 is truncated", tr.Iterations[2].Truncated, true)
	equal(t, "step 10 ends with the capture", tr.Iterations[2].End, rep.Source.End)
	equal(t, "forward ends with its iteration", tr.Iterations[1].Phases[0].End, 300)
	if !strings.Contains(hasWarning(rep, "damaged_ranges"), "2 ranges") {
		t.Errorf("damaged ranges are not told: %v", rep.Warnings)
	}
	for _, r := range tr.Ranges {
		if r.Name == "mark" {
			t.Error("a mark is taken for a range")
		}
	}
}

func TestEnumNumbers(t *testing.T) {
	t.Parallel()
	rep := sqlReport(t, "moved_enum.sql")
	tr := onlyTrack(t, rep)
	d := tr.Level("device")
	equal(t, "device peak", d.Peak, 1000)
	equal(t, "device end", d.End, 30)
	equal(t, "pinned peak", tr.Level("pinned").Peak, 500)
	equal(t, "device allocations", d.Allocs, 2)
	if tr.Level("kind 9") == nil || tr.Level("kind 9").Peak != 7 {
		t.Errorf("levels: %+v", tr.Levels)
	}
}

func TestUnknownKind(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.mem(30, procP, 0, 0x1000, 1000, nsysdb.KindDevice, 0, 1)
	s.mem(31, procP, 0, 0x2000, 200, 9, 0, 1)
	s.mem(32, procP, 0, 0x3000, 20, nsysdb.KindUnknown, 0, 1)
	s.mem(33, procP, 0, 0x4000, 2, null, 0, 1)
	s.mem(34, procP, 0, 0x2000, 200, 9, 1, 1)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "device peak", tr.Level("device").Peak, 1000)
	equal(t, "levels", len(tr.Levels), 3)
	equal(t, "kind 9 peak", tr.Level("kind 9").Peak, 200)
	equal(t, "kind 9 end", tr.Level("kind 9").End, 0)
	equal(t, "unknown peak", tr.Level("unknown").Peak, 22)
	equal(t, "forward's device bytes", tr.use("iteration 0: forward").Memory.AllocBytes, 1000)
	if !strings.Contains(hasWarning(rep, "unknown_kind"), "kind 9") {
		t.Errorf("unknown kinds are not told: %v", rep.Warnings)
	}
}

func TestTies(t *testing.T) {
	t.Parallel()
	for _, reversed := range []bool{false, true} {
		s := newScript(t)
		s.reversed = reversed
		s.mem(10, procP, 0, 0xB000, 1000, 2, 0, 1)
		s.mem(50, procP, 0, 0xB000, 1000, 2, 1, 2)
		s.mem(50, procP, 0, 0xA000, 1000, 2, 0, 3)
		tr := onlyTrack(t, s.report(Options{}))
		equal(t, "peak", tr.Level("device").Peak, 2000)
		equal(t, "end", tr.Level("device").End, 1000)
		equal(t, "live at the peak", len(tr.LiveAtPeak), 2)
	}
}

// A recording that begins in the middle writes all that came before at time 0.
func TestTiesOfOneAddress(t *testing.T) {
	t.Parallel()
	for _, reversed := range []bool{false, true} {
		s := newScript(t)
		s.reversed = reversed
		s.mem(0, procP, 0, 0xA000, 100, 2, 0, 1)
		s.mem(0, procP, 0, 0xA000, 100, 2, 1, 2)
		s.mem(0, procP, 0, 0xA000, 30, 2, 0, 3)
		s.mem(0, procP, 0, 0xC000, 5, 2, 0, 4)
		// Another process at the same time keeps the rule for it: allocations first.
		s.mem(0, procQ, 0, 0xB000, 7, 2, 0, 9)
		s.mem(10, procQ, 0, 0xB000, 7, 2, 1, 10)
		s.mem(10, procQ, 0, 0xC000, 7, 2, 0, 11)
		rep := s.report(Options{})
		equal(t, "tracks", len(rep.Tracks), 2)
		l := rep.Tracks[0].Level("device")
		equal(t, "peak", l.Peak, 100)
		equal(t, "end", l.End, 35)
		equal(t, "lost frees", l.LostFrees, 0)
		equal(t, "live at the peak", len(rep.Tracks[0].LiveAtPeak), 1)
		equal(t, "peak of the other", rep.Tracks[1].Level("device").Peak, 14)
	}
}

func TestUnknownOperation(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, 0x1000, 1000, 2, 0, 1)
	s.mem(20, procP, 0, 0x1000, 1000, 2, null, 2)
	s.mem(30, procP, 0, 0x2000, 1000, 2, 7, 3)
	rep := s.report(Options{})
	l := onlyTrack(t, rep).Level("device")
	equal(t, "level", *l, Level{Kind: "device", Peak: 1000, PeakAt: 10, End: 1000, Allocs: 1, AllocBytes: 1000})
	if !strings.HasPrefix(hasWarning(rep, "unknown_events"), "2 ") {
		t.Errorf("unknown events are not told: %v", rep.Warnings)
	}
	equalSteps(t, s, rep, "device", 0, 1000)
}

func TestDamagedRows(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.mem(10, procP, 0, 0x1000, 1000, 2, 0, 1)
	s.mem(20, procP, 0, 0x2000, null, 2, 0, 1)
	s.mem(30, procP, 0, 0x3000, -5, 2, 0, 1)
	s.mem(null, procP, 0, 0x4000, 5, 2, 0, 1)
	s.rt(null, 40, tid(procP, 1), 8, "cudaLaunchKernel_v7000")
	s.kernel(null, 40, 0, procP, 8)
	s.kernel(80, null, 0, procP, 8)
	s.kernel(90, 85, 0, procP, 1)
	s.nvRow(nvRow{null, 50, nvPushPop, "nowhen", null, tid(procP, 1), null, 0})
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "end", tr.Level("device").End, 1000)
	equal(t, "start of the report", rep.Source.Start, 10)
	equal(t, "kernel time", tr.Total.GPU.KernelNS, 10)
	equal(t, "kernels", tr.Total.GPU.Kernels, 3)
	if !strings.HasPrefix(hasWarning(rep, "damaged_events"), "3 ") {
		t.Errorf("damaged events are not told: %v", rep.Warnings)
	}
	equalSteps(t, s, rep, "device", 0, 1000)
}

func TestZeroBytes(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, 0x1000, 0, 2, 0, 1)
	s.mem(20, procP, 0, 0x1000, 0, 2, 1, 2)
	l := onlyTrack(t, s.report(Options{})).Level("device")
	equal(t, "allocs", l.Allocs, 1)
	equal(t, "frees", l.Frees, 1)
	equal(t, "peak", l.Peak, 0)
}
