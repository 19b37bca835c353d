package period

import (
	"fmt"
	"slices"
)

// findRepeats finds what a single thread repeats: steps of any program, decode steps, requests, graph replays. It takes
// the busiest thread on which anything is found, and says of the busiest of all why nothing is. A program is strict that
// has a backward thread whose turns are not steps: its repetitions must have an optimizer, copies or graphs.
func findRepeats(ops []Op, strict bool) Result {
	first := none("too few kernels to repeat")
	for n, thread := range workers(ops) {
		r := repeatsOf(launchedBy(ops, thread), strict)
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
func repeatsOf(s sequence, strict bool) Result {
	if !strict {
		if r, ok := s.fedRequests(); ok {
			return s.requestResult(r)
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
	chosen, ok := choose(good, strict)
	var its []span
	if ok {
		its = s.iterations(chosen)
	}
	if r, ok := s.generations(its, good, chosen); ok {
		return s.requestResult(r)
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
	r := repeated{its: its, confidence: conf}
	if chosen.graphs >= inNearlyAll {
		return s.repeatResult(r, "graph launch", "launches of a graph recur")
	}
	return s.repeatResult(r, "step", "a run of GPU operations recurs")
}

// choose takes the level that steps are, of those that match, coarsest first; it fails where none is.
//
//  1. The finest one whose stretches hold an optimizer.
//  2. Else the finest one whose stretches hold a copy between host and device: the host feeds and reads steps, not
//     layers.
//  3. Where nothing is ever copied, the coarsest, if it launches graphs, holds finer repetition itself, or repeats so
//     often that it cannot be the layers of one pass.
func choose(good []level, strict bool) (level, bool) {
	for _, l := range slices.Backward(good) {
		if l.hints >= inNearlyAll {
			return l, true
		}
	}
	for _, l := range slices.Backward(good) {
		if l.copies >= inNearlyAll {
			return l, true
		}
	}
	l := good[0]
	finer := func(f level) bool { return l.length >= finerTimes*f.length }
	return l, l.graphs >= inNearlyAll || !strict && (len(l.at) >= moreThanLayers || slices.ContainsFunc(good[1:], finer))
}

// repeatResult makes a result of what recurs.
func (s sequence) repeatResult(r repeated, unit, why string) Result {
	its := make([]Iteration, len(r.its))
	steps := r.steps
	for i, x := range r.its {
		steps = its[i].addTokens(s, x, steps)
	}
	setTimes(s, its, r.its)
	return Result{Iterations: its, Confidence: r.confidence, Period: median(lengths(r.its)), Unit: unit, Why: why}
}

func (s sequence) requestResult(r repeated) Result {
	return s.repeatResult(r, "request", "a prefill is followed by decode steps that recur")
}
