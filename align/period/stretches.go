package period

import "slices"

// cutAt cuts a sequence at the places where steps begin, after what is no step was trimmed off the first.
func (s sequence) cutAt(at []int) []span {
	if len(at) < leastCuts {
		return nil
	}
	s.trim(at)
	return s.spans(at)
}

// spans makes stretches of cuts: each ends where the next begins, the last where it stops to be like the one before. A mark
// of several operations misses the end of the last step, so that one more may follow.
// Those that hold more than a step are split; a first one far longer than usual is dropped.
func (s sequence) spans(cuts []int) []span {
	if len(cuts) < leastCuts {
		return nil
	}
	out := between(cuts)
	sizes := lengths(out)
	typical := median(sizes)
	for range mostLast {
		last, ok := s.lastSpan(cuts, sizes)
		if !ok {
			break
		}
		out = append(out, last)
		cuts = append(cuts, last.to)
	}
	usual := 0
	for _, n := range sizes {
		usual += one(distance(n, typical) <= typical/usualPart+2)
	}
	if most.of(usual, len(sizes)) {
		out = s.splitLong(out, typical)
	}
	if len(out) >= 3 && farLonger.exceeded(out[0].len(), typical) {
		out = out[1:]
	}
	return out
}

// lastSpan is the stretch from the last cut on, if it is like the one before. sizes are those of the stretches between
// cuts.
func (s sequence) lastSpan(cuts, sizes []int) (span, bool) {
	n := len(cuts) - 1
	prev, rest := s.cut(cuts[n-1], cuts[n]), s.cut(cuts[n], s.len())
	if rest.len() == 0 {
		return span{}, false
	}
	m := matchStarts(rest, prev)
	if !nearlyAll.of(m.b, prev.len()) || !most.of(m.equal, prev.len()) {
		return span{}, false
	}
	size := m.a
	if lo, hi := slices.Min(sizes), slices.Max(sizes); varyingSize.exceeded(hi-lo, hi) {
		// Their lengths vary by what repeats within them: go on while it is like the one before.
		size = rest.follow(prev, m.a)
	}
	return span{cuts[n], cuts[n] + size}, true
}

// splitLong looks at stretches far longer than usual, which hold something else besides. What begins as they do
// themselves is one more of them, such as a prefill after decode steps; anything else (an evaluation, a checkpoint) is
// left out.
func (s sequence) splitLong(spans []span, typical int) []span {
	for i := 1; i < len(spans); i++ {
		x := &spans[i]
		if !longer.exceeded(x.len()-4, typical) {
			continue
		}
		prev := s.in(spans[i-1])
		m := matchStarts(s.in(*x), prev)
		if !nearlyAll.of(m.b, prev.len()) || m.a >= x.len() {
			continue
		}
		rest := span{x.from + m.a, x.to}
		x.to = rest.from
		if s.at(s.pastCopies(rest)).kind() == s.at(s.pastCopies(*x)).kind() && !farLonger.exceeded(rest.len(), typical) {
			spans = slices.Insert(spans, i+1, rest)
			i++
		}
	}
	return spans
}

// follow is how far from n on a sequence goes on in pairs of operations that another has too.
func (s sequence) follow(other sequence, n int) int {
	pairs := map[[2]uint64]bool{}
	for p := 1; p < other.len(); p++ {
		pairs[[2]uint64{other.at(p - 1).name(), other.at(p).name()}] = true
	}
	misses := 0
	for p := max(n, 1); p < s.len(); p++ {
		if pairs[[2]uint64{s.at(p - 1).name(), s.at(p).name()}] {
			misses = max(0, misses-1)
			if misses == 0 {
				n = p + 1
			}
		} else if misses += strangePair; misses > mostStrange {
			break
		}
	}
	return n
}
