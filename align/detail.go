package align

import (
	"cmp"
	"slices"

	"nsysmem/nsysdb"
)

// sortBlocks puts the blocks of a track in the order of their birth.
func (t *track) sortBlocks() {
	slices.SortFunc(t.blocks, func(x, y rawBlock) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(uint64(x.address), uint64(y.address)), cmp.Compare(x.bornN, y.bornN))
	})
}

// callNames gives the name of the allocating or freeing call of a correlation id; empty where it is not known.
func (a *analysis) callNames(p *process) func(corr int64) string {
	calls := make(map[int32]string)
	return func(corr int64) string {
		if corr <= 0 || int(p.index) >= len(a.allocNames) {
			return ""
		}
		for _, m := range a.allocNames[p.index] {
			if id, ok := m[corr]; ok {
				name, ok := calls[id]
				if !ok {
					name = callName(a.db.String(int64(id)))
					calls[id] = name
				}
				return name
			}
		}
		return ""
	}
}

// blocks fills a track's blocks, and those that are live at the peak and at the end.
func (a *analysis) blocks(out *Track, t *track) {
	p := t.proc
	call := a.callNames(p)
	peakN := int64(-1)
	if l := t.levels[LevelDevice]; l != nil {
		peakN = l.peakN
	}
	out.Blocks = make([]Block, 0, len(t.blocks))
	for i := range t.blocks {
		r := &t.blocks[i]
		b := Block{Start: r.start, End: r.end, Address: uint64(r.address), Bytes: r.bytes, Kind: levelName(r.kind),
			MemKind: nsysdb.MemKindName(r.kind), Stream: r.stream, Call: call(r.bornCorr), FreeCall: call(r.diedBy), Lost: r.lost}
		b.Iteration, b.Phase = a.where(p, r.born)
		b.EndIteration, b.EndPhase = a.where(p, r.died)
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

// details fills the kernels, copies and calls by phase.
func (a *analysis) details(out *Track, t *track) {
	for key, s := range t.gpu.kernels {
		g := a.groups[key.path]
		s.Path, s.Where = g.path, g.where
		switch {
		case key.name == -2:
			s.Name = "(graph traced whole)"
		case key.name < 0:
			s.Name = "<unnamed>"
		default:
			s.Name = a.db.String(key.name)
		}
		out.Kernels = append(out.Kernels, *s)
	}
	slices.SortFunc(out.Kernels, func(x, y KernelStat) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
	})
	for key, s := range t.copies.copies {
		g := a.groups[key.path]
		s.Path, s.Where = g.path, g.where
		out.Copies = append(out.Copies, *s)
	}
	slices.SortFunc(out.Copies, func(x, y CopyStat) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Kind, y.Kind))
	})
	a.callDetails(out, t.proc)
}

// callDetails sums the API calls of a process by phase and name.
func (a *analysis) callDetails(out *Track, p *process) {
	type key struct {
		group int32
		name  string
	}
	sums := make(map[key]*CallStat)
	for k, s := range a.callStats {
		g := int32(0)
		if k.span >= 0 {
			if sp := &a.spans[k.span]; sp.proc != p.index {
				continue
			} else if sp.row >= 0 {
				g = p.group(sp.row)
			}
		} else if -1-k.span != p.index {
			continue
		}
		kk := key{g, callName(a.db.String(k.name))}
		t := sums[kk]
		if t == nil {
			t = &CallStat{Path: a.groups[g].path, Where: a.groups[g].where, Name: kk.name}
			sums[kk] = t
		}
		t.Count, t.NS, t.Failed, t.MaxNS = t.Count+s.Count, t.NS+s.NS, t.Failed+s.Failed, max(t.MaxNS, s.MaxNS)
	}
	for _, s := range sums {
		out.Calls = append(out.Calls, *s)
	}
	slices.SortFunc(out.Calls, func(x, y CallStat) int {
		return cmp.Or(cmp.Compare(x.Where, y.Where), cmp.Compare(x.Path, y.Path), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
	})
}
