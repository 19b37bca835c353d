package period

import (
	"fmt"
	"maps"
	"slices"
)

// A turn is what the main thread launches and then the backward thread: the forward pass of a micro-batch and its
// backward pass. What comes before the forward pass (an optimizer, an evaluation, the model's set-up) is in the turn
// whose forward pass it precedes. All numbers are places in the trainer's view.
type turn struct {
	from int // first of the main thread
	back int // first of the backward thread
	to   int // after the last of the backward thread

	opt  int  // after the optimizer of the step before; from where there is none
	step bool // an optimizer lies at the start, so that a step ends here
	fwd  int  // first copy to the device or first operation of the forward pass
}

// maxTries bounds comparisons with turns of other models, for programs that only seem to train.
const maxTries = 4096

type trainer struct {
	view
	turns        []turn
	hints        map[uint64]bool // names that only an optimizer launches; nil where names do not tell
	fwd          view            // what a forward pass looks like, its copies to the device first
	tries        int             // comparisons with turns of other models
	aside        map[int32]bool  // streams that carry little of the work
	factorBefore bool            // a factor on the loss is part of the forward pass
	opt          view            // what an optimizer step looks like; empty where unknown
}

// findTraining finds training steps by the turns of main and backward thread.
//
//  1. Split the operations of both into turns; the tail after the last backward pass is a turn without one.
//  2. A turn begins with an optimizer where it has kernels of an optimizer's name. Where no names tell, it does where its
//     start is not forward pass, as the very first turn shows it: that one comes before any optimizer.
//  3. Learn how the forward pass looks: what the end of the first turn and of a short later one have in common, after
//     the last optimizer kernel. Then find its beginning in every turn, from the end backward.
//  4. Where the optimizer is followed by much that looks like forward passes, that is an evaluation: leave it out.
//  5. Steps are the turns from one optimizer to the next. Where steps take turns among themselves (two optimizers),
//     join those that make a cycle.
//  6. Compare the steps.
func findTraining(ops []Op) (Result, bool) {
	c, ok := findCast(ops)
	if !ok {
		return Result{}, false
	}
	t := newTrainer(ops, c)
	n := len(t.turns) - 1 // the last has no backward pass
	if n < 2 {
		return none("the backward thread has a single turn"), false
	}
	t.findHints()
	t.learnForward()
	for i := range t.turns {
		t.findForward(i)
	}
	t.markSteps()
	t.learnOptimizer()
	for i := range t.turns {
		t.findOptimizer(i)
	}
	t.findStreams()
	t.findFactor()
	return t.result()
}

func newTrainer(ops []Op, c cast) *trainer {
	t := &trainer{}
	t.ops = ops
	var cur turn
	inBack := false
	for i := range ops {
		if !c.ours[i] {
			continue
		}
		p := len(t.idx)
		t.idx = append(t.idx, int32(i))
		switch {
		case c.back[i] && !inBack:
			cur.back, inBack = p, true
		case !c.back[i] && inBack:
			cur.to = p
			t.turns = append(t.turns, cur)
			cur, inBack = turn{from: p}, false
		}
	}
	p := len(t.idx)
	if inBack {
		cur.to = p
		t.turns = append(t.turns, cur)
		cur = turn{from: p}
	}
	cur.back, cur.to = p, p
	t.turns = append(t.turns, cur)
	return t
}

// gap is the main thread's part of a turn.
func (t *trainer) gap(i int) view { return t.cut(t.turns[i].from, t.turns[i].back) }

// findHints collects the names that only optimizers launch: those marked so, less those that the program launches
// before its first backward pass (unless that leaves none, as when the recording begins in the middle).
func (t *trainer) findHints() {
	all, before := map[uint64]bool{}, map[uint64]bool{}
	for i := range t.turns {
		g := t.gap(i)
		for j := range g.idx {
			if o := g.at(j); o.Flags&Optimizer != 0 {
				if i == 0 {
					before[o.Loose] = true
				} else {
					all[o.Loose] = true
				}
			}
		}
	}
	left := map[uint64]bool{}
	for k := range all {
		if !before[k] {
			left[k] = true
		}
	}
	switch {
	case len(left) > 0:
		t.hints = left
	case len(all) > 0:
		t.hints = all
	}
}

// afterHints is the place after the last optimizer kernel of a turn, and whether it has any.
func (t *trainer) afterHints(i int) (int, bool) {
	if t.hints == nil {
		return t.turns[i].from, false
	}
	for p := t.turns[i].back - 1; p >= t.turns[i].from; p-- {
		if t.hints[t.loose(p)] {
			return p + 1, true
		}
	}
	return t.turns[i].from, false
}

// learnForward sets what a forward pass looks like.
func (t *trainer) learnForward() {
	// A short turn has neither an evaluation nor set-up; the very shortest may be damaged.
	order := make([]int, 0, len(t.turns))
	for i := 1; i < len(t.turns)-1; i++ {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return t.gap(a).len() - t.gap(b).len() })
	s := order[len(order)/8]
	from, hinted := t.afterHints(s)
	after := t.cut(from, t.turns[s].back)
	first := t.gap(0)
	na, n, matched := align(first, after, -1)
	start := after.len() - n
	if matched < 8 && 3*n < after.len() || 2*matched < n || n == 0 {
		start = 0 // The first turn shows nothing of it: another part of the program came before.
	}
	if start > 0 && start < after.len() && after.at(start).Class != HtoD && after.at(start-1).Class != HtoD && after.cut(0, start).works() > 4 {
		// Without copies that lead in, it may have been lost on the way: the first pass tries out kernels, or the recording
		// begins in the middle of it.
		switch p := firstCopy(after); {
		case p < start:
			start = p
		case hinted || na == first.len():
			start = 0
		}
	}
	if start == 0 && !hinted {
		// It reached the start of the turn: either there is no optimizer in it, or the first turn has one too. The
		// tail after the last backward pass tells, if it is an optimizer alone.
		tail := t.gap(len(t.turns) - 1)
		if a, b, _ := align(tail, after, 1); a > 0 && 4*a >= 3*tail.len() && 4*b < 3*after.len() {
			start = b
		}
	}
	if hinted && start == 0 {
		start = leadIn(after, 0)
	}
	for start > 0 && after.at(start-1).Class == HtoD {
		start--
	}
	for start < after.len() && after.at(start).Class == DtoH {
		start++ // the loss that is read
	}
	t.fwd = after.cut(start, after.len())
}

// firstCopy is the first copy to the device, or the length where there is none.
func firstCopy(v view) int {
	for i := range v.idx {
		if v.at(i).Class == HtoD {
			return i
		}
	}
	return v.len()
}

// leadIn is the first copy to the device in a stretch, if it comes early (what lies before is the optimizer's own:
// scaling factors, a loss that is read), else from.
func leadIn(v view, from int) int {
	for i := from; i < v.len() && 4*(i-from) <= v.len()-from; i++ {
		if v.at(i).Class == HtoD {
			return i
		}
	}
	return from
}

// findForward finds where the forward pass of a turn begins.
func (t *trainer) findForward(i int) {
	u := &t.turns[i]
	low, hinted := t.afterHints(i)
	u.opt, u.fwd = u.from, u.back
	if u.back == u.to && i == len(t.turns)-1 {
		return
	}
	after := t.cut(low, u.back)
	na, nb, matched := align(after, t.fwd, -1)
	p := u.back - na
	rest := t.fwd.len() - nb // beginning of the forward pass that was not found
	copies := 0              // copies to the device that belong to that rest
	for copies < rest && t.fwd.at(copies).Class == HtoD {
		copies++
	}
	switch {
	case t.fwd.len() > 0 && 4*matched < t.fwd.len() && 4*matched < after.len():
		p = low + leadIn(after, 0)
		if i == 0 {
			p, copies = low, 0
			for copies < t.fwd.len() && t.fwd.at(copies).Class == HtoD {
				copies++
			}
			for q := u.back; q > low; q-- {
				if t.at(q-1).Class == HtoD {
					p = q
					break
				}
			}
		}
		// Another model's turn: one of the next is of the same kind.
		for j := i + 1; j <= i+8 && j < len(t.turns)-1 && t.tries < maxTries; j++ {
			t.tries++
			from, _ := t.afterHints(j)
			other := t.cut(from, t.turns[j].back)
			if a, _, m := align(after, other, -1); 4*m >= 3*other.len() && m > 0 {
				p, copies = u.back-a, 0
				break
			}
		}
	case rest > 0 && t.fwd.at(0).Class == HtoD:
		// Other kernels at the beginning, or more of them: it begins at the last copies that lead in.
		for q := p; q > low; q-- {
			if t.at(q-1).Class == HtoD {
				p = q
				break
			}
		}
	case rest > 0:
		// Likewise without copies: it begins where another one begins alike.
		p = t.beginning(low, p, rest, hinted)
	}
	if between := t.cut(low, p); hinted && p < u.back && t.at(p).Class != HtoD && 2*between.works() < t.fwd.works() && within(between, t.fwd) >= 0.5 {
		// Less than a forward pass, but like one: its beginning, from which differing operations part the rest.
		p = low + leadIn(between, 0)
	}
	limit := low
	if i == 0 {
		// Before the first step there may be the model's own copies: take no more than a forward pass has.
		limit = max(low, p-copies)
	}
	for p > limit && t.at(p-1).Class == HtoD {
		p--
	}
	for p < u.back && t.at(p).Class == DtoH {
		p++
	}
	u.fwd = p
}

// beginning finds the last place in [low, p) that is like the beginning of a forward pass, or guesses: after the
// optimizer where that is known, else as far before p as the forward pass has more.
func (t *trainer) beginning(low, p, rest int, hinted bool) int {
	head := min(3, t.fwd.len())
	for q := p - 1; q >= low; q-- {
		n := 0
		for n < head && t.loose(q+n) == t.fwd.loose(n) {
			n++
		}
		if n == head {
			return q
		}
	}
	if hinted || p-low <= 2*rest+8 {
		return low
	}
	return p - rest
}

// markSteps tells in which turns an optimizer comes first.
//
// Where no names tell, what lies before the forward pass of a turn is compared: micro-batches have less there than
// steps have, often nothing, and as many of them come between steps each time. Evaluations are steps' too. Where no
// amount parts the turns so, each is a step.
func (t *trainer) markSteps() {
	n := len(t.turns)
	if t.hints != nil {
		for i := 1; i < n; i++ {
			_, t.turns[i].step = t.afterHints(i)
		}
		return
	}
	const wild = -1
	extra := make([]int, n)
	var some []int
	for i := 1; i < n; i++ {
		before := t.cut(t.turns[i].from, t.turns[i].fwd)
		extra[i] = before.works()
		if i == n-1 {
			break
		}
		if t.evaluates(before) {
			extra[i] = wild
		} else {
			some = append(some, extra[i])
		}
	}
	mark := func(least int) (plain, wilds int) {
		for i := 1; i < n; i++ {
			t.turns[i].step = extra[i] == wild || extra[i] >= least
			if i < n-1 {
				plain += one(extra[i] != wild && extra[i] >= least)
				wilds += one(extra[i] == wild)
			}
		}
		return plain, wilds
	}
	slices.Sort(some)
	some = slices.Compact(some)
	for k := 1; k < len(some) && k < maxPairs; k++ {
		if 2*some[k] < 3*some[k-1]+4 {
			continue
		}
		if plain, wilds := mark(some[k]); plain >= 2 && plain >= wilds && regular(t.turns) {
			return
		}
	}
	mark(0)
	t.turns[n-1].step = extra[n-1] > 0
}

// regular says that most steps have the same number of turns, and that it is more than one.
func regular(turns []turn) bool {
	last, all := 0, 0
	count := map[int]int{}
	for i := 1; i < len(turns)-1; i++ {
		if turns[i].step {
			count[i-last]++
			all++
			last = i
		}
	}
	return 10*count[1] < 3*all && slices.ContainsFunc(slices.Collect(maps.Values(count)), func(n int) bool { return 10*n >= 6*all })
}

// learnOptimizer sets what an optimizer step looks like.
func (t *trainer) learnOptimizer() {
	best := -1
	for i := 1; i < len(t.turns)-1; i++ {
		u := &t.turns[i]
		if u.step && u.fwd > u.from && (best < 0 || u.fwd-u.from < t.turns[best].fwd-t.turns[best].from) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	u := &t.turns[best]
	t.opt = t.cut(u.from, u.fwd)
	if low, hinted := t.afterHints(best); hinted && t.evaluates(t.cut(low, u.fwd)) {
		t.opt = t.cut(u.from, low) // every step is followed by an evaluation
	}
}

// findOptimizer finds where the optimizer at the start of a turn ends. Usually that is where the forward pass begins:
// a loss that is read or a counter that is set in between belongs to the step that ends.
func (t *trainer) findOptimizer(i int) {
	u := &t.turns[i]
	last := i == len(t.turns)-1
	if i == 0 || !u.step {
		u.opt = u.from
		return
	}
	u.opt = u.fwd
	low, hinted := t.afterHints(i)
	na, _, matched := align(t.cut(u.from, u.fwd), t.opt, 1)
	if 2*matched >= t.opt.len() || !hinted {
		low = max(low, u.from+na)
	}
	if low >= u.fwd {
		return
	}
	for p := u.from; p < low; p++ {
		// A copy to the device in what only seems to be the optimizer begins an evaluation.
		if !hinted && t.at(p).Class == HtoD && p > u.from {
			low = p
			break
		}
	}
	mid := t.cut(low, u.fwd)
	work := mid.works()
	switch {
	case last:
		// Nothing follows: what is more than a read-back is not part of the step.
		if work > 4 {
			u.opt = low
		} else {
			u.opt = u.fwd
			for p := low; p < u.fwd; p++ {
				if t.at(p).Class == HtoD {
					u.opt = p
					break
				}
			}
		}
	case t.evaluates(mid):
		u.opt = low
	}
}

// evaluates says that what lies between an optimizer and a forward pass has forward passes of its own.
func (t *trainer) evaluates(mid view) bool {
	return mid.works() > max(4, t.fwd.len()/4) && within(mid, t.fwd) >= 0.2
}

// result makes steps of the turns.
func (t *trainer) result() (Result, bool) {
	n := len(t.turns) - 1
	type step struct{ from, to int } // turns
	var steps []step
	from := 0
	for i := 1; i <= n; i++ {
		if t.turns[i].step || i == n {
			steps = append(steps, step{from, i})
			from = i
		}
	}
	ends := func(s step) bool { return t.turns[s.to].step }
	body := func(s step) view {
		v := view{ops: t.ops}
		for i := s.from; i < s.to; i++ {
			u := &t.turns[i]
			v.idx = append(v.idx, t.idx[u.fwd:u.to]...)
			// Threads that work at the same time race: the order of each is its own.
			byThread := func(x, y int32) int { return int(t.ops[x].Thread) - int(t.ops[y].Thread) }
			if back := v.idx[len(v.idx)-(u.to-u.back):]; !slices.IsSortedFunc(back, byThread) {
				slices.SortStableFunc(back, byThread)
			}
		}
		return v
	}
	// A recording that begins in the middle has a first step that lacks its forward pass.
	if len(steps) > 1 {
		first, second := body(steps[0]), body(steps[1])
		u := t.turns[0]
		if u.back == u.from || 2*(u.back-u.fwd) < t.fwd.len() && 4*first.len() < 3*second.len() {
			steps = steps[1:]
		}
	}
	whole := len(steps)
	if !ends(steps[len(steps)-1]) && t.anyStep() {
		whole--
	}
	bodies := make([]view, len(steps))
	for i, s := range steps {
		bodies[i] = body(s)
	}
	cycle := cycleOf(bodies[:whole])
	if cycle > 1 {
		var joined []step
		for i := 0; i < len(steps); i += cycle {
			joined = append(joined, step{steps[i].from, steps[min(i+cycle, len(steps))-1].to})
		}
		steps = joined
		bodies = bodies[:0]
		for _, s := range steps {
			bodies = append(bodies, body(s))
		}
		whole = len(steps)
		if !ends(steps[whole-1]) && t.anyStep() {
			whole--
		}
	}
	if whole < 2 {
		return none("fewer than two whole training steps"), false
	}
	conf := agreement(bodies[:whole])
	evidence := t.hints != nil
	if conf < MinConfidence || whole < 4 && !evidence && conf < 0.6 {
		return none(fmt.Sprintf("the backward thread's turns do not match (%.0f %%)", 100*conf)), false
	}
	var r Result
	var sizes []int
	micro := 0
	for k, s := range steps {
		it := t.iteration(s.from, s.to)
		it.Truncated = k >= whole
		r.Iterations = append(r.Iterations, it)
		sizes = append(sizes, it.Last-it.First+1)
		micro = max(micro, s.to-s.from)
	}
	closeGaps(t.view, r.Iterations)
	r.Period = median(sizes)
	r.Confidence = conf
	if evidence {
		r.Confidence = (1 + conf) / 2 // two threads and an optimizer in turn are more than a resemblance
	}
	switch whole {
	case 2:
		r.Confidence *= 0.6 // a single repetition
	case 3:
		r.Confidence *= 0.8
	}
	if r.Confidence < MinConfidence {
		return none(fmt.Sprintf("only %d training steps, which match by %.0f %%", whole, 100*conf)), false
	}
	r.Unit = "training step"
	r.Why = "forward, backward thread and what follows it come in turn"
	if evidence {
		r.Why = "forward, backward thread and optimizer kernels come in turn"
	}
	if micro > 1 {
		r.Why += fmt.Sprintf(", up to %d backward passes a step", micro)
	}
	return r, true
}

func (t *trainer) anyStep() bool {
	for i := range t.turns {
		if t.turns[i].step {
			return true
		}
	}
	return false
}

// cycleOf is the number of steps after which they repeat: 1, unless steps resemble those that lie further off clearly
// more than their neighbours, as with two models that are trained in turn.
func cycleOf(bodies []view) int {
	near := apart(bodies, 1)
	if near >= 0.7 {
		return 1
	}
	for p := 2; p <= 8 && 3*p <= len(bodies); p++ {
		if far := apart(bodies, p); far >= 0.8 && far > near+0.2 {
			return p
		}
	}
	return 1
}

// maxPairs bounds how many pairs of iterations are compared.
const maxPairs = 64

// apart is how well stretches match those d further on. The first is left out where there are enough: it initialises.
func apart(bodies []view, d int) float64 {
	lo := 0
	if len(bodies) > d+2 {
		lo = 1
	}
	n := len(bodies) - d - lo
	if n <= 0 {
		return 0
	}
	stride := (n + maxPairs - 1) / maxPairs
	sum, pairs := 0.0, 0
	for i := lo; i+d < len(bodies); i += stride {
		sum += similar(bodies[i], bodies[i+d])
		pairs++
	}
	return sum / float64(pairs)
}

// agreement is how well iterations match: each with the more similar of the next two, so that one odd iteration (an
// evaluation, another batch shape) counts once.
func agreement(bodies []view) float64 {
	return max(apart(bodies, 1), apart(bodies, 2))
}
