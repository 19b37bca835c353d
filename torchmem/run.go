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
		l.noteGrowth(e, e.Size == sizes.SmallSegment)
		l.segmentAlloc(e)
	case SegmentFree:
		l.segmentFree(e)
	case SegmentMap:
		l.noteGrowth(e, l.isSmall(e.Addr, e.Size))
		l.segmentMap(e)
	case SegmentUnmap:
		l.segmentUnmap(e)
	case OOM:
		l.noteFailure(e)
	case UserDefined:
		l.r.Marks = append(l.r.Marks, l.event)
	case Other:
		l.r.Doubts.UnknownActions++
	}
}

// noteGrowth records the cache as it is before the driver is asked for memory of a pool.
func (l *layout) noteGrowth(e *TraceEvent, small bool) {
	l.waiting = append(l.waiting, len(l.r.Growth))
	l.r.Growth = append(l.r.Growth, l.cache(e, small))
}

// noteFailure records it where a request fails.
func (l *layout) noteFailure(e *TraceEvent) {
	c := l.cache(e, sizes.Round(e.Size, &l.r.Settings.RoundupPower2) <= sizes.SmallMax)
	c.Request, c.DeviceFree = e.Size, int64(min(e.Addr, sizes.Max))
	l.r.Failures = append(l.r.Failures, c)
}

// cache is the cache as it is before an entry for a pool of its stream.
func (l *layout) cache(e *TraceEvent, small bool) Cache {
	c := Cache{Event: l.event, Time: l.now, Action: e.Action, Stream: e.Stream, Stack: e.Stack,
		Allocated: l.allocated, Reserved: l.reserved, Free: l.freeBytes, Stuck: l.stuck}
	pool := poolKey{e.Stream, small}
	for k, s := range l.free {
		for _, i := range *s {
			size := l.nodes[i].size
			c.LargestFree = max(c.LargestFree, size)
			if k == pool {
				c.LargestUsable = max(c.LargestUsable, size)
			}
		}
	}
	return c
}

// alloc hands out a block.
//
//  1. What the driver was asked for since the last request was for this one.
//  2. A block that is still live at the address has lost its free.
//  3. The free block that begins at the address is used, and split where the allocator would have. Where there is none,
//     or it is too short, what is needed is cut out of the free space around it.
func (l *layout) alloc(e *TraceEvent) {
	for _, i := range l.waiting {
		l.r.Growth[i].Request = e.Size
	}
	l.waiting = l.waiting[:0]

	rounded := sizes.Round(e.Size, &l.r.Settings.RoundupPower2)
	i, ok := l.at[e.Addr]
	if ok && l.nodes[i].state != Inactive {
		ok = l.lost(i, e)
	}
	if ok && l.nodes[i].size >= rounded {
		n := &l.nodes[i]
		if rest := n.size - rounded; n.reg != nil && rest > 0 && l.splits(n.reg, rounded, rest) {
			l.cutFront(i, rounded)
		}
	} else {
		for ok && l.nodes[i].size < rounded { // lost frees around it: what lies behind is free as well
			ok = l.merge(i)
		}
		var g *region
		if i, g = l.carve(e.Addr, rounded); g == nil {
			l.r.Doubts.Misplaced++
		}
	}
	l.take(i, Active, int32(len(l.r.Blocks)))
	b := Block{Birth: l.now, Death: Never, BirthEvent: l.event, DeathEvent: -1, Addr: e.Addr, Requested: e.Size,
		Counted: l.nodes[i].size, Stream: e.Stream, Stack: e.Stack}
	if g := l.nodes[i].reg; g != nil {
		b.Segment = g.addr
	}
	l.allocated += b.Counted
	l.r.Blocks = append(l.r.Blocks, b)
}

// lost makes a block free whose address is handed out anew: its free is not in the trace, or only the first half of it.
// It says whether there is a free block now.
func (l *layout) lost(i int32, e *TraceEvent) bool {
	if l.nodes[i].state == Active {
		l.r.Doubts.LostFrees++
		l.die(i, e)
	}
	// The block keeps its place: merging could move it away from this address.
	l.addBusy(l.nodes[i].reg, -1)
	l.setFree(i)
	if l.nodes[i].reg == nil {
		l.drop(i)
		return false
	}
	return true
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
