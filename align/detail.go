package align

import (
	"cmp"
	"slices"

	"nsysmem/nsysdb"
)

// sortBlocks puts blocks in the order of their birth.
func sortBlocks(blocks []rawBlock) {
	slices.SortFunc(blocks, func(x, y rawBlock) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(uint64(x.address), uint64(y.address)), cmp.Compare(x.bornN, y.bornN))
	})
}

// blocks lists a track's blocks, and those that are live at the peak and at the end.
func (as *assembler) blocks(t *trackUse, out *Track) {
	call := as.aligned.calls.callNames(as.src.db, t.proc)
	who := as.callers.of(t.proc)
	peakN := int64(-1)
	if l := t.memory.levels[LevelDevice]; l != nil {
		peakN = l.peakN
	}
	out.Blocks = make([]Block, 0, len(t.memory.blocks))
	for i := range t.memory.blocks {
		r := &t.memory.blocks[i]
		b := Block{Start: r.start, End: r.end, Address: uint64(r.address), Bytes: r.bytes, Kind: levelKind(r.kind),
			MemKind: nsysdb.MemKindName(r.kind), Stream: r.stream, Call: call(r.bornCorr), FreeCall: call(r.diedBy), Lost: r.lost,
			Caller: who(r.bornCorr)}
		b.Iteration, b.Phase = as.rows.where(t.proc, r.born)
		b.EndIteration, b.EndPhase = as.rows.where(t.proc, r.died)
		if b.Stream == nsysdb.Null {
			b.Stream = -1
		}
		out.Blocks = append(out.Blocks, b)
		if r.end == Never && (b.Kind == LevelDevice || b.Kind == LevelManaged) {
			out.LiveAtEnd = append(out.LiveAtEnd, b)
		}
		if b.Kind == LevelDevice && r.bornN <= peakN && r.diedN > peakN {
			out.LiveAtPeak = append(out.LiveAtPeak, b)
		}
	}
	bySize(out.LiveAtEnd)
	bySize(out.LiveAtPeak)
}

func bySize(b []Block) {
	slices.SortStableFunc(b, func(x, y Block) int { return cmp.Compare(y.Bytes, x.Bytes) })
}

// details lists the kernels, copies and calls by phase.
func (as *assembler) details(t *trackUse, out *Track) {
	if t.kernels != nil {
		for key, s := range t.kernels.kernels {
			g := as.rows.groups[key.group]
			s.Path, s.Where, s.Name = g.path, g.where, as.kernelName(key.what)
		}
		out.Kernels = listed(t.kernels.kernels, func(x, y KernelStat) int {
			return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
		})
	}
	if t.copies != nil {
		for key, s := range t.copies.copies {
			g := as.rows.groups[key.group]
			s.Path, s.Where, s.Kind = g.path, g.where, copyName(key.what)
		}
		out.Copies = listed(t.copies.copies, func(x, y CopyStat) int {
			return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Kind, y.Kind))
		})
	}
	out.Calls = as.calls(t.proc)
}

// listed are the values of a map in an order.
func listed[K comparable, S any](sums map[K]*S, compare func(x, y S) int) []S {
	out := make([]S, 0, len(sums))
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, compare)
	return out
}

func (as *assembler) kernelName(what int64) string {
	switch {
	case what == wholeGraph:
		return "(graph traced whole)"
	case what < 0:
		return "<unnamed>"
	}
	return as.src.db.String(what)
}

// calls sums the API calls of a process by phase and name. Versions of one function are one.
func (as *assembler) calls(p *process) []CallStat {
	type key struct {
		group
		name string
	}
	sums := make(map[key]*CallStat)
	for k, s := range as.aligned.calls.stats {
		proc, g := -1-k.span, int32(0)
		if k.span >= 0 {
			proc = as.aligned.ranges.spans[k.span].proc
		}
		if proc != p.index {
			continue
		}
		if k.span >= 0 {
			g = as.rows.group(p, as.rows.of[k.span])
		}
		to := key{as.rows.groups[g], callName(as.src.db.String(k.name))}
		sum := entry(sums, to)
		sum.Path, sum.Where, sum.Name = to.path, to.where, to.name
		sum.add(s)
	}
	return listed(sums, func(x, y CallStat) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
	})
}
