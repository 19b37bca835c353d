package torchmem

import (
	"nsysmem/torchmem/internal/sizes"
)

// A layout is the regions and blocks at one point of a replay. Blocks of a region are linked in order of address and
// cover it without gaps; a block that lies in none is alone. It keeps the sums that a Cache needs.
type layout struct {
	r       *Replay // filled on the way
	nodes   []node
	spare   []int32          // nodes that can be used again
	at      map[uint64]int32 // node by its first address
	regions []*region        // by address
	free    map[poolKey]*[]int32

	allocated, reserved int64 // bytes
	freeBytes, stuck    int64 // bytes; as Cache.Free and Cache.Stuck
	now                 int64 // ns since 1970
	event               int32
	waiting             []int // places in Replay.Growth of those whose request comes next

	held       []Segment       // of the snapshot, by address; they tell the pool of mapped pages
	smallPages map[uint64]bool // addresses that the small pool mapped pages at, at some time
}

type poolKey struct {
	stream uint64
	small  bool
}

// node is a block, or a free one.
type node struct {
	addr       uint64
	size       int64
	prev, next int32 // noNode for none
	block      int32 // place in Replay.Blocks; noNode for none
	place      int32 // in its free list
	state      BlockState
	reg        *region // nil for a block outside all segments
}

const noNode = -1

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

// setFree puts a block into its free list; unsetFree takes it out.
func (l *layout) setFree(i int32) {
	n := &l.nodes[i]
	n.state, n.block = Inactive, noNode
	g := n.reg
	if g == nil {
		return
	}
	n.place = int32(len(*g.free))
	*g.free = append(*g.free, i)
	l.addFree(g, n.size)
}

func (l *layout) unsetFree(i int32) {
	n := &l.nodes[i]
	g := n.reg
	if g == nil {
		return
	}
	free := *g.free
	last := free[len(free)-1]
	free[n.place] = last
	l.nodes[last].place = n.place
	*g.free = free[:len(free)-1]
	l.addFree(g, -n.size)
}

func (l *layout) addFree(g *region, by int64) {
	l.freeBytes += by
	g.freeBytes += by
	if g.busy > 0 {
		l.stuck += by
	}
}

// addBusy changes the number of blocks of a region that are not free. The first makes its free bytes stuck.
func (l *layout) addBusy(g *region, by int) {
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

// cutFront splits the first size bytes off free block i; they stay i, the rest becomes a free block of its own.
func (l *layout) cutFront(i int32, size int64) {
	n := l.nodes[i]
	l.unsetFree(i)
	rest := l.newNode(node{addr: n.addr + uint64(size), size: n.size - size, prev: i, next: n.next, block: noNode, reg: n.reg})
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

// merge joins free block i with the free block after it, and says whether there was one.
func (l *layout) merge(i int32) bool {
	j := l.nodes[i].next
	if j < 0 || l.nodes[i].state != Inactive || l.nodes[j].state != Inactive {
		return false
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
	return true
}

// take hands out the whole of free block i.
func (l *layout) take(i int32, state BlockState, block int32) {
	l.unsetFree(i)
	n := &l.nodes[i]
	n.state, n.block = state, block
	l.addBusy(n.reg, 1)
}

// splits says whether the allocator splits the rest off a free block that a rounded request gets (should_split of
// PyTorch's CUDACachingAllocator): where another request could use it.
func (l *layout) splits(g *region, rounded, rest int64) bool {
	if g.small || g.expandable || l.r.Settings.Expandable {
		return rest >= sizes.MinBlock
	}
	limit := l.r.Settings.MaxSplitSize
	return rest > sizes.SmallMax && (limit == 0 || rounded < limit)
}

// release makes block i free and merges it with its neighbours.
func (l *layout) release(i int32) {
	l.addBusy(l.nodes[i].reg, -1)
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

// carve returns a free block of exactly size bytes at addr, cut out of the free block around it. Where there is none, it
// is a block outside all regions, and the region is nil.
func (l *layout) carve(addr uint64, size int64) (int32, *region) {
	g := l.regionAt(addr)
	if i := l.nodeAt(g, addr); i >= 0 {
		n := &l.nodes[i]
		before := int64(addr - n.addr)
		if n.state == Inactive && n.reg == g && n.size-before >= size {
			if before > 0 {
				l.cutFront(i, before)
				i = l.nodes[i].next
			}
			if l.nodes[i].size > size {
				l.cutFront(i, size)
			}
			return i, g
		}
	}
	i := l.newNode(node{addr: addr, size: size, prev: noNode, next: noNode, block: noNode})
	l.at[addr] = i
	return i, nil
}

// nodeAt is the node of a region, which may be nil, that holds addr; noNode for none.
func (l *layout) nodeAt(g *region, addr uint64) int32 {
	if g == nil {
		return noNode
	}
	if i, ok := l.at[addr]; ok {
		return i
	}
	// Only the beginning of a trace gets here, where it is not known how free space was cut up.
	i := g.head
	for i >= 0 && addr-l.nodes[i].addr >= uint64(l.nodes[i].size) {
		i = l.nodes[i].next
	}
	return i
}

// state is the map of all regions.
func (l *layout) state() []MapSegment {
	out := make([]MapSegment, 0, len(l.regions))
	for _, g := range l.regions {
		m := MapSegment{Addr: g.addr, Size: g.size, Stream: g.stream, Small: g.small, Expandable: g.expandable}
		for i := g.head; i >= 0; i = l.nodes[i].next {
			n := &l.nodes[i]
			m.Blocks = append(m.Blocks, MapBlock{n.addr, n.size, n.state, int(n.block)})
		}
		out = append(out, m)
	}
	return out
}
