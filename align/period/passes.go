package period

import "slices"

// passes are the turns of which it is known where the forward passes begin.
type passes struct {
	turns
	pattern sequence // what a forward pass looks like, its copies to the device first
	forward []int    // by turn: the place of the forward pass, of its copies to the device first; back where it has none
	vague   bool     // what the pattern begins with may be the optimizer's end
}

// findPasses learns how a forward pass looks, and finds its beginning in every turn.
func findPasses(t turns) passes {
	pattern, vague := t.learnPattern()
	p := passes{t, pattern, make([]int, len(t.list)), vague}
	last := len(t.list) - 1
	tries := maxTries
	for i := range last {
		p.forward[i] = p.findForward(i, &tries)
	}
	p.forward[last] = t.list[last].back
	return p
}

// learnPattern gives what a forward pass looks like, and whether what it begins with may be the optimizer's end.
//
//  1. Take a short turn, from its optimizer on where names tell it. It has neither an evaluation nor set-up; the very
//     shortest may be damaged.
//  2. The first turn has no optimizer: the pattern is what both have in common at their ends.
//  3. Where that tells nothing and names tell the optimizer, the pattern begins at the copies to the device that follow
//     it. Where they do not either, the tail after the last backward pass may show the optimizer.
//  4. All copies to the device that come right before belong to it. A loss that is read does not.
//  5. Where it begins right behind the kernels that names tell, and input is copied further on, the optimizer may go on in
//     between, as with weights that are kept twice; or the input is the next step's.
func (t turns) learnPattern() (pattern sequence, vague bool) {
	order := make([]int, 0, len(t.list))
	for i := 1; i < len(t.list)-1; i++ {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return t.main(a).len() - t.main(b).len() })
	i := order[len(order)/shortTurnPart]
	after, named := t.rest(i), t.list[i].named
	start := t.commonEnd(after, named)
	switch {
	case start == 0 && named:
		start = after.leadIn()
	case start == 0:
		start = t.afterTail(after)
	}
	if input := after.first(HtoD); named && start == 0 {
		vague = input > 0 && input < after.len()
	}
	start = after.back(HtoD, start, 0)
	start += after.run(DtoH, start)
	return after.cut(start, after.len()), vague
}

// commonEnd is the place from which on a turn is like the end of the first turn, or 0 where that cannot be told.
func (t turns) commonEnd(after sequence, named bool) int {
	first := t.main(0)
	m := matchEnds(first, after)
	start := after.len() - m.b
	if m.b == 0 || m.equal < sureMatch && patternTimes*m.b < after.len() || !most.of(m.equal, m.b) {
		return 0 // the first turn shows nothing of it: another part of the program came before
	}
	if start == 0 || after.is(start, HtoD) || after.is(start-1, HtoD) || after.cut(0, start).works() <= fewKernels {
		return start
	}
	// Without copies that lead in, the beginning may have been lost on the way: the first pass tries out kernels, or the
	// recording begins in the middle of it.
	if p := after.first(HtoD); p < start {
		return p
	}
	if (named || m.a == first.len()) && within(after.cut(0, start), first) >= passRemains {
		return 0
	}
	return start // an optimizer whose kernels names do not tell goes on behind those that they do
}

// afterTail is the place in a turn after what the tail behind the last backward pass has too, if the tail is an
// optimizer alone; else 0. Either there is no optimizer in the turn, or the first turn has one too.
func (t turns) afterTail(after sequence) int {
	tail := t.main(len(t.list) - 1)
	m := matchStarts(tail, after)
	if m.a > 0 && tailPart.of(m.a, tail.len()) && !tailPart.of(m.b, after.len()) {
		return m.b
	}
	return 0
}

// findForward finds where the forward pass of a turn begins. tries bounds comparisons with other turns.
//
//  1. Follow the pattern from the end of the turn backward.
//  2. Where little matches, the turn is another model's. Where the beginning of the pattern is missing, look for it.
//  3. What lies between the optimizer and there may be its beginning, if it is like a forward pass but less than one.
//  4. Copies to the device that come right before belong to it: in the first turn no more than the pattern has, for
//     there may be the model's own.
func (p passes) findForward(i int, tries *int) int {
	u, pattern := &p.list[i], p.pattern
	after := p.rest(i)
	m := matchEnds(after, pattern)
	start := u.back - m.a
	missing := pattern.len() - m.b
	copies := min(missing, pattern.run(HtoD, 0)) // copies to the device that were not found
	switch {
	case pattern.len() > 0 && !littleMatch.of(m.equal, pattern.len()) && !littleMatch.of(m.equal, after.len()):
		start, copies = p.unlikePattern(i), pattern.run(HtoD, 0)
		if q, ok := p.likeLater(i, tries); ok {
			start, copies = q, 0
		}
	case missing > 0 && pattern.is(0, HtoD):
		// Other kernels at the beginning, or more of them: it begins at the last copies that lead in.
		if q := p.afterLast(HtoD, u.rest, start); q > u.rest {
			start = q
		}
	case missing > 0:
		start = p.beginning(u, start, missing)
	}
	if u.named && start < u.back && !p.is(start, HtoD) {
		between := p.cut(u.rest, start)
		if lessWork(between, pattern) && within(between, pattern) >= passRemains {
			start = u.rest + between.leadIn()
		}
	}
	limit := u.rest
	if i == 0 {
		limit = max(limit, start-copies)
	}
	start = p.back(HtoD, start, limit)
	return start + p.cut(0, u.back).run(DtoH, start)
}

// lessWork says that a stretch has less than half the work of another.
func lessWork(a, b sequence) bool { return !most.of(a.works(), b.works()) }

// unlikePattern guesses where the forward pass of a turn begins that is not like the pattern: at the copies that follow
// the optimizer, in the first turn at the last ones.
func (p passes) unlikePattern(i int) int {
	u := &p.list[i]
	if i == 0 {
		return p.afterLast(HtoD, u.rest, u.back)
	}
	return u.rest + p.rest(i).leadIn()
}

// likeLater finds the forward pass of another model's turn: one of the next turns is of the same kind.
func (p passes) likeLater(i int, tries *int) (start int, ok bool) {
	after := p.rest(i)
	for j := i + 1; j <= min(i+nextTurns, len(p.list)-2) && *tries > 0; j++ {
		*tries--
		later := p.rest(j)
		if m := matchEnds(after, later); m.equal > 0 && sameModel.of(m.equal, later.len()) {
			return p.list[i].back - m.a, true
		}
	}
	return 0, false
}

// beginning finds the last place in a turn before start that is like the beginning of the pattern, or guesses: after the
// optimizer where that is known or near, else as far before start as the pattern has more.
func (p passes) beginning(u *turn, start, missing int) int {
	head := min(patternHead, p.pattern.len())
	for q := start - 1; q >= u.rest; q-- {
		n := 0
		for n < head && p.at(q+n).name() == p.pattern.at(n).name() {
			n++
		}
		if n == head {
			return q
		}
	}
	if u.named || start-u.rest <= 2*missing+8 {
		return u.rest
	}
	return start - missing
}
