package period

import "math"

// iteration makes an iteration with phases of the turns from to to-1 and the optimizer at the start of turn to.
func (t *trainer) iteration(from, to int) Iteration {
	var it Iteration
	first, last := t.turns[from].fwd, t.turns[to-1].to-1
	end := &t.turns[to]
	if end.step && end.opt > end.from {
		last = end.opt - 1
	}
	for i := from; i < to; i++ {
		u := &t.turns[i]
		back := u.back - t.fills(i)
		p := t.dataEnd(u.fwd, back)
		it.add(t.view, DataPhase, u.fwd, p)
		it.add(t.view, ForwardPhase, p, back)
		it.add(t.view, BackwardPhase, back, u.to)
		if next := &t.turns[i+1]; next.step {
			it.add(t.view, OptimizerPhase, next.from, next.opt)
		}
	}
	it.First, it.Last = int(t.idx[first]), int(t.idx[last])
	return it
}

// dataEnd is where the copies to the device end with which a forward pass begins. What prepares a batch on their stream,
// where that is not one of those that carry the passes, goes with them.
func (t *trainer) dataEnd(from, to int) int {
	p := from
	for p < to && (t.at(p).Class == HtoD || p > from && t.at(p).Stream == t.at(from).Stream && t.aside[t.at(p).Stream]) {
		p++
	}
	return p
}

// findStreams tells which streams carry little of the work.
func (t *trainer) findStreams() {
	count := map[int32]int{}
	most := 0
	n := 0 // work in a row on one stream
	for i := range t.idx {
		o := t.at(i)
		n += one(o.work())
		if i+1 == len(t.idx) || t.at(i+1).Stream != o.Stream {
			count[o.Stream] += n
			most = max(most, count[o.Stream])
			n = 0
		}
	}
	t.aside = map[int32]bool{}
	for s, n := range count {
		t.aside[s] = 4*n < most
	}
}

// add appends a call of a phase that holds the operations from to to-1, if any. It ends where the launching call of its
// last operation ends; the phase that follows at once begins there, since what the program allocates before it
// launches belongs to what it launches.
func (it *Iteration) add(v view, name string, from, to int) {
	if from >= to {
		return
	}
	p := Phase{Name: name, First: int(v.idx[from]), Last: int(v.idx[to-1]), Start: v.at(from).Start, End: v.at(to - 1).end()}
	if to < v.len() {
		p.End = min(p.End, v.at(to).Start)
	}
	if n := len(it.Phases); n > 0 && from > 0 && it.Phases[n-1].Last == int(v.idx[from-1]) {
		p.Start = it.Phases[n-1].End
	}
	it.Phases = append(it.Phases, p)
}

// fills is the number of kernels at the end of a turn's forward pass with which the backward pass begins on the main
// thread: the fill of the loss's own gradient with ones, and a factor on the loss just before it where users write it in
// that call too.
func (t *trainer) fills(i int) int {
	u := &t.turns[i]
	switch {
	case u.back-u.fwd < 3 || t.at(u.back-1).Flags&Fill == 0:
		return 0
	case t.factor(i) && !t.factorBefore:
		return 2
	}
	return 1
}

// factor says that the kernel before the fill is a factor on the loss (1 / micro-batches, a loss scale): a multiplication
// whose own backward pass, the first that the backward thread launches, is the same multiplication of the same single
// value.
func (t *trainer) factor(i int) bool {
	u := &t.turns[i]
	for p := u.back; p < u.to; p++ {
		if t.at(p).Class == Kernel {
			o := t.at(u.back - 2)
			return o.Class == Kernel && o.Key == t.key(p)
		}
	}
	return false
}

// findFactor tells by time whether the factor on the loss belongs to the forward pass: in most turns the program pauses
// after it, and far longer than before it. Where it does not pause the factor may as well be written in the call that
// begins the backward pass.
func (t *trainer) findFactor() {
	later, all := 0, 0
	for i := range t.turns {
		u := &t.turns[i]
		if u.back-u.fwd < 3 || u.to == u.back || t.at(u.back-1).Flags&Fill == 0 || !t.factor(i) {
			continue
		}
		all++
		before := t.at(u.back-2).Start - t.at(u.back-3).end()
		after := t.at(u.back-1).Start - t.at(u.back-2).end()
		later += one(after > 3*max(0, before))
	}
	t.factorBefore = 2*later > all
}

// closeGaps sets the times of iterations, and stretches them to the next one where nothing lies between. It stretches
// their last phases as far, or to where a helper thread launches something of its own.
func closeGaps(v view, its []Iteration) {
	where := make(map[int]int, 2*len(its)) // operation → place in v
	for k := range its {
		where[its[k].First], where[its[k].Last] = -1, -1
	}
	for p, i := range v.idx {
		if _, ok := where[int(i)]; ok {
			where[int(i)] = p
		}
	}
	for k := range its {
		it := &its[k]
		first, last := where[it.First], where[it.Last]
		it.Start = v.at(first).Start
		it.End = v.at(last).end()
		it.Earliest = it.Start
		if first > 0 {
			it.Earliest = min(it.Start, v.at(first-1).end())
		}
		if last+1 < v.len() {
			next := v.at(last + 1).Start
			it.End = min(it.End, next)
			if k+1 < len(its) && where[its[k+1].First] == last+1 {
				it.End = next
			}
		}
		if n := len(it.Phases); n > 0 {
			it.Phases[n-1].End = max(it.Phases[n-1].End, min(it.End, v.helped(last)))
		}
	}
}

// helped is when another thread launches work after the operation at a place and before the next, or the end of time.
func (v view) helped(place int) int64 {
	to := len(v.ops)
	if place+1 < v.len() {
		to = int(v.idx[place+1])
	}
	for i := int(v.idx[place]) + 1; i < to; i++ {
		if v.ops[i].work() {
			return v.ops[i].Start
		}
	}
	return math.MaxInt64
}
