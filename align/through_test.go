package align

import (
	"fmt"
	"strings"
	"testing"
)

// backward builds three steps with a forward and a backward phase on thread 1. In each backward, thread 2 launches two
// kernels and allocates 64 bytes at 160 to 180 of the step, in the ranges that inside adds.
func backward(t *testing.T, name string, inside func(s *script, at, tid int64)) *script {
	s := newScript(t)
	for i := range int64(3) {
		at := 1000 * i
		s.nv(at+100, at+300, fmt.Sprintf("step %d", i), tid(procP, 1))
		s.nv(at+110, at+140, "forward", tid(procP, 1))
		s.nv(at+150, at+250, "backward", tid(procP, 1))
		s.launch(at+120, tid(procP, 1), 10*i+1, at+121, at+131)
		s.launch(at+155, tid(procP, 1), 10*i+2, at+156, at+160)
		inside(s, at, tid(procP, 2))
		s.launch(at+160, tid(procP, 2), 10*i+3, at+170, at+180)
		s.launch(at+165, tid(procP, 2), 10*i+4, at+180, at+190)
		s.alloc(at+180, tid(procP, 2), 10*i+5, 4096*(i+1), 64)
	}
	s.threadName(tid(procP, 2), name)
	return s
}

// said is the count of a warning; 0 where there is none.
func said(rep *Report, code Code) int64 {
	for i := range rep.Warnings {
		if rep.Warnings[i].Code == code {
			return rep.Warnings[i].Count
		}
	}
	return 0
}

func emitted(s *script, at, tid int64) {
	s.nv(at+158, at+190, fmt.Sprintf("autograd::engine::evaluate_function: AddmmBackward0, op_id = %d", at+1), tid)
	s.nv(at+159, at+170, fmt.Sprintf("AddmmBackward0, seq = 12, op_id = %d", at+2), tid)
}

// stepRows lists the phases of the second step with their kernels and allocated bytes.
func stepRows(tr *Track) string {
	var out []string
	for i := range tr.Iterations[1].Phases {
		p := &tr.Iterations[1].Phases[i]
		out = append(out, fmt.Sprintf("%s %d %d %d", p.Path, p.Depth, p.GPU.Kernels, p.Memory.AllocBytes))
	}
	return strings.Join(out, "; ")
}

// Work in a library's range on another thread belongs to the phase open at that time, and the range is a detail of it.
func TestLookedThrough(t *testing.T) {
	t.Parallel()
	const node = "backward/autograd::engine::evaluate_function: AddmmBackward0"
	rep := backward(t, "pt_autograd_0", emitted).report(Options{})
	tr := onlyTrack(t, rep)
	equal(t, "said", said(rep, Aside), 0)
	equal(t, "rows", stepRows(tr), "forward 1 1 0; backward 1 3 64; "+node+" 2 2 64; "+node+"/AddmmBackward0 3 2 0; (other) 1 0 0")
	equal(t, "attribution", tr.Attribution, Attribution{Kernels: 12, SameThread: 6, OtherThread: 6, Through: 6})
	equal(t, "kernels of the step", tr.Iterations[1].GPU.Kernels, 4)
	equal(t, "ranges outside", len(tr.Ranges), 0)
	equal(t, "steps", tr.IterationsFrom.Pattern, "step #")

	rep = backward(t, "pt_autograd_0", emitted).report(Options{Threads: ThreadsAny})
	tr = onlyTrack(t, rep)
	equal(t, "any: rows", stepRows(tr), "forward 1 1 0; backward 1 1 0; (other) 1 0 0")
	equal(t, "any: attribution", tr.Attribution, Attribution{Kernels: 12, SameThread: 12})
	equal(t, "any: ranges outside", len(tr.Ranges), 1)
	equal(t, "any: said", said(rep, Aside), 6)

	tr = onlyTrack(t, backward(t, "pt_autograd_0", emitted).report(Options{Threads: ThreadsSame}))
	equal(t, "same: attribution", tr.Attribution, Attribution{Kernels: 12, SameThread: 12})
}

// By its domain a range is a library's too, whatever its name.
func TestLookedThroughByDomain(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]int64{"NCCL": 3, "CCCL": 3, "cuBLAS": 3, "solver": 1, "mpi solver": 1} {
		s := backward(t, "worker", func(s *script, at, tid int64) {
			s.nvRow(nvRow{at + 158, at + 190, nvPushPop, "reduce", null, tid, null, 5})
		})
		s.nvRow(nvRow{1, null, nvDomain, domain, null, tid(procP, 1), null, 5})
		tr := onlyTrack(t, s.report(Options{}))
		equal(t, domain, tr.Iterations[1].Phases[1].GPU.Kernels, want)
	}
}

// A range of the program's own keeps its work, and what a library does in it; so does a helper's thread.
func TestNotLookedThrough(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]func(s *script, at, tid int64){
		"program's own":  func(s *script, at, tid int64) { s.nv(at+158, at+190, "reduce gradients", tid) },
		"named for NCCL": func(s *script, at, tid int64) { s.nv(at+158, at+190, "nccl_allreduce_step", tid) },
		"a library in the program's own": func(s *script, at, tid int64) {
			s.nv(at+157, at+195, "reduce gradients", tid)
			s.nv(at+158, at+190, "ncclAllReduce", tid)
		},
	} {
		tr := onlyTrack(t, backward(t, "worker", inside).report(Options{}))
		equal(t, name+": rows", stepRows(tr), "forward 1 1 0; backward 1 1 0; (other) 1 0 0")
		equal(t, name+": attribution", tr.Attribution, Attribution{Kernels: 12, SameThread: 12})
	}
	tr := onlyTrack(t, backward(t, "worker", func(s *script, at, tid int64) {
		s.nv(at+157, at+195, "ncclAllReduce", tid)
		s.nv(at+158, at+190, "reduce gradients", tid)
	}).report(Options{}))
	equal(t, "in a library: rows", stepRows(tr), "forward 1 1 0; backward 1 1 0; backward/ncclAllReduce 2 0 0; (other) 1 0 0")
	equal(t, "in a library: attribution", tr.Attribution, Attribution{Kernels: 12, SameThread: 12})
	tr = onlyTrack(t, backward(t, "pt_data_pin", emitted).report(Options{}))
	equal(t, "helper", tr.Attribution, Attribution{Kernels: 12, SameThread: 12})
}

// A library's range that no phase holds whole is no detail; each piece of work belongs to the phase open at its time, and
// to the range where none is.
func TestLookedThroughAcrossPhases(t *testing.T) {
	t.Parallel()
	s := backward(t, "pt_autograd_0", func(s *script, at, tid int64) {
		s.nv(at+115, at+400, "ncclAllReduce", tid)
		s.launch(at+130, tid, at+6, at+200, at+201)
		s.launch(at+145, tid, at+7, at+201, at+202)
		s.launch(at+350, tid, at+8, at+350, at+351)
	})
	tr := onlyTrack(t, s.report(Options{}))
	equal(t, "rows", stepRows(tr), "forward 1 2 0; backward 1 3 64; (other) 1 1 0")
	equal(t, "attribution", tr.Attribution, Attribution{Kernels: 21, SameThread: 9, OtherThread: 12, Through: 12})
	equal(t, "ranges outside", len(tr.Ranges), 1)
	equal(t, "kernels outside", tr.Ranges[0].GPU.Kernels, 3)
}

// The launches of a backward thread speak for the iterations on the other one.
func TestLookedThroughCounts(t *testing.T) {
	t.Parallel()
	rep := backward(t, "pt_autograd_0", emitted).report(Options{})
	for _, f := range rep.Families {
		switch f.Pattern {
		case "step #":
			equal(t, "share of steps", f.Launches, 1)
		case "AddmmBackward#":
			equal(t, "share of operators", f.Launches, 0.5)
		}
	}
}
