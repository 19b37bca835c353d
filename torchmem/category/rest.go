package category

import "nsysmem/torchmem"

// lifeRules tell what is left by when it was made and how long it lives.
var lifeRules = []stackRule{
	{ByFreedInPass, kindIf(Activation, func(t *telling, s *subject) bool {
		return s.b.Birth == torchmem.Never && s.freed != nil && s.freed.engine && t.during(s.to) >= 0
	})},
	{"", func(t *telling, s *subject) (Kind, bool) { return Unknown, s.b.Birth == torchmem.Never }}, // by life
	{ByFile, (*telling).file},
	{ByPool, kindIf(GraphPool, func(t *telling, s *subject) bool { return s.kept() && t.private(s.b) })},
	{ByResident, (*telling).resident},
	{ByBefore, kindIf(Input, (*telling).before)},
	{ByRebinding, kindIf(Input, (*telling).rebound)},
	{ByKept, kindIf(Activation, func(t *telling, s *subject) bool { return s.kept() })},
	{BySaved, kindIf(Activation, (*telling).saved)},
	{ByPassing, kindIf(Temporary, func(*telling, *subject) bool { return true })},
}

// learn counts what lasts outside of modules by the line that made it, and gradients by size.
func (t *telling) learn() {
	now := sizeCount{}
	t.state1, t.loaded, t.asked = -1, sizeCount{}, sizeCount{}
	t.gradients = sizeCount{}
	for i := range t.told {
		s := t.subject(i)
		if t.told[i].Kind == Gradient && s.pass >= 0 {
			// Gradients of one pass live at once.
			now[s.b.Requested<<20|int64(s.pass)&(1<<20-1)]++
			t.gradients[s.b.Requested] = max(t.gradients[s.b.Requested], now[s.b.Requested<<20|int64(s.pass)&(1<<20-1)])
		}
		if t.told[i].Kind == OptimizerState && t.told[i].Rule != ByScaler {
			t.state1 = s.from
		}
		if t.told[i].Rule == "" && s.born.has(markDict) && t.lasts(&s) {
			t.loaded[s.b.Requested]++
		}
		if t.told[i].Rule == "" && s.born.zone == zoneNone && t.longLived(&s) {
			l := t.line(s.b.Stack)
			l.lasting++
			if k := t.begun(s.from, t.end); k != l.slot {
				l.slot, l.here = k, 0
			}
			if n := s.b.Requested; t.params[n] > 0 || t.params[2*n] > 0 || n%2 == 0 && t.params[n/2] > 0 {
				l.weights++
				l.here++
				l.most = max(l.most, l.here)
			}
		}
	}
}

// longLived says that a block is kept over steps.
func (t *telling) longLived(s *subject) bool { return s.kept() || s.over >= 3 }

// isUsed says that a block is used by a step: it lives when a module is called or a backward pass begins, or is kept.
func (t *telling) isUsed(s *subject) bool {
	return t.lasts(s) || over(t.calls, s.from, s.to) > 0
}

// resident tells what was made before the first step, outside of modules, and kept: weights that the program made itself
// where gradients of their size have no other parameter, copies of weights, else data that stays on the device.
func (t *telling) resident(s *subject) (Kind, bool) {
	if s.born.zone != zoneNone || s.born.engine || !t.longLived(s) {
		return Unknown, false
	}
	early := len(t.passes) == 0 && (len(t.calls) == 0 || s.from < t.calls[0]) || len(t.passes) > 0 && s.from < t.passes[0].from && t.isPre(s)
	n := s.b.Requested
	l := t.lines[s.b.Stack]
	copies := l != nil && l.most >= 2 && 5*l.weights >= 4*l.lasting
	switch {
	case early && t.gradients[n] > t.params[n]:
		return Parameter, true
	case copies && t.isPre(s) && (len(t.passes) == 0 || 2*s.over >= len(t.passes)):
		return WeightCopy, true
	case early && s.born.has(markCtor):
		return Parameter, true
	case early && len(t.params) == 0 && len(t.gradients) == 0:
		return Parameter, true
	case early:
		return Input, true
	}
	return Unknown, false
}

// before tells an input: made outside of modules before a step's first module is called, and used by it.
func (t *telling) before(s *subject) bool {
	if s.born.zone != zoneNone || s.born.engine {
		return false
	}
	if s.over == 0 { // an evaluation, or a program without backward passes: what modules get is input
		return over(t.calls, s.from, s.to) > 0
	}
	return t.isPre(s)
}

// isPre says that a block was made before anything else that the next backward pass uses.
func (t *telling) isPre(s *subject) bool {
	k := len(t.passes) - t.begun(s.from, t.end)
	if k >= len(t.passes) {
		return s.pre
	}
	return s.from < t.forward[k]
}

// learnSaved finds for each backward pass the first block of its forward pass: alive when it begins and given back by the
// engine, so that no variable of the program held it, and made by a module where one is called.
func (t *telling) learnSaved() {
	t.forward = make([]int32, len(t.passes))
	for k := range t.forward {
		t.forward[k] = t.end
	}
	for i := range t.told {
		s := t.subject(i)
		if t.told[i].Rule != "" || s.over == 0 || s.born.engine || s.kept() {
			continue
		}
		k := len(t.passes) - t.begun(s.from, t.end)
		byEngine := !t.frees && t.passes[k].called || s.freed != nil && s.freed.engine && t.during(s.to) >= 0
		if byEngine && (s.born.zone == zoneCall || s.born.zone == zoneCompiled || !t.passes[k].called) {
			t.forward[k] = min(t.forward[k], s.from)
		}
	}
}

// file tells tensors that were read from a file and kept. Where no state was seen to be made, the optimizer got its own
// from there.
func (t *telling) file(s *subject) (Kind, bool) {
	if !s.born.has(markDict) || !t.lasts(s) {
		return Unknown, false
	}
	n := t.params[s.b.Requested]
	sets := 0
	if n > 0 {
		sets = t.loaded[s.b.Requested] / n
	}
	t.asked[s.b.Requested]++
	if t.state1 < s.from && (n == 0 || sets == 2 || sets > 2 && t.asked[s.b.Requested] > n*(sets%2)) {
		return OptimizerState, true
	}
	return WeightCopy, true
}

// rebound tells an input by its variable: it was given back by the very line that made it, outside of modules.
func (t *telling) rebound(s *subject) bool {
	return s.born.zone == zoneNone && s.born.has(markDirect) && s.freed != nil && s.freed.has(markDirect) && s.born.line == s.freed.line &&
		t.isUsed(s) && over(t.calls, s.from, s.to) > 0
}

// saved says that a block lives when a later backward pass begins, or that a request fails.
func (t *telling) saved(s *subject) bool {
	if s.over > 0 || over(t.ooms, s.from, s.to) > 0 {
		return true
	}
	// Without a backward pass to come, what outlives the call of a module is what it hands on, such as a cache of keys.
	return t.begun(s.from, t.end) == 0 && s.born.zone == zoneCall && over(t.calls, s.from, s.to) > 0
}
