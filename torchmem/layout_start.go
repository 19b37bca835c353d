package torchmem

import (
	"sort"

	"nsysmem/torchmem/internal/sizes"
)

// firstSeen is what the first entry of an address says of the time before.
type firstSeen struct {
	action Action
	size   int64
	stream uint64
}

// begin lays out what was there before the trace began.
func (l *layout) begin(s *Snapshot, t *Trace, device int) {
	blocks := map[uint64]firstSeen{}
	segs := map[uint64]firstSeen{}
	var maps []TraceEvent
	allocs, changes := 0, 0
	t.Each(func(_ int, e *TraceEvent) bool {
		m := blocks
		switch e.Action {
		case Alloc:
			allocs++
			changes++
		case FreeCompleted:
		default:
			changes++
		}
		switch e.Action {
		case Alloc, FreeRequested, FreeCompleted:
		case SegmentAlloc, SegmentFree:
			m = segs
		case SegmentMap, SegmentUnmap:
			maps = append(maps, *e)
			if e.Action == SegmentMap && e.Size == sizes.SmallSegment {
				l.smallPages[e.Addr] = true
			}
			return true
		default:
			return true
		}
		if _, ok := m[e.Addr]; !ok {
			m[e.Addr] = firstSeen{e.Action, e.Size, e.Stream}
		}
		return true
	})

	// Both are the bulk of a replay; growing them by copying would need twice their memory for a while.
	l.r.Blocks = make([]Block, 0, allocs+allocs/64+64)
	l.r.Steps = make([]Step, 0, changes)

	// 1. Segments: kept ones without an entry, and those whose first entry gives them back.
	var mapped spans
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Device != device {
			continue
		}
		l.smallHint = append(l.smallHint, *g)
		if g.Expandable {
			mapped.add(g.Addr, g.Size, g.Stream, g.Small)
		} else if _, ok := segs[g.Addr]; !ok && g.Size > 0 {
			l.startRegion(g.Addr, g.Size, g.Stream, g.Small, false)
		}
	}
	sort.Slice(l.smallHint, func(i, j int) bool { return l.smallHint[i].Addr < l.smallHint[j].Addr })
	for _, a := range sortedKeys(segs) {
		if f := segs[a]; f.action == SegmentFree && f.size > 0 {
			l.startRegion(a, f.size, f.stream, f.size == sizes.SmallSegment, false)
		}
	}
	// Expandable segments: from what is mapped at the end, backwards.
	for i := len(maps) - 1; i >= 0; i-- {
		e := &maps[i]
		if e.Action == SegmentMap {
			mapped.remove(e.Addr, e.Size)
		} else {
			mapped.add(e.Addr, e.Size, e.Stream, l.isSmall(e.Addr, e.Size))
		}
	}
	for _, m := range mapped.list {
		l.startRegion(m.addr, m.size, m.stream, m.small, true)
	}

	// 2. Blocks: those whose first entry frees them, and live ones of the snapshot without an entry.
	type early struct {
		SnapshotBlock
		stream uint64
		exact  bool // its counted size is known
	}
	var live []early
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Device != device {
			continue
		}
		for _, b := range g.Blocks {
			if _, ok := blocks[b.Addr]; ok || b.State == Inactive {
				continue
			}
			live = append(live, early{b, g.Stream, true})
		}
	}
	for _, a := range sortedKeys(blocks) {
		f := blocks[a]
		if f.action == Alloc {
			continue
		}
		b := SnapshotBlock{Addr: a, Size: sizes.Round(f.size, &l.r.Settings.RoundupPower2), Requested: f.size, State: Active}
		if f.action == FreeCompleted {
			b.State = PendingFree
		}
		live = append(live, early{b, f.stream, false})
	}
	sort.SliceStable(live, func(i, j int) bool { return live[i].Addr < live[j].Addr })
	for k, b := range live {
		size := b.Size
		g := l.find(b.Addr)
		if g >= 0 && !b.exact {
			// What follows up to the next block is its own where it is too small to be a free block.
			next := l.regions[g].addr + uint64(l.regions[g].size)
			if k+1 < len(live) && live[k+1].Addr < next {
				next = live[k+1].Addr
			}
			if gap := int64(next - b.Addr - uint64(size)); gap > 0 && !l.splits(l.regions[g], size, gap) {
				size += gap
			}
		}
		l.startBlock(b.SnapshotBlock, size, b.stream)
	}
	l.r.StartAllocated, l.r.StartReserved = l.allocated, l.reserved
	l.r.Doubts.Cut = len(l.r.Segments) > 0 && t.Len() > 0
}

func (l *layout) startRegion(addr uint64, size int64, stream uint64, small, expandable bool) {
	if l.overlapping(addr, size) >= 0 {
		l.r.Doubts.SegmentsLost++
		return
	}
	g := l.addRegion(addr, size, stream, small, expandable)
	l.reserved += size
	l.life(g, addr, size, Never)
}

func (l *layout) startBlock(b SnapshotBlock, size int64, stream uint64) {
	i, g := l.carve(b.Addr, size)
	no := int32(len(l.r.Blocks))
	blk := Block{Birth: Never, Death: Never, BirthEvent: -1, DeathEvent: -1, Addr: b.Addr, Requested: b.Requested,
		Counted: size, Stream: stream, Stack: b.Stack}
	if g != nil {
		blk.Segment = g.addr
	} else {
		l.r.Doubts.Misplaced++
	}
	l.take(i, b.State, no)
	if b.State == Active {
		l.allocated += size
	} else {
		blk.Death = l.r.From
	}
	l.r.Blocks = append(l.r.Blocks, blk)
}

// carve returns a free block of exactly size bytes at addr, cut out of the free block around it; where there is none, a
// block outside all segments.
func (l *layout) carve(addr uint64, size int64) (int32, *region) {
	if g := l.find(addr); g >= 0 {
		i, ok := l.at[addr]
		if !ok {
			// Only the beginning of a trace gets here, where it is not known how free space was cut up.
			for i = l.regions[g].head; i >= 0; i = l.nodes[i].next {
				if n := &l.nodes[i]; addr-n.addr < uint64(n.size) {
					break
				}
			}
		}
		if i >= 0 {
			n := &l.nodes[i]
			before := int64(addr - n.addr)
			if n.state == Inactive && n.reg == l.regions[g] && n.size-before >= size {
				if before > 0 {
					l.cutFront(i, before)
					i = l.nodes[i].next
				}
				if l.nodes[i].size > size {
					l.cutFront(i, size)
				}
				return i, l.regions[g]
			}
		}
	}
	i := l.newNode(node{addr: addr, size: size, prev: -1, next: -1, block: -1})
	l.at[addr] = i
	return i, nil
}

// isSmall says of which pool a mapped stretch is: as the segments around it, as the snapshot says, or by its size, since
// the small pool maps 2 MiB at a time and the large one more.
func (l *layout) isSmall(addr uint64, size int64) bool {
	for _, at := range [2]uint64{addr - 1, addr + uint64(size)} {
		if i := l.find(at); i >= 0 && l.regions[i].expandable {
			return l.regions[i].small
		}
	}
	i := sort.Search(len(l.smallHint), func(i int) bool { return l.smallHint[i].Addr > addr }) - 1
	if i >= 0 && addr-l.smallHint[i].Addr < uint64(l.smallHint[i].Size) {
		return l.smallHint[i].Small
	}
	return size == sizes.SmallSegment || l.smallPages[addr]
}

func sortedKeys(m map[uint64]firstSeen) []uint64 {
	out := make([]uint64, 0, len(m))
	for a := range m {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// spans are stretches of addresses that do not overlap.
type spans struct{ list []span }

type span struct {
	addr   uint64
	size   int64
	stream uint64
	small  bool
}

func (s *spans) add(addr uint64, size int64, stream uint64, small bool) {
	s.remove(addr, size)
	if size <= 0 {
		return
	}
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].addr > addr })
	s.list = append(s.list, span{})
	copy(s.list[i+1:], s.list[i:])
	s.list[i] = span{addr, size, stream, small}
	// Neighbours of one kind are one stretch, as the allocator's own list has it.
	if i+1 < len(s.list) && s.joins(i) {
		s.join(i)
	}
	if i > 0 && s.joins(i-1) {
		s.join(i - 1)
	}
}

func (s *spans) joins(i int) bool {
	a, b := s.list[i], s.list[i+1]
	return a.addr+uint64(a.size) == b.addr && a.stream == b.stream && a.small == b.small
}

func (s *spans) join(i int) {
	s.list[i].size += s.list[i+1].size
	s.list = append(s.list[:i+1], s.list[i+2:]...)
}

func (s *spans) remove(addr uint64, size int64) {
	end := addr + uint64(max(size, 0))
	i := max(sort.Search(len(s.list), func(i int) bool { return s.list[i].addr > addr })-1, 0)
	var keep []span
	j := i
	for ; j < len(s.list) && s.list[j].addr < end; j++ {
		x := s.list[j]
		xEnd := x.addr + uint64(x.size)
		if x.addr < addr {
			keep = append(keep, span{x.addr, int64(min(addr, xEnd) - x.addr), x.stream, x.small})
		}
		if xEnd > end {
			keep = append(keep, span{end, int64(xEnd - end), x.stream, x.small})
		}
	}
	s.list = append(s.list[:i], append(keep, s.list[j:]...)...)
}
