package align

import (
	"fmt"
	"strings"
	"testing"

	"nsysmem/nsysdb"
)

func TestCorrelationRepeatsAcrossProcesses(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(100, 200, "forward", tid(procP, 1))
	s.nv(100, 200, "optimizer", tid(procQ, 1))
	s.rt(110, 111, tid(procP, 1), 7, "cudaLaunchKernel_v7000")
	s.rt(120, 121, tid(procQ, 1), 7, "cudaLaunchKernel_v7000")
	s.kernel(130, 140, 0, procQ, 7)
	rep := s.report(Options{})
	equal(t, "tracks", len(rep.Tracks), 2)
	p, q := rep.Tracks[0], rep.Tracks[1]
	equal(t, "kernels of P", p.Total.GPU.Kernels, 0)
	equal(t, "kernels of Q", q.Total.GPU.Kernels, 1)
	equal(t, "attribution", q.Attribution, Attribution{Kernels: 1, SameThread: 1})
	equal(t, "kernels of optimizer", q.use("optimizer").GPU.Kernels, 1)
	equal(t, "kernels of forward", p.use("forward").GPU.Kernels, 0)
}

// Addresses repeat across processes too.
func TestAddressesRepeatAcrossProcesses(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, 0x1000, 100, 2, 0, 1)
	s.mem(20, procQ, 0, 0x1000, 30, 2, 0, 1)
	s.mem(30, procP, 0, 0x1000, 100, 2, 1, 2)
	rep := s.report(Options{})
	equal(t, "tracks", len(rep.Tracks), 2)
	equal(t, "end of P", rep.Tracks[0].Level("device").End, 0)
	equal(t, "end of Q", rep.Tracks[1].Level("device").End, 30)
	equal(t, "lost frees", rep.Tracks[1].Level("device").LostFrees, 0)
}

func TestKernelWithoutLaunch(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.kernel(35, 45, 0, procP, 9)
	s.kernel(45, 50, 0, procP, 0)
	s.kernel(50, 55, 0, procP, null)
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "attribution", tr.Attribution, Attribution{Kernels: 4, SameThread: 1, NoLaunch: 3})
	equal(t, "kernels of the iteration", tr.use("iteration 0").GPU.Kernels, 1)
	equal(t, "kernels", tr.Total.GPU.Kernels, 4)
	if !strings.Contains(hasWarning(rep, "no_launch"), "3 of 4 kernels") {
		t.Errorf("kernels without a launch are not told: %v", rep.Warnings)
	}
	for _, k := range tr.Kernels {
		if k.Where == "none" {
			equal(t, "kernels of no range", k.Count, 3)
		}
	}
}

func TestSeveralDevices(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.launch(40, tid(procP, 1), 2, 60, 65)
	s.kernels[1].dev = 1
	s.mem(30, procP, 0, 0x1000, 100, 2, 0, 1)
	s.mem(31, procP, 1, 0x2000, 70, 2, 0, 1)
	s.mem(32, procP, 1, 0x1000, 100, 2, 1, 1) // the row of a free may name another device than the block's
	s.rts = append(s.rts, rtRow{45, 46, tid(procP, 1), 5, "cudaMalloc_v3020", 2})
	rep := s.report(Options{})
	equal(t, "tracks", len(rep.Tracks), 2)
	a, b := rep.Tracks[0], rep.Tracks[1]
	equal(t, "devices", fmt.Sprint(a.Device, b.Device), "0 1")
	for _, tr := range rep.Tracks {
		equal(t, "iterations", len(tr.Iterations), 1)
		equal(t, "kernels", tr.use("iteration 0: forward").GPU.Kernels, 1)
		checkLaws(t, tr)
	}
	equal(t, "peak of 0", a.Level("device").Peak, 100)
	equal(t, "end of 0", a.Level("device").End, 0)
	equal(t, "peak of 1", b.Level("device").Peak, 70)
	equal(t, "end of 1", b.Level("device").End, 70)
	equal(t, "frees of 0", a.use("iteration 0: forward").Memory.Frees, 1)
	equal(t, "failures", fmt.Sprint(len(a.Failed), len(b.Failed), a.Level("device").FailedAllocs, b.Level("device").FailedAllocs), "1 0 1 0")
}

// A free of a block whose allocation is not in the report may name no device at all (cuMemUnmap in 2023.4).
func TestFreeOnNoDevice(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, 0x1000, 100, 2, 0, 1)
	s.mem(20, procP, 1<<31-1, 0x2000, 50, 2, 1, 2)
	s.mem(30, procP, 1<<31-1, 0x1000, 100, 2, 1, 3)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "device", tr.Device, 0)
	equal(t, "baseline", tr.Level("device").Baseline, 50)
	equal(t, "end", tr.Level("device").End, 0)
	equal(t, "peak", tr.Level("device").Peak, 150)
}

func TestDeviceNames(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.sql("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, busLocation TEXT, totalMemory INTEGER)")
	s.sql("INSERT INTO TARGET_INFO_GPU VALUES (0, 'first', 'u0', '', 1000), (5, 'sixth', 'u5', '', 2000)")
	s.sql("CREATE TABLE TARGET_INFO_CUDA_DEVICE (cudaId INTEGER, gpuId INTEGER, pid INTEGER)")
	s.sql("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 5, %d)", procP)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "device", fmt.Sprintf("%d %s %s %d", tr.Device, tr.DeviceName, tr.DeviceUUID, tr.DeviceTotal), "0 sixth u5 2000")
}

func TestProcessListIsNoise(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.sql("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
	for i := range 159 {
		s.sql("INSERT INTO PROCESSES VALUES (%d, %d, '/usr/bin/p%d --secret')", int64(i)<<24, i, i)
	}
	s.nv(10, 20, "step 0", tid(procQ, 1)) // ranges alone are no CUDA work
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "process", tr.Process, "p100")
}

// A process with API calls alone has a track to show its zeros on.
func TestProcessWithCallsAlone(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.rt(10, 11, tid(procQ, 1), 1, "cudaGetDeviceCount_v3020")
	rep := s.report(Options{})
	equal(t, "tracks", len(rep.Tracks), 2)
	equal(t, "calls", rep.Tracks[1].Total.API.Calls, 1)
}

func TestClockDoesNotStartAtZero(t *testing.T) {
	t.Parallel()
	for _, shift := range []int64{0, 155_360_000_000, -1000, -40} {
		s := newScript(t)
		s.nv(10+shift, 100+shift, "iteration 0", tid(procP, 1))
		s.alloc(30+shift, tid(procP, 1), 1, 0x1000, 64)
		s.launch(40+shift, tid(procP, 1), 2, 90+shift, 120+shift)
		rep := s.report(Options{})
		tr := onlyTrack(t, rep)
		equal(t, "start", rep.Source.Start, 10+shift)
		equal(t, "end", rep.Source.End, 120+shift)
		equal(t, "duration", rep.Source.Duration(), 110)
		equal(t, "peak at", tr.Level("device").PeakAt, 30+shift)
		equal(t, "need", tr.use("iteration 0").Memory.Need, 64)
	}
}

func TestGraphKernels(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.rt(40, 48, tid(procP, 1), 9, "cudaGraphLaunch_v10000")
	for i := int64(0); i < 40; i++ {
		s.kernel(100+i, 101+i, 0, procP, 9)
	}
	tr := onlyTrack(t, s.report(Options{}))
	f := tr.use("iteration 0: forward")
	equal(t, "kernels of forward", f.GPU.Kernels, 41)
	equal(t, "kernel time", f.GPU.KernelNS, 50)
	equal(t, "calls of forward", f.API.Calls, 2)
	equal(t, "attribution", tr.Attribution, Attribution{Kernels: 41, SameThread: 41})
	for _, c := range tr.Calls {
		if c.Name == "cudaGraphLaunch" {
			equal(t, "graph launches", c.Count, 1)
			equal(t, "time of the launch", c.NS, 8)
		}
	}
}

func TestGraphsTracedWhole(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.capture("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph")
	for i := int64(0); i < 3; i++ {
		s.nv(100*i+10, 100*i+90, fmt.Sprintf("step %d", i), tid(procP, 1))
		s.rt(100*i+20, 100*i+22, tid(procP, 1), i+1, "cudaGraphLaunch_v10000")
		s.graphs = append(s.graphs, gpuRow{start: 100*i + 30, end: 100*i + 70, pid: procP, corr: i + 1})
	}
	rep := s.report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "GPU work collected", rep.Collected.Kernels, true)
	equal(t, "iterations", len(tr.Iterations), 3)
	for i := range tr.Iterations {
		g := tr.Iterations[i].GPU
		equal(t, "graphs", fmt.Sprint(g.Graphs, g.GraphNS, g.BusyNS, g.Kernels), "1 40 40 0")
	}
	equal(t, "attribution", tr.Attribution, Attribution{})
	if !strings.Contains(hasWarning(rep, "graphs_whole"), "node") {
		t.Errorf("node mode is not told: %v", rep.Warnings)
	}
	checkLaws(t, tr)
}

func TestBusyTime(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.launch(31, tid(procP, 1), 2, 65, 75)
	s.launch(32, tid(procP, 1), 3, 62, 64)
	s.launch(60, tid(procP, 1), 4, 70, 90) // in the iteration, in no phase
	for _, reversed := range []bool{false, true} {
		s.reversed = reversed
		tr := onlyTrack(t, s.report(Options{}))
		equal(t, "busy in forward", tr.use("iteration 0: forward").GPU.BusyNS, 15)
		equal(t, "busy in the rest", tr.use("iteration 0: (other)").GPU.BusyNS, 20)
		equal(t, "busy in the iteration", tr.use("iteration 0").GPU.BusyNS, 30)
	}
}

func TestCopiesByDirection(t *testing.T) {
	t.Parallel()
	s := step(t)
	for kind := int64(0); kind < 15; kind++ {
		s.copies = append(s.copies, gpuRow{start: 60, end: 61, pid: procP, corr: 1, kind: kind, bytes: 1 << kind})
	}
	s.memsets = append(s.memsets, gpuRow{start: 60, end: 61, pid: procP, corr: 1, bytes: 5})
	g := onlyTrack(t, s.report(Options{})).use("iteration 0: forward").GPU
	equal(t, "host to device", g.H2D, 1<<1+1<<3+1<<11)
	equal(t, "device to host", g.D2H, 1<<2+1<<4+1<<12)
	equal(t, "device to device", g.D2D, 1<<5+1<<6+1<<7+1<<8+1<<10+1<<13)
	equal(t, "copies and memsets", fmt.Sprint(g.Copies, g.MemcpyNS, g.Memsets, g.MemsetBytes, g.MemsetNS), "15 15 1 5 1")
}

func TestLaunchesWithoutGPUActivity(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.nv(10, 100, "iteration 0", tid(procP, 1))
	s.rt(20, 21, tid(procP, 1), 1, "cudaLaunchKernel_v7000")
	s.rt(30, 31, tid(procP, 1), 2, "cuLaunchKernelEx")
	rep := s.report(Options{})
	equal(t, "GPU work collected", rep.Collected.Kernels, false)
	if !strings.HasPrefix(hasWarning(rep, "no_gpu_activity"), "CUDA launches were traced (2 calls), GPU activity was not") {
		t.Errorf("launches without work are not told: %v", rep.Warnings)
	}
	if len(rep.Tracks) > 0 && rep.Tracks[0].use("iteration 0").GPU.Kernels != 0 {
		t.Error("kernels out of nothing")
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	s := step(t)
	s.sql("CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER)")
	s.sql("INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 0, 1, 1, 'started', 0), (2, 0, 1, 2, 'CUDA events were dropped', 0), (3, 0, 1, 3, 'buffer lost', 0)")
	rep := s.report(Options{})
	if !strings.Contains(hasWarning(rep, "profiler_warning"), "CUDA events were dropped") || !strings.Contains(hasWarning(rep, "profiler_error"), "buffer lost") {
		t.Errorf("warnings %v", rep.Warnings)
	}
	warnings, _ := Say(rep)
	for _, w := range warnings {
		if strings.Contains(w.Text, "started") {
			t.Errorf("a message without weight is repeated: %v", w)
		}
	}
}

// Unsigned 64-bit addresses are stored as negative numbers.
func TestHighAddress(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.mem(10, procP, 0, -0x1000, 100, 2, 0, 1)
	s.mem(20, procP, 0, -0x1000, 100, 2, 1, 2)
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "blocks", len(tr.Blocks), 1)
	equal(t, "address", tr.Blocks[0].Address, 0xFFFFFFFFFFFFF000)
	equal(t, "end", tr.Level("device").End, 0)
}

func TestCallNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]callClass{
		"cudaMalloc_v3020": classAllocDevice, "cudaMallocAsync_ptsz_v11020": classAllocDevice, "cuMemAlloc_v2": classAllocDevice,
		"cudaMallocPitch_v3020": classAllocDevice, "cudaMalloc3DArray_v3020": classAllocDevice, "cuMemAllocAsync": classAllocDevice,
		"cudaMallocHost_v3020": classAllocPinned, "cudaHostAlloc_v3020": classAllocPinned, "cuMemHostAlloc": classAllocPinned,
		"cudaMallocManaged_v6000": classAllocManaged, "cuMemAllocManaged": classAllocManaged, "cuMemCreate": classAllocVMM,
		"cudaFree_v3020": classFree, "cudaFreeAsync_v11020": classFree, "cudaFreeHost_v3020": classFree, "cuMemUnmap": classFree,
		"cudaDeviceSynchronize_v3020": classSync, "cuStreamSynchronize": classSync, "cudaEventSynchronize_v3020": classSync,
		"cudaLaunchKernel_v7000": classLaunch, "cudaLaunchKernelExC_v11060": classLaunch, "cuLaunchKernel": classLaunch,
		"cudaGraphLaunch_v10000": classLaunchGraph, "cudaLaunchHostFunc_v10000": classOther, "cudaGetDevice_v3020": classOther,
		"customMalloc": classOther, "": classOther, "cudaMemcpyAsync_v3020": classOther, "cudaMemGetInfo_v3020": classOther,
	} {
		equal(t, name, classify(name), want)
	}
	equal(t, "runtime call", callName("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync")
	equal(t, "driver call", callName("cuMemAlloc_v2"), "cuMemAlloc_v2")
	equal(t, "process of a thread", nsysdb.Process(tid(procP, 7)), int64(procP)<<24)
}
