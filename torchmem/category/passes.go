package category

import (
	"sort"

	"nsysmem/torchmem"
)

// A Recording is what PyTorch's memory history says of the blocks of one device.
type Recording struct {
	Blocks  []torchmem.Block // by birth, as a Replay has them
	Events  *torchmem.Trace
	Stack   func(torchmem.StackID) []torchmem.Frame
	Private []Pool
}

// A Pool is a segment of a private pool, that of a CUDA graph for example, as it was when the snapshot was taken.
type Pool struct {
	Addr  uint64
	Size  int64 // bytes
	Since int32 // place in the trace of the event that took it from the driver; -1 for one that was there before
}

// A pass is one backward pass, by the events of the trace.
type pass struct {
	from, to int32
	grad     bool // of torch.autograd.grad
	called   bool // a module was called since the pass before
}

// A history is what the order of a trace's events says of a program.
type history struct {
	end    int32 // number of events
	passes []pass
	calls  []int32 // where modules begin to be called after something else
	rounds []int32 // where an optimizer begins, once between two passes
	ooms   []int32
	seen   []seen // by block
}

// A seen is where the program was when a block was asked for.
type seen struct {
	pass int32 // place in passes; -1 for none
	next int32 // place in passes of the next one to begin; their number where none does
	pre  bool  // since the last backward pass, optimizer's step or zero_grad, no module was called
}

// A reader goes through the events once.
type reader struct {
	history
	traits  *traits
	open    map[uint64]bool // addresses of gradients that the pass in hand started from
	loose   bool            // the pass in hand ends when its caller goes on, not with such a gradient
	in      bool            // a pass is in hand
	pre     bool
	called  bool
	calling bool
	stepped bool
	block   int // of the next birth
}

// historyOf reads a trace.
//
//  1. A backward pass is the life of the gradient that it starts from. Where there is none, because the program gave its
//     own, it is a run of requests by the engine's thread: the thread that called it waits meanwhile. That of
//     torch.autograd.grad also ends when its caller goes on, for a graph of the gradient may hold what it started from.
//  2. A step's forward pass begins where a module is called first after a backward pass, an optimizer's step or zero_grad.
func historyOf(r *Recording, ts *traits) *history {
	x := &reader{traits: ts, open: map[uint64]bool{}, pre: true}
	x.end = int32(r.Events.Len())
	x.seen = make([]seen, len(r.Blocks))
	for i := range r.Blocks {
		if r.Blocks[i].BirthEvent >= 0 {
			break
		}
		x.seen[i].pass = -1
		x.block++
	}
	r.Events.Each(func(i int, e *torchmem.TraceEvent) bool {
		x.read(int32(i), e)
		if e.Action == torchmem.Alloc && x.block < len(r.Blocks) && r.Blocks[x.block].BirthEvent == int32(i) {
			x.note()
		}
		return true
	})
	if x.in {
		x.passes[len(x.passes)-1].to = x.end
	}
	return &x.history
}

func (x *reader) note() {
	s := &x.seen[x.block]
	s.pre, s.pass, s.next = x.pre, -1, int32(len(x.passes))
	if x.in {
		s.pass = int32(len(x.passes) - 1)
	}
	x.block++
}

func (x *reader) read(i int32, e *torchmem.TraceEvent) {
	t := x.traits.of(e.Stack)
	switch e.Action {
	case torchmem.OOM:
		x.ooms = append(x.ooms, i)
	case torchmem.FreeRequested:
		x.freed(i, e, t)
	case torchmem.Alloc:
		x.born(i, e, t)
	}
}

func (x *reader) begin(i int32, t *trait, loose bool) {
	x.in, x.loose, x.pre = true, loose, true
	x.passes = append(x.passes, pass{from: i, grad: t.has(markGrad), called: x.called})
	x.called, x.calling, x.stepped = false, false, false
}

func (x *reader) finish(i int32) {
	x.in = false
	x.passes[len(x.passes)-1].to = i
}

// goOn ends a pass where the thread that called it goes on: a loose one at whatever that asks for or gives back, another
// where it calls a module or an optimizer, for an exception may hold what the pass started from.
func (x *reader) goOn(i int32, t *trait) {
	if !x.in || !t.python || t.engine || t.zone == zoneEngine {
		return
	}
	if x.loose || t.zone == zoneCall || t.zone == zoneOptimizer || t.has(markZeroGrad) {
		x.finish(i)
		clear(x.open)
	}
}

func (x *reader) freed(i int32, e *torchmem.TraceEvent, t *trait) {
	if x.open[e.Addr] {
		delete(x.open, e.Addr)
		if len(x.open) == 0 && x.in {
			x.finish(i)
		}
	}
	x.goOn(i, t)
	if t.has(markZeroGrad) {
		x.pre, x.calling = true, false
	}
}

func (x *reader) born(i int32, e *torchmem.TraceEvent, t *trait) {
	x.goOn(i, t)
	switch {
	case t.has(markSeed):
		x.open[e.Addr] = true
		if !x.in {
			x.begin(i, t, t.has(markGrad))
		}
	case x.in:
	case t.engine:
		x.begin(i, t, true)
	case t.zone == zoneOptimizer || t.has(markZeroGrad):
		x.pre, x.calling = true, false
		if t.zone == zoneOptimizer && !x.stepped {
			x.stepped = true
			x.rounds = append(x.rounds, i)
		}
	case t.zone == zoneCall || t.zone == zoneCompiled:
		if !x.calling {
			x.calls = append(x.calls, i)
		}
		x.pre, x.calling, x.called = false, true, true
	default:
		x.calling = false
	}
}

// over is how many of the events at lie between two others.
func over(at []int32, from, to int32) int {
	n := func(x int32) int { return sort.Search(len(at), func(i int) bool { return at[i] >= x }) }
	return max(n(to)-n(from+1), 0)
}

// begun is how many passes have begun before an event.
func (h *history) begun(at int32) int {
	return sort.Search(len(h.passes), func(i int) bool { return h.passes[i].from >= at })
}

// during is the pass that an event is in; -1 for none.
func (h *history) during(at int32) int32 {
	i := sort.Search(len(h.passes), func(i int) bool { return h.passes[i].from > at }) - 1
	if i < 0 || h.passes[i].to < at {
		return -1
	}
	return int32(i)
}

// traits are those of the stacks of a recording.
type traits struct {
	list []trait
	none trait
}

func (ts *traits) of(id torchmem.StackID) *trait {
	if int(id) < len(ts.list) {
		return &ts.list[id]
	}
	return &ts.none
}

// callers are names of the outermost function of threads that Python began.
var callers = map[string]bool{"<module>": true, "_bootstrap": true, "_bootstrap_inner": true, "_run_module_as_main": true}

// traitsOf reads the stacks of a recording, and tells which are of the threads of the backward engine: those without a
// Python frame, and those whose outermost one is neither where Python begins a thread nor one below which the program
// calls backward, moves modules or clears gradients. ok is false where no request has a Python frame.
func traitsOf(r *Recording) (ts *traits, ok bool) {
	ts = &traits{none: trait{engine: true}}
	roots := map[place]bool{}
	know := func(id torchmem.StackID) {
		for int(id) >= len(ts.list) {
			ts.list = append(ts.list, trait{line: place{line: -1}})
		}
		t := &ts.list[id]
		if t.line.line != -1 {
			return
		}
		*t = traitOf(r.Stack(id))
		if t.python && t.has(markSeed|markModule|markZeroGrad) && !callers[t.root.name] && t.root.name != "apply" {
			roots[place{file: t.root.file, name: t.root.name}] = true
		}
	}
	r.Events.Each(func(i int, e *torchmem.TraceEvent) bool {
		know(e.Stack)
		ok = ok || e.Action == torchmem.Alloc && ts.list[e.Stack].python
		return true
	})
	for i := range r.Blocks {
		know(r.Blocks[i].Stack)
		know(r.Blocks[i].FreeStack)
	}
	for i := range ts.list {
		t := &ts.list[i]
		if !t.python || !callers[t.root.name] && !roots[place{file: t.root.file, name: t.root.name}] {
			t.engine = true
		}
	}
	return ts, ok
}

// RecordingOf is what a replay gives for Traced.
func RecordingOf(r *torchmem.Replay) *Recording {
	out := &Recording{Blocks: r.Blocks, Events: r.Trace(), Stack: r.Stack}
	for _, p := range r.PrivateSegments() {
		out.Private = append(out.Private, Pool{Addr: p.Addr, Size: p.Size, Since: p.Since})
	}
	return out
}
