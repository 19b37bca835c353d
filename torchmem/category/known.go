package category

import "nsysmem/torchmem"

// known is what the blocks that are told say of the others. Sizes are requested bytes.
type known struct {
	params      map[int64]int        // parameters that were there in a step, by size
	stay        map[int64]int        // blocks that backward passes left behind for good, of sizes that libraries ask for
	gradients   map[int64]*liveCount // gradients, by size
	loaded      map[int64]int        // blocks that were read from a file and kept, by size
	asked       map[int64]int        // those of them that were asked about so far
	lines       map[torchmem.StackID]*lineUse
	uses        map[libraryUse]int32 // event at which the last workspace of its kind went
	apart       bool                 // gradients are blocks of their own, beside reduction buckets
	earlyStacks bool                 // stacks of blocks that were there before the recording began are known
	lastClear   int32                // event of the last zero_grad that cleared gradients; of several lines, of the one that stopped first
	lastState   int32                // birth of the last state that an optimizer made; -1 for none
	forward     []int32              // by pass, the birth of the first block of its forward pass
}

func newKnown() known {
	return known{params: map[int64]int{}, stay: map[int64]int{}, gradients: map[int64]*liveCount{}, loaded: map[int64]int{},
		asked: map[int64]int{}, lines: map[torchmem.StackID]*lineUse{}, uses: map[libraryUse]int32{}, lastClear: -1, lastState: -1}
}

// A liveCount counts blocks of the pass in hand, and how many one pass had at most.
type liveCount struct {
	pass      int32
	now, most int
}

func (c *liveCount) add(pass int32) {
	if pass != c.pass {
		c.pass, c.now = pass, 0
	}
	c.now++
	c.most = max(c.most, c.now)
}

// A lineUse is what became of the blocks of one stack.
type lineUse struct {
	gradients int       // told by zero_grad
	stays     int       // outside of modules, kept over steps
	weights   int       // of those, ones of a parameter's size, or of half or twice that
	together  liveCount // of weights, those made between the same two backward passes
}

// copies says that a line copies weights: at least two at once, and hardly anything else (one in five, for weights that
// are not in parameters' own size).
func (l *lineUse) copies() bool {
	return l != nil && l.together.most >= 2 && 5*l.weights >= 4*l.stays
}

func (k *known) line(id torchmem.StackID) *lineUse {
	l := k.lines[id]
	if l == nil {
		l = &lineUse{}
		k.lines[id] = l
	}
	return l
}

// countParameters counts parameters that live on into the first step, and finds the last zero_grad.
func (t *telling) countParameters() {
	first := int32(-1)
	if len(t.passes) > 0 {
		first = t.passes[0].from
	}
	last := map[place]int32{}
	for i := range t.told {
		if t.told[i].Kind != Parameter && t.told[i].Rule != ByZeroGrad {
			continue
		}
		s := t.subject(i)
		if t.told[i].Kind == Gradient {
			t.line(s.b.Stack).gradients++
			last[s.freed.line] = max(last[s.freed.line], s.to)
		} else if s.to > first {
			t.params[s.b.Requested]++
		}
	}
	for _, at := range last {
		if t.lastClear < 0 || at < t.lastClear {
			t.lastClear = at
		}
	}
}

// countLeft sums what backward passes leave behind, and says whether the reduction buckets hold the gradients.
func (t *telling) countLeft() {
	left := make([]int64, len(t.passes))
	var buckets int64
	for i := range t.told {
		s := t.subject(i)
		t.earlyStacks = t.earlyStacks || s.early() && s.born.python
		library := s.kept() && workspaceSizes[s.b.Requested]
		switch {
		case t.left(&s) && library && t.told[i].Rule == ByNone:
			t.stay[s.b.Requested]++
		case t.left(&s) && s.born.zone != zoneCall && s.born.zone != zoneCollective && !library:
			left[s.pass] += s.b.Requested
		case t.told[i].Rule == ByNone && s.born.has(markBucket) && s.lasts():
			buckets += s.b.Requested
		}
	}
	var most int64
	for _, n := range left {
		most = max(most, n)
	}
	// DDP builds its buckets anew after the first pass, so that half of these are one set. With gradients of their own a
	// pass leaves as much behind; half of that is asked for, since some parameters may get none.
	t.apart = 4*most > buckets
}

// countRest counts gradients, what was read from files, and what stays over steps outside of modules by its line.
func (t *telling) countRest() {
	for i := range t.told {
		s := t.subject(i)
		size := s.b.Requested
		switch told := t.told[i]; {
		case told.Kind == Gradient && s.pass >= 0:
			if t.gradients[size] == nil {
				t.gradients[size] = &liveCount{pass: -1}
			}
			t.gradients[size].add(s.pass)
		case told.Kind == OptimizerState && told.Rule != ByScaler:
			t.lastState = s.from
		case told.Rule != ByNone:
		case s.born.has(markDict) && s.lasts():
			t.loaded[size]++
		case s.born.zone == zoneNone && s.stays():
			l := t.line(s.b.Stack)
			l.stays++
			if t.params[size] > 0 || t.params[2*size] > 0 || size%2 == 0 && t.params[size/2] > 0 {
				l.weights++
				l.together.add(s.next)
			}
		}
	}
}

// findForward finds for each backward pass the first block of its forward pass: alive when it begins and given back by the
// engine, so that no variable of the program held it, and made by a module where one is called.
func (t *telling) findForward() {
	t.forward = make([]int32, len(t.passes))
	for k := range t.forward {
		t.forward[k] = t.end
	}
	for i := range t.told {
		if t.told[i].Rule != ByNone {
			continue
		}
		s := t.subject(i)
		if s.over == 0 || s.born.engine || s.kept() {
			continue
		}
		called := t.passes[s.next].called
		if (called && !t.frees || t.byEngine(&s)) && (!called || s.born.zone == zoneCall || s.born.zone == zoneCompiled) {
			t.forward[s.next] = min(t.forward[s.next], s.from)
		}
	}
}
