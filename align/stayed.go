package align

import (
	"cmp"
	"slices"

	"nsysmem/nsysdb"
)

// Stayed is what blocks born in one phase at one line hold more after the last steady iteration than before the first.
// What every iteration takes and the next one replaces is live at both times and cancels out.
type Stayed struct {
	Phase  string // as in Block.Phase
	Frame  string // as in TensorBlock.Frame; empty for the driver's blocks
	Blocks int    // more blocks than before; at least 1
	Bytes  int64  // more bytes than before; at least 1
}

// A stayer sums what stays from one time to another.
type stayer struct {
	from, to int64 // ns
	index    map[[2]string]int
	out      []Stayed
}

// newStayer sums over the steady iterations of a track; without any there is nothing to sum.
func newStayer(t *Track) *stayer {
	s := &stayer{index: make(map[[2]string]int)}
	first := true
	for i := range t.Iterations {
		if it := &t.Iterations[i]; it.Steady() {
			if first {
				s.from, first = it.Start, false
			}
			s.to = it.End
		}
	}
	return s
}

// add counts a block. Its place is asked for only where it matters.
func (s *stayer) add(start, end, bytes int64, place func() (phase, frame string)) {
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
	i, ok := s.index[[2]string{phase, frame}]
	if !ok {
		i = len(s.out)
		s.index[[2]string{phase, frame}] = i
		s.out = append(s.out, Stayed{Phase: phase, Frame: frame})
	}
	s.out[i].Blocks += n
	s.out[i].Bytes += int64(n) * bytes
}

// list gives the places that hold more blocks and more bytes than before, the largest first.
func (s *stayer) list() []Stayed {
	s.out = slices.DeleteFunc(s.out, func(x Stayed) bool { return x.Blocks <= 0 || x.Bytes <= 0 })
	slices.SortFunc(s.out, func(x, y Stayed) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.Frame, y.Frame))
	})
	return s.out
}

// stayed sums the driver's blocks of a track's device level. Static memory goes with its module and is left out.
func (as *assembler) stayed(out *Track, t *trackUse) []Stayed {
	s := newStayer(out)
	for i := range t.memory.blocks {
		b := &t.memory.blocks[i]
		if b.kind != nsysdb.KindDevice && b.kind != nsysdb.KindArray {
			continue
		}
		s.add(b.start, b.end, b.bytes, func() (string, string) {
			_, path := as.rows.where(t.proc, b.born)
			return path, ""
		})
	}
	return s.list()
}

// stayedTensors sums blocks of tensors as the allocator's meter counts them.
func stayedTensors(out *Track, blocks []TensorBlock) []Stayed {
	s := newStayer(out)
	for i := range blocks {
		b := &blocks[i]
		s.add(b.Start, b.End, b.Counted, func() (string, string) { return b.Phase, b.Frame })
	}
	return s.list()
}
