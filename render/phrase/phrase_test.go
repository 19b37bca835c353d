package phrase

import (
	"slices"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/align/theory"
	"nsysmem/align/whatif"
	"nsysmem/render/internal/sample"
	"nsysmem/torchmem/allocator"
)

// said is a phrase and what it must be.
type said struct{ got, want string }

func check(t *testing.T, list []said) {
	t.Helper()
	for _, c := range list {
		if c.got != c.want {
			t.Errorf("got  %q\nwant %q", c.got, c.want)
		}
	}
}

func TestTrack(t *testing.T) {
	check(t, []said{
		{Track(&align.Track{PID: 7, Device: 1}), "process 7, device 1"},
		{Track(&align.Track{PID: 7, Process: "python3", DeviceName: "H200", DeviceTotal: 1 << 30}), "python3 (process 7), device 0: H200, 1 GiB"},
		{Date(0), ""},
		{Date(1_760_000_000_123_456_789), "2025-10-09 08:53:20.123 UTC"},
		{Return(0), "0 success"}, {Return(1), "1 invalid value"}, {Return(2), "2 out of memory"},
		{Return(3), "3 not initialized"}, {Return(801), "801 not supported"}, {Return(-4), "-4"},
	})
}

func TestAttribution(t *testing.T) {
	c := &align.Collected{Kernels: true}
	tr := &align.Track{Attribution: align.Attribution{Kernels: 2000, SameThread: 1000, OtherThread: 500, None: 480, NoLaunch: 20}}
	check(t, []said{
		{Attribution(&align.Collected{}, tr), "n/a, no kernels were collected"},
		{Attribution(c, &align.Track{}), "no kernels traced one by one"},
		{Attribution(c, tr), "of 2,000 kernels, 1,000 (50.0 %) belong to a range on the thread that launched them, 500 (25.0 %) to " +
			"one open on the thread of the iterations, 480 (24.0 %) to none, and 20 (1.0 %) have no launch in the report."},
	})
}

func TestIterationsFrom(t *testing.T) {
	its := make([]align.Iteration, 9)
	for i := range its {
		its[i] = align.Iteration{Index: i, Name: "step 0", Warmup: i < 8, Truncated: i%8 == 0}
	}
	f := align.IterationsFrom{How: align.OriginRanges, Pattern: "step #", Count: 9, Confidence: 0.5, Domain: "d", Why: "why", Gaps: []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}
	kernels := align.IterationsFrom{How: align.OriginKernels, Count: 9, Confidence: 1}
	check(t, []said{
		{IterationsFrom(&align.Track{}), "none found. Mark iterations with NVTX ranges, as the README shows, or name ranges that are there with " +
			"--iteration; without ranges, --infer auto looks for what repeats."},
		{IterationsFrom(&align.Track{Iterations: its, IterationsFrom: f}), `9, from ranges named "step #" in domain "d", confidence 0.50: why. ` +
			"Missing from the sequence: 3, 4, 5, 6, 7, 8, 9, 10, 2 more. " +
			"Medians leave out number 1, 2, 3, 4, 5, 6, 1 more (warm-up) and 0, 8 (truncated)."},
		{IterationsFrom(&align.Track{IterationsFrom: align.IterationsFrom{How: align.OriginPattern, Pattern: "x"}}),
			`0, from ranges that match "x" as asked, confidence 0.00.`},
		{IterationsFrom(&align.Track{Iterations: its[8:], IterationsFrom: kernels}), "9, inferred from the repeating sequence of GPU work and named " +
			`"step #" here, confidence 1.00 (how well the repeats match, and how far what they hold proves them to be steps). Medians leave out number 8 (truncated).`},
		{Flags(&its[0]), "warm-up, truncated"}, {Flags(&its[1]), "warm-up"}, {Flags(&its[8]), "truncated"}, {Flags(&align.Iteration{}), ""},
	})
}

func TestInferred(t *testing.T) {
	tr := &align.Track{Iterations: []align.Iteration{{Phases: []align.Phase{{Path: "a"}, {Path: "b"}}}}}
	check(t, []said{{Inferred(tr), ""}, {From(tr, -1, ""), ""}, {From(tr, -1, "a"), "nvtx"}, {From(tr, 0, "b"), "nvtx"}})
	tr.Iterations[0].Phases[1].Inferred = true
	check(t, []said{{Inferred(tr), "some phases are inferred from the GPU work, not from ranges of the program"},
		{From(tr, 0, "a"), "nvtx"}, {From(tr, 0, "b"), "inferred"}, {From(tr, 0, ""), "nvtx"}})
	tr.IterationsFrom.How = align.OriginKernels
	check(t, []said{{Inferred(tr), "iterations and phases are inferred from the GPU work, not from ranges of the program"},
		{From(tr, 0, "a"), "inferred"}, {From(tr, -1, "a"), "nvtx"}})
}

func TestPlace(t *testing.T) {
	tr := &align.Track{Iterations: []align.Iteration{{Name: "step\x1b 0"}}}
	out := &tensor.Outside{Static: 5, Blocks: 2, Takers: []tensor.Taker{{Call: "cudaMalloc", Iteration: -1, Phase: "set up"}}}
	takers := OutsideTakers(out)
	check(t, []said{
		{At(tr, 0, "forward"), `step\x1b 0, forward`}, {At(tr, 0, ""), `step\x1b 0`}, {At(tr, -1, "set\nup"), `set\nup`}, {At(tr, 1, ""), "outside iterations"},
		{Place(nil, "x"), "outside iterations"},
		{FailedPlace(tr, &align.FailedAlloc{Phase: "p", Range: "r"}), `step\x1b 0, p`},
		{FailedPlace(tr, &align.FailedAlloc{Iteration: -1, Phase: "p", Range: "r"}), "r"},
		{FailedPlace(tr, &align.FailedAlloc{Iteration: -1}), "outside iterations"},
		{TakerPlace(tr, &takers[0]), "set up"}, {TakerPlace(tr, &takers[1]), ""},
		{takers[1].Call, "static memory of modules"},
		{Outside(&tensor.Outside{Bytes: 1024, Peak: 4096}), "1 KiB (1,024 bytes) at the end, 4 KiB at most, that others than PyTorch's allocator took."},
		{Outside(&tensor.Outside{Bytes: 1024, Peak: 4096, Static: 1024}), "2 KiB (2,048 bytes) at the end, 5 KiB at most, that others than PyTorch's " +
			"allocator took; 1 KiB of it is static memory of modules."},
	})
	if len(out.Takers) != 1 || takers[1].Bytes != 5 || takers[1].Live != 5 || takers[1].Blocks != 2 {
		t.Errorf("%+v of %+v", takers, out)
	}
}

func TestTogether(t *testing.T) {
	gpu := func(pid, peak int64, uuid string) *align.Track {
		tr := &align.Track{PID: pid, DeviceUUID: uuid, DeviceName: "H200"}
		tr.Total.Memory.Peak = peak
		return tr
	}
	rep := &findings.Report{Report: &align.Report{Collected: align.Collected{Memory: true},
		Tracks: []*align.Track{gpu(1, 1024, "a"), gpu(2, 1, "b"), gpu(3, 2048, "a"), gpu(4, 1, ""), gpu(5, 1, ""), gpu(6, 1024, "a")}}}
	want := []string{"Processes 1, 3 and 6 use the same device (H200, a): together at most 4 KiB at their peaks, which need not coincide"}
	if got := Together(rep); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	rep.Collected.Memory = false
	if got := Together(rep); got != nil {
		t.Errorf("without memory: %q", got)
	}
}

func TestMissing(t *testing.T) {
	all := align.Collected{Memory: true, NVTX: true, Kernels: true, API: true}
	if got := Missing(all); got != nil {
		t.Errorf("%+v", got)
	}
	var names []string
	for _, g := range Missing(align.Collected{}) {
		names = append(names, g.What)
		if g.Cost == "" || !strings.HasPrefix(g.How, "profile with ") {
			t.Errorf("%+v", g)
		}
	}
	if want := []string{"device memory", "NVTX ranges", "GPU kernels", "CUDA API calls"}; !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
}

func TestTensors(t *testing.T) {
	ten := &tensor.Memory{Blocks: make([]tensor.Block, 1234)}
	check(t, []said{
		{Tensors(ten), "1,234 blocks from PyTorch's memory snapshot"},
		{Clock(nil), ""},
		{Clock(&tensor.Clock{Offset: 2000, Spread: 30, Matched: 4, Segments: 5}),
			"the snapshot's stamps are 2.000 µs late, spread 30 ns; 4 of 5 segments of the snapshot are in the report with address and size"},
		{Unknown(ten), ""},
		{Settings(ten), ""}, {Settings(&tensor.Memory{Conf: "x:1"}), "x:1"},
		{Fragmentation(&align.Track{Tensors: &tensor.Memory{AtReserved: &tensor.Cache{Iteration: -1, Reserved: 4096, Allocated: 3072, Free: 1024,
			LargestFree: 512, Stuck: 256}, Growth: make([]tensor.Cache, 3)}}), "At the peak of reserved (4 KiB, in outside iterations): 3 KiB allocated, " +
			"1 KiB free in the cache, the largest free block 512 B; 256 B of the free bytes are stuck in segments that hold live blocks. Segments that " +
			"were added: 3; for 0 of them the cache had as many bytes free as were asked for, but in no single block that would do."},
		{Theory(&theory.Need{Params: 1234, DType: "float32", Optimizer: "adam"}), "N = 1,234 parameters of float32, optimizer adam"},
	})
	for _, name := range tensor.CategoryNames {
		if Category(name) == "" {
			t.Errorf("the category %s has no meaning", name)
		}
	}
	unknown := &tensor.Memory{From: tensor.BySnapshot, Categories: []tensor.CategoryUse{{Name: "unknown"}}, Blocks: []tensor.Block{{Rule: "life: forward"}}}
	alone := Unknown(unknown)
	unknown.Blocks = append(unknown.Blocks, tensor.Block{Rule: "zero_grad"})
	if stacks := Unknown(unknown); !strings.Contains(alone, "growing list") || !strings.Contains(stacks, "before recording began") {
		t.Errorf("unknown is %q by life, %q by stacks", alone, stacks)
	}
	frame := tensor.Share{Name: tensor.NoFrame}
	for _, c := range []struct {
		frames []tensor.Share
		groups int
	}{{nil, 2}, {[]tensor.Share{frame}, 2}, {[]tensor.Share{{Name: "a.py:1"}}, 3}, {[]tensor.Share{frame, {Name: "a.py:1"}}, 3}} {
		if got := ShareGroups(&tensor.Holding{ByFrame: c.frames}); len(got) != c.groups || got[c.groups-1].By != "category" {
			t.Errorf("%+v: %+v", c.frames, got)
		}
	}
}

// Libraries add up to what lies outside PyTorch, static memory with them; how to record them is said only where they are not
// known and something was taken.
func TestOutside(t *testing.T) {
	takers := []tensor.Taker{{Call: "cudaMalloc", Bytes: 5}}
	const none, some = "which library asked for it is told where call chains are recorded: ", "of some calls the chain was not recorded or does not tell: "
	for name, c := range map[string]struct {
		o    tensor.Outside
		want string
	}{
		"no chains":         {tensor.Outside{Takers: takers}, none + ChainsHow},
		"nothing taken":     {tensor.Outside{Static: 7}, ""},
		"all known":         {tensor.Outside{Takers: takers, Libraries: []tensor.Library{{Name: "cuBLAS"}}}, ""},
		"one without chain": {tensor.Outside{Takers: takers, Libraries: []tensor.Library{{Name: "cuBLAS"}, {}}}, some + ChainsHow},
	} {
		if got := OutsideHow(&c.o); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	o := &tensor.Outside{Bytes: 5, Peak: 6, Static: 7, Blocks: 2, Libraries: []tensor.Library{{Name: "cuBLAS", Blocks: 1, Bytes: 6, AtPeak: 6, Live: 5}}}
	var peak, live int64
	list := OutsideLibraries(o)
	for _, l := range list {
		peak, live = peak+l.AtPeak, live+l.Live
	}
	if last := list[len(list)-1]; peak != o.Peak+o.Static || live != o.Bytes+o.Static || !strings.HasPrefix(Library(&last), "CUDA context") || Library(&list[0]) != "cuBLAS" || Library(&tensor.Library{}) != noChain || last.Blocks != 2 {
		t.Errorf("%+v", list)
	}
	if o.Static = 0; len(OutsideLibraries(o)) != 1 || OutsideLibraries(&tensor.Outside{Static: 7}) != nil {
		t.Error("a context without static memory, or libraries without chains")
	}
}

func TestWhatIf(t *testing.T) {
	alone, timed := &whatif.Comparison{}, &whatif.Comparison{Timed: true, Track: sample.Report(3).Tracks[0]}
	at := whatif.Moment{Event: 1, Time: 1500, Iteration: 1, Phase: "forward", Frame: "a.py:1 f"}
	stop := func(frame string, free int64, failed int) *whatif.Setting {
		f := whatif.Failure{Moment: whatif.Moment{Time: 1500, Iteration: -1, Frame: frame}}
		f.FailedRequest = allocator.FailedRequest{Request: 1 << 20, Rounded: 2 << 20, FreeCache: free, LargestFree: 1024, Reserved: 4 << 20, Allocated: 3 << 20}
		return &whatif.Setting{Limited: &whatif.Limits{Capacity: 5 << 20, Failed: failed, Failures: []whatif.Failure{f}}}
	}
	recorded, standard := &whatif.Setting{IsRecorded: true, IsDefault: true}, &whatif.Setting{IsDefault: true}
	standard.Conf = "x:\n1"
	check(t, []said{
		{Conf(""), "(default)"}, {Conf("x:1"), "x:1"}, {Setting(recorded), "(default) [recorded]"}, {Setting(standard), `x:\n1 [default]`},
		{Setting(&whatif.Setting{IsDefault: true}), "(default)"},
		{Moment(alone, &at), "entry 1,500 (a.py:1 f)"}, {ShortMoment(alone, &at), "entry 1,500 (a.py:1 f)"},
		{Moment(timed, &at), "iteration 1, forward (a.py:1 f)"}, {ShortMoment(timed, &at), "iteration 1, forward"},
		{ShortMoment(timed, &whatif.Moment{Iteration: -1, Frame: "a"}), "outside iterations (a)"},
		{Failure(alone, recorded), ""},
		{Failure(alone, stop("a.py:2", 2<<20, 1)), "stops at entry 1,500 (a.py:2): asks for 1 MiB (2 MiB rounded) while 2 MiB lie free in the " +
			"cache, the largest piece 1 KiB; 4 MiB of 5 MiB reserved, 3 MiB allocated"},
		{Failure(alone, stop("after a.py:2", 1, 2000)), "stops at entry 1,500 (where no Python line runs, as in a backward pass; the last one to " +
			"ask for memory before is a.py:2): asks for 1 MiB (2 MiB rounded) with 1 B free in the cache; 4 MiB of 5 MiB reserved, " +
			"3 MiB allocated (2,000 requests in all, were it to go on)"},
		{Failure(timed, stop("", 0, 1)), "stops in outside iterations: asks for 1 MiB (2 MiB rounded) with nothing free in the cache; " +
			"4 MiB of 5 MiB reserved, 3 MiB allocated"},
	})
}

// TestTerms: the number of iterations that medians are of is told, and kernel time only where there is some.
func TestTerms(t *testing.T) {
	tr := &align.Track{Iterations: []align.Iteration{{Warmup: true}, {}, {}, {Truncated: true}}}
	for _, c := range []struct {
		kernels bool
		its     int
		want    string
	}{
		{true, 4, "median over 2 steady iterations: all but warm-up and truncated ones; kernel time: " + KernelTime},
		{false, 4, "median over 2 steady iterations: all but warm-up and truncated ones"},
		{false, 2, "of the one steady iteration: all but warm-up and truncated ones"},
	} {
		part := &align.Track{Iterations: tr.Iterations[:c.its]}
		if got := Terms(&align.Collected{Kernels: c.kernels}, part); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
