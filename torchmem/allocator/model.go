package allocator

import (
	"slices"
	"sort"
	"sync"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// How the model works
//
//  1. A request is rounded (sizes.Round). Up to 1 MiB it belongs to the small pool, else to the large one; each stream
//     has its own blocks in both.
//  2. The smallest free block that is large enough serves it, of equal ones that at the lowest address. A block of
//     max_split_size or more serves no request under that, and none that it exceeds by max_non_split_rounding or more.
//     In expandable segments a block counts as large as it can grow.
//  3. Where there is none, old cached segments are given back first if garbage_collection_threshold asks for it, then the
//     driver is asked for a segment (sizes.Segment), or to map more of an expandable segment.
//  4. Where the driver has not enough: oversize cached blocks are given back (only with max_split_size), then all cached
//     segments, after all streams have finished; each time the driver is asked again. Else the request has failed.
//  5. The block is split where its rest is worth it (splits).
//  6. A freed block merges with its free neighbours.
//
// Source: PyTorch's notes on its memory management, its published allocator (CUDACachingAllocator) in versions 2.0 to
// 2.11, whose functions are named where they are followed, and the recorded runs, whose segments the model reproduces.
// Versions differ in little: before 2.1 there are no expandable segments, before 2.9 no large_segment_size_mb.

// model is the allocator of one device.
type model struct {
	cfg      *Config
	driver   *driver
	capacity int64 // bytes that may be reserved; 0 for no limit
	collect  int64 // bytes beyond which old segments go; 0 for never
	least    int64 // bytes; with each capacity from here on …
	below    int64 // … and below this the simulation goes as it went so far
	lean     bool  // Options.lean

	nodes  []node
	spare  []int32
	pools  map[poolKey]*pool
	groups []*poolGroup // in the order that they were first used
	block  []int32      // node of each block of the trace; noNode where it is not live
	wait   []int32      // blocks given back that a stream still uses, with gaps

	event      int32
	allocated  int64 // bytes
	reserved   int64 // bytes
	private    int64 // bytes of reserved in private pools that the program does not have
	expandable int   // expandable segments made so far
	result     *Result
	scratch    *scratch
	segment    func(a torchmem.Action, addr uint64, size int64, stream uint64) // told of each change, by tests
}

const noNode = -1

// A scratch is the memory of a model that has done its work, for the next one.
type scratch struct {
	nodes        []node
	spare, block []int32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// putBack ends the model.
func (m *model) putBack() {
	clear(m.nodes) // they point to pools
	*m.scratch = scratch{m.nodes, m.spare, m.block}
	scratches.Put(m.scratch)
	m.nodes, m.spare, m.block = nil, nil, nil
}

// node is a block, free or not, or a gap in an expandable segment.
type node struct {
	addr       uint64
	size       int64
	age        int64 // calls of its pool when it became free
	prev, next int32
	pool       *pool // nil where the node is spare
	state      torchmem.BlockState
	expandable bool
	base       uint64 // where its expandable segment begins; pages are counted from there
	waitAt     int32  // place in wait, while PendingFree
}

// A poolKey tells the parts of pools apart.
type poolKey struct {
	poolID
	small bool
}

// poolGroup is a pool over all streams, as PyTorch has it.
type poolGroup struct {
	small   bool
	private int
	calls   int64   // times that a free block was looked for, while collection is on
	pools   []*pool // by stream
}

// pool is the part of one stream.
type pool struct {
	group    *poolGroup
	stream   uint64
	free     freeList
	unmapped []int32 // gaps of expandable segments, by address
}

func newModel(cfg *Config, d *driver, capacity int64, blocks int) *model {
	m := &model{cfg: cfg, driver: d, capacity: capacity, below: sizes.MaxSum, pools: map[poolKey]*pool{},
		event: -1, result: &Result{Conf: cfg.Text, Capacity: capacity}, scratch: scratches.Get().(*scratch)}
	m.nodes, m.spare = m.scratch.nodes[:0], m.scratch.spare[:0]
	m.block = slices.Grow(m.scratch.block[:0], blocks)[:blocks]
	if cfg.MemoryFraction > 0 && capacity > 0 {
		m.capacity = int64(float64(capacity) * cfg.MemoryFraction)
		m.collect = int64(cfg.GCThreshold * float64(m.capacity))
	}
	for i := range m.block {
		m.block[i] = noNode
	}
	return m
}

// pool is the pool of a stream, made when first used.
func (m *model) pool(k poolKey) *pool {
	if p := m.pools[k]; p != nil {
		return p
	}
	i := slices.IndexFunc(m.groups, func(g *poolGroup) bool { return g.small == k.small && g.private == k.private })
	if i < 0 {
		i = len(m.groups)
		m.groups = append(m.groups, &poolGroup{small: k.small, private: k.private})
	}
	g := m.groups[i]
	p := &pool{group: g, stream: k.stream}
	m.pools[k] = p
	at := sort.Search(len(g.pools), func(i int) bool { return g.pools[i].stream > k.stream })
	g.pools = slices.Insert(g.pools, at, p)
	return p
}

func (m *model) newNode(n node) int32 {
	if k := len(m.spare); k > 0 {
		i := m.spare[k-1]
		m.spare = m.spare[:k-1]
		m.nodes[i] = n
		return i
	}
	m.nodes = append(m.nodes, n)
	return int32(len(m.nodes) - 1)
}

func (m *model) drop(i int32) {
	m.nodes[i].pool = nil
	m.spare = append(m.spare, i)
}

func (m *model) link(i, next int32) {
	m.nodes[i].next = next
	if next >= 0 {
		m.nodes[next].prev = i
	}
}

// cut splits a node after its first size bytes and returns the rest, which is in no list.
func (m *model) cut(i int32, size int64) int32 {
	n := &m.nodes[i]
	rest := node{addr: n.addr + uint64(size), size: n.size - size, prev: i, pool: n.pool, expandable: n.expandable, base: n.base}
	next := n.next
	n.size = size
	r := m.newNode(rest)
	m.link(i, r)
	m.link(r, next)
	return r
}

// absorb makes one node of two neighbours, neither of them in a list.
func (m *model) absorb(i, next int32) {
	m.nodes[i].size += m.nodes[next].size
	m.link(i, m.nodes[next].next)
	m.drop(next)
}

// is says that a node, or none, is in a state.
func (m *model) is(i int32, state torchmem.BlockState) bool {
	return i >= 0 && m.nodes[i].state == state
}

func (m *model) entry(i int32) freeBlock {
	n := &m.nodes[i]
	return freeBlock{n.size, n.addr, i}
}

func (m *model) addFree(i int32) {
	n := &m.nodes[i]
	n.state = torchmem.Inactive
	n.age = n.pool.group.calls
	n.pool.free.insert(freeBlock{n.size, n.addr, i})
}

func (m *model) removeFree(i int32) { m.nodes[i].pool.free.remove(m.entry(i)) }

// release puts a node that is in no list into the free list, merged with its free neighbours, and returns what it became
// (free_block).
func (m *model) release(i int32) int32 {
	m.nodes[i].state = torchmem.Inactive
	if p := m.nodes[i].prev; m.is(p, torchmem.Inactive) {
		m.removeFree(p)
		m.absorb(p, i)
		i = p
	}
	if x := m.nodes[i].next; m.is(x, torchmem.Inactive) {
		m.removeFree(x)
		m.absorb(i, x)
	}
	m.addFree(i)
	return i
}

// count moves the meter of what the program has, and with it what private pools have left.
func (m *model) count(p *pool, by int64) {
	m.allocated += by
	if p.group.private != 0 {
		m.private -= by
	}
}

// reserve takes note of memory that came from the driver or went back to it.
func (m *model) reserve(a torchmem.Action, addr uint64, size int64, p *pool) {
	by := size
	if a != torchmem.SegmentAlloc && a != torchmem.SegmentMap {
		by = -size
	}
	m.reserved += by
	if p.group.private != 0 {
		m.private += by
	}
	if m.segment != nil {
		m.segment(a, addr, size, p.stream)
	}
	r := m.result
	if !m.lean {
		r.Curve = append(r.Curve, CurvePoint{Event: m.event, Reserved: m.reserved, Allocated: m.allocated})
	}
	if m.reserved > r.PeakReserved {
		r.PeakReserved, r.PeakReservedEvent = m.reserved, m.event
	}
}

// final lists what is held, by address. blocks is how many blocks there were in the recording.
func (m *model) final(blocks int) []torchmem.MapSegment {
	owner := map[int32]int{}
	for b, i := range m.block {
		if i >= 0 {
			owner[i] = b
		}
	}
	var out []torchmem.MapSegment
	for first := range m.nodes {
		if m.nodes[first].pool == nil || m.nodes[first].prev >= 0 {
			continue
		}
		open := false // the last segment of out goes on
		for i := int32(first); i >= 0; i = m.nodes[i].next {
			n := &m.nodes[i]
			if n.state == torchmem.NotMapped {
				open = false
				continue
			}
			if !open {
				out = append(out, torchmem.MapSegment{Addr: n.addr, Stream: n.pool.stream, Small: n.pool.group.small,
					Expandable: n.expandable})
				open = true
			}
			b := torchmem.MapBlock{Addr: n.addr, Size: n.size, State: n.state, Block: -1}
			if o, ok := owner[i]; ok && o < blocks {
				b.Block = o
			}
			s := &out[len(out)-1]
			s.Size += n.size
			s.Blocks = append(s.Blocks, b)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Addr < out[j].Addr })
	return out
}
