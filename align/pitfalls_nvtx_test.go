package align

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nsysmem/nsysdb"
)

func TestNamesByTextAndID(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	id := s.id("forward")
	for i := int64(0); i < 2; i++ {
		s.nv(100*i+10, 100*i+90, fmt.Sprintf("iteration %d", i), tid(procP, 1))
		s.launch(100*i+21, tid(procP, 1), 10*i+1, 300+10*i, 305+10*i)
		s.launch(100*i+31, tid(procP, 1), 10*i+2, 400+10*i, 405+10*i)
		s.launch(100*i+41, tid(procP, 1), 10*i+3, 500+10*i, 505+10*i)
		s.nv(100*i+20, 100*i+30, "forward", tid(procP, 1))
		s.nvRow(nvRow{100*i + 30, 100*i + 40, nvPushPop, "", id, tid(procP, 1), null, 0})
		s.nvRow(nvRow{100*i + 40, 100*i + 50, nvPushPop, "", 99, tid(procP, 1), null, 0})
		s.nvRow(nvRow{100*i + 50, 100*i + 60, nvPushPop, "", null, tid(procP, 1), null, 0})
	}
	tr := onlyTrack(t, s.report(Options{}))
	for i := range tr.Iterations {
		it := &tr.Iterations[i]
		var paths []string
		for k := range it.Phases {
			paths = append(paths, fmt.Sprintf("%s %d %d", it.Phases[k].Path, it.Phases[k].Calls, it.Phases[k].GPU.Kernels))
		}
		want := []string{"forward 2 2", "<string 99> 1 1", "<unnamed> 1 0", "(other) 2 0"}
		if !slices.Equal(paths, want) {
			t.Errorf("%s: %v, want %v", it.Name, paths, want)
		}
	}
	equal(t, "iterations", len(tr.Iterations), 2)
}

func TestOpenRange(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nvRow(nvRow{5, null, nvDomain, "CCCL", null, tid(procP, 1), null, 3})
	s.nvRow(nvRow{6, null, nvCategory, "category", null, tid(procP, 1), null, 0})
	for i := int64(8); i < 10; i++ {
		start, end := 100*(i-8)+10, 100*(i-8)+90
		if i == 9 {
			end = null
		}
		s.nv(start, end, fmt.Sprintf("step %d", i), tid(procP, 1))
		s.launch(start+10, tid(procP, 1), i, start+20, start+200)
	}
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "iterations", len(tr.Iterations), 2)
	it := &tr.Iterations[1]
	equal(t, "end", it.End, rep.Source.End)
	equal(t, "the last kernel's end", rep.Source.End, 310)
	equal(t, "truncated", it.Truncated, true)
	equal(t, "steady", it.Steady(), false)
	equal(t, "kernels", it.GPU.Kernels, 1)
	if hasWarning(rep, "open_ranges") == "" || hasFinding(rep, "truncated") == nil {
		t.Errorf("nothing tells of the open range: %v", rep.Warnings)
	}
	for i := range tr.Phases {
		equal(t, "iterations in the medians of "+tr.Phases[i].Path, tr.Phases[i].Iterations, 1)
	}
}

// A phase that was never closed makes its iteration a truncated one, but not a longer one.
func TestOpenPhase(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(10, 100, "step 0", tid(procP, 1))
	s.nv(20, null, "forward", tid(procP, 1))
	s.nv(110, 200, "step 1", tid(procP, 1))
	s.nv(120, 150, "forward", tid(procP, 1))
	s.launch(30, tid(procP, 1), 1, 500, 510)
	s.launch(130, tid(procP, 1), 2, 510, 520)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "iterations", len(tr.Iterations), 2)
	f := &tr.Iterations[0].Phases[0]
	equal(t, "end of the open phase", f.End, 100)
	equal(t, "truncated", tr.Iterations[0].Truncated, true)
	equal(t, "truncated", tr.Iterations[1].Truncated, false)
	for i := range tr.Iterations {
		equal(t, "kernels", tr.Iterations[i].GPU.Kernels, 1)
	}
}

// A round that was left by an exception never closes its range, and the program goes on.
func TestOpenRangeInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, end := range []int64{null, 0, 105} {
		s := newScript(t)
		for i := int64(0); i < 5; i++ {
			e := 100*i + 90
			if i == 1 {
				e = end
			}
			s.nv(100*i+10, e, fmt.Sprintf("iteration %d", i), tid(procP, 1))
			s.launch(100*i+30, tid(procP, 1), i+1, 100*i+40, 100*i+50)
		}
		rep := s.report(Options{})
		tr := onlyTrack(t, rep)
		equal(t, "iterations", len(tr.Iterations), 5)
		for i := range tr.Iterations {
			it := &tr.Iterations[i]
			equal(t, it.Name+" truncated", it.Truncated, i == 1)
			equal(t, it.Name+" kernels", it.GPU.Kernels, 1)
			if it.End < it.Start || it.End > int64(100*i+110) {
				t.Errorf("%s ends at %d", it.Name, it.End)
			}
		}
	}
}

func TestDomainsByProcess(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nvRow(nvRow{1, null, nvDomain, "NCCL", null, tid(procP, 1), null, 1})
	s.nvRow(nvRow{1, null, nvDomain, "mylib", null, tid(procQ, 1), null, 1})
	for i, pid := range []int64{procP, procQ} {
		c := int64(10 * i)
		for k := int64(0); k < 2; k++ {
			s.nvRow(nvRow{100*k + 10, 100*k + 90, nvPushPop, fmt.Sprintf("step %d", k), null, tid(pid, 1), null, 1})
			s.launch(100*k+20, tid(pid, 1), c+k+1, 100*k+30, 100*k+40)
		}
	}
	rep := s.report(Options{})
	equal(t, "tracks", len(rep.Tracks), 2)
	p, q := rep.Tracks[0], rep.Tracks[1]
	equal(t, "iterations in domain NCCL", len(p.Iterations), 0)
	equal(t, "iterations in domain mylib", len(q.Iterations), 2)
	equal(t, "domain", q.IterationsFrom.Domain, "mylib")
	for _, r := range p.Ranges {
		equal(t, "domain of "+r.Name, r.Domain, "NCCL")
	}
	equal(t, "kernels of NCCL's ranges", p.Attribution.SameThread, 2)
}

func TestDomainFilter(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nvRow(nvRow{1, null, nvDomain, "solver", null, tid(procP, 1), null, 1})
	for k := int64(0); k < 3; k++ {
		s.nv(100*k+10, 100*k+90, fmt.Sprintf("step %d", k), tid(procP, 1))
		s.nvRow(nvRow{100*k + 15, 100*k + 50, nvPushPop, fmt.Sprintf("batch %d", 2*k), null, tid(procP, 1), null, 1})
		s.nvRow(nvRow{100*k + 50, 100*k + 85, nvPushPop, fmt.Sprintf("batch %d", 2*k+1), null, tid(procP, 1), null, 1})
		s.launch(100*k+20, tid(procP, 1), k+1, 100*k+30, 100*k+40)
	}
	for _, test := range []struct {
		opts Options
		want int
	}{
		{Options{}, 3},
		{Options{Domain: "solver"}, 6},
		{Options{Domain: ":"}, 3},
		{Options{Domain: "default"}, 3},
		{Options{Domain: "other"}, 0},
		{Options{Iteration: "^batch"}, 6},
		{Options{Iteration: "^solver:batch"}, 6},
		{Options{Iteration: "^:step"}, 3},
		{Options{Iteration: "^step [12]$"}, 2},
		{Options{Iteration: "^step", Domain: "solver"}, 0},
		{Options{Iteration: "^nothing"}, 0},
	} {
		tr := onlyTrack(t, s.report(test.opts))
		equal(t, fmt.Sprintf("iterations by %q in %q", test.opts.Iteration, test.opts.Domain), len(tr.Iterations), test.want)
	}
}

func TestBadPattern(t *testing.T) {
	t.Parallel()
	db, err := nsysdb.Open(step(t).export())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := Analyze(t.Context(), db, Options{Iteration: "("}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// threads builds a backward range on one thread and a launch on another one.
func threads(t *testing.T, launcher int64, name string) *script {
	s := newScript(t)
	s.nv(100, 200, "backward", tid(procP, 1))
	s.rt(120, 125, launcher, 7, "cudaLaunchKernel_v7000")
	s.kernel(300, 400, 0, nsysdb.PID(launcher), 7)
	s.rt(150, 151, tid(procP, 1), 8, "cudaLaunchKernel_v7000")
	s.kernel(400, 410, 0, procP, 8)
	if name != "" {
		s.threadName(launcher, name)
	}
	return s
}

func TestBackwardOnAnotherThread(t *testing.T) {
	t.Parallel()
	tr := onlyTrack(t, threads(t, tid(procP, 2), "pt_autograd_0").report(Options{}))
	equal(t, "attribution", tr.Attribution, Attribution{Kernels: 2, SameThread: 1, OtherThread: 1})
	equal(t, "kernels of backward", tr.use("backward").GPU.Kernels, 2)
	equal(t, "kernel time of backward", tr.use("backward").GPU.KernelNS, 110)

	tr = onlyTrack(t, threads(t, tid(procP, 2), "pt_autograd_0").report(Options{Threads: ThreadsSame}))
	equal(t, "attribution by thread alone", tr.Attribution, Attribution{Kernels: 2, SameThread: 1, None: 1})
	equal(t, "kernels of backward by thread alone", tr.use("backward").GPU.Kernels, 1)
}

func TestCrossThreadRuleStops(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pt_data_pin", "pt_data_worker", "pt_nccl_watchdg", "pt_nccl_heartbt", "pin_memory"} {
		tr := onlyTrack(t, threads(t, tid(procP, 2), name).report(Options{}))
		equal(t, name, tr.Attribution, Attribution{Kernels: 2, SameThread: 1, None: 1})
	}
	// A thread with an open range of its own keeps it.
	s := threads(t, tid(procP, 2), "worker")
	s.nv(110, 130, "loader", tid(procP, 2))
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "own range", tr.Attribution, Attribution{Kernels: 2, SameThread: 2})
	equal(t, "kernels of loader", tr.use("loader").GPU.Kernels, 1)
	// Another process never.
	rep := threads(t, tid(procQ, 2), "pt_autograd_0").report(Options{})
	equal(t, "tracks", len(rep.Tracks), 2)
	equal(t, "other process", rep.Tracks[1].Attribution, Attribution{Kernels: 1, None: 1})
	// Nor before the range begins or once it has ended.
	s = threads(t, tid(procP, 2), "pt_autograd_0")
	for i, at := range []int64{99, 100, 199, 200} {
		s.launch(at, tid(procP, 2), int64(20+i), 500, 501)
	}
	tr = onlyTrack(t, s.report(Options{}))
	equal(t, "half-open", tr.Attribution, Attribution{Kernels: 6, SameThread: 1, OtherThread: 3, None: 2})
}

func TestStartEndRanges(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nvRow(nvRow{100, 300, nvStartEnd, "fwd", null, tid(procP, 1), tid(procP, 2), 0})
	s.nvRow(nvRow{200, 400, nvStartEnd, "bwd", null, tid(procP, 1), null, 0})
	s.launch(150, tid(procP, 1), 1, 500, 501)
	s.launch(250, tid(procP, 1), 2, 501, 502)
	s.launch(350, tid(procP, 1), 3, 502, 503)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "kernels of fwd", tr.use("fwd").GPU.Kernels, 1)
	equal(t, "kernels of bwd", tr.use("bwd").GPU.Kernels, 2)
	equal(t, "kernels", tr.Total.GPU.Kernels, 3)
}

// Overlapping phases still add up to the iteration.
func TestOverlappingPhases(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(10, 500, "iteration 0", tid(procP, 1))
	s.nvRow(nvRow{100, 300, nvStartEnd, "fwd", null, tid(procP, 1), null, 0})
	s.nvRow(nvRow{200, 600, nvStartEnd, "bwd", null, tid(procP, 1), null, 0}) // outlasts the iteration
	s.alloc(150, tid(procP, 1), 1, 0x1000, 10)
	s.alloc(250, tid(procP, 1), 2, 0x2000, 20)
	s.alloc(350, tid(procP, 1), 3, 0x3000, 40)
	s.alloc(450, tid(procP, 1), 4, 0x4000, 80)
	s.alloc(550, tid(procP, 1), 5, 0x5000, 160)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	checkLaws(t, tr)
	equal(t, "net of fwd", tr.use("iteration 0: fwd").Memory.Net, 30)
	equal(t, "net of bwd", tr.use("iteration 0: bwd").Memory.Net, 140)
	equal(t, "net of the iteration", tr.use("iteration 0").Memory.Net, 150)
	equal(t, "net of the rest", tr.use("iteration 0: (other)").Memory.Net, -20)
	equal(t, "bytes of bwd", tr.use("iteration 0: bwd").Memory.AllocBytes, 300) // its call was made in bwd
	equal(t, "end of bwd", tr.Iterations[0].Phases[1].End, 500)
	if hasWarning(rep, "range_clipped") == "" {
		t.Errorf("the clipped range is not told: %v", rep.Warnings)
	}
}

func TestKernelAfterItsRange(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(1, 10, "forward", tid(procP, 1))
	s.nv(10, 20, "backward", tid(procP, 1))
	s.launch(5, tid(procP, 1), 1, 12, 60)
	s.launch(10, tid(procP, 1), 2, 60, 70) // at the stamp at which the one ends and the other begins
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "kernel time of forward", tr.use("forward").GPU.KernelNS, 48)
	equal(t, "kernel time of backward", tr.use("backward").GPU.KernelNS, 10)
}

func TestLibraryRangesAreNoIterations(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		{"cub::DeviceReduce", "cub::DeviceScan", "cub::DeviceScan", "cub::DeviceReduce"},
		{"aten::conv2d, seq = 1", "aten::conv2d, seq = 2", "aten::conv2d, seq = 3", "aten::conv2d, seq = 4"},
		{"ConvolutionBackward0", "ConvolutionBackward0", "AddmmBackward0", "AddmmBackward0"},
		{"Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step"},
		{"ncclAllReduce", "ncclAllReduce", "ncclAllReduce", "ncclAllReduce"},
	} {
		s := newScript(t)
		for i, n := range names {
			at := int64(100*i + 10)
			s.nv(at, at+50, n, tid(procP, 1))
			s.launch(at+5, tid(procP, 1), int64(i+1), at+20, at+30)
		}
		rep := s.report(Options{Infer: InferOff})
		tr := onlyTrack(t, rep)
		equal(t, names[0]+": iterations", len(tr.Iterations), 0)
		equal(t, names[0]+": how", tr.IterationsFrom.How, "none")
		if tr.IterationsFrom.Why == "" {
			t.Errorf("%s: nothing says why", names[0])
		}
		for _, r := range tr.Ranges {
			equal(t, r.Name+": sum of its calls", r.Duration, int64(50*r.Calls))
		}
		for _, f := range rep.Families {
			if f.Chosen || f.Why == "" || !f.Operator {
				t.Errorf("family %+v", f)
			}
		}
	}
}

func TestLibraryDomains(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"NCCL", "CCCL", "cuBLAS", "cuDNN", "TSL", "cub", "nccl "} {
		s := newScript(t)
		s.nvRow(nvRow{1, null, nvDomain, domain, null, tid(procP, 1), null, 5})
		for i := int64(0); i < 4; i++ {
			at := 100*i + 10
			s.nvRow(nvRow{at, at + 50, nvPushPop, fmt.Sprintf("iteration %d", i), null, tid(procP, 1), null, 5})
			s.launch(at+5, tid(procP, 1), i+1, at+20, at+30)
		}
		tr := onlyTrack(t, s.report(Options{Infer: InferOff}))
		equal(t, domain+": iterations", len(tr.Iterations), 0)
	}
}

// A library inside the capture names its ranges as the user does.
func TestSameNameInside(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(5, 600, "capture", tid(procP, 1))
	for i := int64(0); i < 5; i++ {
		s.nv(100*i+10, 100*i+90, fmt.Sprintf("iteration %d", i), tid(procP, 1))
		s.launch(100*i+20, tid(procP, 1), i+1, 100*i+30, 100*i+40)
	}
	s.nv(215, 240, "iteration 0", tid(procP, 1))
	for _, pattern := range []string{"", `^iteration \d+$`, `^capture/iteration`} {
		rep := s.report(Options{Iteration: pattern})
		tr := onlyTrack(t, rep)
		equal(t, pattern+": iterations", len(tr.Iterations), 5)
		for i := range tr.Iterations {
			equal(t, pattern+": index", tr.Iterations[i].Index, i)
			equal(t, pattern+": kernels", tr.Iterations[i].GPU.Kernels, 1)
		}
		equal(t, pattern+": gaps", len(tr.IterationsFrom.Gaps), 0)
		equal(t, pattern+": kernels of the inner range", tr.use("iteration 2: iteration 0").GPU.Kernels, 1)
		if r := tr.Ranges; len(r) != 1 || r[0].Name != "capture" || r[0].Contains != 5 || r[0].GPU.Kernels != 5 {
			t.Errorf("ranges %+v", r)
		}
	}
	tr := onlyTrack(t, s.report(Options{Iteration: `^iteration \d+$`}))
	if !strings.Contains(tr.IterationsFrom.Why, "1 more lie inside") {
		t.Errorf("why: %q", tr.IterationsFrom.Why)
	}
}

func TestNumericOrderAndGaps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		names string
		index []int
		gaps  []int
	}{
		{"step_8 step_9 step_10 step_11", []int{8, 9, 10, 11}, nil},
		{"step_2 step_3 step_5 step_6", []int{2, 3, 5, 6}, []int{4}},
		{"step_0 step_100 step_200 step_400", []int{0, 100, 200, 400}, []int{300}},
		{"step step step", []int{0, 1, 2}, nil},
		{"epoch0_step0 epoch0_step1 epoch1_step0", []int{0, 1, 2}, nil},
		{"epoch0_step0 epoch0_step1 epoch1_step2", []int{0, 1, 2}, nil},
		{"step_3 step_2 step_1", []int{0, 1, 2}, nil},
		{"step_5 step_5 step_6", []int{0, 1, 2}, nil},
		{"step_99999999999999999999 step_99999999999999999999", []int{0, 1}, nil},
	} {
		s := newScript(t)
		for i, n := range strings.Fields(test.names) {
			at := int64(100*i + 10)
			s.nv(at, at+80, n, tid(procP, 1))
			s.launch(at+5, tid(procP, 1), int64(i+1), at+20, at+30)
		}
		s.reversed = true
		rep := s.report(Options{})
		tr := onlyTrack(t, rep)
		var index []int
		for i := range tr.Iterations {
			index = append(index, tr.Iterations[i].Index)
		}
		if !slices.Equal(index, test.index) || !slices.Equal(tr.IterationsFrom.Gaps, test.gaps) {
			t.Errorf("%s: index %v gaps %v, want %v %v", test.names, index, tr.IterationsFrom.Gaps, test.index, test.gaps)
		}
		equal(t, test.names+": gaps are told", hasWarning(rep, "iteration_gap") != "", test.gaps != nil)
	}
}

// Ranges of no length, at one time, or named alike in one another.
func TestOddRanges(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(10, 100, "iteration 0", tid(procP, 1))
	s.nv(10, 100, "all", tid(procP, 1)) // at the iteration's own times
	s.nv(20, 20, "empty", tid(procP, 1))
	s.nv(30, 60, "layer", tid(procP, 1))
	s.nv(30, 60, "layer", tid(procP, 1))
	s.nv(100, 100, "at the end", tid(procP, 1))
	s.launch(40, tid(procP, 1), 1, 50, 51)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "iterations", len(tr.Iterations), 1)
	equal(t, "kernels of the inner one", tr.use("iteration 0: all/layer/layer").GPU.Kernels, 1)
	equal(t, "kernels of the outer one", tr.use("iteration 0: all/layer").GPU.Kernels, 1)
	equal(t, "kernels of all", tr.use("iteration 0: all").GPU.Kernels, 1)
	if tr.use("iteration 0: all/empty") == nil || tr.use("at the end") == nil {
		t.Errorf("ranges of no length are lost: %+v", tr.Iterations[0].Phases)
	}
	checkLaws(t, tr)
}
