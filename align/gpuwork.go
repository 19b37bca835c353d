package align

import (
	"context"
	"errors"
	"sort"

	"nsysmem/nsysdb"
)

// gpuSum is the GPU work of a track, by row.
type gpuSum struct {
	use     []kernelUse // by row of the process, inclusive; the last is for work without a row
	total   GPUUse
	totalE  int64 // end of the last stretch counted as busy
	attr    Attribution
	aside   int64 // kernels in operators' and libraries' ranges of other threads than the main one
	kernels map[statKey]*KernelStat
	last    int64 // start of the last kernel, to see whether they are in order
}

// A kernelUse is the kernels and whole graphs of a row. A report may have a million rows, so that it is no larger than it
// must be.
type kernelUse struct {
	kernels, ns     int64
	graphs, graphNS int64
	busy, until     int64 // until: end of the last stretch counted as busy
}

func (u *kernelUse) work(w *work, d int64) {
	if w.graph {
		u.graphs++
		u.graphNS += d
	} else {
		u.kernels++
		u.ns += d
	}
	busy(&u.busy, &u.until, w.start, w.end)
}

// addKernels adds a row's kernels to a use.
func (u *GPUUse) addKernels(v *kernelUse) {
	u.Kernels, u.KernelNS, u.BusyNS, u.Graphs, u.GraphNS = v.kernels, v.ns, v.busy, v.graphs, v.graphNS
}

// A statKey groups details: a span stands for its row's path.
type statKey struct {
	path int32 // index of the path, see pathIDs
	name int64
}

// A work is one kernel or graph launch.
type work struct {
	start, end, gpid, device, corr, name int64
	graph                                bool
}

func (t *track) prepare() {
	n := len(t.proc.rows) + 1
	t.gpu = gpuSum{use: make([]kernelUse, n), last: -maxTime}
	for i := range t.gpu.use {
		t.gpu.use[i].until = -maxTime
	}
	t.gpu.totalE = -maxTime
}

// busy adds [start, end) to a union of stretches that come by start.
func busy(sum, until *int64, start, end int64) {
	if start < *until {
		start = *until
	}
	if end > start {
		*sum += end - start
		*until = end
	}
}

// readKernels attributes kernels and whole graphs. They are counted in the order of their start, so that the time in
// which any of them ran is a running union; where the table is not in that order it is read again, sorted.
func (a *analysis) readKernels(ctx context.Context) error {
	graphs, err := a.graphs(ctx)
	if err != nil {
		return err
	}
	err = a.countKernels(ctx, graphs, false)
	if errors.Is(err, errUnordered) {
		err = a.countKernels(ctx, graphs, true)
	}
	return err
}

func (a *analysis) graphs(ctx context.Context) ([]work, error) {
	if a.db.Missing(nsysdb.GraphTrace) {
		return nil, nil
	}
	var out []work
	err := a.db.Scan(ctx, nsysdb.Scan{Table: nsysdb.GraphTrace, Columns: []nsysdb.Column{nsysdb.Start, nsysdb.End,
		nsysdb.GlobalPID, nsysdb.DeviceID, nsysdb.CorrelationID, nsysdb.GraphID}}, func(b *nsysdb.Batch) error {
		for i := 0; i < b.Rows; i++ {
			if w, ok := workOf(b, i); ok {
				w.graph = true
				out = append(out, w)
			}
		}
		return nil
	})
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].start != out[j].start {
			return out[i].start < out[j].start
		}
		return out[i].corr < out[j].corr
	})
	return out, err
}

// workOf reads a row whose first columns are start, end, process, device, correlation id and name.
func workOf(b *nsysdb.Batch, i int) (work, bool) {
	c := b.Cols
	if c[0] == nil || c[1] == nil {
		return work{}, false
	}
	w := work{start: c[0][i], end: c[1][i], corr: nsysdb.Null, name: -1}
	if w.start == nsysdb.Null {
		return work{}, false
	}
	if w.end < w.start {
		w.end = w.start
	}
	if c[2] != nil {
		w.gpid = c[2][i]
	}
	if c[3] != nil {
		w.device = c[3][i]
	}
	if c[4] != nil {
		w.corr = c[4][i]
	}
	if len(c) > 5 && c[5] != nil {
		w.name = c[5][i]
	}
	return w, true
}

func (a *analysis) countKernels(ctx context.Context, graphs []work, sorted bool) error {
	for _, t := range a.allTracks() {
		t.prepare()
	}
	k := &kernelSum{a: a, corr: a.corrViews()}
	if !a.db.Missing(nsysdb.Kernel) {
		cols := []nsysdb.Column{nsysdb.Start, nsysdb.End, nsysdb.GlobalPID, nsysdb.DeviceID, nsysdb.CorrelationID, nsysdb.NameID}
		if !a.opts.Kernels {
			cols = cols[:5]
		}
		var done progress
		err := a.db.Scan(ctx, nsysdb.Scan{Table: nsysdb.Kernel, Columns: cols, Sorted: sorted}, func(b *nsysdb.Batch) error {
			done.add(a, "kernels", int64(b.Rows), a.db.Rows(nsysdb.Kernel))
			for i := 0; i < b.Rows; i++ {
				w, ok := workOf(b, i)
				if !ok {
					continue
				}
				for len(graphs) > 0 && graphs[0].start <= w.start {
					if err := k.add(&graphs[0]); err != nil {
						return err
					}
					graphs = graphs[1:]
				}
				if err := k.add(&w); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range graphs {
		if err := k.add(&graphs[i]); err != nil {
			return err
		}
	}
	a.kernelTime = k.time
	return nil
}

type kernelSum struct {
	a         *analysis
	corr      [][]*corrMap
	track     *track
	gpid, dev int64
	time      stretch
}

func (k *kernelSum) add(w *work) error {
	a := k.a
	if k.track == nil || k.gpid != w.gpid || k.dev != w.device {
		k.gpid, k.dev = w.gpid, w.device
		k.track = a.track(a.process(nsysdb.Process(w.gpid)), w.device)
	}
	k.time.add(w.start, w.end)
	g := &k.track.gpu
	if g.use == nil {
		k.track.prepare()
	}
	if w.start < g.last {
		return errUnordered
	}
	g.last = w.start
	at, launched := lookup(k.corr, k.track.proc, w.corr)
	if !w.graph {
		g.attr.Kernels++
		switch {
		case !launched:
			g.attr.NoLaunch++
		case at.way() == waySame:
			g.attr.SameThread++
			if s := &a.spans[at.span()]; s.operator && s.thread != k.track.proc.main && !s.thread.helper && !k.track.proc.inferred {
				g.aside++
			}
		case at.way() == wayOther:
			g.attr.OtherThread++
		default:
			g.attr.None++
		}
	}
	p := k.track.proc
	r := int32(-1)
	if s := at.span(); launched && s >= 0 {
		r = a.spans[s].row
	}
	d := w.end - w.start
	g.total.work(w.graph, d)
	busy(&g.total.BusyNS, &g.totalE, w.start, w.end)
	if g.kernels != nil || a.opts.Kernels {
		g.kernel(a, p, r, w, d)
	}
	if r < 0 {
		g.use[len(p.rows)].work(w, d)
		return nil
	}
	for r >= 0 {
		g.use[r].work(w, d)
		r = p.rows[r].parent
	}
	return nil
}

func (u *GPUUse) work(graph bool, d int64) {
	if graph {
		u.Graphs++
		u.GraphNS += d
		return
	}
	u.Kernels++
	u.KernelNS += d
}

func (g *gpuSum) kernel(a *analysis, p *process, r int32, w *work, d int64) {
	if g.kernels == nil {
		g.kernels = make(map[statKey]*KernelStat)
	}
	name := w.name
	if w.graph {
		name = -2
	}
	key := statKey{p.group(r), name}
	s := g.kernels[key]
	if s == nil {
		s = &KernelStat{MinNS: d}
		g.kernels[key] = s
	}
	s.Count++
	s.NS += d
	s.MinNS, s.MaxNS = min(s.MinNS, d), max(s.MaxNS, d)
}

// readCopies attributes copies and memsets; their order does not matter.
func (a *analysis) readCopies(ctx context.Context) error {
	corr := a.corrViews()
	for _, table := range []nsysdb.Table{nsysdb.Memcpy, nsysdb.Memset} {
		if a.db.Missing(table) {
			continue
		}
		cols := []nsysdb.Column{nsysdb.Start, nsysdb.End, nsysdb.GlobalPID, nsysdb.DeviceID, nsysdb.CorrelationID, nsysdb.CopyKind, nsysdb.Bytes}
		err := a.db.Scan(ctx, nsysdb.Scan{Table: table, Columns: cols}, func(b *nsysdb.Batch) error {
			for i := 0; i < b.Rows; i++ {
				w, ok := workOf(b, i)
				if !ok {
					continue
				}
				bytes := int64(0)
				if b.Cols[6] != nil && b.Cols[6][i] != nsysdb.Null {
					bytes = b.Cols[6][i]
				}
				kind := int64(-1)
				if table == nsysdb.Memcpy {
					kind = nsysdb.CopyUnknown
					if b.Cols[5] != nil {
						kind = b.Cols[5][i]
					}
				}
				a.copy(corr, &w, kind, bytes)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *analysis) copy(corr [][]*corrMap, w *work, kind, bytes int64) {
	t := a.track(a.process(nsysdb.Process(w.gpid)), w.device)
	p, g := t.proc, &t.copies
	at, ok := lookup(corr, p, w.corr)
	r := int32(-1)
	if s := at.span(); ok && s >= 0 {
		r = a.spans[s].row
	}
	if g.use == nil {
		g.use = make([]copyUse, len(p.rows)+1)
	}
	a.copyTime.add(w.start, w.end)
	d := w.end - w.start
	g.total.copy(kind, bytes, d)
	if a.opts.Kernels {
		if g.copies == nil {
			g.copies = make(map[statKey]*CopyStat)
		}
		key := statKey{p.group(r), kind}
		s := g.copies[key]
		if s == nil {
			s = &CopyStat{Kind: copyName(kind)}
			g.copies[key] = s
		}
		s.Count++
		s.Bytes += bytes
		s.NS += d
	}
	if r < 0 {
		g.use[len(p.rows)].copy(kind, bytes, d)
	}
	for ; r >= 0; r = p.rows[r].parent {
		g.use[r].copy(kind, bytes, d)
	}
}

// A copyUse is the copies and memsets of a row, as GPUUse has them.
type copyUse struct {
	copies, ns, h2d, d2h, d2d      int64
	memsets, memsetBytes, memsetNS int64
}

// copy counts one copy, or a memset where kind is -1.
func (u *copyUse) copy(kind, bytes, d int64) {
	if kind < 0 {
		u.memsets++
		u.memsetBytes += bytes
		u.memsetNS += d
		return
	}
	u.copies++
	u.ns += d
	switch kind {
	case nsysdb.CopyHtoD, nsysdb.CopyHtoA, nsysdb.CopyUMHtoD:
		u.h2d += bytes
	case nsysdb.CopyDtoH, nsysdb.CopyAtoH, nsysdb.CopyUMDtoH:
		u.d2h += bytes
	case nsysdb.CopyDtoD, nsysdb.CopyPtoP, nsysdb.CopyAtoA, nsysdb.CopyAtoD, nsysdb.CopyDtoA, nsysdb.CopyUMDtoD:
		u.d2d += bytes
	}
}

func copyName(kind int64) string {
	names := []string{"unknown", "host to device", "device to host", "host to array", "array to host", "array to array",
		"array to device", "device to array", "device to device", "host to host", "peer to peer",
		"managed, host to device", "managed, device to host", "managed, device to device"}
	switch {
	case kind < 0:
		return "memset"
	case kind < int64(len(names)):
		return names[kind]
	}
	return "unknown"
}

// addCopies adds a row's copies and memsets to a use.
func (u *GPUUse) addCopies(v *copyUse) {
	u.Copies, u.MemcpyNS, u.H2D, u.D2H, u.D2D = v.copies, v.ns, v.h2d, v.d2h, v.d2d
	u.Memsets, u.MemsetBytes, u.MemsetNS = v.memsets, v.memsetBytes, v.memsetNS
}

// A copySum is the copies of a track, by row; another goroutine counts them than the kernels.
type copySum struct {
	use    []copyUse
	total  copyUse
	copies map[statKey]*CopyStat
}
