package allocator

import (
	"sort"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// How the model works
//
//  1. A request is rounded (sizes.Round). Up to 1 MiB it belongs to the small pool, else to the large one; each stream has
//     its own blocks in both.
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
// Source: PyTorch's notes on its memory management, its published allocator in versions 2.0 to 2.11, and the recorded
// runs, whose segments the model reproduces. Versions differ in little: before 2.1 there are no expandable segments,
// before 2.9 no large_segment_size_mb.

// allocModel is the allocator of one device.
type allocModel struct {
	cfg      *Config
	driver   *driver
	capacity int64 // bytes that may be reserved; 0 for no limit
	collect  int64 // bytes beyond which old segments go; 0 for never

	nodes  []modelNode
	spare  []int32
	groups []*poolGroup
	block  []int32 // node of each block of the trace; noNode where it is not live
	wait   []int32 // blocks given back that a stream still uses, with gaps

	event      int32
	allocated  int64
	reserved   int64
	expandable int // expandable segments made so far
	result     *Result
	segment    func(a torchmem.Action, addr uint64, size int64, stream uint64) // told of each change, by tests
}

const noNode = -1

type modelNode struct {
	addr       uint64
	size       int64
	age        int64 // calls of its pool when it became free
	prev, next int32
	pool       *modelPool
	state      torchmem.BlockState // NotMapped for a gap in an expandable segment
	expandable bool
	base       uint64 // where its expandable segment begins; pages are counted from there
	waitAt     int32  // place in wait, while PendingFree
}

// poolGroup is a pool over all streams, as PyTorch has it.
type poolGroup struct {
	small   bool
	private bool
	calls   int64        // times that a free block was looked for, while collection is on
	pools   []*modelPool // by stream
}

// modelPool is the part of one stream.
type modelPool struct {
	group    *poolGroup
	stream   uint64
	free     freeList
	unmapped []int32 // gaps of expandable segments, by address
}

func newAllocModel(cfg *Config, d *driver, capacity int64, blocks int) *allocModel {
	m := &allocModel{cfg: cfg, driver: d, capacity: capacity, block: make([]int32, blocks), result: &Result{}}
	if cfg.MemoryFraction > 0 && capacity > 0 {
		m.capacity = int64(float64(capacity) * cfg.MemoryFraction)
		m.collect = int64(cfg.GCThreshold * float64(m.capacity))
	}
	for i := range m.block {
		m.block[i] = noNode
	}
	return m
}

func (m *allocModel) newNode(n modelNode) int32 {
	if k := len(m.spare); k > 0 {
		i := m.spare[k-1]
		m.spare = m.spare[:k-1]
		m.nodes[i] = n
		return i
	}
	m.nodes = append(m.nodes, n)
	return int32(len(m.nodes) - 1)
}

func (m *allocModel) entry(i int32) freeBlock {
	n := &m.nodes[i]
	return freeBlock{n.size, n.addr, i}
}

func (m *allocModel) addFree(i int32) {
	n := &m.nodes[i]
	n.state = torchmem.Inactive
	n.age = n.pool.group.calls
	n.pool.free.insert(freeBlock{n.size, n.addr, i})
}

func (m *allocModel) removeFree(i int32) { m.nodes[i].pool.free.remove(m.entry(i)) }

// alloc serves a request with a block of the pool; ok is false where it failed.
func (m *allocModel) alloc(block int32, request int64, p *modelPool, q *modelPool) bool {
	size := sizes.Round(request, &m.cfg.Roundup)
	if size > sizes.SmallMax {
		p = q
	}
	i := m.findFree(p, size)
	if i == noNode {
		if m.collect > 0 {
			m.collectOld()
		}
		i = m.grow(p, size)
		if i == noNode && m.releaseOversize(p, size) {
			i = m.grow(p, size)
		}
		if i == noNode {
			m.result.Retries++
			m.releaseAll()
			i = m.grow(p, size)
		}
		if i == noNode {
			m.fail(block, request, size, p)
			return false
		}
	}
	m.take(i, size)
	m.block[block] = i
	m.allocated += m.nodes[i].size
	return true
}

// findFree takes the best free block out of its list.
func (m *allocModel) findFree(p *modelPool, size int64) int32 {
	if m.collect > 0 {
		p.group.calls++
	}
	f := &p.free
	at := f.seek(freeBlock{size: size})
	if f.end(at) {
		return noNode
	}
	best := f.at(at)
	if m.cfg.Expandable {
		// A block counts as large as it can grow, so that one that cannot is preferred to it.
		grown := func(b freeBlock) int64 {
			if n := m.nodes[b.node].next; n >= 0 && m.nodes[n].state == torchmem.NotMapped {
				return b.size + m.nodes[n].size
			}
			return b.size
		}
		for {
			at = f.next(at)
			if f.end(at) {
				break
			}
			if b := f.at(at); grown(b) < grown(best) {
				best = b
			} else {
				break
			}
		}
	}
	if limit := m.cfg.MaxSplitSize; limit > 0 {
		if size < limit && best.size >= limit || size >= limit && best.size >= size+m.cfg.MaxRounding {
			return noNode
		}
	}
	f.remove(best)
	return best.node
}

// room says whether the driver has so many bytes.
func (m *allocModel) room(size int64) bool { return m.capacity == 0 || m.reserved+size <= m.capacity }

// grow gets a block from the driver; it is in no list.
func (m *allocModel) grow(p *modelPool, size int64) int32 {
	want := sizes.Segment(size, m.cfg.LargeSegment)
	if m.cfg.Expandable {
		if m.cfg.MemoryFraction > 0 && !m.room(want) {
			return noNode
		}
		return m.expand(p, size)
	}
	if !m.room(want) {
		return noNode
	}
	i := m.newNode(modelNode{addr: m.driver.alloc(m.event, want), size: want, prev: noNode, next: noNode, pool: p})
	m.reserve(torchmem.SegmentAlloc, m.nodes[i].addr, want, p)
	m.result.CUDAMallocs++
	return i
}

// reserve takes note of memory that came from the driver or went back to it.
func (m *allocModel) reserve(a torchmem.Action, addr uint64, size int64, p *modelPool) {
	if a == torchmem.SegmentAlloc || a == torchmem.SegmentMap {
		m.reserved += size
	} else {
		m.reserved -= size
	}
	if m.segment != nil {
		m.segment(a, addr, size, p.stream)
	}
	m.result.Curve = append(m.result.Curve, CurvePoint{Event: m.event, Reserved: m.reserved, Allocated: m.allocated})
	if m.reserved > m.result.PeakReserved {
		m.result.PeakReserved, m.result.PeakReservedEvent = m.reserved, m.event
	}
}

// take makes a live block of the first size bytes of a node that is in no list.
func (m *allocModel) take(i int32, size int64) {
	n := &m.nodes[i]
	n.state = torchmem.Active
	rest := n.size - size
	if rest == 0 || !m.splits(n, size, rest) {
		return
	}
	addr, next, pool, exp, base := n.addr+uint64(size), n.next, n.pool, n.expandable, n.base
	n.size = size
	r := m.newNode(modelNode{addr: addr, size: rest, prev: i, next: next, pool: pool, expandable: exp, base: base})
	m.nodes[i].next = r
	if next >= 0 {
		m.nodes[next].prev = r
	}
	m.addFree(r)
}

func (m *allocModel) splits(n *modelNode, size, rest int64) bool {
	if n.pool.group.small || m.cfg.Expandable {
		return rest >= sizes.MinBlock
	}
	return rest > sizes.SmallMax && (m.cfg.MaxSplitSize == 0 || size < m.cfg.MaxSplitSize)
}

// giveBack is the program's free: the meter falls, but the block cannot be used before finish.
func (m *allocModel) giveBack(block int32) {
	i := m.block[block]
	if i == noNode || m.nodes[i].state != torchmem.Active {
		return
	}
	m.allocated -= m.nodes[i].size
	m.nodes[i].state = torchmem.PendingFree
	m.nodes[i].waitAt = int32(len(m.wait))
	m.wait = append(m.wait, block)
}

// finish makes a block that was given back free.
func (m *allocModel) finish(block int32) {
	i := m.block[block]
	if i == noNode || m.nodes[i].state != torchmem.PendingFree {
		return
	}
	m.block[block] = noNode
	last := len(m.wait) - 1
	at := m.nodes[i].waitAt
	if moved := m.wait[last]; moved != block {
		m.wait[at] = moved
		m.nodes[m.block[moved]].waitAt = at
	}
	m.wait = m.wait[:last]
	m.release(i)
}

// release puts a node that is in no list into the free list, merged with its free neighbours.
func (m *allocModel) release(i int32) {
	n := &m.nodes[i]
	n.state = torchmem.Inactive
	if p := n.prev; p >= 0 && m.nodes[p].state == torchmem.Inactive {
		m.removeFree(p)
		m.nodes[p].size += n.size
		m.link(p, n.next)
		m.drop(i)
		i = p
		n = &m.nodes[i]
	}
	if x := n.next; x >= 0 && m.nodes[x].state == torchmem.Inactive {
		m.removeFree(x)
		n.size += m.nodes[x].size
		m.link(i, m.nodes[x].next)
		m.drop(x)
	}
	m.addFree(i)
}

func (m *allocModel) link(i, next int32) {
	m.nodes[i].next = next
	if next >= 0 {
		m.nodes[next].prev = i
	}
}

func (m *allocModel) drop(i int32) {
	m.nodes[i].pool = nil
	m.spare = append(m.spare, i)
}

// freeSegment gives a whole cached segment back to the driver.
func (m *allocModel) freeSegment(i int32) {
	n := m.nodes[i]
	m.removeFree(i)
	m.drop(i)
	m.driver.free(n.addr, n.size)
	m.reserve(torchmem.SegmentFree, n.addr, n.size, n.pool)
}

// releaseOversize gives back cached blocks of max_split_size or more: the best one that the request would fit into, else
// from the largest down until there is enough. It says whether there was.
func (m *allocModel) releaseOversize(p *modelPool, size int64) bool {
	limit := m.cfg.MaxSplitSize
	if limit == 0 {
		return false
	}
	want := max(size, limit)
	at := p.free.seek(freeBlock{size: want})
	if !p.free.end(at) {
		b := p.free.at(at)
		if !m.whole(b.node) {
			return false
		}
		m.freeSegment(b.node)
		return true
	}
	var got int64
	for got < want {
		b, ok := p.free.largest()
		if !ok || b.size < limit || !m.whole(b.node) {
			break
		}
		got += b.size
		m.freeSegment(b.node)
	}
	return got >= want
}

// whole says that a free block is all of its segment, and not of an expandable one.
func (m *allocModel) whole(i int32) bool {
	n := &m.nodes[i]
	return !n.expandable && n.prev < 0 && n.next < 0
}

// releaseAll waits for all streams and gives back every cached segment that is whole, and every whole page of free blocks
// in expandable segments.
func (m *allocModel) releaseAll() {
	for len(m.wait) > 0 {
		m.finish(m.wait[0])
	}
	m.emptyCache()
}

func (m *allocModel) emptyCache() {
	// Large blocks go first, as in PyTorch.
	for _, small := range [2]bool{false, true} {
		for _, g := range m.groups {
			if g.small != small || g.private {
				continue
			}
			var unmap []int32
			for _, p := range g.pools {
				for _, b := range p.free.all() {
					if m.whole(b.node) {
						m.freeSegment(b.node)
					} else if m.nodes[b.node].expandable {
						unmap = append(unmap, b.node)
					}
				}
			}
			for _, i := range unmap {
				m.unmap(i)
			}
		}
	}
}

// releaseAt gives back a segment, or the pages of an expandable one, that the recorded run gave back.
func (m *allocModel) releaseAt(s *recordedSegment) {
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.pool == nil || n.state != torchmem.Inactive || s.addr < n.addr || s.addr-n.addr >= uint64(n.size) {
			continue
		}
		if m.whole(int32(i)) {
			m.freeSegment(int32(i))
		} else if n.expandable {
			m.unmap(int32(i))
		}
		return
	}
}

// collectOld gives back segments of the large pool that were not used for longer than the average, until the threshold
// is met.
func (m *allocModel) collectOld() {
	if m.reserved <= m.collect {
		return
	}
	target := m.reserved - m.collect
	var got int64
	for _, g := range m.groups {
		if g.small || g.private {
			continue
		}
		var cached []freeBlock
		var total float64
		for _, p := range g.pools {
			for _, b := range p.free.all() {
				if m.whole(b.node) {
					cached = append(cached, b)
					total += float64(g.calls - m.nodes[b.node].age)
				}
			}
		}
		for got < target && len(cached) > 0 {
			mean := total / float64(len(cached))
			kept := cached[:0]
			n := len(cached)
			for _, b := range cached {
				age := float64(g.calls - m.nodes[b.node].age)
				if age < mean {
					kept = append(kept, b)
					continue
				}
				got += b.size
				total -= age
				m.freeSegment(b.node)
			}
			if cached = kept; len(cached) == n {
				break
			}
		}
	}
}

// pool is the pool of a stream, made when first used.
func (m *allocModel) pool(private int, stream uint64, small bool, index map[poolID]*modelPool, groups map[groupID]*poolGroup) *modelPool {
	id := poolID{groupID{private, small}, stream}
	if p := index[id]; p != nil {
		return p
	}
	g := groups[id.groupID]
	if g == nil {
		g = &poolGroup{small: small, private: private > 0}
		groups[id.groupID] = g
		m.groups = append(m.groups, g)
	}
	p := &modelPool{group: g, stream: stream}
	index[id] = p
	at := sort.Search(len(g.pools), func(i int) bool { return g.pools[i].stream > stream })
	g.pools = append(g.pools, nil)
	copy(g.pools[at+1:], g.pools[at:])
	g.pools[at] = p
	return p
}

type groupID struct {
	private int
	small   bool
}

type poolID struct {
	groupID
	stream uint64
}

func (m *allocModel) fail(block int32, request, size int64, p *modelPool) {
	f := FailedRequest{Event: m.event, Block: int(block), Request: request, Rounded: size, Allocated: m.allocated, Reserved: m.reserved}
	for _, g := range m.groups {
		for _, q := range g.pools {
			for _, b := range q.free.all() {
				f.FreeCache += b.size
			}
			if b, ok := q.free.largest(); ok {
				f.LargestFree = max(f.LargestFree, b.size)
			}
		}
	}
	m.result.FailedRequests++
	if len(m.result.Failed) < maxFailed {
		m.result.Failed = append(m.result.Failed, f)
	}
}
