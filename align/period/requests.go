package period

import "slices"

// Requests of a program that generates: a prefill, and decode steps that launch the same network for a single token.

// generations looks for requests among the levels: stretches of which some are prefills. Either the host feeds each step
// (the level chosen, whose iterations outer are) or each request (outer are the stretches of a coarser level; or there
// are none, and nearly all that begin with a prefill have a copy between host and device just before).
//
// Where the host feeds nothing at all to the stretches of the chosen level, as where each token is only read, any level tells
// requests that has such prefills: if it is as coarse as the chosen one, or if each request holds several of its stretches,
// which then are the steps. Prefills must show among these: as holes between them, or as ones of another length.
func (s sequence) generations(outer []span, good []level, chosen level) (repeated, bool) {
	read := len(outer) > 0 && chosen.feeds < inNearlyAll && chosen.hints < inNearlyAll && chosen.graphs < inNearlyAll
	for _, f := range good {
		isChosen := len(outer) > 0 && f.at[0] == chosen.at[0] && len(f.at) == len(chosen.at)
		alike := !longer.exceeded(f.length, chosen.length)
		if len(outer) > 0 && !isChosen && f.length*finerTimes > chosen.length && !(read && alike) {
			continue
		}
		r, fed, ok := s.requestsOf(f)
		switch {
		case !ok:
		case len(outer) == 0 && fed, isChosen, len(outer) > 0 && beginTogether(r.its, outer, f.length):
			return r, true
		case read && len(outer) >= leastSteps*len(r.its) && oddities(outer) >= len(r.its)-1:
			if f.length*finerTimes <= chosen.length {
				r.steps = outer
			}
			return r, true
		}
	}
	return repeated{}, false
}

// oddities is the number of stretches that do not follow the one before, or are of another length than usual.
func oddities(its []span) (n int) {
	typical := median(lengths(its))
	for i, x := range its {
		n += one(i > 0 && its[i-1].to != x.from || distance(x.len(), typical) > typical/usualPart+2)
	}
	return n
}

// requestsOf makes requests of a level's steps, if some are prefills and all match, and tells whether the host feeds
// them.
func (s sequence) requestsOf(l level) (r repeated, fed, ok bool) {
	steps := s.iterations(l)
	bodies := s.stretches(steps)
	heads := prefills(bodies)
	if len(heads) < leastRequests {
		return r, false, false
	}
	r.confidence = agreement(bodies)
	if r.confidence < leastAgreement {
		return r, false, false
	}
	r.proof = proofRequests
	r.its, fed = s.join(steps, heads)
	if fed {
		steps = s.startAtFirstKernel(steps, r.its[0])
	}
	r.steps = steps
	return r, fed, true
}

// beginTogether says that there are as many stretches as outer ones, and that they begin where those do, up to a part of
// the length of a step.
func beginTogether(its, outer []span, length int) bool {
	if len(its) != len(outer) {
		return false
	}
	for i := range its {
		if requestShift.exceeded(distance(its[i].from, outer[i].from), length) {
			return false
		}
	}
	return true
}

// prefills lists the stretches that begin a request, or nil. A prefill is unlike the decode steps on both sides, by
// shape; the first stretch is one; there are several, like each other by name more than like decode steps; at most half
// of all stretches are.
func prefills(bodies []sequence) []int {
	if len(bodies) < leastPasses {
		return nil
	}
	var heads []int
	before := 0.0 // how alike the stretch is to the one before
	for i := range len(bodies) - 1 {
		after := alike(bodies[i], bodies[i+1])
		if before < alikeByShape && after < alikeByShape {
			heads = append(heads, i)
		}
		before = after
	}
	if len(heads) < leastRequests || heads[0] != 0 || most.exceeded(len(heads), len(bodies)) {
		return nil
	}
	like, unlike := 0.0, 0.0
	pairs := 0
	for i := 1; i < len(heads) && pairs < maxSamples; i++ {
		like += similar(bodies[heads[i-1]], bodies[heads[i]])
		unlike += similar(bodies[heads[i-1]], bodies[heads[i-1]+1])
		pairs++
	}
	if like < unlike+prefillMargin*float64(pairs) || like < prefillLikeness*float64(pairs) {
		return nil
	}
	return heads
}

// join makes requests of stretches, each from one head up to the next, and tells whether copies to the device lead in.
func (s sequence) join(steps []span, heads []int) (its []span, fed bool) {
	for i, h := range heads {
		to := len(steps)
		if i+1 < len(heads) {
			to = heads[i+1]
		}
		its = append(its, span{steps[h].from, steps[to-1].to})
	}
	length := median(lengths(steps))
	fed = s.startAtPrompts(its, length)
	// The answer is read at the end.
	last := &its[len(its)-1]
	for p := last.to; p < min(s.len(), last.to+2+length/answerPart) && !s.is(p, HtoD); p++ {
		if s.is(p, DtoH) && s.is(its[0].to-1, DtoH) {
			last.to = p + 1
			break
		}
	}
	return its, fed
}

// startAtPrompts moves the starts of requests to the copies to the device that lead in, where nearly all have them, and
// tells whether they do: what a decode step launches after its token was read belongs to the request before. The first
// one's may lie before it, up to half the length of a step.
func (s sequence) startAtPrompts(its []span, length int) bool {
	lead := make([]int, len(its))
	fed, usual := 0, 0
	for i, x := range its {
		lead[i] = s.cut(x.from, min(x.to, x.from+resync)).leadIn()
		if i > 0 {
			copies := s.run(HtoD, x.from+lead[i])
			fed += one(copies > 0)
			usual = max(usual, copies)
		}
	}
	if fed == 0 || !nearlyAll.of(fed, len(its)-1) {
		return false
	}
	for i := range its {
		if i > 0 && its[i-1].to == its[i].from {
			its[i-1].to += lead[i]
		}
		its[i].from += lead[i]
	}
	x := &its[0]
	if s.run(HtoD, x.from) == 0 {
		low := max(0, x.from-length/2)
		if p := s.afterLast(HtoD, low, x.from); p > low {
			x.from = p - 1
		}
	}
	x.from = s.back(HtoD, x.from, max(0, x.from-max(0, usual-s.run(HtoD, x.from))))
	return true
}

// startAtFirstKernel moves the starts of steps to the first kernel of a pass, which is known because copies lead in to
// the prefill of a request: the nearest operation of its kind, if most steps have just one.
func (s sequence) startAtFirstKernel(steps []span, request span) []span {
	first := s.at(s.pastCopies(request)).kind()
	single := 0
	for _, x := range steps {
		n := 0
		for p := x.from; p < x.to; p++ {
			n += one(s.at(p).work() && s.at(p).kind() == first)
		}
		single += one(n == 1)
	}
	if !nearlyAll.of(single, len(steps)) {
		return steps
	}
	out := slices.Clone(steps)
	for i := range out {
		low := 0
		if i > 0 {
			low = out[i-1].from + 1
		}
		p, ok := s.nearest(first, out[i], low)
		if !ok {
			continue
		}
		if i > 0 && out[i-1].to == out[i].from {
			out[i-1].to = p
		}
		out[i].from = p
	}
	return out
}

// nearest is the place of a kind, at least low, that is nearest to the start of a stretch: within half its length, of two
// the later one.
func (s sequence) nearest(kind uint64, x span, low int) (place int, ok bool) {
	for d := range x.len()/2 + 1 {
		for _, p := range [...]int{x.from + d, x.from - d} {
			if p >= low && p < s.len() && s.at(p).kind() == kind {
				return p, true
			}
		}
	}
	return 0, false
}

// addTokens adds the prefill and the decode steps of a request to its phases: the first of the steps left that lie in it
// for the most part. It gives those that are left then. Together they fill the request.
func (it *Iteration) addTokens(s sequence, request span, steps []span) (left []span) {
	mine := func() bool { return len(steps) > 0 && steps[0].from+steps[0].to < 2*request.to }
	name, from := prefillPhase, request.from
	for mine() {
		to := min(steps[0].to, request.to)
		steps = steps[1:]
		if !mine() {
			to = request.to
		}
		it.add(s, name, span{from, to})
		name, from = decodePhase, to
	}
	return steps
}
