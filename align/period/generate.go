package period

import (
	"math"
	"slices"
)

// Requests of a program that generates: a prefill, and decode steps that launch the same network for a single token.

const generated = "a prefill is followed by decode steps that recur"

// fedRequests finds requests whose prompts the host feeds while their decode steps need nothing from it.
//
//  1. The first kernel after the copies to the device tells, by kind, where passes begin: the embedding of tokens.
//  2. Passes that copies lead in to are prefills, if there are far more others, those match among themselves and prefills
//     are of other shapes than what follows them.
func (v view) fedRequests() (its, steps []span, conf float64) {
	count := map[uint64]int{}
	for p := 1; p < v.len(); p++ {
		if v.at(p-1).Class == HtoD && v.at(p).Class == Kernel {
			count[v.kind(p)]++
		}
	}
	first, fed := uint64(0), 0
	for k, n := range count {
		if n > fed || n == fed && k < first {
			first, fed = k, n
		}
	}
	if fed < 2 {
		return nil, nil, 0
	}
	var cuts []int
	for p := range v.len() {
		if v.at(p).Class != Kernel || v.kind(p) != first || p > 0 && v.at(p-1).Class == Kernel && v.kind(p-1) == first {
			continue
		}
		for p > 0 && v.at(p-1).Class == HtoD && (len(cuts) == 0 || p-1 > cuts[len(cuts)-1]) {
			p--
		}
		cuts = append(cuts, p)
	}
	if len(cuts) < 3*fed || len(cuts) < 6 {
		return nil, nil, 0
	}
	steps = v.spans(v.firstCopies(cuts))
	bodies := v.bodies(steps)
	var heads []int
	other, same := 0, 0
	for i, b := range bodies {
		if b.at(0).Class == HtoD {
			heads = append(heads, i)
			if i+1 < len(bodies) && alike(b, bodies[i+1]) < 0.6 {
				other++
			}
		} else if i+1 < len(bodies) && bodies[i+1].at(0).Class != HtoD && alike(b, bodies[i+1]) >= 0.6 {
			same++
		}
	}
	if len(heads) < 2 || heads[0] != 0 || 10*other < 8*len(heads) || 10*same < 8*(len(steps)-2*len(heads)) || same < 3 {
		return nil, nil, 0
	}
	if conf = agreement(bodies); conf < 0.5 || !v.most(steps) {
		return nil, nil, 0
	}
	its, _ = v.join(steps, heads)
	return its, steps, conf
}

// most says that stretches hold most of the work after the first one's start.
func (v view) most(spans []span) bool {
	work := 0
	for _, s := range spans {
		work += v.cut(s.from, s.to).works()
	}
	return 10*work >= 8*v.cut(spans[0].from, v.len()).works()
}

// generations looks for requests among the levels: stretches of which some are prefills. Either the host feeds each step
// (the level chosen) or each request (the stretches of a coarser one, or nearly all that begin with a prefill have a copy
// between host and device just before). It gives the requests, their steps and how well these match; or what it was
// given.
func (v view) generations(outer []span, good []level, l level) (its, steps []span, conf float64) {
	for i := range good {
		f := &good[i]
		chosen := len(outer) > 0 && f.at[0] == l.at[0] && len(f.at) == len(l.at)
		if len(outer) > 0 && !chosen && 3*f.length > l.length {
			continue
		}
		inner := v.spans(v.cuts(*f))
		if len(inner) < 6 {
			continue
		}
		bodies := v.bodies(inner)
		heads := requests(bodies)
		if len(heads) < 2 || len(outer) > 0 && !chosen && len(heads) != len(outer) {
			continue
		}
		conf := agreement(bodies)
		if conf < 0.5 {
			continue
		}
		its, fed := v.join(inner, heads)
		ok := fed
		if len(outer) > 0 {
			ok = true
			for i := range its {
				ok = ok && (chosen || 4*int(abs(int32(its[i].from-outer[i].from))) <= f.length)
			}
		}
		if ok {
			return its, v.restep(its, inner, fed), conf
		}
	}
	return outer, nil, 0
}

// join makes requests of stretches, each from one head up to the next, and tells whether copies to the device lead in.
func (v view) join(spans []span, heads []int) ([]span, bool) {
	var out []span
	for i, h := range heads {
		to := len(spans)
		if i+1 < len(heads) {
			to = heads[i+1]
		}
		out = append(out, span{spans[h].from, spans[to-1].to})
	}
	fed := v.prompts(out, median(lengths(spans)))
	// The answer is read at the end.
	last := &out[len(out)-1]
	for k := 0; k < 2+median(lengths(spans))/8 && last.to+k < v.len(); k++ {
		if c := v.at(last.to + k).Class; c == DtoH && v.at(out[0].to-1).Class == DtoH {
			last.to += k + 1
			break
		} else if c == HtoD {
			break
		}
	}
	return out, fed
}

func lengths(spans []span) []int {
	out := make([]int, len(spans))
	for i, s := range spans {
		out[i] = s.to - s.from
	}
	return out
}

// restep moves the starts of steps to the first kernel of a pass, where it is known because copies lead in to a prefill:
// the nearest operation of its kind, if most steps have just one.
func (v view) restep(its, steps []span, fed bool) []span {
	if !fed {
		return steps
	}
	first := v.kind(v.pastCopies(its[0]))
	single := 0
	for _, s := range steps {
		n := 0
		for p := s.from; p < s.to; p++ {
			n += one(v.at(p).work() && v.kind(p) == first)
		}
		single += one(n == 1)
	}
	if 10*single < 8*len(steps) {
		return steps
	}
	out := slices.Clone(steps)
	for i := range out {
		s := &out[i]
		half := (s.to - s.from) / 2
		for d := 0; d <= half; d++ {
			p := s.from + d
			if p >= v.len() || v.kind(p) != first {
				p = s.from - d
			}
			if p < 0 || v.kind(p) != first || i > 0 && p <= out[i-1].from {
				continue
			}
			if i > 0 && out[i-1].to == s.from {
				out[i-1].to = p
			}
			s.from = p
			break
		}
	}
	return out
}

// generation adds the prefill and the decode steps of a request, which are the stretches from k on that lie in it for the
// most part, and gives the next one's first. Together they fill it.
func (it *Iteration) generation(v view, s span, steps []span, k int) int {
	mine := func(k int) bool { return k < len(steps) && steps[k].from+steps[k].to < 2*s.to }
	name, from := PrefillPhase, s.from
	for ; mine(k); k++ {
		to := steps[k].to
		if !mine(k + 1) {
			to = s.to
		}
		it.add(v, name, from, min(to, s.to))
		name, from = DecodePhase, to
	}
	return k
}

// prompts moves the starts of requests to the copies to the device that lead in, where nearly all have them, and tells
// whether they do: what a decode step launches after its token was read belongs to the request before. The first one's
// may lie before it, up to length operations.
func (v view) prompts(spans []span, length int) bool {
	lead := make([]int, len(spans))
	n, usual := 0, 0
	run := func(p int) (n int) {
		for p+n < v.len() && v.at(p+n).Class == HtoD {
			n++
		}
		return n
	}
	for i, s := range spans {
		lead[i] = leadIn(v.cut(s.from, min(s.to, s.from+resync)), 0)
		if i > 0 {
			copies := run(s.from + lead[i])
			n += one(copies > 0)
			usual = max(usual, copies)
		}
	}
	if n == 0 || 10*n < 8*(len(spans)-1) {
		return false
	}
	for i := range spans {
		if i > 0 && spans[i-1].to == spans[i].from {
			spans[i-1].to += lead[i]
		}
		spans[i].from += lead[i]
	}
	s := &spans[0]
	for d := 0; run(s.from) == 0 && d < length/2 && s.from-d > 0; d++ {
		if v.at(s.from-d-1).Class == HtoD {
			s.from -= d + 1
			break
		}
	}
	for k := run(s.from); k < usual && s.from > 0 && v.at(s.from-1).Class == HtoD; k++ {
		s.from--
	}
	return true
}

// requests lists the stretches that begin a request, or nil. A prefill is unlike the decode steps on both sides, by
// shape; the first stretch is one; there are several, like each other by name more than like decode steps; at most half
// of all stretches are.
func requests(bodies []view) []int {
	n := len(bodies)
	if n < 6 {
		return nil
	}
	// By shape, with what two neighbours have in common.
	near := make([]float64, n)
	for i := 0; i+1 < n; i++ {
		near[i] = alike(bodies[i], bodies[i+1])
	}
	var heads []int
	for i := range bodies {
		before, after := 0.0, 0.0
		if i > 0 {
			before = near[i-1]
		}
		if i+1 < n {
			after = near[i]
		}
		if before < 0.6 && after < 0.6 && i+1 < n {
			heads = append(heads, i)
		} else if i > 0 && i+1 < n && max(before, after) < 0.6 {
			return nil
		}
	}
	if len(heads) < 2 || heads[0] != 0 || 2*len(heads) > n {
		return nil
	}
	like, unlike := 0.0, 0.0
	pairs := 0
	for i := 1; i < len(heads) && pairs < maxPairs; i++ {
		like += similar(bodies[heads[i-1]], bodies[heads[i]])
		unlike += similar(bodies[heads[i-1]], bodies[heads[i-1]+1])
		pairs++
	}
	if like < unlike+0.1*float64(pairs) || like < 0.4*float64(pairs) || math.IsNaN(like) {
		return nil
	}
	return heads
}
