package torchmem

import (
	"sort"

	"nsysmem/torchmem/internal/sizes"
)

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
		return rest >= sizes.MinBlock
	}
	limit := l.r.Settings.MaxSplitSize
	return rest > sizes.SmallMax && (limit == 0 || rounded < limit)
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
