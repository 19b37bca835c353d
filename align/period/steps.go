package period

import "slices"

// training are the turns of a training program, of which it is known where optimizers and forward passes are.
type training struct {
	passes
	ends      []bool // by turn: an optimizer comes first, so that a step ends here
	optimized []int  // by turn: the place after that optimizer; the turn's start where there is none
}

// findOptimizers tells in which turns an optimizer comes first, and where it ends.
func findOptimizers(p passes) training {
	t := training{p, p.findEnds(), make([]int, len(p.list))}
	pattern := t.optimizerPattern()
	for i := range t.list {
		t.optimized[i] = t.optimizerEnd(i, pattern)
	}
	return t
}

// evaluates says that what lies between an optimizer and a forward pass has forward passes of its own.
func (p passes) evaluates(between sequence) bool {
	least := max(fewKernels, p.pattern.len()/evaluationPart)
	return between.works() > least && within(between, p.pattern) >= evaluationLikeness
}

// findEnds tells in which turns a step ends.
//
//  1. Where names tell the optimizer, in those that have one.
//  2. Else compare how much work lies before the forward passes: micro-batches have less there than steps have, often
//     nothing, and as many of them come between steps each time. Evaluations are steps' too.
//  3. Where no amount parts the turns so, each is a step.
func (p passes) findEnds() []bool {
	ends := make([]bool, len(p.list))
	if p.named {
		for i, u := range p.list {
			ends[i] = i > 0 && u.named
		}
		return ends
	}
	before := p.workBefore()
	last := len(before) - 1
	amounts := slices.Sorted(slices.Values(before[1:last]))
	amounts = slices.DeleteFunc(slices.Compact(amounts), func(n int) bool { return n == evaluation })
	for k := 1; k < min(len(amounts), maxSamples); k++ {
		if !clearlyMore.of(amounts[k]-2, amounts[k-1]) {
			continue
		}
		plain, evaluations := 0, 0
		for i := 1; i <= last; i++ {
			ends[i] = before[i] == evaluation || before[i] >= amounts[k]
			if i < last {
				plain += one(before[i] >= amounts[k])
				evaluations += one(before[i] == evaluation)
			}
		}
		if plain >= max(2, evaluations) && regular(ends) {
			return ends
		}
	}
	for i := 1; i < last; i++ {
		ends[i] = true
	}
	ends[last] = before[last] > 0
	return ends
}

// evaluation stands for an amount of work that holds an evaluation.
const evaluation = -1

// workBefore is the work before the forward pass by turn, or evaluation. The first turn has none.
func (p passes) workBefore() []int {
	out := make([]int, len(p.list))
	for i := 1; i < len(out); i++ {
		before := p.cut(p.list[i].from, p.forward[i])
		out[i] = before.works()
		if i+1 < len(out) && p.evaluates(before) {
			out[i] = evaluation
		}
	}
	return out
}

// regular says that most steps have the same number of turns, and that it is more than one.
func regular(ends []bool) bool {
	last, all := 0, 0
	steps := map[int]int{} // by their number of turns
	for i := 1; i < len(ends)-1; i++ {
		if ends[i] {
			steps[i-last]++
			all++
			last = i
		}
	}
	if singleTurns.of(steps[1], all) {
		return false
	}
	for _, n := range steps {
		if equalTurns.of(n, all) {
			return true
		}
	}
	return false
}

// optimizerPattern gives what an optimizer step looks like: the shortest that is not empty. It is empty where there is
// none.
func (t training) optimizerPattern() sequence {
	best := -1
	size := func(i int) int { return t.forward[i] - t.list[i].from }
	for i := 1; i < len(t.list)-1; i++ {
		if t.ends[i] && size(i) > 0 && (best < 0 || size(i) < size(best)) {
			best = i
		}
	}
	if best < 0 {
		return sequence{}
	}
	u := &t.list[best]
	if u.named && t.evaluates(t.cut(u.rest, t.forward[best])) {
		return t.cut(u.from, u.rest) // every step is followed by an evaluation
	}
	return t.cut(u.from, t.forward[best])
}

// optimizerEnd finds where the optimizer at the start of a turn ends: usually where the forward pass begins, for a loss
// that is read or a counter that is set in between belongs to the step that ends.
//
//  1. The optimizer's kernels go as far as their names, or as the pattern.
//  2. If an evaluation follows them, the optimizer ends there.
//  3. After the last step nothing but a read-back belongs to it.
func (t training) optimizerEnd(i int, pattern sequence) int {
	u, forward := &t.list[i], t.forward[i]
	if !t.ends[i] {
		return u.from
	}
	kernels := u.rest
	m := matchStarts(t.cut(u.from, forward), pattern)
	if most.of(m.equal, pattern.len()) || !u.named {
		kernels = max(kernels, u.from+m.a)
	}
	if kernels >= forward {
		return forward
	}
	if !u.named && kernels > u.from {
		// A copy to the device in what only seems to be the optimizer begins an evaluation.
		next := u.from + 1
		kernels = next + t.cut(next, kernels).first(HtoD)
	}
	between := t.cut(kernels, forward)
	switch last := i == len(t.list)-1; {
	case last && between.works() <= fewKernels:
		return kernels + between.first(HtoD)
	case last, t.evaluates(between):
		return kernels
	}
	return forward
}
