package torchmem

import "sort"

// A layout is the segments and blocks at one point of a replay. Blocks of a segment are linked in order of address and
// cover it without gaps.
type layout struct {
	r       *Replay
	nodes   []node
	spare   []int32
	at      map[uint64]int32 // node by its first address
	regions []*region        // by address
	free    map[poolKey]*[]int32

	allocated, reserved, freeBytes, stuck int64
	now                                   int64
	event                                 int32
	waiting                               []int           // Growth without a request yet
	smallHint                             []Segment       // of the snapshot, by address
	smallPages                            map[uint64]bool // mapped by the small pool at some time
}

type poolKey struct {
	stream uint64
	small  bool
}

type node struct {
	addr       uint64
	size       int64
	prev, next int32 // -1 for none
	block      int32 // place in Replay.Blocks; -1 for none
	place      int32 // in its free list
	state      BlockState
	reg        *region // nil for a block outside all segments
}

// A region is a segment, or a stretch of an expandable one that is mapped without gaps.
type region struct {
	addr       uint64
	size       int64
	stream     uint64
	small      bool
	expandable bool
	head, tail int32
	busy       int   // blocks that are not free
	freeBytes  int64 // bytes of free blocks
	lives      []int32
}

func newLayout(r *Replay) *layout {
	return &layout{r: r, at: map[uint64]int32{}, smallPages: map[uint64]bool{}, free: map[poolKey]*[]int32{}, event: -1}
}

func (l *layout) newNode(n node) int32 {
	if k := len(l.spare); k > 0 {
		i := l.spare[k-1]
		l.spare = l.spare[:k-1]
		l.nodes[i] = n
		return i
	}
	l.nodes = append(l.nodes, n)
	return int32(len(l.nodes) - 1)
}

func (l *layout) drop(i int32) {
	n := &l.nodes[i]
	if l.at[n.addr] == i {
		delete(l.at, n.addr)
	}
	n.reg = nil
	l.spare = append(l.spare, i)
}

// setFree and unsetFree keep the sums of a free block up to date.
func (l *layout) setFree(i int32) {
	n := &l.nodes[i]
	n.state, n.block = Inactive, -1
	g := n.reg
	if g == nil {
		return
	}
	k := poolKey{g.stream, g.small}
	s := l.free[k]
	if s == nil {
		s = new([]int32)
		l.free[k] = s
	}
	n.place = int32(len(*s))
	*s = append(*s, i)
	l.freeBytes += n.size
	g.freeBytes += n.size
	if g.busy > 0 {
		l.stuck += n.size
	}
}

func (l *layout) unsetFree(i int32) {
	n := &l.nodes[i]
	g := n.reg
	if g == nil {
		return
	}
	s := l.free[poolKey{g.stream, g.small}]
	last := (*s)[len(*s)-1]
	(*s)[n.place] = last
	l.nodes[last].place = n.place
	*s = (*s)[:len(*s)-1]
	l.freeBytes -= n.size
	g.freeBytes -= n.size
	if g.busy > 0 {
		l.stuck -= n.size
	}
}

// busy changes the number of blocks of a region that are not free.
func (l *layout) busy(g *region, by int) {
	if g == nil {
		return
	}
	was := g.busy > 0
	g.busy += by
	switch is := g.busy > 0; {
	case is && !was:
		l.stuck += g.freeBytes
	case was && !is:
		l.stuck -= g.freeBytes
	}
}

// find is the place of the region that holds addr, or -1.
func (l *layout) find(addr uint64) int {
	i := sort.Search(len(l.regions), func(i int) bool { return l.regions[i].addr > addr }) - 1
	if i >= 0 && addr-l.regions[i].addr < uint64(l.regions[i].size) {
		return i
	}
	return -1
}

// overlapping is the place of a region that shares addresses with the stretch, or -1.
func (l *layout) overlapping(addr uint64, size int64) int {
	if i := l.find(addr); i >= 0 {
		return i
	}
	i := sort.Search(len(l.regions), func(i int) bool { return l.regions[i].addr >= addr })
	if i < len(l.regions) && l.regions[i].addr-addr < uint64(size) {
		return i
	}
	return -1
}

func (l *layout) insertRegion(g *region) {
	i := sort.Search(len(l.regions), func(i int) bool { return l.regions[i].addr > g.addr })
	l.regions = append(l.regions, nil)
	copy(l.regions[i+1:], l.regions[i:])
	l.regions[i] = g
}

func (l *layout) removeRegion(i int) { l.regions = append(l.regions[:i], l.regions[i+1:]...) }

// addRegion makes a region of one free block.
func (l *layout) addRegion(addr uint64, size int64, stream uint64, small, expandable bool) *region {
	g := &region{addr: addr, size: size, stream: stream, small: small, expandable: expandable}
	i := l.newNode(node{addr: addr, size: size, prev: -1, next: -1, block: -1, reg: g})
	g.head, g.tail = i, i
	l.at[addr] = i
	l.setFree(i)
	l.insertRegion(g)
	return g
}

// cutFront splits the first size bytes off free block i; they stay i, the rest becomes a free block of its own.
func (l *layout) cutFront(i int32, size int64) {
	n := l.nodes[i]
	l.unsetFree(i)
	rest := l.newNode(node{addr: n.addr + uint64(size), size: n.size - size, prev: i, next: n.next, block: -1, reg: n.reg})
	p := &l.nodes[i]
	p.size, p.next = size, rest
	if n.next >= 0 {
		l.nodes[n.next].prev = rest
	} else if n.reg != nil {
		n.reg.tail = rest
	}
	l.at[l.nodes[rest].addr] = rest
	l.setFree(i)
	l.setFree(rest)
}

// merge joins free block i with the free block after it.
func (l *layout) merge(i int32) {
	j := l.nodes[i].next
	if j < 0 || l.nodes[i].state != Inactive || l.nodes[j].state != Inactive {
		return
	}
	l.unsetFree(i)
	l.unsetFree(j)
	a, b := &l.nodes[i], &l.nodes[j]
	a.size += b.size
	a.next = b.next
	if b.next >= 0 {
		l.nodes[b.next].prev = i
	} else {
		a.reg.tail = i
	}
	l.drop(j)
	l.setFree(i)
}

// occupy hands out free block i, or the front of it, for a rounded request, and returns what it counts.
func (l *layout) occupy(i int32, rounded int64, state BlockState, block int32) int64 {
	n := &l.nodes[i]
	g := n.reg
	if rest := n.size - rounded; g != nil && rest > 0 && l.splits(g, rounded, rest) {
		l.cutFront(i, rounded)
	}
	l.take(i, state, block)
	return l.nodes[i].size
}

// take hands out the whole of free block i.
func (l *layout) take(i int32, state BlockState, block int32) {
	l.unsetFree(i)
	n := &l.nodes[i]
	n.state, n.block = state, block
	l.busy(n.reg, 1)
}

func (l *layout) splits(g *region, rounded, rest int64) bool {
	if g.small || g.expandable || l.r.Settings.Expandable {
		return rest >= minBlock
	}
	limit := l.r.Settings.MaxSplitSize
	return rest > smallMax && (limit == 0 || rounded < limit)
}

// release makes block i free and merges it with its neighbours.
func (l *layout) release(i int32) {
	l.busy(l.nodes[i].reg, -1)
	if l.nodes[i].reg == nil {
		l.drop(i)
		return
	}
	l.setFree(i)
	l.merge(i)
	if p := l.nodes[i].prev; p >= 0 {
		l.merge(p)
	}
}

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
			if e.Action == SegmentMap && e.Size == smallSeg {
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
			l.startRegion(a, f.size, f.stream, f.size == smallSeg, false)
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
		b := SnapshotBlock{Addr: a, Size: roundSize(f.size, &l.r.Settings.RoundupPower2), Requested: f.size, State: Active}
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
	l.r.Doubts.Cut = len(l.r.Segments) > 0 && t.n > 0
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
	return size == smallSeg || l.smallPages[addr]
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
