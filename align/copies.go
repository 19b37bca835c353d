package align

import (
	"context"

	"nsysmem/nsysdb"
)

// A copySum is the copies and memsets of a track, by row.
type copySum struct {
	proc   *process
	use    []copyUse // by row, inclusive
	total  copyUse
	copies map[statKey]*CopyStat // without path and kind; nil unless Options.Kernels
}

// A copyUse is the copies and memsets of a row, as GPUUse has them.
type copyUse struct {
	copies, ns, h2d, d2h, d2d      int64
	memsets, memsetBytes, memsetNS int64
}

// memset is the work.what of memsets.
const memset = -1

// add counts one copy or memset.
func (u *copyUse) add(w *work) {
	d := w.end - w.start
	if w.what < 0 {
		u.memsets++
		u.memsetBytes += w.bytes
		u.memsetNS += d
		return
	}
	u.copies++
	u.ns += d
	switch w.what {
	case nsysdb.CopyHtoD, nsysdb.CopyHtoA, nsysdb.CopyUMHtoD:
		u.h2d += w.bytes
	case nsysdb.CopyDtoH, nsysdb.CopyAtoH, nsysdb.CopyUMDtoH:
		u.d2h += w.bytes
	case nsysdb.CopyDtoD, nsysdb.CopyPtoP, nsysdb.CopyAtoA, nsysdb.CopyAtoD, nsysdb.CopyDtoA, nsysdb.CopyUMDtoD:
		u.d2d += w.bytes
	}
}

// setCopies fills what a use has of copies and memsets.
func (u *GPUUse) setCopies(v *copyUse) {
	u.Copies, u.MemcpyNS, u.H2D, u.D2H, u.D2D = v.copies, v.ns, v.h2d, v.d2h, v.d2d
	u.Memsets, u.MemsetBytes, u.MemsetNS = v.memsets, v.memsetBytes, v.memsetNS
}

// readCopies attributes copies and memsets; their order does not matter.
func readCopies(ctx context.Context, src *source, r *rows, at *places) (*tracked[copySum], error) {
	c := &copyCounter{src: src, rows: r, places: at.reader()}
	err := workTable(nsysdb.Memcpy, nsysdb.CopyKind, nsysdb.CopyUnknown).readWork(ctx, src.db, c.add)
	if err == nil {
		err = workTable(nsysdb.Memset, nsysdb.CopyKind, memset).readWork(ctx, src.db, c.add)
	}
	return &c.tracked, err
}

// A copyCounter counts copies and memsets as they come.
type copyCounter struct {
	tracked[copySum]
	src    *source
	rows   *rows
	places *places
}

func (c *copyCounter) begin(p *process) *copySum {
	g := &copySum{proc: p, use: make([]copyUse, len(c.rows.proc(p).list))}
	if c.src.opts.Kernels {
		g.copies = make(map[statKey]*CopyStat)
	}
	return g
}

func (c *copyCounter) add(w *work) error {
	g := c.of(c.src.processes, w.gpid, w.device, c.begin)
	at, _ := c.places.of(g.proc, w.corr)
	r := c.rows.row(at)
	c.time.add(w.start, w.end)
	g.total.add(w)
	if g.copies != nil {
		g.count(c.rows.group(g.proc, r), w)
	}
	for list := c.rows.proc(g.proc).list; r >= 0; r = list[r].parent {
		g.use[r].add(w)
	}
	return nil
}

// count sums copies by direction.
func (g *copySum) count(group int32, w *work) {
	key := statKey{group, w.what}
	s := entry(g.copies, key)
	s.Count++
	s.Bytes += w.bytes
	s.NS += w.end - w.start
}

// copyNames are the directions, by the export's numbers.
var copyNames = []string{"unknown", "host to device", "device to host", "host to array", "array to host", "array to array",
	"array to device", "device to array", "device to device", "host to host", "peer to peer",
	"managed, host to device", "managed, device to host", "managed, device to device"}

func copyName(kind int64) string {
	switch {
	case kind < 0:
		return "memset"
	case kind < int64(len(copyNames)):
		return copyNames[kind]
	}
	return copyNames[0]
}
