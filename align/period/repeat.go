package period

import (
	"fmt"
	"slices"
)

// findRepeats finds what a single thread repeats: steps of any program, decode steps, requests, graph replays.
//
//  1. Take the operations of one thread: the busiest on which anything is found. If it answers requests whose prompts the
//     host feeds (generate.go), those are the iterations.
//  2. Find marks (features.go): short runs of operations that recur evenly. Marks of equal count come once each in the
//     same repetition; each count is a level of nesting, from layers to steps to rounds of steps.
//  3. Keep the levels whose stretches match, that hold a good part of all work and whose marks do not come in clusters.
//     Choose the finest one whose stretches hold an optimizer, else a copy between host and device: the host feeds and
//     reads steps, not layers. Where nothing is ever copied choose the coarsest, if it holds finer repetition itself, or
//     repeats so often that it cannot be the layers of one pass.
//  4. Move the cuts from the marks to where a step begins (cuts), and compare again.
//     A program with a backward thread whose turns are not steps (strict) must have an optimizer, copies or graphs.
//  5. Join decode steps to requests where several begin with a prefill (generations). Where none is ever copied within a
//     request, finer levels than the one chosen have them.
func findRepeats(ops []Op, strict bool) Result {
	first := none("too few kernels to repeat")
	for n, thread := range workers(ops) {
		r := repeatsOf(ops, thread, strict)
		if len(r.Iterations) > 0 {
			return r
		}
		if n == 0 {
			first = r
		}
	}
	return first
}

func repeatsOf(ops []Op, thread int32, strict bool) Result {
	v := view{ops: ops}
	for i := range ops {
		if ops[i].Thread == thread {
			v.idx = append(v.idx, int32(i))
		}
	}
	if !strict {
		if its, steps, conf := v.fedRequests(); steps != nil {
			return v.repeated(its, steps, conf, "request", generated)
		}
	}
	var good []level
	for _, l := range v.levels() {
		if l.quality >= 0.6 && l.cover >= minCover && 4*l.length*len(l.at) >= l.at[len(l.at)-1]-l.at[0] && v.computes(l) {
			good = append(good, l)
		}
	}
	if len(good) == 0 {
		return none("no run of GPU operations recurs evenly")
	}
	l, why := choose(good, strict)
	var outer []span
	if why == "" {
		outer = v.spans(v.cuts(l))
	}
	its, steps, conf := v.generations(outer, good, l)
	switch {
	case steps != nil:
		return v.repeated(its, steps, conf, "request", generated)
	case why != "":
		return none(why)
	case len(its) < 4:
		return none("fewer than four repetitions")
	}
	conf = agreement(v.bodies(its))
	if conf < 0.5 {
		return none(fmt.Sprintf("repetitions do not match (%.0f %%)", 100*conf))
	}
	if l.graphs >= 0.8 {
		return v.repeated(its, nil, conf, "graph launch", "launches of a graph recur")
	}
	return v.repeated(its, nil, conf, "step", "a run of GPU operations recurs")
}

// repeated makes a result of stretches, and of the finer ones within them where there are any.
func (v view) repeated(its, steps []span, conf float64, unit, why string) Result {
	r := Result{Confidence: conf, Unit: unit, Why: why}
	var sizes []int
	k := 0
	for _, s := range its {
		it := Iteration{First: int(v.idx[s.from]), Last: int(v.idx[s.to-1])}
		k = it.generation(v, s, steps, k)
		r.Iterations = append(r.Iterations, it)
		sizes = append(sizes, s.to-s.from)
	}
	closeGaps(v, r.Iterations)
	r.Period = median(sizes)
	return r
}

func (v view) bodies(spans []span) []view {
	out := make([]view, len(spans))
	for i, s := range spans {
		out[i] = v.cut(s.from, s.to)
	}
	return out
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

// minCover is the share of a thread's work that must lie between the first and the last mark.
const minCover = 0.3

// manyRepeats is more than a network has layers.
const manyRepeats = 200

// choose takes the level that steps are, of those that match, or says why none is.
func choose(good []level, strict bool) (level, string) {
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
	if l.graphs >= 0.8 || len(l.at) >= manyRepeats && !strict {
		return l, ""
	}
	for _, f := range good[1:] {
		if l.length >= 3*f.length && !strict {
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
func (v view) cuts(l level) []int { return v.trim(v.rawCuts(l)) }

// trim moves the first cut over what comes before a first stretch that holds all that the second one has.
func (v view) trim(at []int) []int {
	if len(at) < 3 {
		return at
	}
	first, second := v.cut(at[0], at[1]), v.cut(at[1], at[2])
	if n, m, matched := align(first, second, -1); m == second.len() && 10*matched >= 9*m && n < first.len() {
		at[0] += first.len() - n
	}
	return at
}

func (v view) rawCuts(l level) []int {
	for n, b := range [...]func(i int) bool{
		func(i int) bool { return i > 0 && v.at(i-1).Flags&Optimizer != 0 && v.at(i).Flags&Optimizer == 0 },
		func(i int) bool { return v.at(i).Class == HtoD && (i == 0 || v.at(i-1).Class != HtoD) },
		func(i int) bool { return i > 0 && v.at(i-1).Class == DtoH && v.at(i).Class != DtoH },
	} {
		at := v.boundaries(l, b)
		if len(at) < 3 {
			continue
		}
		if n == 0 {
			// A loss that is read belongs to the step before: begin at the copies to the device where they follow soon.
			for i, p := range at {
				to := v.len()
				if i+1 < len(at) {
					to = at[i+1]
				}
				at[i] += leadIn(v.cut(p, to), 0)
			}
		}
		if n != 1 {
			at = v.front(at)
		}
		at = v.firstCopies(at)
		// A program that begins and ends with whole steps tells where they begin: what leads to the first cut, and what
		// follows the last one, make up one step.
		lead := v.lead(at, l.length)
		last, prev := v.cut(at[len(at)-1], v.len()), v.cut(at[len(at)-2], at[len(at)-1])
		if m, _, _ := align(last, prev, 1); lead > 0 && lead < l.length && int(abs(int32(lead+m-l.length))) <= max(1, l.length/20) {
			at = v.shift(at, lead)
		}
		return at
	}
	if n := v.lead(l.at, l.length); n > 0 && 5*n < 4*l.length {
		return v.shift(l.at, n)
	}
	return v.firstCopies(v.front(l.at))
}

// front adds the first step where boundaries are at the ends of steps: what resembles the second one, or else (a
// prefill before decode steps) what lies between set-up and the first boundary.
func (v view) front(at []int) []int {
	second := v.cut(at[0], at[1])
	before := v.cut(max(0, at[0]-4*second.len()-resync), at[0])
	n, _, matched := align(before, second, -1)
	if 2*matched < second.len() {
		n = 0
		for n < before.len() && before.at(before.len()-1-n).Class == DtoH {
			n++
		}
		for n < before.len() {
			if o := before.at(before.len() - 1 - n); o.Class == DtoH {
				break
			} else if o.Class == HtoD {
				break
			}
			n++
		}
		body := before.cut(before.len()-n, before.len())
		if w := body.works(); 2*w < second.works() || within(body, second) < 0.1 {
			return at
		}
		for n < before.len() && before.at(before.len()-1-n).Class == HtoD {
			n++
		}
	}
	return append([]int{at[0] - n}, at...)
}

// lead is how far what precedes the first place is like what precedes the second.
func (v view) lead(at []int, length int) int {
	n, _, _ := align(v.cut(max(0, at[0]-2*length), at[0]), v.cut(at[0], at[1]), -1)
	return n
}

// shift moves all places n operations back, over as many more or fewer as were inserted or lost there.
func (v view) shift(at []int, n int) []int {
	out := make([]int, 0, len(at))
	pattern := v.cut(at[0]-n, at[0])
	for i, p := range at {
		q := p - n
		if i > 0 {
			if m, full, _ := align(v.cut(max(at[i-1], p-2*n-resync), p), pattern, -1); full == n {
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
	// A mark may lie just before the boundary in one stretch and just after it in the next.
	if 10*single < 7*(len(l.at)-1) || 20*int(abs(int32(len(at)-len(l.at)))) > len(l.at)+40 {
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

// firstCopies moves the first cut over copies to the device that belong to set-up: it keeps as many as another has.
func (v view) firstCopies(at []int) []int {
	run := func(i int) (n int) {
		for i+n < v.len() && v.at(i+n).Class == HtoD {
			n++
		}
		return n
	}
	usual := 0
	for i := 1; i < len(at) && i < maxPairs; i++ {
		usual = max(usual, run(at[i]))
	}
	if n := run(at[0]); n > usual && at[0]+n-usual < at[1] {
		at[0] += n - usual
	}
	return at
}

// spans makes stretches of cuts: each ends where the next begins; the last where it stops to be like the one before.
// A first one far longer than usual is dropped.
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
		to := cuts[len(cuts)-1] + n
		if lo, hi := slices.Min(lengths), slices.Max(lengths); 10*(hi-lo) > hi {
			// Their lengths vary by what repeats within them: go on while it is like the one before.
			to = cuts[len(cuts)-1] + rest.follow(prev, n)
		}
		out = append(out, span{cuts[len(cuts)-1], to})
	}
	// Stretches far longer than usual hold something else besides. What begins as they do themselves is one more of
	// them, such as a prefill after decode steps; anything else (an evaluation, a checkpoint) is left out.
	usual := 0
	for _, n := range lengths {
		usual += one(int(abs(int32(n-typical))) <= typical/10+2)
	}
	for i := 1; i < len(out) && 2*usual >= len(lengths); i++ {
		s := &out[i]
		if 10*(s.to-s.from) <= 16*typical+40 {
			continue
		}
		prev := v.cut(out[i-1].from, out[i-1].to)
		n, m, _ := align(v.cut(s.from, s.to), prev, 1)
		if 10*m < 8*prev.len() || s.from+n >= s.to {
			continue
		}
		rest := span{s.from + n, s.to}
		s.to = rest.from
		if v.kind(v.pastCopies(rest)) == v.kind(v.pastCopies(*s)) && rest.to-rest.from <= 4*typical {
			out = slices.Insert(out, i+1, rest)
			i++
		}
	}
	if len(out) >= 3 && out[0].to-out[0].from > 4*typical {
		out = out[1:]
	}
	return out
}

// pastCopies is the first place of a stretch that is no copy from or to the host, or its first.
func (v view) pastCopies(s span) int {
	for p := s.from; p < s.to; p++ {
		if c := v.at(p).Class; c != HtoD && c != DtoH {
			return p
		}
	}
	return s.from
}

// follow is how far from n on a stretch goes on in pairs of operations that another has too.
func (v view) follow(other view, n int) int {
	pairs := map[[2]uint64]bool{}
	for i := 1; i < other.len(); i++ {
		pairs[[2]uint64{other.loose(i - 1), other.loose(i)}] = true
	}
	misses := 0
	for i := max(n, 1); i < v.len(); i++ {
		if pairs[[2]uint64{v.loose(i - 1), v.loose(i)}] {
			misses = max(0, misses-1)
			if misses == 0 {
				n = i + 1
			}
		} else if misses += 4; misses > 8 {
			break
		}
	}
	return n
}
