package torchmem

import "nsysmem/torchmem/internal/sizes"

// The entries of a trace that get memory from the driver or give it back.

func (l *layout) segmentAlloc(e *TraceEvent) {
	l.reserve(e, stretch{e.Addr, e.Size, e.Stream, e.Size == sizes.SmallSegment, false})
}

func (l *layout) segmentMap(e *TraceEvent) {
	if l.reserve(e, stretch{e.Addr, e.Size, e.Stream, l.isSmall(e.Addr, e.Size), true}) {
		i := l.find(e.Addr)
		l.joinRegion(i)
		l.joinRegion(i - 1)
	}
}

// reserve makes a region, and says whether it can be one. Others that lie where it comes have lost their end.
func (l *layout) reserve(e *TraceEvent, s stretch) bool {
	if s.size <= 0 || s.end() < s.addr {
		return false
	}
	for i := l.overlapping(s); i >= 0; i = l.overlapping(s) {
		l.r.Doubts.SegmentsLost++
		l.dropRegion(i, e)
	}
	l.addRegion(s, l.now)
	return true
}

func (l *layout) segmentFree(e *TraceEvent) {
	i := l.find(e.Addr)
	if i < 0 || l.regions[i].addr != e.Addr {
		l.r.Doubts.SegmentFrees++
		return
	}
	l.dropRegion(i, e)
}

// dropRegion gives a region back, with all that lies in it.
func (l *layout) dropRegion(k int, e *TraceEvent) {
	g := l.regions[k]
	for i := g.head; i >= 0; {
		next := l.nodes[i].next
		switch l.nodes[i].state {
		case Inactive:
			l.unsetFree(i)
		case Active:
			l.r.Doubts.LostFrees++
			l.die(i, e)
			l.addBusy(g, -1)
		default:
			l.addBusy(g, -1)
		}
		l.drop(i)
		i = next
	}
	for _, s := range g.lives {
		l.endLife(s)
	}
	l.reserved -= g.size
	l.removeRegion(k)
}

func (l *layout) endLife(s int32) {
	if seg := &l.r.Segments[s]; seg.DeathEvent < 0 {
		seg.Death, seg.DeathEvent = l.now, l.event
	}
}

// joinRegion makes one of region i and the next where the second is mapped right behind the first.
func (l *layout) joinRegion(i int) {
	if i < 0 || i+1 >= len(l.regions) {
		return
	}
	a, b := l.regions[i], l.regions[i+1]
	if !a.expandable || !b.expandable || !a.joins(&b.stretch) {
		return
	}
	// Free bytes of the one may get stuck by live blocks of the other.
	switch {
	case a.busy > 0 && b.busy == 0:
		l.stuck += b.freeBytes
	case b.busy > 0 && a.busy == 0:
		l.stuck += a.freeBytes
	}
	for n := b.head; n >= 0; n = l.nodes[n].next {
		l.nodes[n].reg = a
	}
	l.nodes[a.tail].next, l.nodes[b.head].prev = b.head, a.tail
	join := a.tail
	a.tail = b.tail
	a.size += b.size
	a.busy += b.busy
	a.freeBytes += b.freeBytes
	a.lives = append(a.lives, b.lives...)
	l.removeRegion(i + 1)
	l.merge(join)
}

// segmentUnmap takes a free stretch out of a region, which may leave a part before and a part behind it.
func (l *layout) segmentUnmap(e *TraceEvent) {
	k := l.find(e.Addr)
	if k < 0 || !l.regions[k].expandable || e.Size <= 0 {
		l.r.Doubts.SegmentFrees++
		return
	}
	i, g := l.carve(e.Addr, e.Size)
	if g == nil {
		// Live blocks are in the way: the trace contradicts itself.
		l.drop(i)
		l.r.Doubts.SegmentFrees++
		return
	}
	gone := stretch{addr: e.Addr, size: e.Size}
	for _, s := range g.lives {
		if seg := &l.r.Segments[s]; seg.Addr < gone.end() && gone.addr < seg.Addr+uint64(seg.Size) {
			l.endLife(s)
		}
	}
	l.unsetFree(i)
	before, after := l.nodes[i].prev, l.nodes[i].next
	l.drop(i)
	l.reserved -= e.Size
	l.removeRegion(k)
	if before >= 0 {
		l.keepPart(g, g.head, before)
	}
	if after >= 0 {
		l.keepPart(g, after, g.tail)
	}
}

// keepPart makes a region of what is left of one between two of its blocks.
func (l *layout) keepPart(g *region, head, tail int32) {
	p := &region{stretch: g.stretch, free: g.free, head: head, tail: tail}
	p.addr, p.size = l.nodes[head].addr, 0
	l.nodes[head].prev, l.nodes[tail].next = noNode, noNode
	for n := head; n >= 0; n = l.nodes[n].next {
		l.nodes[n].reg = p
		p.size += l.nodes[n].size
		if l.nodes[n].state == Inactive {
			p.freeBytes += l.nodes[n].size
		} else {
			p.busy++
		}
	}
	if g.busy > 0 && p.busy == 0 {
		l.stuck -= p.freeBytes
	}
	for _, s := range g.lives {
		if p.holds(l.r.Segments[s].Addr) {
			p.lives = append(p.lives, s)
		}
	}
	l.insertRegion(p)
}

// compare counts segments that differ from those of the snapshot.
func (l *layout) compare(s *Snapshot, device int) {
	type place struct {
		addr uint64
		size int64
	}
	have := map[place]bool{}
	for _, g := range l.regions {
		have[place{g.addr, g.size}] = true
	}
	n := 0
	for i := range s.Segments {
		if g := &s.Segments[i]; g.Device == device && g.Size > 0 {
			n++
			if !have[place{g.Addr, g.Size}] {
				l.r.Doubts.Segments++
			}
		}
	}
	l.r.Doubts.Segments += max(len(l.regions)-n, 0)
}
