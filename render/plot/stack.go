package plot

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
)

// A layer is one colour of a stack.
type layer struct {
	name  string
	color color.RGBA
}

// A stack is blocks that stack up to a level. Where a block is live is told by positions, which rise with time: places in a
// snapshot's trace, or times. Many events share a stamp, so that times alone would not give the level to the byte.
type stack struct {
	layers []layer // bottom first
	blocks []stackBlock
	steps  []step // each change of the level, in order
	start  int64  // level before the first step
}

// A stackBlock is a part of a stack.
type stackBlock struct {
	bytes      int64
	start, end int64 // ns, as in tensor.Block
	born, died int64 // positions; the block is live at p where born <= p < died
	layer      uint8
}

// A step is the level after an event.
type step struct{ at, pos, level int64 } // ns, position, bytes

// Positions before and after everything.
const (
	atBirth = math.MinInt64
	atDeath = math.MaxInt64
)

// byTrace takes the order of a snapshot's trace.
func (s *stack) byTrace(ten *tensor.Memory) {
	r := ten.Replay
	s.start = r.StartAllocated
	for i := range r.Blocks {
		b, out := &r.Blocks[i], &s.blocks[i]
		out.born, out.died = int64(b.BirthEvent), int64(b.DeathEvent)
		if b.BirthEvent < 0 {
			out.born = atBirth
		}
		if b.DeathEvent < 0 {
			out.died = atDeath
			if b.Death != align.Never { // it was given back before the trace began
				out.died = atBirth
			}
		}
	}
	s.steps = make([]step, len(r.Steps))
	for i := range r.Steps {
		x := &r.Steps[i]
		s.steps[i] = step{ten.ReportTime(x.Time), int64(x.Event), x.Allocated}
	}
}

// byTime takes blocks by their times; of one stamp, allocations come before frees. Times are bounded so that positions fit.
func (s *stack) byTime() {
	const far = int64(1) << 61
	position := func(at int64) int64 { return 2 * min(max(at, -far), far) }
	for i := range s.blocks {
		b := &s.blocks[i]
		b.born, b.died = atBirth, atDeath
		if b.start == align.Never {
			s.start += b.bytes
		} else {
			b.born = position(b.start)
			s.steps = append(s.steps, step{b.start, b.born, b.bytes})
		}
		if b.end != align.Never {
			b.died = position(b.end) + 1
			s.steps = append(s.steps, step{b.end, b.died, -b.bytes})
		}
	}
	slices.SortFunc(s.steps, func(a, b step) int { return cmp.Compare(a.pos, b.pos) })
	level := s.start
	for i := range s.steps { // so far they are changes of the level
		level += s.steps[i].level
		s.steps[i].level = level
	}
}

// layerOf is the layer of a block; ok is false where nothing is known of it.
func (s *stack) layerOf(block int) (layer int, ok bool) {
	if block < 0 || block >= len(s.blocks) {
		return 0, false
	}
	return int(s.blocks[block].layer), true
}

// seen says which layers have a block that is live in a stretch of time.
func (s *stack) seen(from, to int64) []bool {
	out := make([]bool, len(s.layers))
	for i := range s.blocks {
		b := &s.blocks[i]
		if !out[b.layer] {
			out[b.layer] = (b.start == align.Never || b.start <= to) && (b.end == align.Never || b.end > from) && b.bytes > 0
		}
	}
	return out
}
