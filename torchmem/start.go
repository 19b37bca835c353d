package torchmem

import (
	"cmp"
	"maps"
	"slices"

	"nsysmem/torchmem/internal/sizes"
)

// A history is what the entries of a trace say of the time before it.
type history struct {
	blocks   map[uint64]firstEntry // of each address that a block has
	segments map[uint64]firstEntry // of each address that a segment has, expandable ones aside
	pages    []TraceEvent          // all that map or unmap pages of expandable segments
	allocs   int                   // entries that hand out a block
	steps    int                   // entries that may change a level
}

// A firstEntry is what matters of the first entry with an address.
type firstEntry struct {
	action Action
	size   int64 // bytes
	stream uint64
}

func historyOf(t *Trace) *history {
	h := &history{blocks: map[uint64]firstEntry{}, segments: map[uint64]firstEntry{}}
	first := func(m map[uint64]firstEntry, e *TraceEvent) {
		if _, ok := m[e.Addr]; !ok {
			m[e.Addr] = firstEntry{e.Action, e.Size, e.Stream}
		}
	}
	t.Each(func(_ int, e *TraceEvent) bool {
		h.steps++
		switch e.Action {
		case Alloc:
			h.allocs++
			first(h.blocks, e)
		case FreeRequested:
			first(h.blocks, e)
		case FreeCompleted:
			h.steps--
			first(h.blocks, e)
		case SegmentAlloc, SegmentFree:
			first(h.segments, e)
		case SegmentMap, SegmentUnmap:
			h.pages = append(h.pages, *e)
		}
		return true
	})
	return h
}

// begin lays out what was there before the trace began.
func (l *layout) begin(s *Snapshot, t *Trace, device int) {
	h := historyOf(t)
	// Both are the bulk of a replay; growing them by copying would need twice their memory for a while.
	l.r.Blocks = make([]Block, 0, h.allocs+h.allocs/64+64)
	l.r.Steps = make([]Step, 0, h.steps)
	held := slices.DeleteFunc(slices.Clone(s.Segments), func(g Segment) bool { return g.Device != device })
	l.startSegments(held, h)
	l.startBlocks(held, h)
	l.r.StartAllocated, l.r.StartReserved = l.allocated, l.reserved
	l.r.Doubts.Cut = len(l.r.Segments) > 0 && t.Len() > 0
}

// startSegments lays out the segments that were there.
//
//  1. Those that the snapshot has and no entry names.
//  2. Those whose first entry gives them back.
//  3. Of expandable segments what is mapped at the end, with all that was mapped and unmapped undone backwards.
func (l *layout) startSegments(held []Segment, h *history) {
	var mapped spans
	for i := range held {
		g := &held[i]
		s := stretch{g.Addr, g.Size, g.Stream, g.Small, g.Expandable}
		if g.Expandable {
			mapped.add(s)
		} else if _, ok := h.segments[g.Addr]; !ok && g.Size > 0 {
			l.startRegion(s)
		}
	}
	for _, addr := range slices.Sorted(maps.Keys(h.segments)) {
		if f := h.segments[addr]; f.action == SegmentFree && f.size > 0 {
			l.startRegion(stretch{addr, f.size, f.stream, f.size == sizes.SmallSegment, false})
		}
	}
	l.held = slices.Clone(held)
	slices.SortStableFunc(l.held, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	for i := range h.pages {
		if e := &h.pages[i]; e.Action == SegmentMap && e.Size == sizes.SmallSegment {
			l.smallPages[e.Addr] = true
		}
	}
	for _, e := range slices.Backward(h.pages) {
		if e.Action == SegmentMap {
			mapped.remove(e.Addr, e.Size)
		} else {
			mapped.add(stretch{e.Addr, e.Size, e.Stream, l.isSmall(e.Addr, e.Size), true})
		}
	}
	for _, s := range mapped {
		l.startRegion(s)
	}
}

func (l *layout) startRegion(s stretch) {
	if l.overlapping(s) >= 0 {
		l.r.Doubts.SegmentsLost++
		return
	}
	l.addRegion(s, Never)
}

// An earlyBlock is a block that was there.
type earlyBlock struct {
	SnapshotBlock
	stream uint64
	exact  bool // its counted size is known; else it is at least Size
}

// earlyBlocks are those that the snapshot has and no entry names, and those whose first entry gives them back, by
// address.
func earlyBlocks(held []Segment, h *history, div *sizes.Divisions) []earlyBlock {
	var out []earlyBlock
	for i := range held {
		for _, b := range held[i].Blocks {
			if _, ok := h.blocks[b.Addr]; !ok && b.State != Inactive {
				out = append(out, earlyBlock{b, held[i].Stream, true})
			}
		}
	}
	for _, addr := range slices.Sorted(maps.Keys(h.blocks)) {
		f := h.blocks[addr]
		b := SnapshotBlock{Addr: addr, Size: sizes.Round(f.size, div), Requested: f.size, State: Active}
		switch f.action {
		case Alloc:
			continue
		case FreeCompleted:
			b.State = PendingFree
		}
		out = append(out, earlyBlock{b, f.stream, false})
	}
	slices.SortStableFunc(out, func(a, b earlyBlock) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}

// startBlocks lays out the blocks that were there.
func (l *layout) startBlocks(held []Segment, h *history) {
	all := earlyBlocks(held, h, &l.r.Settings.RoundupPower2)
	for k, b := range all {
		if g := l.regionAt(b.Addr); g != nil && !b.exact {
			// What follows up to the next block is its own where it is too small to be a free block.
			next := g.end()
			if k+1 < len(all) {
				next = min(next, all[k+1].Addr)
			}
			if gap := int64(next - b.Addr - uint64(b.Size)); gap > 0 && !l.splits(g, b.Size, gap) {
				b.Size += gap
			}
		}
		l.startBlock(b)
	}
}

func (l *layout) startBlock(b earlyBlock) {
	i, g := l.carve(b.Addr, b.Size)
	out := Block{Birth: Never, Death: Never, BirthEvent: -1, DeathEvent: -1, Addr: b.Addr, Requested: b.Requested,
		Counted: b.Size, Stream: b.stream, Stack: b.Stack}
	if g != nil {
		out.Segment = g.addr
	} else {
		l.r.Doubts.Misplaced++
	}
	l.take(i, b.State, int32(len(l.r.Blocks)))
	if b.State == Active {
		l.allocated += b.Size
	} else {
		out.Death = l.r.From
	}
	l.r.Blocks = append(l.r.Blocks, out)
}
