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
	peakN := int64(-1)
	if l := t.memory.levels[LevelDevice]; l != nil {
		peakN = l.peakN
	}
	out.Blocks = make([]Block, 0, len(t.memory.blocks))
	for i := range t.memory.blocks {
		r := &t.memory.blocks[i]
		b := Block{Start: r.start, End: r.end, Address: uint64(r.address), Bytes: r.bytes, Kind: levelKind(r.kind),
			MemKind: nsysdb.MemKindName(r.kind), Stream: r.stream, Call: call(r.bornCorr), FreeCall: call(r.diedBy), Lost: r.lost}
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
		out.Kernels = as.kernels(t.kernels)
	}
	if t.copies != nil {
		out.Copies = as.copies(t.copies)
	}
	out.Calls = as.calls(t.proc)
}

func (as *assembler) kernels(k *kernelSum) []KernelStat {
	out := make([]KernelStat, 0, len(k.kernels))
	for key, s := range k.kernels {
		g := as.rows.groups[key.group]
		x := *s
		x.Path, x.Where = g.path, g.where
		switch {
		case key.what == wholeGraph:
			x.Name = "(graph traced whole)"
		case key.what < 0:
			x.Name = "<unnamed>"
		default:
			x.Name = as.src.db.String(key.what)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y KernelStat) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
	})
	return out
}

func (as *assembler) copies(c *copySum) []CopyStat {
	out := make([]CopyStat, 0, len(c.copies))
	for key, s := range c.copies {
		g := as.rows.groups[key.group]
		x := *s
		x.Path, x.Where = g.path, g.where
		out = append(out, x)
	}
	slices.SortFunc(out, func(x, y CopyStat) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Kind, y.Kind))
	})
	return out
}

// calls sums the API calls of a process by phase and name. Versions of one function are one.
func (as *assembler) calls(p *process) []CallStat {
	type key struct {
		group int32
		name  string
	}
	sums := make(map[key]*CallStat)
	for k, s := range as.aligned.calls.stats {
		g := int32(0)
		if k.span < 0 {
			if -1-k.span != p.index {
				continue
			}
		} else {
			if as.aligned.ranges.spans[k.span].proc != p.index {
				continue
			}
			g = as.rows.group(p, as.rows.of[k.span])
		}
		to := key{g, callName(as.src.db.String(k.name))}
		if sums[to] == nil {
			sums[to] = &CallStat{Path: as.rows.groups[g].path, Where: as.rows.groups[g].where, Name: to.name}
		}
		sums[to].add(s)
	}
	out := make([]CallStat, 0, len(sums))
	for _, s := range sums {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(x, y CallStat) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
	})
	return out
}
