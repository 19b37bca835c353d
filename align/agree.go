package align

import (
	"cmp"
	"fmt"

	"nsysmem/align/period"
)

// A standing is how ranges that were chosen for iterations stand beside what the GPU work tells.
type standing struct {
	asked   bool    // the GPU work was searched
	dropped string  // why they are no iterations after all; empty where they are
	agree   float64 // 0 to 1: share of the work in the ranges that both put in the same iteration
	held    float64 // 0 to 1: share of the work in the GPU work's iterations that lies in the range that belongs to them
	missed  float64 // 0 to 1: share of those iterations that no range belongs to
	found   int     // iterations in the GPU work; 0 for none
	trains  bool    // they are training steps
	sure    bool    // what the GPU work tells is more than a resemblance
}

// against says why a candidate is no iteration after all; it is empty where it is one.
func (s standing) against(c *candidate) string {
	if !s.asked && c.needsWork() {
		return c.doubt + ", and there is no GPU work to ask, or it was not asked"
	}
	return s.dropped
}

// disagrees says that the GPU work tells other iterations, or several more between the ranges.
func (s standing) disagrees() bool {
	return s.sure && s.found > 0 && (s.agree < disagreeing || s.missed > 1-disagreeing)
}

// Shares of the work in ranges that both ways put in the same iteration.
const (
	agreeing    = 0.9 // from here on they tell the same iterations
	disagreeing = 0.7 // below, one of them is wrong

	// finerWork is how much of the work that the GPU's iterations hold must lie in ranges that hold several of them, such
	// as epochs, for the ranges to be the coarser unit.
	finerWork = 0.8
)

// confirm holds ranges that were chosen against what the GPU work tells, and drops them where that tells better:
//
//  1. Ranges that nothing names a round must agree with it.
//  2. Epochs, and other ranges that hold several of its iterations each, give way to the finer unit.
//  3. Ranges that hold little of the program's work give way to iterations that hold more.
//  4. So do ranges that hold less than half of each training step, such as its forward pass alone.
//  5. Other ranges that are named rounds stand; where they do not agree, or hold only part of each, that is told.
func (b *inferrer) confirm(c *candidate, list *opList, res *period.Result) standing {
	trains := res.Unit == "training step"
	out := standing{asked: true, found: len(res.Iterations), trains: trains, sure: res.Sure}
	if c.sound() && !trains {
		return standing{asked: true} // a request may hold steps that the host feeds
	}
	if out.found == 0 {
		if c.needsWork() {
			out.dropped = c.doubt + ", and the GPU work does not confirm it"
		}
		return out
	}
	shared := b.sharedWork(c, list, res)
	out.agree, out.held, out.missed = shared.agree(), shared.held(), shared.missing()
	if c.part && res.Sure && trains && shared.between > 2*shared.both {
		out.dropped = fmt.Sprintf("its ranges hold less than half of the %d training steps in the GPU work", out.found)
		return out
	}
	if c.doubt == "" {
		return out
	}
	told := fmt.Sprintf("the GPU work tells %d iterations", out.found)
	switch {
	case shared.finer(), res.Sure && shared.found > 2*shared.both,
		out.agree < agreeing && c.needsWork():
		out.dropped = c.doubt + "; " + told
	}
	return out
}

// sound says that nothing speaks against a candidate that is named for a round and has phases.
func (c *candidate) sound() bool { return c.doubt == "" && !c.part && c.word != "" && c.phases }

// needsWork says that a candidate is no iteration unless the GPU work confirms it: nothing names it a round of the program.
func (c *candidate) needsWork() bool { return c.doubt != "" && (c.word == "" || c.inner) }

// sharedWork is how the operations of a process lie in ranges and in iterations found in the GPU work.
type sharedWork struct {
	members int // operations in the ranges
	found   int // operations in the iterations
	between int // of those, the ones from the first range to the last
	both    int // operations in both
	same    int // of those, the ones whose range and iteration belong together
	nested  int // of those, the ones whose iteration has most of its work in their range
	several int // ranges that most of several iterations lie in
	ranges  int

	reached int // iterations with most of their work between the first range and the last
	met     int // of those, the ones that belong to a range
}

func (w sharedWork) agree() float64 {
	if w.members == 0 {
		return 0
	}
	return float64(w.same) / float64(w.members)
}

// held is the share of the iterations' work that the ranges hold which belong to them, from the first range to the last: a
// program need not have ranges from its beginning to its end.
func (w sharedWork) held() float64 {
	if w.between == 0 {
		return 0
	}
	return float64(w.same) / float64(w.between)
}

// missing is the share of the iterations from the first range to the last that no range belongs to.
func (w sharedWork) missing() float64 {
	if w.reached == 0 {
		return 0
	}
	return 1 - float64(w.met)/float64(w.reached)
}

// finer says that most ranges hold several of the iterations, and those nearly all of the work.
func (w sharedWork) finer() bool {
	return 2*w.several > w.ranges && float64(w.nested) >= finerWork*float64(w.found)
}

// A pair is a range and an iteration that share operations, by their places.
type pair struct{ member, found int }

// A tally counts operations by the range and the iteration that they lie in.
type tally struct {
	sharedWork
	counts  map[pair]int
	ofFound []int // by iteration
	inside  []int // by iteration: those from the first range to the last
}

// better says which of two pairs shares more.
func (t *tally) better(x, y pair) bool {
	return cmp.Or(cmp.Compare(t.counts[x], t.counts[y]), cmp.Compare(y.member, x.member), cmp.Compare(y.found, x.found)) > 0
}

// tally counts the operations of a process. A range that was never closed ends where the next one begins.
func (b *inferrer) tally(c *candidate, list *opList, res *period.Result) *tally {
	n := len(c.members)
	member := func(m int) *span { return &b.ranges.spans[c.members[m]] }
	first, last := member(0).start, member(n-1).end
	end := func(m int) int64 {
		if m+1 < n {
			return min(member(m).end, member(m+1).start)
		}
		return last
	}
	t := &tally{sharedWork: sharedWork{ranges: n}, counts: make(map[pair]int), ofFound: make([]int, len(res.Iterations)),
		inside: make([]int, len(res.Iterations))}
	m, k := 0, 0
	for i := range list.ops {
		op := &list.ops[i]
		for m < n && end(m) <= op.Start {
			m++
		}
		for k < len(res.Iterations) && res.Iterations[k].End <= op.Start {
			k++
		}
		inMember := m < n && member(m).start <= op.Start
		inFound := k < len(res.Iterations) && res.Iterations[k].Start <= op.Start
		if inMember {
			t.members++
		}
		if inFound {
			t.found++
			t.ofFound[k]++
			if first <= op.Start && op.Start < last {
				t.between++
				t.inside[k]++
			}
		}
		if inMember && inFound {
			t.both++
			t.counts[pair{m, k}]++
		}
	}
	return t
}

// sharedWork counts the operations in ranges and iterations. A range and an iteration belong together where each has most
// of its work in the other.
func (b *inferrer) sharedWork(c *candidate, list *opList, res *period.Result) sharedWork {
	t := b.tally(c, list, res)
	bestFound, bestMember := make(map[int]pair), make(map[int]pair) // by member, by iteration
	for p := range t.counts {
		if q, ok := bestFound[p.member]; !ok || t.better(p, q) {
			bestFound[p.member] = p
		}
		if q, ok := bestMember[p.found]; !ok || t.better(p, q) {
			bestMember[p.found] = p
		}
	}
	holding := make(map[int]int) // iterations by the member that they lie in
	for k, p := range bestMember {
		if 2*t.counts[p] > t.ofFound[k] {
			holding[p.member]++
			t.nested += t.counts[p]
		}
		if bestFound[p.member] == p {
			t.same += t.counts[p]
		}
	}
	for k, n := range t.inside {
		if 2*n > t.ofFound[k] {
			t.reached++
			if p, ok := bestMember[k]; ok && bestFound[p.member] == p {
				t.met++
			}
		}
	}
	for _, n := range holding {
		if n > 1 {
			t.several++
		}
	}
	return t.sharedWork
}

// How sure iterations by ranges are. What is told at 0.9 and above is right in 95 of 100 reports of strangers.
const (
	namedRounds  = 1    // named rounds that hold the program's work
	holdPasses   = 0.95 // other ranges that hold a forward and a backward pass each
	bothSay      = 0.95 // ranges and GPU work tell the same iterations
	partOfRound  = 0.8  // named rounds that hold only a part of each iteration in the GPU work
	onlyNamed    = 0.7  // named rounds that hold little of the work, or hold it coarsely, and nothing confirms
	contradicted = 0.6  // the GPU work tells others
)

// confidence is how sure iterations by ranges are.
func confidence(c *candidate, s standing) float64 {
	switch {
	case (c.part || s.trains) && c.word != "" && s.sure && s.found > 0 && s.held < agreeing && !s.disagrees():
		return partOfRound
	case c.word != "" && !c.inner && (c.doubt == "" || s.agree >= agreeing && s.held >= agreeing) && !s.disagrees():
		return namedRounds
	case c.doubt == "" && c.word == "" && c.place.holds:
		return holdPasses
	case c.doubt == "" && s.found == 0:
		return namedRounds // the options ask for it
	case s.found > 0 && s.agree >= agreeing && s.held >= agreeing:
		return bothSay
	case s.found > 0:
		return contradicted
	}
	return onlyNamed
}
