package plot

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"nsysmem/align"
)

// Colours of the categories, the same in every picture: from Paul Tol's muted scheme, which readers with the common
// colour-vision deficiencies can tell apart, and none of them that of a well-known phase.
var categoryColors = map[string]color.RGBA{
	"parameter":       {0x33, 0x22, 0x88, 0xFF},
	"optimizer state": {0x44, 0xAA, 0x99, 0xFF},
	"gradient":        {0x88, 0x22, 0x55, 0xFF},
	"activation":      {0x88, 0xCC, 0xEE, 0xFF},
	"input":           {0xDD, 0xCC, 0x77, 0xFF},
	"autograd detail": {0xAA, 0x44, 0x99, 0xFF},
	"temporary":       {0x99, 0x99, 0x33, 0xFF},
	"unknown":         {0xB4, 0xB4, 0xB4, 0xFF},
}

// stackOrder puts what stays below what comes and goes, and what theory tells below all else. Of unknown use are mostly
// workspaces that a library keeps.
var stackOrder = []string{"parameter", "optimizer state", "gradient", "unknown", "activation", "input", "autograd detail", "temporary"}

// kindColors are those of the driver's memory kinds; others get what is left.
var kindColors = map[string]color.RGBA{
	"device": {0x88, 0xCC, 0xEE, 0xFF}, "device static": {0x33, 0x22, 0x88, 0xFF}, "array": {0xDD, 0xCC, 0x77, 0xFF},
}

// A layer is one colour of a stack.
type layer struct {
	name  string
	color color.RGBA
}

// A stack is blocks that stack up to a level. Where a block is live is told by positions, which rise with time: places in a
// snapshot's trace, or times. Many events share a stamp, so that times alone would not give the level to the byte.
type stack struct {
	layers []layer // bottom first
	keys   []uint8 // layer of each block
	bytes  func(i int) int64
	span   func(i int) (start, end int64) // ns, as in align.TensorBlock
	live   func(i int) (born, died int64) // positions; the block is live at p where born <= p < died
	steps  func(f func(step) bool)        // calls f for each change of the level, in order, until it says false
	start  int64                          // level before the first step
}

// A step is the level after an event.
type step struct{ at, pos, level int64 } // ns, position, bytes

// Positions before and after everything.
const (
	atBirth = math.MinInt64
	atDeath = math.MaxInt64
)

// newStack is what a picture stacks; nil for nothing.
func newStack(track *align.Track, p *palette, v *view) *stack {
	ten := track.Tensors
	switch {
	case v.stack == "kind":
		return stackOfKinds(track)
	case ten == nil || !v.stacksTensors():
		return nil
	}
	s := &stack{
		bytes: func(i int) int64 { return ten.Blocks[i].Counted },
		span:  func(i int) (start, end int64) { return ten.Blocks[i].Start, ten.Blocks[i].End },
	}
	if ten.Replay != nil && len(ten.Replay.Blocks) == len(ten.Blocks) {
		s.byTrace(ten)
	} else {
		s.byTime(len(ten.Blocks))
	}
	if v.stack == "phase" {
		s.byPhase(ten, p, v.from, v.to)
	} else {
		s.byName(len(ten.Blocks), stackOrder, func(i int) string { return ten.Blocks[i].Category }, categoryColors)
	}
	return s
}

// stackOfKinds stacks the driver's blocks by their kind of memory.
func stackOfKinds(track *align.Track) *stack {
	var blocks []*align.Block
	for i := range track.Blocks {
		if b := &track.Blocks[i]; b.Kind == "device" {
			blocks = append(blocks, b)
		}
	}
	s := &stack{
		bytes: func(i int) int64 { return blocks[i].Bytes },
		span:  func(i int) (start, end int64) { return blocks[i].Start, blocks[i].End },
	}
	s.byTime(len(blocks))
	s.byName(len(blocks), []string{"device static", "device", "array"}, func(i int) string { return blocks[i].MemKind }, kindColors)
	return s
}

// byTrace takes the order of a snapshot's trace.
func (s *stack) byTrace(ten *align.Tensors) {
	r := ten.Replay
	s.start = r.StartAllocated
	s.live = func(i int) (int64, int64) {
		b := &r.Blocks[i]
		born, died := int64(b.BirthEvent), int64(b.DeathEvent)
		if b.BirthEvent < 0 {
			born = atBirth
		}
		if b.DeathEvent < 0 {
			died = atDeath
			if b.Death != align.Never { // it was given back before the trace began
				died = atBirth
			}
		}
		return born, died
	}
	s.steps = func(f func(step) bool) {
		for i := range r.Steps {
			x := &r.Steps[i]
			if !f(step{ten.ReportTime(x.Time), int64(x.Event), x.Allocated}) {
				return
			}
		}
	}
}

// position is that of the allocations at a time; that of the frees is one more. Times are bounded so that it fits.
func position(at int64) int64 {
	const far = int64(1) << 61
	return 2 * min(max(at, -far), far)
}

// byTime takes n blocks in order of birth; of one stamp, allocations come before frees.
//
//  1. Blocks that are live before the report make the level at its start.
//  2. The deaths are put in order.
//  3. The steps go along births and deaths side by side.
func (s *stack) byTime(n int) {
	s.live = func(i int) (int64, int64) {
		start, end := s.span(i)
		born, died := int64(atBirth), int64(atDeath)
		if start != align.Never {
			born = position(start)
		}
		if end != align.Never {
			died = position(end) + 1
		}
		return born, died
	}
	end := func(i int) int64 {
		_, end := s.span(i)
		return end
	}
	var deaths []int
	first := 0 // blocks from here on are born in the report
	for i := range n {
		if start, _ := s.span(i); start == align.Never {
			s.start += s.bytes(i)
			first = i + 1
		}
		if end(i) != align.Never {
			deaths = append(deaths, i)
		}
	}
	slices.SortFunc(deaths, func(a, b int) int { return cmp.Compare(end(a), end(b)) })
	s.steps = func(f func(step) bool) {
		level, k := s.start, 0
		for i := first; i < n || k < len(deaths); {
			birth, death := int64(atDeath), int64(atDeath)
			if i < n {
				birth, _ = s.span(i)
			}
			if k < len(deaths) {
				death = end(deaths[k])
			}
			var next step
			if birth <= death && i < n {
				level += s.bytes(i)
				next = step{birth, position(birth), level}
				i++
			} else {
				level -= s.bytes(deaths[k])
				next = step{death, position(death) + 1, level}
				k++
			}
			if !f(next) {
				return
			}
		}
	}
}

// byName gives each of n blocks the layer of its name: those of order first, others as they come.
func (s *stack) byName(n int, order []string, name func(i int) string, colors map[string]color.RGBA) {
	index := map[string]uint8{}
	s.keys = make([]uint8, n)
	left := picker{used: map[color.RGBA]bool{}}
	add := func(name string) uint8 {
		if k, ok := index[name]; ok {
			return k
		}
		if len(s.layers) == math.MaxUint8 { // more kinds than there are
			return math.MaxUint8 - 1
		}
		c, ok := colors[name]
		if !ok {
			c = left.pick()
		}
		index[name] = uint8(len(s.layers))
		s.layers = append(s.layers, layer{name, c})
		return index[name]
	}
	for _, o := range order {
		add(o)
	}
	for i := range n {
		s.keys[i] = add(name(i))
	}
}

// seen says which layers have a block that is live in a stretch of time.
func (s *stack) seen(from, to int64) []bool {
	out := make([]bool, len(s.layers))
	for i, k := range s.keys {
		if !out[k] {
			start, end := s.span(i)
			out[k] = (start == align.Never || start <= to) && (end == align.Never || end > from) && s.bytes(i) > 0
		}
	}
	return out
}
