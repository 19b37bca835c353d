package period

import (
	"fmt"
	"math"
)

// findRepeats finds what a single thread repeats: steps of any program, decode steps, requests, graph replays.
//
//  1. Take the operations of the thread that launches most.
//  2. Find marks (features.go): short runs of operations that recur evenly. Marks of equal count come once each in the
//     same repetition; each count is a level of nesting, from layers to steps to rounds of steps.
//  3. Keep the levels whose stretches match. Choose the finest one whose stretches hold an optimizer, else a copy between
//     host and device: the host feeds and reads steps, not layers. Where nothing is ever copied choose the coarsest,
//     if it holds finer repetition itself, or repeats so often that it cannot be the layers of one pass.
//  4. Move the cuts from the marks to where a step begins (cuts), and compare again.
//  5. Join decode steps to requests where several begin with a prefill (requests).
func findRepeats(ops []Op) Result {
	thread, n := threadOfWork(ops)
	if n < 4 {
		return none("too few kernels to repeat")
	}
	v := view{ops: ops}
	for i := range ops {
		if ops[i].Thread == thread {
			v.idx = append(v.idx, int32(i))
		}
	}
	var good []level
	for _, l := range v.levels() {
		if l.quality >= 0.6 && v.computes(l) {
			good = append(good, l)
		}
	}
	if len(good) == 0 {
		return none("no run of GPU operations recurs evenly")
	}
	l, why := choose(good)
	if why != "" {
		return none(why)
	}
	cuts := v.cuts(l)
	spans := v.spans(cuts)
	if len(spans) < 4 {
		return none("fewer than four repetitions")
	}
	unit := "step"
	bodies := make([]view, len(spans))
	for i, s := range spans {
		bodies[i] = v.cut(s.from, s.to)
	}
	conf := agreement(bodies)
	if conf < 0.5 {
		return none(fmt.Sprintf("repetitions do not match (%.0f %%)", 100*conf))
	}
	reason := "a run of GPU operations recurs"
	if heads := requests(bodies); len(heads) >= 2 {
		var joined []span
		for i, h := range heads {
			to := len(spans)
			if i+1 < len(heads) {
				to = heads[i+1]
			}
			joined = append(joined, span{spans[h].from, spans[to-1].to})
		}
		spans = joined
		unit, reason = "request", "a prefill is followed by decode steps that recur"
	} else if l.graphs >= 0.8 {
		unit, reason = "graph launch", "launches of a graph recur"
	}
	r := Result{Confidence: conf, Unit: unit, Why: reason}
	var sizes []int
	for _, s := range spans {
		r.Iterations = append(r.Iterations, Iteration{First: int(v.idx[s.from]), Last: int(v.idx[s.to-1])})
		sizes = append(sizes, s.to-s.from)
	}
	closeGaps(v, r.Iterations)
	r.Period = median(sizes)
	return r
}

// computes says that the stretches of a level have kernels, and of more than one kind unless they are graphs: copies of
// parameters recur too, and so does a lone kernel.
func (v view) computes(l level) bool {
	ok, seen := 0, 0
	n := len(l.at) - 1
	stride := (n + maxPairs - 1) / maxPairs
	for i := 0; i < n; i += stride {
		seen++
		work, names := false, map[uint64]bool{}
		for p := l.at[i]; p < l.at[i+1] && (!work || len(names) < 2); p++ {
			o := v.at(p)
			work = work || o.work()
			names[o.Loose] = true
			if o.Class == Graph {
				names[o.Loose+1] = true
			}
		}
		if work && len(names) >= 2 {
			ok++
		}
	}
	return 10*ok >= 8*seen
}

// manyRepeats is more than a network has layers.
const manyRepeats = 200

// choose takes the level that steps are, of those that match, or says why none is.
func choose(good []level) (level, string) {
	for i := len(good) - 1; i >= 0; i-- {
		if good[i].hints >= 0.8 {
			return good[i], ""
		}
	}
	for i := len(good) - 1; i >= 0; i-- {
		if good[i].copies >= 0.8 {
			return good[i], ""
		}
	}
	l := good[0]
	if l.graphs >= 0.8 || len(l.at) >= manyRepeats {
		return l, ""
	}
	for _, f := range good[1:] {
		if l.length >= 3*f.length {
			return l, ""
		}
	}
	return l, "what recurs looks like the layers of one pass: nothing is copied between them"
}

// A span is an iteration as places [from, to).
type span struct{ from, to int }

// cuts moves marks to where steps begin. A kind of boundary (after an optimizer, before copies to the device, after
// copies to the host) is good where nearly every stretch between marks has exactly one; the first such kind decides.
// Otherwise steps begin as far before their marks as the first one can be followed back.
func (v view) cuts(l level) []int {
	for _, b := range [...]func(i int) bool{
		func(i int) bool { // first operation after an optimizer, unless only a read-back follows
			return i > 0 && v.at(i-1).Flags&Optimizer != 0 && v.at(i).Flags&Optimizer == 0
		},
		func(i int) bool { return v.at(i).Class == HtoD && (i == 0 || v.at(i-1).Class != HtoD) },
		func(i int) bool { return i > 0 && v.at(i-1).Class == DtoH && v.at(i).Class != DtoH },
	} {
		if at := v.boundaries(l, b); at != nil {
			return v.firstCopies(at)
		}
	}
	first := v.cut(max(0, l.at[0]-2*l.length), l.at[0])
	next := v.cut(l.at[0], l.at[1])
	n, _, _ := align(first, next, -1)
	out := make([]int, 0, len(l.at))
	for i, p := range l.at {
		q := p - n
		if i > 0 {
			// Follow back from this mark as far as from the first: operations may be inserted or lost.
			a := v.cut(max(l.at[i-1], p-2*n-resync), p)
			b := v.cut(l.at[0]-n, l.at[0])
			if m, full, _ := align(a, b, -1); full == b.len() {
				q = p - m
			}
		}
		if q >= 0 && (len(out) == 0 || q > out[len(out)-1]) {
			out = append(out, q)
		}
	}
	return out
}

// boundaries lists the places of a kind of boundary near a level's marks, or nil where there is not one a stretch.
func (v view) boundaries(l level, is func(int) bool) []int {
	lo := max(0, l.at[0]-2*l.length)
	hi := min(v.len(), l.at[len(l.at)-1]+2*l.length)
	var at []int
	stretch, single, n := 0, 0, 0
	for i := lo; i < hi; i++ {
		for stretch < len(l.at) && l.at[stretch] <= i {
			if stretch > 0 && n == 1 {
				single++
			}
			n = 0
			stretch++
		}
		if is(i) {
			at = append(at, i)
			n++
		}
	}
	if 10*single < 9*(len(l.at)-1) {
		return nil
	}
	// Before the first mark and after the last one there is at most one that belongs to it.
	from := 0
	for from+1 < len(at) && at[from+1] <= l.at[0] {
		from++
	}
	to := len(at)
	for to-2 >= 0 && at[to-2] > l.at[len(l.at)-1] {
		to--
	}
	return at[from:to]
}

// firstCopies moves the first cut over copies to the device that belong to set-up: it keeps as many as the next has.
func (v view) firstCopies(at []int) []int {
	run := func(i int) (n int) {
		for i+n < v.len() && v.at(i+n).Class == HtoD {
			n++
		}
		return n
	}
	if len(at) > 1 {
		if a, b := run(at[0]), run(at[1]); b > 0 && a > b {
			at[0] += a - b
		}
	}
	return at
}

// spans makes stretches of cuts: each ends where the next begins; the last where it stops to be like the one before.
// First and last ones that are not like the others are dropped.
func (v view) spans(cuts []int) []span {
	if len(cuts) < 3 {
		return nil
	}
	var out []span
	var lengths []int
	for i := 0; i+1 < len(cuts); i++ {
		out = append(out, span{cuts[i], cuts[i+1]})
		lengths = append(lengths, cuts[i+1]-cuts[i])
	}
	typical := median(lengths)
	prev := v.cut(out[len(out)-1].from, out[len(out)-1].to)
	rest := v.cut(cuts[len(cuts)-1], v.len())
	if n, m, matched := align(rest, prev, 1); 10*m >= 8*prev.len() && 2*matched >= prev.len() {
		out = append(out, span{cuts[len(cuts)-1], cuts[len(cuts)-1] + n})
	}
	// Stretches far longer than usual hold something else besides (an evaluation, a checkpoint): end them early.
	for i := 0; i+1 < len(out); i++ {
		s := &out[i]
		if s.to-s.from <= 2*typical+8 || i == 0 {
			continue
		}
		prev := v.cut(out[i-1].from, out[i-1].to)
		if n, m, _ := align(v.cut(s.from, s.to), prev, 1); 10*m >= 8*prev.len() {
			s.to = s.from + n
		}
	}
	if len(out) >= 3 {
		a, b := v.cut(out[0].from, out[0].to), v.cut(out[1].from, out[1].to)
		if out[0].to-out[0].from > 4*typical || similar(a, b) < 0.3 && similar(b, v.cut(out[2].from, out[2].to)) >= 0.7 && within(b, a) < 0.5 {
			out = out[1:]
		}
	}
	return out
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
		near[i] = dice(bodies[i], bodies[i+1], false)
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
