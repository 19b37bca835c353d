package allocator

import (
	"sort"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// Expandable segments: for each stream and pool, one reservation of address space larger than the device, in which
// memory is mapped page by page (2 MiB in the small pool, 20 MiB in the large one) where the free block at its end is too
// short. What is not mapped is a node too, in state NotMapped.

// expandRange is the address space of one expandable segment: more than any device has.
const expandRange = 1 << 40

func (m *allocModel) page(p *modelPool) int64 {
	if p.group.small {
		return sizes.SmallSegment
	}
	return m.cfg.LargeSegment
}

// expand returns a node of at least size bytes, in no list, mapping what is missing.
func (m *allocModel) expand(p *modelPool, size int64) int32 {
	i := m.expandAt(p, size)
	if m.nodes[i].state == torchmem.NotMapped {
		if !m.mapFront(i, min(m.nodes[i].size, size)) {
			return noNode
		}
		i = m.joinMapped(i)
	}
	for m.nodes[i].size < size {
		next := m.nodes[i].next
		missing := size - m.nodes[i].size
		if !m.mapFront(next, min(m.nodes[next].size, missing)) {
			return noNode
		}
		i = m.joinMapped(next)
	}
	m.removeFree(i)
	return i
}

// expandAt is the lowest free block or gap that can grow to size; where there is none, the gap of a new segment.
func (m *allocModel) expandAt(p *modelPool, size int64) int32 {
	for _, u := range p.unmapped {
		start := u
		if b := m.nodes[u].prev; b >= 0 && m.nodes[b].state == torchmem.Inactive {
			start = b
		}
		var room int64
		for i := start; i >= 0 && room < size && (m.nodes[i].state == torchmem.Inactive || m.nodes[i].state == torchmem.NotMapped); i = m.nodes[i].next {
			room += m.nodes[i].size
		}
		if room >= size {
			return start
		}
	}
	base := m.driver.expandable(expandKey{p.stream, p.group.small}, m.expandable, len(p.unmapped) == 0)
	m.expandable++
	i := m.newNode(modelNode{addr: base, size: max(expandRange, size*2) / m.page(p) * m.page(p), prev: noNode, next: noNode, pool: p,
		state: torchmem.NotMapped, expandable: true, base: base})
	m.addGap(i)
	return i
}

func (m *allocModel) gapAt(i int32) (*modelPool, int) {
	p, addr := m.nodes[i].pool, m.nodes[i].addr
	return p, sort.Search(len(p.unmapped), func(k int) bool {
		g := p.unmapped[k]
		if at := m.nodes[g].addr; at != addr {
			return at > addr
		}
		return g >= i // what is larger than the range of a segment reaches into the next
	})
}

func (m *allocModel) addGap(i int32) {
	p, at := m.gapAt(i)
	p.unmapped = append(p.unmapped, 0)
	copy(p.unmapped[at+1:], p.unmapped[at:])
	p.unmapped[at] = i
}

func (m *allocModel) removeGap(i int32) {
	p, at := m.gapAt(i)
	p.unmapped = append(p.unmapped[:at], p.unmapped[at+1:]...)
}

// mapFront maps the first size bytes of a gap, up to whole pages, and takes the gap out of its list. The node is mapped
// then and in no list; false means that the driver has not enough.
func (m *allocModel) mapFront(i int32, size int64) bool {
	page := m.page(m.nodes[i].pool)
	size = min((size+page-1)/page*page, m.nodes[i].size)
	if !m.room(size) {
		return false
	}
	m.removeGap(i)
	if rest := m.nodes[i].size - size; rest > 0 {
		n := m.nodes[i]
		r := m.newNode(modelNode{addr: n.addr + uint64(size), size: rest, prev: i, next: n.next, pool: n.pool, state: torchmem.NotMapped, expandable: true, base: n.base})
		if n.next >= 0 {
			m.nodes[n.next].prev = r
		}
		m.nodes[i].next, m.nodes[i].size = r, size
		m.addGap(r)
	}
	m.nodes[i].state = torchmem.PendingFree // of no one: joinMapped decides
	m.reserve(torchmem.SegmentMap, m.nodes[i].addr, size, m.nodes[i].pool)
	m.result.CUDAMallocs++
	return true
}

// joinMapped makes a node that was just mapped free, merged with its free neighbours, and returns what it became.
func (m *allocModel) joinMapped(i int32) int32 {
	if p := m.nodes[i].prev; p >= 0 && m.nodes[p].state == torchmem.Inactive {
		m.release(i)
		return p
	}
	m.release(i)
	return i
}

// unmap gives the whole pages of a free block in an expandable segment back.
func (m *allocModel) unmap(i int32) {
	n := m.nodes[i]
	page := uint64(m.page(n.pool))
	at := n.addr - n.base
	from, to := (at+page-1)/page*page, (at+uint64(n.size))/page*page
	if from >= to {
		return
	}
	from, to = n.base+from, n.base+to
	m.removeFree(i)
	if before := int64(from - n.addr); before > 0 {
		b := m.newNode(modelNode{addr: n.addr, size: before, prev: n.prev, next: i, pool: n.pool, expandable: true, base: n.base})
		if n.prev >= 0 {
			m.nodes[n.prev].next = b
		}
		m.nodes[i].prev = b
		m.addFree(b)
	}
	if after := int64(n.addr + uint64(n.size) - to); after > 0 {
		a := m.newNode(modelNode{addr: to, size: after, prev: i, next: n.next, pool: n.pool, expandable: true, base: n.base})
		if n.next >= 0 {
			m.nodes[n.next].prev = a
		}
		m.nodes[i].next = a
		m.addFree(a)
	}
	m.nodes[i].addr, m.nodes[i].size, m.nodes[i].state = from, int64(to-from), torchmem.NotMapped
	// Gaps side by side are one.
	if p := m.nodes[i].prev; p >= 0 && m.nodes[p].state == torchmem.NotMapped {
		m.removeGap(p)
		m.nodes[i].addr = m.nodes[p].addr
		m.nodes[i].size += m.nodes[p].size
		before := m.nodes[p].prev
		m.nodes[i].prev = before
		if before >= 0 {
			m.nodes[before].next = i
		}
		m.drop(p)
	}
	if x := m.nodes[i].next; x >= 0 && m.nodes[x].state == torchmem.NotMapped {
		m.removeGap(x)
		m.nodes[i].size += m.nodes[x].size
		m.link(i, m.nodes[x].next)
		m.drop(x)
	}
	m.addGap(i)
	m.reserve(torchmem.SegmentUnmap, from, int64(to-from), n.pool)
}
