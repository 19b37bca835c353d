package category

import "nsysmem/torchmem"

// Traced tells what each block of a recording is for, by the stacks that asked for it and gave it back, by its life, and
// by what stacks say of the program: no range is needed, and no inferred phase. The rules stand in the order in which
// they are asked in stackRules, passRules and restRules; the first that fits counts. What none of them tells, and everything
// in a recording without Python stacks, is told by life, as Of does; lives are those of the recording's blocks.
//
//  1. Stacks are read, once each, and the trace is read for its backward passes, forward passes and optimizer's steps.
//  2. What a block's own stacks tell comes first: parameters, gradients given back in zero_grad, optimizer state.
//  3. The sizes of parameters then say what a backward pass leaves behind: gradients, or a library's workspace; and
//     whether reduction buckets hold the gradients.
//  4. What is left is input, activation or temporary, by when it was made and how long it lives.
func Traced(r *Recording, lives []Life, iterations int) []Told {
	ts, ok := traitsOf(r)
	if !ok {
		return Of(lives, iterations)
	}
	t := newTelling(r, ts)
	t.ask(stackRules)
	t.countParameters()
	t.countLeft()
	t.ask(passRules)
	t.countRest()
	t.findForward()
	t.ask(restRules)
	return ofRest(lives, iterations, t.told)
}

// A telling is the work of Traced.
type telling struct {
	*history
	r      *Recording
	traits *traits
	frees  bool // stacks of frees are recorded
	told   []Told
	known
}

// A subject is the block that rules are asked about.
type subject struct {
	b        *torchmem.Block
	born     *trait
	freed    *trait // nil where it was not given back, or by which stack is not known
	from, to int32  // events; to is the end of the trace where it was kept
	seen
	over int // backward passes that begin during its life
}

// kept says that it was never given back.
func (s *subject) kept() bool { return s.b.DeathEvent < 0 }

// early says that it was there before the recording began.
func (s *subject) early() bool { return s.b.Birth == torchmem.Never }

func newTelling(r *Recording, ts *traits) *telling {
	t := &telling{history: historyOf(r, ts), r: r, traits: ts, told: make([]Told, len(r.Blocks)), known: newKnown()}
	for i := range r.Blocks {
		if ts.of(r.Blocks[i].FreeStack).recorded {
			t.frees = true
			break
		}
	}
	return t
}

func (t *telling) subject(i int) subject {
	b := &t.r.Blocks[i]
	s := subject{b: b, born: t.traits.of(b.Stack), from: b.BirthEvent, to: b.DeathEvent, seen: t.seen[i]}
	if s.kept() {
		s.to, s.over = t.end, len(t.passes)-int(s.next)
		return s
	}
	if t.frees {
		s.freed = t.traits.of(b.FreeStack)
	}
	s.over = max(t.begun(s.to)-int(s.next), 0)
	return s
}

// A stackRule says whether a block is one of its own, and of which kind.
type stackRule struct {
	rule Rule
	tell func(t *telling, s *subject) (Kind, bool)
}

// ask asks rules about all blocks that are not told yet.
func (t *telling) ask(rules []stackRule) {
	for i := range t.told {
		if t.told[i].Rule != ByNone {
			continue
		}
		s := t.subject(i)
		for k := range rules {
			if kind, ok := rules[k].tell(t, &s); ok {
				t.told[i] = Told{kind, rules[k].rule}
				break
			}
		}
	}
}

// kindIf is a rule that gives a kind where something holds.
func kindIf(kind Kind, is func(t *telling, s *subject) bool) func(t *telling, s *subject) (Kind, bool) {
	return func(t *telling, s *subject) (Kind, bool) { return kind, is(t, s) }
}

// lasting is a rule that gives a kind to blocks for which something holds and that are not gone before the next backward
// pass; those that are, are temporary.
func lasting(kind Kind, is func(s *subject) bool) func(t *telling, s *subject) (Kind, bool) {
	return func(t *telling, s *subject) (Kind, bool) {
		if !s.lasts() {
			return Temporary, is(s)
		}
		return kind, is(s)
	}
}

// lasts says that a block is still there when the next backward pass begins, or stays for good.
func (s *subject) lasts() bool { return s.kept() || s.over > 0 }

// used says that a block is still there when a module is called or a backward pass begins, or stays for good.
func (t *telling) used(s *subject) bool { return s.lasts() || over(t.calls, s.from, s.to) > 0 }

// left says that a backward pass, on the engine's thread, made a block and left it behind.
func (t *telling) left(s *subject) bool {
	return s.pass >= 0 && s.born.engine && s.to > t.passes[s.pass].to
}

// byEngine says that the engine itself gave a block back during a backward pass: no variable of the program held it.
func (t *telling) byEngine(s *subject) bool {
	return s.freed != nil && s.freed.engine && t.during(s.to) >= 0
}

// private says that a block lies in a segment of a private pool.
func (t *telling) private(s *subject) bool {
	for i := range t.r.Private {
		if p := &t.r.Private[i]; s.from >= p.Since && s.b.Addr-p.Addr < uint64(p.Size) {
			return true
		}
	}
	return false
}
