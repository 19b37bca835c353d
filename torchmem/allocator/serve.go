package allocator

import (
	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// alloc serves a request with a block of the small or the large pool; false where it failed (malloc).
func (m *model) alloc(block int32, request int64, small, large *pool) bool {
	size := sizes.Round(request, &m.cfg.Roundup)
	p := small
	if size > sizes.SmallMax {
		p = large
	}
	i := m.findFree(p, size)
	if i == noNode {
		i = m.getNew(p, size)
	}
	if i == noNode {
		return false
	}
	m.take(i, size)
	m.block[block] = i
	m.count(p, m.nodes[i].size)
	return true
}

// findFree takes the best free block out of its list (get_free_block).
func (m *model) findFree(p *pool, size int64) int32 {
	if m.collect > 0 {
		p.group.calls++
	}
	at := p.free.seek(freeBlock{size: size})
	if p.free.end(at) {
		return noNode
	}
	best := p.free.at(at)
	if m.cfg.Expandable {
		best = m.leastGrown(p, at)
	}
	if limit := m.cfg.MaxSplitSize; limit > 0 {
		tooGood := size < limit && best.size >= limit
		tooLarge := size >= limit && best.size >= size+m.cfg.MaxRounding
		if tooGood || tooLarge {
			return noNode
		}
	}
	p.free.remove(best)
	return best.node
}

// leastGrown is the best of the free blocks from a place on where they can grow: a block counts as large as it can, so
// that one that cannot is preferred to it.
func (m *model) leastGrown(p *pool, at freeAt) freeBlock {
	grown := func(b freeBlock) int64 {
		if n := m.nodes[b.node].next; m.is(n, torchmem.NotMapped) {
			return b.size + m.nodes[n].size
		}
		return b.size
	}
	best := p.free.at(at)
	for at = p.free.next(at); !p.free.end(at); at = p.free.next(at) {
		b := p.free.at(at)
		if grown(b) >= grown(best) {
			break
		}
		best = b
	}
	return best
}

// getNew gets a block from the driver, making room in the cache where it has not enough; it is in no list. noNode means
// that there is no room.
func (m *model) getNew(p *pool, size int64) int32 {
	if m.collect > 0 {
		m.collectOld()
	}
	i := m.grow(p, size)
	if i == noNode && m.releaseOversize(p, size) {
		i = m.grow(p, size)
	}
	if i == noNode {
		m.result.Retries++
		m.releaseAll()
		i = m.grow(p, size)
	}
	return i
}

// room says whether the driver has so many bytes, and notes between which capacities the answers so far hold.
func (m *model) room(size int64) bool {
	n := m.reserved + size
	if m.capacity == 0 || n <= m.capacity {
		m.least = max(m.least, n)
		return true
	}
	m.below = min(m.below, n)
	return false
}

// grow gets a block from the driver (alloc_block); it is in no list.
func (m *model) grow(p *pool, size int64) int32 {
	want := sizes.Segment(size, m.cfg.LargeSegment)
	// Of pages only what is missing is mapped, but a limit of the process is checked for the whole.
	whole := !m.cfg.Expandable || m.cfg.MemoryFraction > 0 || m.cfg.checkWhole
	if whole && !m.room(want) {
		return noNode
	}
	if m.cfg.Expandable {
		return m.expand(p, size)
	}
	i := m.newNode(node{addr: m.driver.alloc(m.event, want), size: want, prev: noNode, next: noNode, pool: p})
	m.reserve(torchmem.SegmentAlloc, m.nodes[i].addr, want, p)
	m.result.CUDAMallocs++
	return i
}

// take makes a live block of the first size bytes of a node that is in no list (alloc_found_block).
func (m *model) take(i int32, size int64) {
	n := &m.nodes[i]
	n.state = torchmem.Active
	if rest := n.size - size; rest > 0 && m.splits(n, size, rest) {
		m.addFree(m.cut(i, size))
	}
}

// splits says whether the rest of a block is worth a block of its own (should_split).
func (m *model) splits(n *node, size, rest int64) bool {
	if n.pool.group.small || m.cfg.Expandable {
		return rest >= sizes.MinBlock
	}
	return rest > sizes.SmallMax && (m.cfg.MaxSplitSize == 0 || size < m.cfg.MaxSplitSize)
}

// giveBack is the program's free: the meter falls, but the block cannot be used before finish.
func (m *model) giveBack(block int32) {
	i := m.block[block]
	if !m.is(i, torchmem.Active) {
		return
	}
	m.count(m.nodes[i].pool, -m.nodes[i].size)
	m.pend(block, i)
}

// freeNow is the program's free of a block that no stream uses any more.
func (m *model) freeNow(block int32) {
	i := m.block[block]
	if i == noNode {
		return
	}
	if m.nodes[i].state != torchmem.Active {
		m.finish(block)
		return
	}
	m.count(m.nodes[i].pool, -m.nodes[i].size)
	m.block[block] = noNode
	m.release(i)
}

// pend makes a block wait for its last stream.
func (m *model) pend(block, i int32) {
	m.nodes[i].state = torchmem.PendingFree
	m.nodes[i].waitAt = int32(len(m.wait))
	m.wait = append(m.wait, block)
}

// finish makes a block that was given back free.
func (m *model) finish(block int32) {
	i := m.block[block]
	if !m.is(i, torchmem.PendingFree) {
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

// fail takes note of a request that cannot be served.
func (s *simulation) fail(block int32, request int64) {
	res := s.result
	res.FailedRequests++
	if s.lean || len(res.Failed) == maxFailed {
		return
	}
	f := FailedRequest{Event: s.event, Block: int(block), Request: request, Rounded: sizes.Round(request, &s.cfg.Roundup),
		Allocated: s.allocated, Reserved: s.reserved}
	if block >= s.q.first() {
		f.Block = -1
	}
	own := s.q.pools[s.q.pool[block]]
	for _, g := range s.groups {
		for _, p := range g.pools {
			for _, b := range p.free.all() {
				f.FreeCache += b.size
				if g.private != own.private {
					f.FreePrivate += b.size
				}
			}
			if b, ok := p.free.largest(); ok {
				f.LargestFree = max(f.LargestFree, b.size)
			}
		}
	}
	res.Failed = append(res.Failed, f)
}
