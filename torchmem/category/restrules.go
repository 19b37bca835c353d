package category

// restRules tell what is left by when it was made and how long it lives.
var restRules = []stackRule{
	{ByFreedInPass, kindIf(Activation, func(t *telling, s *subject) bool { return s.early() && t.byEngine(s) })},
	{ByNone, kindIf(Unknown, func(_ *telling, s *subject) bool { return s.early() })}, // left to the rules of life
	{ByFile, (*telling).file},
	{ByPool, kindIf(GraphPool, func(t *telling, s *subject) bool { return s.kept() && t.private(s) })},
	{ByResident, (*telling).resident},
	{ByBefore, kindIf(Input, (*telling).before)},
	{ByRebinding, kindIf(Input, (*telling).rebound)},
	{ByKept, kindIf(Activation, func(_ *telling, s *subject) bool { return s.kept() })},
	{BySaved, kindIf(Activation, (*telling).saved)},
	{ByPassing, kindIf(Temporary, func(*telling, *subject) bool { return true })},
}

// file tells tensors that were read from a file and kept: parameters, where there are more gradients of their size than
// other parameters, or neither at all. Where no optimizer made state after that, it got its own from there: two blocks for
// each parameter, or what is over after one for the weights.
func (t *telling) file(s *subject) (Kind, bool) {
	size := s.b.Requested
	if !s.born.has(markDict) || !s.lasts() {
		return Unknown, false
	}
	t.asked[size]++
	n, sets := t.params[size], 0
	if t.asked[size] <= t.trained(size)-n || len(t.params) == 0 && len(t.gradients) == 0 {
		return Parameter, true
	}
	if t.lastState > s.from {
		return WeightCopy, true
	}
	if n > 0 {
		sets = t.loaded[size] / n
	}
	if n == 0 || sets == 2 || sets > 2 && t.asked[size] > n*(sets%2) {
		return OptimizerState, true
	}
	return WeightCopy, true
}

// resident tells what was made outside of modules and kept over steps: before the first step weights that the program
// made itself, where there are gradients of their size and no other parameter, or data that stays on the device; at
// any time copies of weights, which one line makes of most sizes of parameters at once.
func (t *telling) resident(s *subject) (Kind, bool) {
	if s.born.zone != zoneNone || s.born.engine || !s.stays() {
		return Unknown, false
	}
	first := len(t.calls) == 0 || s.from < t.calls[0]
	if len(t.passes) > 0 {
		first = s.from < t.passes[0].from && t.isBefore(s)
	}
	size, l := s.b.Requested, t.lines[s.b.Stack]
	switch {
	case first && t.trained(size) > t.params[size]:
		return Parameter, true
	case l.copies() && t.isBefore(s) && 2*s.over >= len(t.passes):
		return WeightCopy, true
	case first && (s.born.has(markCtor) || len(t.params) == 0 && len(t.gradients) == 0):
		return Parameter, true
	}
	return Input, first
}

// trained is how many gradients of a size one backward pass makes at most.
func (t *telling) trained(size int64) int {
	if c := t.gradients[size]; c != nil {
		return c.most
	}
	return 0
}

// stays says that a block is kept over steps: an input of a step that has several backward passes lives over two.
func (s *subject) stays() bool { return s.kept() || s.over >= 3 }

// before tells an input: made outside of modules before anything else of a step's forward pass, and used by it. Where no
// backward pass follows, as in an evaluation, what modules get is input.
func (t *telling) before(s *subject) bool {
	switch {
	case s.born.zone != zoneNone || s.born.engine:
		return false
	case s.over == 0:
		return over(t.calls, s.from, s.to) > 0
	}
	return t.isBefore(s)
}

// isBefore says that a block was made before anything else that the next backward pass uses.
func (t *telling) isBefore(s *subject) bool {
	if int(s.next) >= len(t.passes) {
		return s.pre
	}
	return s.from < t.forward[s.next]
}

// rebound tells an input by its variable: it was given back by the very line that made it, outside of modules.
func (t *telling) rebound(s *subject) bool {
	return s.born.zone == zoneNone && s.born.has(markDirect) && s.freed != nil && s.freed.has(markDirect) && s.born.line == s.freed.line &&
		over(t.calls, s.from, s.to) > 0
}

// saved says that a block lives when a later backward pass begins, or when a request fails. Without a backward pass to
// come, what outlives the call of a module is what it hands on, such as a cache of keys.
func (t *telling) saved(s *subject) bool {
	return s.over > 0 || over(t.ooms, s.from, s.to) > 0 ||
		int(s.next) == len(t.passes) && s.born.zone == zoneCall && over(t.calls, s.from, s.to) > 0
}
