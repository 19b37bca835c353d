package torchmem

import "nsysmem/torchmem/internal/sizes"

// run replays the first n entries of the trace.
func (l *layout) run(t *Trace, n int) {
	l.now = l.r.From
	t.Each(func(i int, e *TraceEvent) bool {
		if i >= n {
			return false
		}
		if e.Time < l.now {
			l.r.Doubts.ClockBack++
		} else {
			l.now = e.Time
		}
		l.event = int32(i)
		allocated, reserved := l.allocated, l.reserved
		l.apply(e)
		if l.allocated != allocated || l.reserved != reserved {
			l.r.Steps = append(l.r.Steps, Step{l.now, l.event, l.allocated, l.reserved})
		}
		return true
	})
	l.r.To = l.now
}

func (l *layout) apply(e *TraceEvent) {
	switch e.Action {
	case Alloc:
		l.alloc(e)
	case FreeRequested:
		l.freeRequested(e)
	case FreeCompleted:
		l.freeCompleted(e)
	case SegmentAlloc:
		l.note(e, &l.r.Growth)
		l.segmentAlloc(e)
	case SegmentFree:
		l.segmentFree(e)
	case SegmentMap:
		l.note(e, &l.r.Growth)
		l.segmentMap(e)
	case SegmentUnmap:
		l.segmentUnmap(e)
	case OOM:
		l.note(e, &l.r.Failures)
	case UserDefined:
		l.r.Marks = append(l.r.Marks, l.event)
	case Other:
		l.r.Doubts.UnknownActions++
	}
}

// note records the cache as it is before the entry.
func (l *layout) note(e *TraceEvent, list *[]Cache) {
	c := Cache{Event: l.event, Time: l.now, Action: e.Action, Stream: e.Stream, Stack: e.Stack,
		Allocated: l.allocated, Reserved: l.reserved, Free: l.freeBytes, Stuck: l.stuck}
	small := e.Size == sizes.SmallSegment
	switch e.Action {
	case OOM:
		c.Request, c.DeviceFree = e.Size, int64(min(e.Addr, sizes.Max))
		small = sizes.Round(e.Size, &l.r.Settings.RoundupPower2) <= sizes.SmallMax
	case SegmentMap:
		small = l.isSmall(e.Addr, e.Size)
	}
	for k, s := range l.free {
		for _, i := range *s {
			size := l.nodes[i].size
			c.LargestFree = max(c.LargestFree, size)
			if k.stream == e.Stream && k.small == small {
				c.LargestUsable = max(c.LargestUsable, size)
			}
		}
	}
	*list = append(*list, c)
	if e.Action != OOM {
		l.waiting = append(l.waiting, len(*list)-1)
	}
}

func (l *layout) alloc(e *TraceEvent) {
	for _, i := range l.waiting { // the request that the driver was asked for
		l.r.Growth[i].Request = e.Size
	}
	l.waiting = l.waiting[:0]

	rounded := sizes.Round(e.Size, &l.r.Settings.RoundupPower2)
	i, ok := l.at[e.Addr]
	if ok && l.nodes[i].state != Inactive {
		// Its free is not in the trace, or only the first half of it.
		if l.nodes[i].state == Active {
			l.r.Doubts.LostFrees++
			l.die(i, e)
		}
		// The block keeps its place: merging could move it away from this address.
		l.busy(l.nodes[i].reg, -1)
		l.setFree(i)
		if l.nodes[i].reg == nil {
			l.drop(i)
			ok = false
		}
	}
	no := int32(len(l.r.Blocks))
	b := Block{Birth: l.now, Death: Never, BirthEvent: l.event, DeathEvent: -1, Addr: e.Addr, Requested: e.Size,
		Stream: e.Stream, Stack: e.Stack}
	if ok && l.nodes[i].size >= rounded {
		b.Counted = l.occupy(i, rounded, Active, no)
	} else {
		if ok {
			// Lost frees around it: what lies behind is free as well, as far as free blocks reach.
			for l.nodes[i].size < rounded {
				before := l.nodes[i].size
				l.merge(i)
				if l.nodes[i].size == before {
					break
				}
			}
		}
		var g *region
		i, g = l.carve(e.Addr, rounded)
		if g == nil {
			l.r.Doubts.Misplaced++
		}
		l.take(i, Active, no)
		b.Counted = rounded
	}
	if g := l.nodes[i].reg; g != nil {
		b.Segment = g.addr
	}
	l.allocated += b.Counted
	l.r.Blocks = append(l.r.Blocks, b)
}

// die ends the life of the block in node i.
func (l *layout) die(i int32, e *TraceEvent) {
	b := &l.r.Blocks[l.nodes[i].block]
	b.Death, b.DeathEvent = l.now, l.event
	if e.Action == FreeRequested || e.Action == FreeCompleted {
		b.FreeStack = e.Stack
	}
	l.allocated -= b.Counted
}

func (l *layout) freeRequested(e *TraceEvent) {
	i, ok := l.at[e.Addr]
	if !ok || l.nodes[i].state != Active {
		l.r.Doubts.UnmatchedFrees++
		return
	}
	l.die(i, e)
	l.nodes[i].state = PendingFree
}

func (l *layout) freeCompleted(e *TraceEvent) {
	i, ok := l.at[e.Addr]
	if !ok || l.nodes[i].state == Inactive {
		l.r.Doubts.UnmatchedFrees++
		return
	}
	if l.nodes[i].state == Active { // its first half is not in the trace
		l.die(i, e)
	}
	l.release(i)
}

func (l *layout) life(g *region, addr uint64, size int64, birth int64) {
	g.lives = append(g.lives, int32(len(l.r.Segments)))
	l.r.Segments = append(l.r.Segments, SegmentLife{Birth: birth, Death: Never, BirthEvent: l.event, DeathEvent: -1, Addr: addr, Size: size,
		Stream: g.stream, Small: g.small, Expandable: g.expandable})
}

// overlap ends regions that lie where a new one comes.
func (l *layout) overlap(addr uint64, size int64, e *TraceEvent) {
	for i := l.overlapping(addr, size); i >= 0; i = l.overlapping(addr, size) {
		l.r.Doubts.SegmentsLost++
		l.dropRegion(i, e)
	}
}

// dropRegion gives a region back, with all that lies in it.
func (l *layout) dropRegion(k int, e *TraceEvent) {
	g := l.regions[k]
	for i := g.head; i >= 0; {
		next := l.nodes[i].next
		switch l.nodes[i].state {
		case Inactive:
			l.unsetFree(i)
		default:
			if l.nodes[i].state == Active {
				l.r.Doubts.LostFrees++
				l.die(i, e)
			}
			l.busy(g, -1)
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

func (l *layout) segmentAlloc(e *TraceEvent) {
	if e.Size <= 0 || e.Addr+uint64(e.Size) < e.Addr {
		return
	}
	l.overlap(e.Addr, e.Size, e)
	g := l.addRegion(e.Addr, e.Size, e.Stream, e.Size == sizes.SmallSegment, false)
	l.reserved += e.Size
	l.life(g, e.Addr, e.Size, l.now)
}

func (l *layout) segmentFree(e *TraceEvent) {
	i := l.find(e.Addr)
	if i < 0 || l.regions[i].addr != e.Addr {
		l.r.Doubts.SegmentFrees++
		return
	}
	l.dropRegion(i, e)
}

func (l *layout) segmentMap(e *TraceEvent) {
	if e.Size <= 0 || e.Addr+uint64(e.Size) < e.Addr {
		return
	}
	l.overlap(e.Addr, e.Size, e)
	g := l.addRegion(e.Addr, e.Size, e.Stream, l.isSmall(e.Addr, e.Size), true)
	l.reserved += e.Size
	l.life(g, e.Addr, e.Size, l.now)
	i := l.find(e.Addr)
	l.joinRegion(i)
	l.joinRegion(i - 1)
}

// joinRegion makes one of region i and the next where the second is mapped right behind the first.
func (l *layout) joinRegion(i int) {
	if i < 0 || i+1 >= len(l.regions) {
		return
	}
	a, b := l.regions[i], l.regions[i+1]
	if !a.expandable || !b.expandable || a.stream != b.stream || a.small != b.small || a.addr+uint64(a.size) != b.addr {
		return
	}
	// Free bytes of the one may get stuck by live blocks of the other.
	if a.busy > 0 && b.busy == 0 {
		l.stuck += b.freeBytes
	} else if b.busy > 0 && a.busy == 0 {
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
	for _, s := range g.lives {
		if seg := &l.r.Segments[s]; seg.Addr < e.Addr+uint64(e.Size) && e.Addr < seg.Addr+uint64(seg.Size) {
			l.endLife(s)
		}
	}
	l.unsetFree(i)
	before, after := l.nodes[i].prev, l.nodes[i].next
	l.drop(i)
	l.reserved -= e.Size
	l.removeRegion(k)
	was := g.busy > 0
	for _, part := range [2]struct{ head, tail int32 }{{g.head, before}, {after, g.tail}} {
		if part.head < 0 || part.tail < 0 || part.head == i || part.tail == i {
			continue
		}
		p := &region{addr: l.nodes[part.head].addr, stream: g.stream, small: g.small, expandable: true,
			head: part.head, tail: part.tail}
		l.nodes[part.head].prev, l.nodes[part.tail].next = -1, -1
		for n := part.head; n >= 0; n = l.nodes[n].next {
			l.nodes[n].reg = p
			p.size += l.nodes[n].size
			if l.nodes[n].state == Inactive {
				p.freeBytes += l.nodes[n].size
			} else {
				p.busy++
			}
		}
		if was && p.busy == 0 {
			l.stuck -= p.freeBytes
		}
		for _, s := range g.lives {
			if a := l.r.Segments[s].Addr; a >= p.addr && a-p.addr < uint64(p.size) {
				p.lives = append(p.lives, s)
			}
		}
		l.insertRegion(p)
	}
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
