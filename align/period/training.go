package period

import (
	"fmt"
	"slices"
)

// findTraining finds training steps by the turns of main and backward thread. The result is zero where there is no
// backward thread.
//
//  1. Split the operations of both into turns; the tail after the last backward pass is a turn without one.
//  2. A turn begins with an optimizer where it has kernels of an optimizer's name. Where no names tell, it does where its
//     start is not forward pass, as the very first turn shows it: that one comes before any optimizer.
//  3. Learn how the forward pass looks: what the end of the first turn and of a short later one have in common, after
//     the last optimizer kernel. Then find its beginning in every turn, from the end backward.
//  4. Where the optimizer is followed by much that looks like forward passes, that is an evaluation: leave it out.
//  5. Steps are the turns from one optimizer to the next. Where steps take turns among themselves (two optimizers),
//     join those that make a cycle.
//  6. Compare the steps.
func findTraining(ops []Op) Result {
	roles, ok := rolesOf(ops)
	if !ok {
		return Result{}
	}
	t := turnsOf(ops, roles)
	if len(t.list) < 3 {
		return none("the backward thread has a single turn")
	}
	return findOptimizers(findPasses(t)).result()
}

// result makes iterations of the turns, or says why they are none.
func (t training) result() Result {
	steps := t.steps()
	bodies := t.bodies(steps)
	if cycle := cycleOf(bodies[:t.whole(steps)]); cycle > 1 {
		steps = joinEvery(steps, cycle)
		bodies = t.bodies(steps)
	}
	whole := t.whole(steps)
	if whole < 2 {
		return none("fewer than two whole training steps")
	}
	match := agreement(bodies[:whole])
	if match < minConfidence || whole < sureSteps && !t.named && match < unnamedMatch {
		return none(fmt.Sprintf("the backward thread's turns do not match (%.0f %%)", 100*match))
	}
	r := Result{Confidence: t.confidence(match, whole), Sure: t.named || whole >= sureSteps, Unit: "training step", Why: t.why(steps)}
	if r.Confidence < minConfidence {
		return none(fmt.Sprintf("only %d training steps, which match by %.0f %%", whole, 100*match))
	}
	r.Iterations = make([]Iteration, len(steps))
	p := t.phasing()
	spans, sizes := make([]span, len(steps)), make([]int, len(steps))
	for k, x := range steps {
		spans[k] = p.addPhases(&r.Iterations[k], x)
		r.Iterations[k].Truncated = k >= whole
	}
	setTimes(t.sequence, r.Iterations, spans)
	for k, it := range r.Iterations {
		sizes[k] = it.Last - it.First + 1
	}
	r.Period = median(sizes)
	return r
}

// steps are the turns from one optimizer to the next, as spans of the list of turns. Of a recording that begins in the
// middle the first step is left out: it lacks its forward pass.
func (t training) steps() []span {
	var steps []span
	from, last := 0, len(t.list)-1
	for i := 1; i <= last; i++ {
		if t.ends[i] || i == last {
			steps = append(steps, span{from, i})
			from = i
		}
	}
	if len(steps) > 1 {
		first, second := t.body(steps[0]), t.body(steps[1])
		u := t.list[0]
		short := !most.of(u.back-t.forward[0], t.pattern.len()) && !headlessPart.of(first.len(), second.len())
		if u.back == u.from || short {
			return steps[1:]
		}
	}
	return steps
}

// whole is the number of steps but for a last one without an optimizer where others have one.
func (t training) whole(steps []span) int {
	n := len(steps)
	if !t.ends[steps[n-1].to] && slices.Contains(t.ends, true) {
		return n - 1
	}
	return n
}

// body is what a step launches from its first forward pass to its last backward pass, without what lies between.
func (t training) body(step span) sequence {
	s := sequence{ops: t.ops}
	// Backward threads that work at the same time race: the order of each is its own.
	byThread := func(a, b int32) int { return int(t.ops[a].Thread) - int(t.ops[b].Thread) }
	for i := step.from; i < step.to; i++ {
		u := &t.list[i]
		s.idx = append(s.idx, t.idx[t.forward[i]:u.to]...)
		if back := s.idx[len(s.idx)-(u.to-u.back):]; !slices.IsSortedFunc(back, byThread) {
			slices.SortStableFunc(back, byThread)
		}
	}
	return s
}

func (t training) bodies(steps []span) []sequence {
	out := make([]sequence, len(steps))
	for i, x := range steps {
		out[i] = t.body(x)
	}
	return out
}

// cycleOf is the number of steps after which they repeat: 1, unless steps resemble those that lie further off clearly
// more than their neighbours, as with two models that are trained in turn.
func cycleOf(bodies []sequence) int {
	near := apart(bodies, 1)
	if near >= neighboursMatch {
		return 1
	}
	for n := 2; n <= min(maxCycle, len(bodies)/3); n++ {
		if far := apart(bodies, n); far >= cycleMatch && far > near+cycleMargin {
			return n
		}
	}
	return 1
}

// joinEvery makes one step of each n; the last may hold fewer.
func joinEvery(steps []span, n int) []span {
	var out []span
	for part := range slices.Chunk(steps, n) {
		out = append(out, span{part[0].from, part[len(part)-1].to})
	}
	return out
}

// confidence is how sure steps are that match by some share.
func (t training) confidence(match float64, whole int) float64 {
	c := match
	if t.named {
		c = (1 + match) / 2 // two threads and an optimizer in turn are more than a resemblance
	}
	if t.vague {
		c *= vagueStart
	}
	switch whole {
	case 2:
		c *= twoSteps
	case 3:
		c *= threeSteps
	}
	return c
}

// why says in one clause what the steps are.
func (t training) why(steps []span) string {
	why := "forward, backward thread and what follows it come in turn"
	if t.named {
		why = "forward, backward thread and optimizer kernels come in turn"
	}
	if n := slices.Max(lengths(steps)); n > 1 {
		why += fmt.Sprintf(", up to %d backward passes a step", n)
	}
	return why
}
