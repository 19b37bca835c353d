package category

import (
	"nsysmem/torchmem"
)

// Traced tells what each block of a recording is for, by the stacks that asked for it and gave it back, by its life, and
// by what stacks say of the program: no range is needed, and no inferred phase. The rules stand in the order of rules
// below; the first that fits counts. What none of them tells, and everything in a recording without Python stacks, is
// told by life, as Of does; lives are those of the recording's blocks.
//
//  1. Stacks are read, once each, and the trace is read for its backward passes, forward passes and optimizer's steps.
//  2. What stacks alone tell comes first: parameters, gradients given back in zero_grad, optimizer state.
//  3. Their sizes then say which of the blocks that stayed in a backward pass are gradients, whether reduction buckets hold
//     the gradients, and which copies are of weights.
//  4. What is left is input, activation or temporary, by when it was made and how long it lives.
func Traced(r *Recording, lives []Life, iterations int) []Told {
	ts, ok := traitsOf(r)
	if !ok {
		return Of(lives, iterations)
	}
	t := newTelling(r, ts)
	t.ask(stackRules)
	t.count()
	t.ask(passRules)
	t.learn()
	t.learnSaved()
	t.ask(lifeRules)
	return ofRest(lives, iterations, t.told)
}

// A telling is the work of Traced.
type telling struct {
	*history
	r      *Recording
	traits *traits
	frees  bool // stacks of frees are recorded
	told   []Told

	params        sizeCount              // parameters, by size
	gradients     sizeCount              // gradients that live at once at most, by size
	kept          sizeCount              // blocks that a backward pass left behind and that stay for good, of sizes that libraries ask for
	apart         bool                   // gradients are blocks of their own, beside the reduction buckets
	used          map[workspaceKey]int32 // when the last workspace of its kind went
	cleared       int32                  // event of the last zero_grad that cleared gradients; of the earliest, where several lines do; -1 for none
	forward       []int32                // by pass, when the first block that it uses was made in a forward pass
	state1        int32                  // birth of the last state that an optimizer made; -1 for none
	loaded, asked sizeCount
	lines         map[torchmem.StackID]*lineUse
}

type sizeCount map[int64]int

// A lineUse is what became of the blocks of one stack.
type lineUse struct {
	gradients int   // told by zero_grad
	lasting   int   // outside of modules, kept over steps
	weights   int   // of those, ones of a parameter's size, or of half or twice that
	most      int   // of those, made between the same two backward passes, at most
	slot      int32 // next pass at the last of them
	here      int   // of weights, since the pass before that
}

// A subject is the block that rules are asked about.
type subject struct {
	i        int // place in Blocks
	b        *torchmem.Block
	born     *trait
	freed    *trait // nil where it was not given back, or by which stack is not known
	from, to int32  // events; to is the end of the trace where it was kept
	seen
	over int // backward passes that begin during its life
}

func (s *subject) kept() bool { return s.b.DeathEvent < 0 }

func newTelling(r *Recording, ts *traits) *telling {
	t := &telling{history: historyOf(r, ts), r: r, traits: ts, told: make([]Told, len(r.Blocks))}
	for i := range r.Blocks {
		if f := ts.of(r.Blocks[i].FreeStack); f.recorded {
			t.frees = true
			break
		}
	}
	return t
}

func (t *telling) subject(i int) subject {
	b := &t.r.Blocks[i]
	s := subject{i: i, b: b, born: t.traits.of(b.Stack), from: b.BirthEvent, to: b.DeathEvent, seen: t.seen[i]}
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
		if t.told[i].Rule != "" {
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

// orTemporary gives a kind to blocks of a mark that last, and says of the others that they are temporary.
func orTemporary(kind Kind, is func(s *subject) bool) func(t *telling, s *subject) (Kind, bool) {
	return func(t *telling, s *subject) (Kind, bool) {
		if !is(s) {
			return Unknown, false
		}
		if t.lasts(s) {
			return kind, true
		}
		return Temporary, true
	}
}

// lasts says that a block is still there when the next backward pass begins, or stays for good.
func (t *telling) lasts(s *subject) bool { return s.kept() || s.over > 0 }

func marked(m marks) func(s *subject) bool { return func(s *subject) bool { return s.born.has(m) } }

// stackRules need nothing but stacks and the life of the block itself.
var stackRules = []stackRule{
	{BySeed, kindIf(AutogradDetail, func(t *telling, s *subject) bool { return s.born.has(markSeed) })},
	{ByZeroGrad, kindIf(Gradient, func(t *telling, s *subject) bool {
		// What the program made before a backward pass may go with a gradient that shares it, as a sparse one does its indices.
		return s.freed != nil && s.freed.has(markZeroGrad) && !s.born.has(markZeroGrad) && (s.born.engine || s.over == 0)
	})},
	{ByHandle, kindIf(Workspace, func(t *telling, s *subject) bool { return s.born.has(markHandle) })},
	{ByStateLoad, orTemporary(OptimizerState, marked(markStateLoad))},
	{ByMover, kindIf(Input, func(t *telling, s *subject) bool { return s.born.has(markMover) && t.isUsed(s) })},
	{ByCopy, orTemporary(WeightCopy, marked(markCopy))},
	{ByTuning, kindIf(Temporary, func(t *telling, s *subject) bool { return s.born.zone == zoneTuning && !s.kept() })},
	{ByModule, kindIf(Parameter, func(t *telling, s *subject) bool { return s.born.has(markModule) })},
	{BySharding, kindIf(Parameter, func(t *telling, s *subject) bool { return s.born.has(markShard) })},
	{ByModule, orTemporary(Parameter, func(s *subject) bool { return s.born.has(markLayer) && s.born.zone == zoneNone })},
	{ByInitGroup, (*telling).initGroup},
	{ByOptimizer, (*telling).optimizer},
	{ByScaler, (*telling).scaler},
}

// state is what an optimizer's step leaves behind: it lives over two further steps, or for good.
func (t *telling) state(s *subject) bool {
	return s.kept() || over(t.rounds, s.from, s.to) >= 2 || s.over >= 2
}

func (t *telling) initGroup(s *subject) (Kind, bool) {
	return OptimizerState, s.born.has(markInitGroup) && t.state(s)
}

func (t *telling) optimizer(s *subject) (Kind, bool) {
	if t.state(s) {
		return OptimizerState, s.born.zone == zoneOptimizer
	}
	return Temporary, s.born.zone == zoneOptimizer
}

func (t *telling) scaler(s *subject) (Kind, bool) {
	if s.born.has(markScale) {
		return OptimizerState, true
	}
	return Temporary, s.born.zone == zoneScaler
}
