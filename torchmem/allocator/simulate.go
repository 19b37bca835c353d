package allocator

import (
	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// Options are the circumstances of a simulation.
type Options struct {
	Capacity int64 // bytes that the process may reserve; 0 for no limit
	Smallest bool  // Sweep finds Result.SmallestCapacity too, which takes a dozen more simulations

	order order        // where segments are put
	stop  bool         // at the first failed request
	begin func(*model) // called before the first step, by tests
	check func(*model) // called after each step, by tests
}

// Simulate serves the requests under a setting. With the setting that they were recorded under it comes to the segments
// of the snapshot, and without a capacity it gives back what the recorded run gave back when there was no room. What it
// cannot know: the trace stays what it was, though a program may ask for other workspaces when less memory is free; time
// is not modelled; and memory outside PyTorch has to be taken off the capacity before.
//
//  1. What was there before the trace is laid out as it was, where the setting is that of the recording; else it is asked
//     for anew.
//  2. The requests are served one after another, and the peaks noted.
//  3. What is held at the end is listed.
func (q *Requests) Simulate(cfg *Config, opt Options) *Result {
	m := newModel(cfg, newDriver(opt.order, q.known), opt.Capacity, len(q.size))
	s := simulation{model: m, q: q, same: q.sameSetting(cfg)}
	for _, p := range q.pools {
		s.small = append(s.small, m.pool(poolKey{p, true}))
		s.large = append(s.large, m.pool(poolKey{p, false}))
	}
	if opt.begin != nil {
		opt.begin(m)
	}
	ops := q.ops
	if q.replay.Doubts.Cut && s.same {
		for len(ops) > 0 && ops[0].event < 0 {
			ops = ops[1:]
		}
		m.seed(q.replay)
	}
	for i := range ops {
		served := s.serve(&ops[i])
		if !served && opt.stop {
			return m.result
		}
		if opt.check != nil {
			opt.check(m)
		}
	}
	res := m.result
	res.Notes = append(cfg.Notes(), q.notes...)
	res.EndReserved, res.EndAllocated = m.reserved, m.allocated
	res.Final = m.final()
	res.Segments = len(res.Final)
	res.ReservedRange = [2]int64{res.PeakReserved, res.PeakReserved}
	return res
}

// A simulation is the model at work on requests.
type simulation struct {
	*model
	q            *Requests
	small, large []*pool // by place in Requests.pools
	same         bool    // the setting is that of the recording
}

// serve carries out one request and notes the peaks; false where it failed.
func (s *simulation) serve(o *op) bool {
	served := true
	s.event = o.event
	switch o.kind {
	case opAlloc:
		p := s.q.pool[o.block]
		served = s.alloc(o.block, s.q.size[o.block], s.small[p], s.large[p])
	case opGiveBack:
		s.giveBack(o.block)
	case opFinish:
		s.finish(o.block)
	case opEmpty:
		s.releaseAll()
	case opRelease:
		// Why there was no room is not known (other programs, a limit), only that there was none under this setting.
		if s.same && s.result.Capacity == 0 {
			s.releaseAt(&s.q.released[o.block])
		}
	}
	res := s.result
	gap := s.reserved - s.allocated
	if s.allocated > res.PeakAllocated {
		res.PeakAllocated, res.CacheAtPeak = s.allocated, gap
	}
	if gap > res.LargestGap {
		res.LargestGap, res.LargestGapEvent = gap, o.event
	}
	return served
}

// sameSetting says that the requests were recorded under cfg.
func (q *Requests) sameSetting(cfg *Config) bool {
	s := &q.replay.Settings
	return s.Known && s.Expandable == cfg.Expandable && s.MaxSplitSize == cfg.MaxSplitSize &&
		s.GCThreshold == cfg.GCThreshold && sameDivisions(&s.RoundupPower2, &cfg.Roundup)
}

// sameDivisions compares divisions; 0 and 1 both mean none.
func sameDivisions(a, b *sizes.Divisions) bool {
	for i := range a {
		if max(a[i], 1) != max(b[i], 1) {
			return false
		}
	}
	return true
}

// seed lays out what was there before the trace, as it was.
func (m *model) seed(r *torchmem.Replay) {
	private := privatePools(r.Snapshot(), r.Device)
	for _, g := range r.StateAt(-1) {
		p := m.pool(poolKey{poolID{g.Stream, private.of(g.Addr)}, g.Small})
		action, before, base := torchmem.SegmentAlloc, int32(noNode), g.Addr
		if g.Expandable {
			action = torchmem.SegmentMap
			if before = m.seedGap(p, g.Addr); before >= 0 {
				base = m.nodes[before].base
			}
		}
		last := m.seedBlocks(p, &g, before, base)
		if g.Expandable {
			m.seedRest(p, &g, before, last)
		}
		m.reserve(action, g.Addr, g.Size, p)
	}
	m.result.PeakAllocated, m.result.CacheAtPeak = m.allocated, m.reserved-m.allocated
}

// seedBlocks adds the blocks of a segment behind a node and returns the last of them.
func (m *model) seedBlocks(p *pool, g *torchmem.MapSegment, prev int32, base uint64) int32 {
	for _, b := range g.Blocks {
		i := m.newNode(node{addr: b.Addr, size: b.Size, prev: prev, next: noNode, pool: p, state: b.State,
			expandable: g.Expandable, base: base})
		if prev >= 0 {
			m.link(i, m.nodes[prev].next)
			m.link(prev, i)
		}
		prev = i
		switch b.State {
		case torchmem.Inactive:
			m.addFree(i)
		case torchmem.Active:
			m.block[b.Block] = i
			m.allocated += b.Size
		default:
			m.block[b.Block] = i
			m.pend(int32(b.Block), i)
		}
	}
	return prev
}

// seedGap returns the node after which a mapped stretch of an expandable segment follows: the last node of the segment
// so far, cut short, or none for the first stretch.
func (m *model) seedGap(p *pool, addr uint64) int32 {
	for k := len(p.unmapped) - 1; k >= 0; k-- {
		i := p.unmapped[k]
		n := &m.nodes[i]
		if n.addr < addr && addr-n.addr < uint64(n.size) { // stretches that adjoin are one, so there is a gap between
			n.size = int64(addr - n.addr)
			return i
		}
	}
	return noNode
}

// seedRest adds the gap behind a mapped stretch, up to the end of the segment's range.
func (m *model) seedRest(p *pool, g *torchmem.MapSegment, before, last int32) {
	start := m.nodes[last].base
	end := start + expandRange
	at := g.Addr + uint64(g.Size)
	if at >= end {
		return
	}
	i := m.newNode(node{addr: at, size: int64(end - at), prev: last, next: noNode, pool: p, state: torchmem.NotMapped,
		expandable: true, base: start})
	m.nodes[last].next = i
	m.addGap(i)
	if before < 0 {
		m.expandable++
	}
}
