package align

import (
	"fmt"
	"slices"

	"nsysmem/align/period"
	"nsysmem/nsysdb"
)

// pseudoIterations puts inferred iterations, and their phases where the program has no ranges inside them, among the
// ranges of the thread that launches them.
func (a *analysis) pseudoIterations(p *process, list *opList, res *period.Result) {
	p.main = p.thread(list.threads[list.ops[res.Iterations[0].First].Thread])
	p.inferred, p.pseudo = true, nil
	its := res.Iterations
	starts := make([]int64, len(its))
	for i := range its {
		starts[i] = a.pullStart(p.main, its[i].Earliest, its[i].Start)
	}
	user := a.userRangesIn(p.main, its)
	unit := map[string]string{"training step": "step", "": "step"}[res.Unit]
	if unit == "" {
		unit = res.Unit
	}
	for i := range its {
		end := its[i].End
		if i+1 < len(its) {
			end = min(end, starts[i+1])
		}
		p.pseudo = append(p.pseudo, a.pseudoSpan(p, fmt.Sprintf("%s %d", unit, i), starts[i], end))
		a.spans[len(a.spans)-1].cut = its[i].Truncated
		if !user {
			for _, ph := range its[i].Phases {
				a.pseudoSpan(p, ph.Name, max(ph.Start, starts[i]), min(ph.End, end))
			}
		}
	}
	p.from = IterationsFrom{How: OriginKernels, Pattern: unit + " #", Confidence: res.Confidence, Count: len(its),
		TID: nsysdb.TID(p.main.tid), Why: res.Why}
	a.relay(p)
}

// pseudoPhases puts inferred phases inside annotated iterations. It tells whether there are any.
func (a *analysis) pseudoPhases(p *process, f *family, res *period.Result) bool {
	n := len(a.spans)
	k := 0
	for _, it := range res.Iterations {
		for _, ph := range it.Phases {
			for k < len(f.members) && a.spans[f.members[k]].end <= ph.Start {
				k++
			}
			for m := k; m < len(f.members) && a.spans[f.members[m]].start < ph.End; m++ {
				s := a.spans[f.members[m]]
				if start, end := max(ph.Start, s.start), min(ph.End, s.end); start < end {
					a.pseudoSpan(p, ph.Name, start, end)
				}
			}
		}
	}
	if len(a.spans) == n {
		return false
	}
	p.main, p.inferred = f.thread, true
	a.relay(p)
	return true
}

// pseudoSpan adds an inferred range to a process's main thread.
func (a *analysis) pseudoSpan(p *process, name string, start, end int64) int32 {
	id := int32(len(a.spans))
	a.spans = append(a.spans, span{start: start, end: max(start, end), name: a.nameID(name), proc: p.index, thread: p.main, row: -1, pseudo: true})
	p.main.ranges = append(p.main.ranges, id)
	return id
}

// nameID is the index of a name that the report need not have.
func (a *analysis) nameID(name string) int32 {
	if a.pseudoNames == nil {
		a.pseudoNames = make(map[string]int32)
	}
	id, ok := a.pseudoNames[name]
	if !ok {
		id = int32(len(a.names))
		a.names = append(a.names, name)
		a.pseudoNames[name] = id
	}
	return id
}

// pullStart moves an iteration's start back to where a range of the program's own begins just before its first launch.
func (a *analysis) pullStart(t *thread, earliest, start int64) int64 {
	at := start
	for _, id := range t.ranges {
		if s := &a.spans[id]; !s.operator && !s.pseudo && s.start >= earliest && s.start < at && s.end < maxTime && s.end > start {
			at = s.start
		}
	}
	return at
}

// userRangesIn says that a thread has ranges of the program's own inside the iterations.
func (a *analysis) userRangesIn(t *thread, its []period.Iteration) bool {
	k := 0
	for _, id := range t.ranges {
		s := &a.spans[id]
		if s.operator || s.pseudo {
			continue
		}
		for k < len(its) && its[k].End <= s.start {
			k++
		}
		if k < len(its) && s.start >= its[k].Earliest && s.end <= its[k].End {
			return true
		}
	}
	return false
}

// relay lays out a process's main thread anew, with what was inferred.
func (a *analysis) relay(p *process) {
	t := p.main
	t.name = a.threadNames[t.tid]
	t.sortRanges(a.spans)
	t.segs = t.cut(a.spans, func(s *span) bool { return !s.pseudo })
	p.mainSegs = t.cut(a.spans, func(s *span) bool { return !s.operator })
}

// Inferred is what a search in the GPU work alone finds in a process whose ranges tell the iterations, and how well
// the two agree.
type Inferred struct {
	Confidence float64
	Why        string
	Iterations []InferredIteration

	Annotated  int   // iterations by ranges
	Boundaries int   // inferred iterations that begin after the last launch of one annotated iteration and not after the first launch of the next
	Kernels    int64 // kernels launched inside annotated iterations and their phases; 0 where no phases are inferred
	Agree      int64 // of those, the ones whose inferred phase has the name of the annotated top-level phase
}

// InferredIteration is one iteration found in the GPU work.
type InferredIteration struct {
	Start     int64 // ns
	End       int64 // ns
	Truncated bool
	Phases    []InferredPhase
}

// InferredPhase is all calls of a phase found in the GPU work.
type InferredPhase struct {
	Name    string
	Calls   int
	Start   int64 // ns; of the first call
	End     int64 // ns; of the last call
	Kernels int64
}

// compareInferred holds what was inferred against the ranges of a process.
func (a *analysis) compareInferred(p *process) *Inferred {
	if p.found == nil || p.ops == nil || len(p.iters) == 0 || p.from.Inferred() {
		return nil
	}
	out := &Inferred{Confidence: p.found.Confidence, Why: p.found.Why, Annotated: len(p.iters)}
	phaseOf := make([]string, len(p.ops.ops))
	for _, it := range p.found.Iterations {
		n := InferredIteration{Start: it.Start, End: it.End, Truncated: it.Truncated}
		for _, ph := range it.Phases {
			count := int64(0)
			for i := ph.First; i <= ph.Last && i < len(phaseOf); i++ {
				if op := &p.ops.ops[i]; op.Start >= ph.Start && op.Start < ph.End {
					phaseOf[i] = ph.Name
					count += int64(p.ops.kernels[i])
				}
			}
			n.add(ph, count)
		}
		out.Iterations = append(out.Iterations, n)
	}
	phases := slices.ContainsFunc(p.found.Iterations, func(it period.Iteration) bool { return len(it.Phases) > 0 })
	threads := make(map[int32]*apiThread)
	iterOf := make([]int, len(p.ops.ops))
	for i := range p.ops.ops {
		op := &p.ops.ops[i]
		t := threads[op.Thread]
		if t == nil {
			t = a.newThread(p, p.ops.threads[op.Thread])
			threads[op.Thread] = t
		}
		iter, path := a.where(p, t.place(op.Start, a))
		iterOf[i] = iter
		if iter < 0 || path == OtherPhase || !phases {
			continue
		}
		top := path
		for k := 0; k < len(path); k++ {
			if path[k] == '/' {
				top = path[:k]
				break
			}
		}
		out.Kernels += int64(p.ops.kernels[i])
		if phaseOf[i] == top {
			out.Agree += int64(p.ops.kernels[i])
		}
	}
	for _, it := range p.found.Iterations {
		// Within the gap: the first operation belongs to another annotated iteration than the one launched before it.
		if it.First == 0 || iterOf[it.First] >= 0 && iterOf[it.First-1] != iterOf[it.First] {
			out.Boundaries++
		}
	}
	return out
}

func (n *InferredIteration) add(ph period.Phase, kernels int64) {
	for i := range n.Phases {
		if q := &n.Phases[i]; q.Name == ph.Name {
			q.Calls++
			q.End = ph.End
			q.Kernels += kernels
			return
		}
	}
	n.Phases = append(n.Phases, InferredPhase{Name: ph.Name, Calls: 1, Start: ph.Start, End: ph.End, Kernels: kernels})
}
