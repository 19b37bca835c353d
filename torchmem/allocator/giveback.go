package allocator

import "nsysmem/torchmem"

// What the allocator gives back to the driver: whole cached segments, and whole pages of expandable ones.

// whole says that a free block is all of its segment, and not of an expandable one.
func (m *model) whole(i int32) bool {
	n := &m.nodes[i]
	return !n.expandable && n.prev < 0 && n.next < 0
}

// freeSegment gives a whole cached segment back to the driver (release_block).
func (m *model) freeSegment(i int32) {
	n := m.nodes[i]
	m.removeFree(i)
	m.drop(i)
	m.driver.free(n.addr, n.size)
	m.reserve(torchmem.SegmentFree, n.addr, n.size, n.pool)
}

// releaseOversize gives back cached blocks of max_split_size or more: the best one that the request would fit into, else
// from the largest down until there is enough. It says whether there was (release_available_cached_blocks).
func (m *model) releaseOversize(p *pool, size int64) bool {
	limit := m.cfg.MaxSplitSize
	if limit == 0 {
		return false
	}
	want := max(size, limit)
	if at := p.free.seek(freeBlock{size: want}); !p.free.end(at) {
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

// releaseAll waits for all streams and gives back every cached segment that is whole, and every whole page of free blocks
// in expandable segments (release_cached_blocks). Large blocks go first, as in PyTorch; private pools keep theirs.
func (m *model) releaseAll() {
	for len(m.wait) > 0 {
		m.finish(m.wait[0])
	}
	for _, small := range [2]bool{false, true} {
		for _, g := range m.groups {
			if g.small == small && g.private == 0 {
				m.releaseGroup(g)
			}
		}
	}
}

func (m *model) releaseGroup(g *poolGroup) {
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

// releaseAt gives back a segment, or the pages of an expandable one, that the recorded run gave back.
func (m *model) releaseAt(s *recordedSegment) {
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
// is met (garbage_collect_cached_blocks).
func (m *model) collectOld() {
	target := m.reserved - m.collect
	for _, g := range m.groups {
		if target > 0 && !g.small && g.private == 0 {
			target -= m.collectGroup(g, target)
		}
	}
}

// collectGroup gives back at least target bytes, if it can, and says how many.
func (m *model) collectGroup(g *poolGroup, target int64) (got int64) {
	var cached []freeBlock
	age := func(b freeBlock) float64 { return float64(g.calls - m.nodes[b.node].age) }
	var total float64
	for _, p := range g.pools {
		for _, b := range p.free.all() {
			if m.whole(b.node) {
				cached = append(cached, b)
				total += age(b)
			}
		}
	}
	for got < target && len(cached) > 0 {
		mean := total / float64(len(cached))
		kept := cached[:0]
		for _, b := range cached {
			if age(b) < mean {
				kept = append(kept, b)
				continue
			}
			got += b.size
			total -= age(b)
			m.freeSegment(b.node)
		}
		if len(kept) == len(cached) {
			break
		}
		cached = kept
	}
	return got
}
