package align

import (
	"iter"

	"nsysmem/align/caller"
	"nsysmem/align/tensor"
	"nsysmem/nsysdb"
)

// tensors says what a track's tensors hold, by the snapshot that belongs to it or, where the program has no caching
// allocator, by the driver's blocks; nil where neither tells.
func (as *assembler) tensors(t *trackUse, out *Track) *tensor.Memory {
	d := as.snapshot.device(t.trackKey)
	if d == nil && !(as.uses.keepBlocks && uncached(out) && len(t.memory.blocks) > 0) {
		return nil
	}
	program := &tensor.Program{Timeline: newTimeline(as.aligned, as.rows, t.proc), Iterations: len(out.Iterations),
		Steady: out.steady(), Begin: Never}
	if as.time.any {
		program.Begin = as.time.first
	}
	driver := newDriverBlocks(as.src, as.aligned, as.rows, t)
	if as.callers != nil {
		driver.who = as.callers.of(t.proc)
	}
	if d == nil {
		return tensor.FromDriver(program, driver, out.Total.Memory.PeakAt)
	}
	m := tensor.FromSnapshot(d.match, as.src.db.Meta().StartUTC, program, driver)
	m.File = d.of.Name
	return m
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
func (as *assembler) stayed(t *trackUse, out *Track) []tensor.Stayed {
	s := tensor.NewStay(out.steady())
	for i := range t.memory.blocks {
		b := &t.memory.blocks[i]
		if b.kind != nsysdb.KindDevice && b.kind != nsysdb.KindArray {
			continue
		}
		s.Add(b.start, b.end, b.bytes, func() (string, string) {
			_, path := as.rows.where(t.proc, b.born)
			return path, ""
		})
	}
	return s.List()
}

// driverBlocks are the blocks of a track, as package tensor wants to see them.
type driverBlocks struct {
	rows   *rows
	proc   *process
	blocks []rawBlock
	call   func(corr int64) string
	who    func(corr int64) caller.Caller // nil without call chains
}

func newDriverBlocks(src *source, a *alignment, r *rows, t *trackUse) *driverBlocks {
	return &driverBlocks{rows: r, proc: t.proc, blocks: t.memory.blocks, call: a.calls.callNames(src.db, t.proc)}
}

// Blocks are those of device memory.
func (d *driverBlocks) Blocks() iter.Seq2[int, tensor.DriverBlock] {
	return func(yield func(int, tensor.DriverBlock) bool) {
		for i := range d.blocks {
			b := &d.blocks[i]
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
	b := &d.blocks[block]
	iteration, phase = d.rows.where(d.proc, b.born)
	return d.call(b.bornCorr), iteration, phase
}

// Callers says who asked for a block; nil where no call chains were recorded.
func (d *driverBlocks) Callers() func(block int) caller.Caller {
	if d.who == nil {
		return nil
	}
	return func(block int) caller.Caller { return d.who(d.blocks[block].bornCorr) }
}

// Died says where it was when it gave a block back.
func (d *driverBlocks) Died(block int) (iteration int, phase string) {
	return d.rows.where(d.proc, d.blocks[block].died)
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
