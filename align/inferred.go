package align

import (
	"slices"
	"strings"

	"nsysmem/align/period"
)

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

	Memory []PhaseMemory // of each inferred phase on each level, in time order; nil where no memory was collected
	Phases []PhaseMedian // the same over steady iterations, by level and then in order of appearance
}

// InferredIteration is one iteration found in the GPU work.
type InferredIteration struct {
	Start     int64 // ns
	End       int64 // ns
	Truncated bool
	Place     int // of the annotated iteration in which it launches first; -1 for none
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

// compareInferred holds what was inferred against the ranges of a process; nil where there is nothing to compare.
//
//  1. Each operation gets the inferred phase that it lies in.
//  2. It is joined to the annotated ranges by its launch, like any other work, and kernels are counted where the two
//     agree on the top-level phase.
//  3. An inferred iteration begins well where its first operation belongs to another annotated iteration than the one
//     launched before it.
func compareInferred(src *source, a *alignment, r *rows, p *process) *Inferred {
	its, ok := a.comparable(p)
	if !ok {
		return nil
	}
	found, list := its.searched.result, its.searched.ops
	out := &Inferred{Confidence: found.Confidence, Why: found.Why, Annotated: len(its.members)}
	phaseOf := out.phases(found.Iterations, list)
	phases := slices.ContainsFunc(found.Iterations, func(it period.Iteration) bool { return len(it.Phases) > 0 })
	join := &joiner{src: src, ranges: a.ranges, leads: a.leads}
	iterOf := make([]int, len(list.ops))
	for i := range list.ops {
		op := &list.ops[i]
		iter, path := r.where(p, join.known(list.threads[op.Thread]).place(op.Start))
		iterOf[i] = iter
		if iter < 0 || path == OtherPhase || !phases {
			continue
		}
		top, _, _ := strings.Cut(path, "/")
		out.Kernels += int64(list.kernels[i])
		if phaseOf[i] == top {
			out.Agree += int64(list.kernels[i])
		}
	}
	for k, it := range found.Iterations {
		out.Iterations[k].Place = iterOf[it.First]
		if it.First == 0 || iterOf[it.First] >= 0 && iterOf[it.First-1] != iterOf[it.First] {
			out.Boundaries++
		}
	}
	return out
}

// comparable are the iterations of a process where annotated and inferred ones are to be compared.
func (a *alignment) comparable(p *process) (its iterations, ok bool) {
	its = iterationsOf(a.iterations, p)
	return its, its.searched.ops != nil && len(its.members) > 0 && !its.from.Inferred()
}

// phases fills the inferred iterations, and gives each operation the phase that it lies in; empty for none.
func (n *Inferred) phases(its []period.Iteration, list *opList) []string {
	phaseOf := make([]string, len(list.ops))
	for _, it := range its {
		x := InferredIteration{Start: it.Start, End: it.End, Truncated: it.Truncated}
		for _, ph := range it.Phases {
			count := int64(0)
			for i := ph.First; i <= ph.Last && i < len(phaseOf); i++ {
				if op := &list.ops[i]; op.Start >= ph.Start && op.Start < ph.End {
					phaseOf[i] = ph.Name
					count += int64(list.kernels[i])
				}
			}
			x.add(ph, count)
		}
		n.Iterations = append(n.Iterations, x)
	}
	return phaseOf
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
