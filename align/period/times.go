package period

import "math"

// add appends a call of a phase that holds a stretch of operations, if it is not empty. It ends where the launching call
// of its last operation ends; the phase that follows at once begins there, until CutByMemory knows better.
func (it *Iteration) add(s sequence, name string, x span) {
	if x.from >= x.to {
		return
	}
	p := Phase{
		Name: name, First: int(s.idx[x.from]), Last: int(s.idx[x.to-1]),
		Start: s.at(x.from).Start, End: s.at(x.to - 1).end(),
	}
	if x.to < s.len() {
		p.End = min(p.End, s.at(x.to).Start)
	}
	if n := len(it.Phases); n > 0 && x.from > 0 && it.Phases[n-1].Last == int(s.idx[x.from-1]) {
		p.Start = it.Phases[n-1].End
	}
	it.Phases = append(it.Phases, p)
}

// setTimes sets the operations and times of iterations that hold stretches of a sequence. It extends them to the next one
// where nothing lies between, and their last phases as far, or to where a helper thread launches something of its own.
func setTimes(s sequence, its []Iteration, spans []span) {
	for k := range its {
		it := &its[k]
		first, last := spans[k].from, spans[k].to-1
		it.First, it.Last = int(s.idx[first]), int(s.idx[last])
		it.Start = s.at(first).Start
		it.End = s.at(last).end()
		it.Earliest = it.Start
		if first > 0 {
			it.Earliest = min(it.Start, s.at(first-1).end())
		}
		if last+1 < s.len() {
			next := s.at(last + 1).Start
			it.End = min(it.End, next)
			if k+1 < len(its) && spans[k+1].from == last+1 {
				it.End = next
			}
		}
		if n := len(it.Phases); n > 0 {
			it.Phases[n-1].End = max(it.Phases[n-1].End, min(it.End, s.helpedAt(last)))
		}
	}
}

// helpedAt is when another thread launches work after the operation at a place and before the next, or the end of time.
func (s sequence) helpedAt(place int) int64 {
	to := len(s.ops)
	if place+1 < s.len() {
		to = int(s.idx[place+1])
	}
	for i := int(s.idx[place]) + 1; i < to; i++ {
		if s.ops[i].work() {
			return s.ops[i].Start
		}
	}
	return math.MaxInt64
}
