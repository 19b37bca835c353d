package align

import (
	"iter"

	"nsysmem/align/tensor"
	"nsysmem/nsysdb"
)

// tensors says what a track's tensors hold, by the snapshot that belongs to it or, where the program has no caching
// allocator, by the driver's blocks; nil where neither tells.
func (a *analysis) tensors(out *Track, t *track) *tensor.Memory {
	switch {
	case t.snapshot != nil:
		return tensor.FromSnapshot(t.snapshot, a.rep.Source.StartUTC, a.program(out, t), a.driver(t))
	case a.keepBlocks && uncached(out) && len(t.blocks) > 0:
		return tensor.FromDriver(a.program(out, t), a.driver(t), out.Total.Memory.PeakAt)
	}
	return nil
}

// program is what is known of the program that a track is of.
func (a *analysis) program(out *Track, t *track) *tensor.Program {
	p := &tensor.Program{Timeline: a.timeline(t.proc), Iterations: len(out.Iterations), Steady: out.steady(), Begin: Never}
	if a.timed {
		p.Begin = a.firstTime
	}
	return p
}

// steady are the steady iterations.
func (t *Track) steady() []tensor.Stretch {
	var out []tensor.Stretch
	for i := range t.Iterations {
		if it := &t.Iterations[i]; it.Steady() {
			out = append(out, tensor.Stretch{From: it.Start, To: it.End})
		}
	}
	return out
}

// stayed sums the driver's blocks of a track's device level that stay. Static memory goes with its module and is left
// out.
func (a *analysis) stayed(out *Track, t *track) []tensor.Stayed {
	s := tensor.NewStay(out.steady())
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.kind != nsysdb.KindDevice && b.kind != nsysdb.KindArray {
			continue
		}
		s.Add(b.start, b.end, b.bytes, func() (string, string) {
			_, path := a.where(t.proc, b.born)
			return path, ""
		})
	}
	return s.List()
}

// driverBlocks are the blocks of a track, as package tensor wants to see them.
type driverBlocks struct {
	a    *analysis
	t    *track
	call func(corr int64) string
}

func (a *analysis) driver(t *track) *driverBlocks { return &driverBlocks{a, t, a.callNames(t.proc)} }

// Blocks are those of device memory.
func (d *driverBlocks) Blocks() iter.Seq2[int, tensor.DriverBlock] {
	return func(yield func(int, tensor.DriverBlock) bool) {
		for i := range d.t.blocks {
			b := &d.t.blocks[i]
			if b.kind != nsysdb.KindDevice && b.kind != nsysdb.KindDeviceStatic {
				continue
			}
			if !yield(i, tensor.DriverBlock{Start: b.start, End: b.end, Address: uint64(b.address), Bytes: b.bytes,
				Stream: uint64(max(b.stream, 0)), Static: b.kind == nsysdb.KindDeviceStatic}) {
				return
			}
		}
	}
}

// Born says where the program was when it got a block, and by which call.
func (d *driverBlocks) Born(block int) (call string, iteration int, phase string) {
	b := &d.t.blocks[block]
	iteration, phase = d.a.where(d.t.proc, b.born)
	return d.call(b.bornCorr), iteration, phase
}

// Died says where it was when it gave a block back.
func (d *driverBlocks) Died(block int) (iteration int, phase string) {
	return d.a.where(d.t.proc, d.t.blocks[block].died)
}

// uncached says that the driver's blocks are the tensors themselves: in most steady iterations the program allocates
// and frees several times.
func uncached(t *Track) bool {
	steady, busy := 0, 0
	for i := range t.Iterations {
		if it := &t.Iterations[i]; it.Steady() {
			steady++
			if it.Memory.Allocs >= 8 && it.Memory.Frees >= 8 {
				busy++
			}
		}
	}
	return steady >= 2 && 4*busy >= 3*steady
}
