package period

import (
	"fmt"
	"slices"
)

// findRepeats finds what a single thread repeats: steps of any program, decode steps, requests, graph replays. It takes
// the busiest thread on which anything is found, and says of the busiest of all why nothing is. A program is strict that
// has a backward thread whose turns are not steps: its repetitions must have an optimizer, copies or graphs.
func findRepeats(ops []Op, strict, begins bool) Result {
	first := none("too few kernels to repeat")
	for n, thread := range workers(ops) {
		r := repeatsOf(launchedBy(ops, thread), strict, begins)
		if len(r.Iterations) > 0 {
			return r
		}
		if n == 0 {
			first = r
		}
	}
	return first
}

// workers lists the threads that launch most of the work, busiest first.
func workers(ops []Op) []int32 {
	work := map[int32]int{}
	var order []int32
	for i := range ops {
		o := &ops[i]
		if w := o.weight(); w > 0 {
			if work[o.Thread] == 0 {
				order = append(order, o.Thread)
			}
			work[o.Thread] += w
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return work[b] - work[a] })
	for i, t := range order {
		if i == maxWorkers || !worker.of(work[t], work[order[0]]) {
			return order[:i]
		}
	}
	return order
}

func launchedBy(ops []Op, thread int32) sequence {
	s := sequence{ops: ops}
	for i := range ops {
		if ops[i].Thread == thread {
			s.idx = append(s.idx, int32(i))
		}
	}
	return s
}

// repeated is what recurs in a sequence.
type repeated struct {
	its        []span  // iterations
	proof      proof   // what tells that they are steps; for requests proofRequests
	steps      []span  // finer stretches within them: prefills and decode steps; nil where there are none
	confidence float64 // 0 to 1; how well they match
}

// repeatsOf finds what one thread repeats.
//
//  1. If it answers requests whose prompts the host feeds, those are the iterations.
//  2. Else find the levels of repetition, and of those that match choose the one that steps are.
//  3. Cut where its steps begin.
//  4. Join decode steps to requests where several begin with a prefill.
//  5. Compare what is left, and give up where it does not match.
func repeatsOf(s sequence, strict, begins bool) Result {
	if !strict {
		if r, ok := s.fedRequests(); ok {
			return s.repeatResult(r)
		}
	}
	var good []level
	for _, l := range s.levels() {
		if s.recurs(l) {
			good = append(good, l)
		}
	}
	if len(good) == 0 {
		return none("no run of GPU operations recurs evenly")
	}
	chosen, proof := choose(good, strict)
	ok := proof != noProof
	var its []span
	if ok {
		its = s.iterations(chosen)
	}
	if r, ok := s.generations(its, good, chosen); ok {
		return s.repeatResult(r)
	}
	if r, ok := s.groups(its); ok && proof != proofOptimizer {
		return s.repeatResult(r)
	}
	switch {
	case !ok:
		return none("what recurs looks like the layers of one pass: nothing is copied between them")
	case len(its) < leastRepeats:
		return none("fewer than four repetitions")
	}
	conf := agreement(s.stretches(its))
	if conf < leastAgreement {
		return none(fmt.Sprintf("repetitions do not match (%.0f %%)", 100*conf))
	}
	if !begins && proof != proofOptimizer && proof != proofGraphs && s.isWindow(its) {
		return none("what recurs fills the recording from its start: it may be the layers of one pass")
	}
	return s.repeatResult(repeated{its: its, proof: proof, confidence: conf * s.fullness(its)})
}

// isWindow says that a recording begins amid its repetitions: nothing was set up before them, and what comes first is the
// rest of one. Of a window cut out of a program nobody can tell whether they are steps or layers, unless it holds whole ones
// alone: then the program itself opened and closed it around them.
func (s sequence) isWindow(its []span) bool {
	first, second := s.cut(0, its[0].from), s.in(its[1])
	last := its[len(its)-1]
	whole := first.len() == 0 && s.len()-last.to <= 2 && distance(last.len(), second.len()) <= 2
	return !whole && first.len() <= second.len() && (first.len() == 0 || within(first, second) >= windowed)
}

// fullness takes confidence from repetitions of few kernels: a solver, a sort and the set-up of a program loop too.
func (s sequence) fullness(its []span) float64 {
	kinds := map[uint64]bool{}
	body := s.in(its[len(its)/2])
	for p := range min(body.len(), maxCompared) {
		o := body.at(p)
		if o.Class == Graph {
			return 1
		}
		if o.work() {
			kinds[o.name()] = true
		}
	}
	switch {
	case len(kinds) >= fullStep:
		return 1
	case len(kinds) > 1:
		return fewKinds
	}
	return loneKernel
}

// choose takes the level that steps are, of those that match, coarsest first; it fails where none is.
//
//  1. The finest one whose stretches hold an optimizer.
//  2. Else the finest one whose stretches hold a copy between host and device: the host feeds and reads steps, not
//     layers.
//  3. Where nothing is ever copied, the coarsest, if it launches graphs, holds layers itself, or repeats so often that it
//     cannot be the layers of one pass. Steps of which two or more look alike only together are one each.
func choose(good []level, strict bool) (level, proof) {
	for _, l := range slices.Backward(good) {
		if l.hints >= inNearlyAll {
			return l, proofOptimizer
		}
	}
	for _, l := range slices.Backward(good) {
		switch {
		case l.feeds >= inNearlyAll:
			return l, proofFed
		case l.copies >= inNearlyAll:
			return l, proofRead
		}
	}
	l := good[0]
	layers := func(f level) bool {
		return f.length >= leastLayer && f.quality >= layerQuality && l.length >= finerTimes*f.length
	}
	switch {
	case l.graphs >= inNearlyAll:
		return l.single(good[1:]), proofGraphs
	case strict:
		return l, noProof
	case len(l.at) >= moreThanLayers:
		return l.single(good[1:]), proofMany
	case slices.ContainsFunc(good[1:], layers):
		return l.single(good[1:]), proofLayers
	}
	return l, noProof
}

// single is the finest of other levels whose stretches fill the same time and are a small part of this one's: what comes
// in turns, such as kernels that a library chooses, makes several steps look like one.
func (l level) single(finer []level) level {
	extent := l.at[len(l.at)-1] - l.at[0]
	out := l
	for _, f := range finer {
		times := (l.length + f.length/2) / f.length
		even := evenly.of(min(times*f.length, l.length), max(times*f.length, l.length))
		if times > 1 && times <= mostInTurn && even && f.quality >= layerQuality && evenly.of(f.length*len(f.at), extent) {
			out = f
		}
	}
	return out
}

// repeatResult makes a result of what recurs.
func (s sequence) repeatResult(r repeated) Result {
	its := make([]Iteration, len(r.its))
	steps := r.steps
	for i, x := range r.its {
		steps = its[i].addTokens(s, x, steps)
	}
	setTimes(s, its, r.its)
	told := proofs[r.proof]
	return Result{Iterations: its, Confidence: told.confidence * r.confidence, Sure: told.sure, Period: median(lengths(r.its)),
		Unit: told.unit, Why: told.why}
}
