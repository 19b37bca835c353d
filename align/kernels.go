package align

import (
	"cmp"
	"context"
	"slices"

	"nsysmem/nsysdb"
)

// A kernelSum is the kernels and whole graphs of a track, by row.
type kernelSum struct {
	proc    *process
	rows    *procRows
	use     []kernelUse // by row, inclusive
	total   kernelUse
	attr    Attribution
	aside   int64                   // kernels in frameworks' and libraries' ranges of other threads, which ThreadsThrough looks through
	kernels map[statKey]*KernelStat // without path and name; nil unless Options.Kernels
	last    int64                   // ns; start of the last one, to see whether they are in order
}

// A kernelUse is the kernels and whole graphs of a row. A report may have a million rows, so that it is no larger than it
// must be.
type kernelUse struct {
	kernels, ns     int64
	graphs, graphNS int64
	busy, until     int64 // until: end of the last stretch counted as busy
}

// add counts work that does not start before what was counted already.
func (u *kernelUse) add(w *work) {
	d := w.end - w.start
	if w.graph {
		u.graphs++
		u.graphNS += d
	} else {
		u.kernels++
		u.ns += d
	}
	if start := max(w.start, u.until); w.end > start {
		u.busy += w.end - start
		u.until = w.end
	}
}

// setKernels fills what a use has of kernels.
func (u *GPUUse) setKernels(v *kernelUse) {
	u.Kernels, u.KernelNS, u.BusyNS, u.Graphs, u.GraphNS = v.kernels, v.ns, v.busy, v.graphs, v.graphNS
}

// readKernels attributes kernels and whole graphs. They are counted in the order of their start, so that the time in
// which any of them ran is a running union.
func readKernels(ctx context.Context, src *source, a *alignment, r *rows, at *places) (*tracked[kernelSum], error) {
	graphs, err := readGraphs(ctx, src.db)
	if err != nil {
		return nil, err
	}
	return ordered(func(sorted bool) (*tracked[kernelSum], error) {
		k := &kernelCounter{src: src, a: a, rows: r, places: at.reader(), graphs: graphs}
		return k.read(ctx, sorted)
	})
}

// readGraphs reads the launches of graphs that were traced whole, by start; there are few.
func readGraphs(ctx context.Context, db *nsysdb.DB) ([]work, error) {
	var out []work
	err := workTable(nsysdb.GraphTrace, noColumn, -1).readWork(ctx, db, func(w *work) error {
		w.graph = true
		out = append(out, *w)
		return nil
	})
	slices.SortStableFunc(out, func(x, y work) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.corr, y.corr))
	})
	return out, err
}

// A kernelCounter counts kernels and graphs as they come.
type kernelCounter struct {
	tracked[kernelSum]
	src    *source
	a      *alignment
	rows   *rows
	places *places
	graphs []work // not yet met, by start
}

func (k *kernelCounter) read(ctx context.Context, sorted bool) (*tracked[kernelSum], error) {
	name := noColumn
	if k.src.opts.Kernels {
		name = nsysdb.NameID
	}
	kernels := workTable(nsysdb.Kernel, name, -1)
	kernels.Sorted, kernels.told = sorted, k.src.progress("kernels", nsysdb.Kernel).add
	if err := kernels.readWork(ctx, k.src.db, k.kernel); err != nil {
		return nil, err
	}
	return &k.tracked, k.graphsUntil(maxTime)
}

// kernel counts a kernel, after the graphs that start no later.
func (k *kernelCounter) kernel(w *work) error {
	if err := k.graphsUntil(w.start); err != nil {
		return err
	}
	return k.add(w)
}

func (k *kernelCounter) graphsUntil(t int64) error {
	for ; len(k.graphs) > 0 && k.graphs[0].start <= t; k.graphs = k.graphs[1:] {
		if err := k.add(&k.graphs[0]); err != nil {
			return err
		}
	}
	return nil
}

// add counts work for its row and those above, and for the track.
func (k *kernelCounter) add(w *work) error {
	g := k.of(k.src.processes, w.gpid, w.device, k.begin)
	k.time.add(w.start, w.end)
	if w.start < g.last {
		return errUnordered
	}
	g.last = w.start
	at, launched := k.places.of(g.proc, w.corr)
	if !w.graph {
		k.attribute(g, at, launched)
	}
	r := k.rows.row(at)
	g.total.add(w)
	if g.kernels != nil {
		g.count(k.rows.group(g.proc, r), w)
	}
	for ; r >= 0; r = g.rows.list[r].parent {
		g.use[r].add(w)
	}
	return nil
}

func (k *kernelCounter) begin(p *process) *kernelSum {
	rows, none := k.rows.proc(p), kernelUse{until: -maxTime}
	g := &kernelSum{proc: p, rows: rows, use: slices.Repeat([]kernelUse{none}, len(rows.list)), total: none, last: -maxTime}
	if k.src.opts.Kernels {
		g.kernels = make(map[statKey]*KernelStat)
	}
	return g
}

// attribute counts which way a kernel came to its range.
func (k *kernelCounter) attribute(g *kernelSum, at place, launched bool) {
	g.attr.Kernels++
	switch {
	case !launched:
		g.attr.NoLaunch++
	case at.way() == wayThrough:
		g.attr.OtherThread++
		g.attr.Through++
	case at.way() == wayOther:
		g.attr.OtherThread++
	case at.way() == waySame:
		g.attr.SameThread++
		s := &k.a.ranges.spans[at.span()]
		if !s.loose {
			return
		}
		lead := k.a.lead(g.proc)
		if t := k.a.ranges.threads[s.thread]; t != lead.thread && !t.helper && !lead.inferred {
			g.aside++
		}
	default:
		g.attr.None++
	}
}

// count sums kernels by name.
func (g *kernelSum) count(group int32, w *work) {
	key := statKey{group, w.what}
	if w.graph {
		key.what = wholeGraph
	}
	d := w.end - w.start
	s := entry(g.kernels, key)
	if s.Count == 0 {
		s.MinNS = d
	}
	s.Count++
	s.NS += d
	s.MinNS, s.MaxNS = min(s.MinNS, d), max(s.MaxNS, d)
}
