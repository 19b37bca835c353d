package allocator

import (
	"slices"
	"sort"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// Expandable segments: for each stream and pool, one reservation of address space larger than the device, in which
// memory is mapped page by page (2 MiB in the small pool, 20 MiB in the large one) where the free block at its end is too
// short. What is not mapped is a node too, in state NotMapped.

// expandRange is the address space of one expandable segment: more than any device has.
const expandRange = 1 << 40

func (m *model) page(p *pool) int64 {
	if p.group.small {
		return sizes.SmallSegment
	}
	return m.cfg.LargeSegment
}

// expand returns a node of at least size bytes, in no list, mapping what is missing.
func (m *model) expand(p *pool, size int64) int32 {
	i := m.expandAt(p, size)
	if m.nodes[i].state == torchmem.NotMapped {
		if !m.mapFront(i, min(m.nodes[i].size, size)) {
			return noNode
		}
		i = m.release(i)
	}
	for m.nodes[i].size < size {
		next := m.nodes[i].next
		missing := size - m.nodes[i].size
		if !m.mapFront(next, min(m.nodes[next].size, missing)) {
			return noNode
		}
		i = m.release(next)
	}
	m.removeFree(i)
	return i
}

// expandAt is the lowest free block or gap that can grow to size; where there is none, the gap of a new segment.
func (m *model) expandAt(p *pool, size int64) int32 {
	for _, u := range p.unmapped {
		start := u
		if b := m.nodes[u].prev; m.is(b, torchmem.Inactive) {
			start = b
		}
		var room int64
		for i := start; room < size && (m.is(i, torchmem.Inactive) || m.is(i, torchmem.NotMapped)); i = m.nodes[i].next {
			room += m.nodes[i].size
		}
		if room >= size {
			return start
		}
	}
	base := m.driver.expandable(expandKey{p.stream, p.group.small}, m.expandable, len(p.unmapped) == 0)
	m.expandable++
	pages := max(expandRange, size*2) / m.page(p)
	i := m.newNode(node{addr: base, size: pages * m.page(p), prev: noNode, next: noNode, pool: p,
		state: torchmem.NotMapped, expandable: true, base: base})
	m.addGap(i)
	return i
}

// gapAt is the place of a gap in the list of its pool.
func (m *model) gapAt(i int32) (*pool, int) {
	p, addr := m.nodes[i].pool, m.nodes[i].addr
	return p, sort.Search(len(p.unmapped), func(k int) bool {
		g := p.unmapped[k]
		if at := m.nodes[g].addr; at != addr {
			return at > addr
		}
		return g >= i // what is larger than the range of a segment reaches into the next
	})
}

func (m *model) addGap(i int32) {
	p, at := m.gapAt(i)
	p.unmapped = slices.Insert(p.unmapped, at, i)
}

func (m *model) removeGap(i int32) {
	p, at := m.gapAt(i)
	p.unmapped = slices.Delete(p.unmapped, at, at+1)
}

// mapFront maps the first size bytes of a gap, up to whole pages, and takes the gap out of its list. The node is mapped
// then and in no list: release decides what it becomes. false means that the driver has not enough.
func (m *model) mapFront(i int32, size int64) bool {
	p := m.nodes[i].pool
	size = min(sizes.Up(size, m.page(p)), m.nodes[i].size)
	if !m.room(size) {
		return false
	}
	m.removeGap(i)
	if m.nodes[i].size > size {
		rest := m.cut(i, size)
		m.nodes[rest].state = torchmem.NotMapped
		m.addGap(rest)
	}
	m.nodes[i].state = torchmem.PendingFree
	m.reserve(torchmem.SegmentMap, m.nodes[i].addr, size, p)
	m.result.CUDAMallocs++
	return true
}

// unmap gives the whole pages of a free block in an expandable segment back (unmap_block). Gaps side by side are one.
func (m *model) unmap(i int32) {
	n := m.nodes[i]
	page := uint64(m.page(n.pool))
	from := n.base + sizes.Up(n.addr-n.base, page)
	to := n.base + (n.addr+uint64(n.size)-n.base)/page*page
	if from >= to {
		return
	}
	size := int64(to - from)
	m.removeFree(i)
	if before := int64(from - n.addr); before > 0 {
		front := i
		i = m.cut(front, before)
		m.addFree(front)
	}
	if m.nodes[i].size > size {
		m.addFree(m.cut(i, size))
	}
	m.nodes[i].state = torchmem.NotMapped
	if p := m.nodes[i].prev; m.is(p, torchmem.NotMapped) {
		m.removeGap(p)
		m.absorb(p, i)
		i = p
	}
	if x := m.nodes[i].next; m.is(x, torchmem.NotMapped) {
		m.removeGap(x)
		m.absorb(i, x)
	}
	m.addGap(i)
	m.reserve(torchmem.SegmentUnmap, from, size, n.pool)
}
