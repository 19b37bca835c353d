package period

import "slices"

// A boundary is a kind of place at which steps may begin.
type boundary struct {
	is    func(p int) bool
	after bool // it lies after what ends a step, so that the first step has none before it
	loose bool // what follows may belong to the step before, up to the next copies to the device
}

// boundaries are after an optimizer, before copies to the device, after copies to the host.
func (s sequence) boundaries() []boundary {
	optimizer := func(p int) bool { return s.at(p).Flags&Optimizer != 0 }
	return []boundary{
		{is: func(p int) bool { return p > 0 && optimizer(p-1) && !optimizer(p) }, after: true, loose: true},
		{is: func(p int) bool { return s.is(p, HtoD) && (p == 0 || !s.is(p-1, HtoD)) }},
		{is: func(p int) bool { return p > 0 && s.is(p-1, DtoH) && !s.is(p, DtoH) }, after: true},
	}
}

// iterations are the stretches of a level, from where its steps begin. A kind of boundary is good where nearly every
// stretch between marks has exactly one; the first such kind decides. Otherwise steps begin as far before their marks as
// the first one can be followed back.
func (s sequence) iterations(l level) []span {
	for _, b := range s.boundaries() {
		if at := s.near(l, b); len(at) >= leastCuts {
			return s.cutAt(s.settle(at, l, b))
		}
	}
	if n := s.lead(l.at, l.length); n > 0 && !nearlyAll.of(n, l.length) {
		return s.cutAt(s.shift(l.at, n))
	}
	return s.cutAt(s.dropSetUp(s.addFirst(slices.Clone(l.at))))
}

// near lists the places of a kind of boundary near a level's marks, or nil where there is not one a stretch.
func (s sequence) near(l level, b boundary) []int {
	first, last := l.at[0], l.at[len(l.at)-1]
	var at []int
	stretch, single, n := 0, 0, 0 // n boundaries are in the current stretch
	high := min(s.len(), last+2*l.length)
	for p := max(0, first-2*l.length); p < high; p++ {
		for stretch < len(l.at) && l.at[stretch] <= p {
			single += one(stretch > 0 && n == 1)
			n = 0
			stretch++
		}
		if b.is(p) {
			at = append(at, p)
			n++
		}
	}
	// A mark may lie just before the boundary in one stretch and just after it in the next.
	marks := len(l.at)
	if !singleBoundary.of(single, marks-1) || moreBoundaries.exceeded(distance(len(at), marks)-2, marks) {
		return nil
	}
	// Before the first mark and after the last one there is at most one that belongs to it.
	from, to := 0, len(at)
	for from+1 < len(at) && at[from+1] <= first {
		from++
	}
	for to-2 >= 0 && at[to-2] > last {
		to--
	}
	return at[from:to]
}

// settle moves boundaries to where steps begin.
//
//  1. A loss that is read after the optimizer belongs to the step before: begin at the copies to the device where they
//     follow soon.
//  2. Add the first step where boundaries are at the ends of steps, and leave copies of the set-up out of it.
//  3. A program that begins and ends with whole steps tells where they begin: what leads to the first cut, and what
//     follows the last one, make up one step.
func (s sequence) settle(at []int, l level, b boundary) []int {
	if b.loose {
		for i, p := range at {
			to := s.len()
			if i+1 < len(at) {
				to = at[i+1]
			}
			at[i] += s.cut(p, to).leadIn()
		}
	}
	if b.after {
		at = s.addFirst(at)
	}
	at = s.dropSetUp(at)
	lead, n := s.lead(at, l.length), len(at)
	tail := matchStarts(s.cut(at[n-1], s.len()), s.cut(at[n-2], at[n-1])).a
	if lead > 0 && lead < l.length && distance(lead+tail, l.length) <= max(1, l.length/oneStepPart) {
		return s.shift(at, lead)
	}
	return at
}

// addFirst adds the first step where boundaries are at the ends of steps: what resembles the second one, or else (a
// prefill before decode steps) what lies between set-up and the first boundary.
func (s sequence) addFirst(at []int) []int {
	second := s.cut(at[0], at[1])
	before := s.cut(max(0, at[0]-4*second.len()-resync), at[0])
	m := matchEnds(before, second)
	if most.of(m.equal, second.len()) {
		return append([]int{at[0] - m.a}, at...)
	}
	p := before.back(DtoH, before.len(), 0)
	for p > 0 && !before.is(p-1, DtoH) && !before.is(p-1, HtoD) {
		p--
	}
	first := before.cut(p, before.len())
	if !most.of(first.works(), second.works()) || within(first, second) < firstLikeSecond {
		return at
	}
	n := before.len() - before.back(HtoD, p, 0)
	return append([]int{at[0] - n}, at...)
}

// lead is how far what precedes the first place is like what precedes the second.
func (s sequence) lead(at []int, length int) int {
	return matchEnds(s.cut(max(0, at[0]-2*length), at[0]), s.cut(at[0], at[1])).a
}

// shift moves all places n operations back, over as many more or fewer as were inserted or lost there.
func (s sequence) shift(at []int, n int) []int {
	out := make([]int, 0, len(at))
	pattern := s.cut(at[0]-n, at[0])
	for i, p := range at {
		q := p - n
		if i > 0 {
			if m := matchEnds(s.cut(max(at[i-1], p-2*n-resync), p), pattern); m.b == n {
				q = p - m.a
			}
		}
		if q >= 0 && (len(out) == 0 || q > out[len(out)-1]) {
			out = append(out, q)
		}
	}
	return out
}

// dropSetUp moves the first cut over copies to the device that belong to set-up: it keeps as many as another has.
func (s sequence) dropSetUp(at []int) []int {
	usual := 0
	for _, p := range at[1:min(len(at), maxSamples)] {
		usual = max(usual, s.run(HtoD, p))
	}
	if n := s.run(HtoD, at[0]); n > usual && at[0]+n-usual < at[1] {
		at[0] += n - usual
	}
	return at
}

// trim moves the first cut over what comes before a first stretch that holds all that the second one has.
func (s sequence) trim(at []int) {
	first, second := s.cut(at[0], at[1]), s.cut(at[1], at[2])
	m := matchEnds(first, second)
	if m.b == second.len() && wholeStep.of(m.equal, m.b) && m.a < first.len() {
		at[0] += first.len() - m.a
	}
}
