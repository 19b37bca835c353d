package tensor

import (
	"cmp"
	"slices"
)

// Stayed is what blocks born in one phase at one line hold more after the last steady iteration than before the first.
// What every iteration takes and the next one replaces is live at both times and cancels out.
type Stayed struct {
	Phase  string // as in Block.Phase
	Frame  string // as in Block.Frame; empty for the driver's blocks
	Blocks int    // more blocks than before; at least 1
	Bytes  int64  // more bytes than before; at least 1
}

// A Stay sums what stays from the first steady iteration to the last.
type Stay struct {
	from, to int64 // ns
	ledger[[2]string, Stayed]
}

// NewStay sums over the steady iterations, given in time order. Without any, nothing stays.
func NewStay(steady []Stretch) *Stay {
	s := &Stay{}
	if n := len(steady); n > 0 {
		s.from, s.to = steady[0].From, steady[n-1].To
	}
	return s
}

// Add counts a block. Its place is asked for only where it matters.
func (s *Stay) Add(start, end, bytes int64, place func() (phase, frame string)) {
	live := func(at int64) int { // just before a time
		if (start == Never || start < at) && (end == Never || end >= at) {
			return 1
		}
		return 0
	}
	n := live(s.to) - live(s.from)
	if n == 0 {
		return
	}
	phase, frame := place()
	x := s.at([2]string{phase, frame}, Stayed{Phase: phase, Frame: frame})
	x.Blocks += n
	x.Bytes += int64(n) * bytes
}

// List gives the places that hold more blocks and more bytes than before, the largest first.
func (s *Stay) List() []Stayed {
	out := slices.DeleteFunc(s.sums, func(x Stayed) bool { return x.Blocks <= 0 || x.Bytes <= 0 })
	slices.SortFunc(out, func(x, y Stayed) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.Frame, y.Frame))
	})
	return out
}

// stayedOf sums blocks as the allocator's meter counts them.
func stayedOf(steady []Stretch, blocks []Block) []Stayed {
	s := NewStay(steady)
	for i := range blocks {
		b := &blocks[i]
		s.Add(b.Start, b.End, b.Counted, func() (string, string) { return b.Phase, b.Frame })
	}
	return s.List()
}
