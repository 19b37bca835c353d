package allocator

import (
	"nsysmem/torchmem"
)

// Options are the circumstances of a simulation.
type Options struct {
	Capacity int64 // bytes that the process may reserve; 0 for no limit
	Smallest bool  // Sweep finds Result.SmallestCapacity too, which takes many more simulations
	Recorded bool  // as the recorded run went: what failed fails, and what it gave back for want of room is given back

	order order        // where segments are put
	lean  bool         // stop at the first failed request, and keep neither Curve nor Final
	begin func(*model) // called before the first step, by tests
	check func(*model) // called after each step, by tests
}

// Simulate serves the requests under a setting. With Recorded and the setting that they were recorded under it comes to the
// segments of the snapshot. What it cannot know: the trace stays what it was, though a program may ask for other workspaces
// when less memory is free; time is not modelled; and memory outside PyTorch has to be taken off the capacity before.
//
//  1. What was there before the trace is laid out as it was, where the setting is that of the recording; else it is asked
//     for anew.
//  2. The requests are served one after another, those that failed in the recording too, and the peaks noted.
//  3. What is held at the end is listed.
func (q *Requests) Simulate(cfg *Config, opt Options) *Result {
	s := q.simulation(cfg, opt)
	if opt.begin != nil {
		opt.begin(s.model)
	}
	s.run(&opt)
	res := s.result
	res.Notes = append(cfg.Notes(), q.notes...)
	res.asked = s.least
	res.EndReserved, res.EndAllocated = s.reserved, s.allocated
	if !opt.lean {
		res.Final = s.final(int(q.first()))
		res.Segments = len(res.Final)
		s.countPrivate()
	}
	res.ReservedRange = [2]int64{res.PeakReserved, res.PeakReserved}
	s.putBack()
	return res
}

// simulation is one that has not begun.
func (q *Requests) simulation(cfg *Config, opt Options) *simulation {
	m := newModel(cfg, newDriver(opt.order, q.known), opt.Capacity, len(q.size))
	m.lean = opt.lean
	s := &simulation{model: m, q: q, same: q.sameSetting(cfg), recorded: opt.Recorded}
	for _, p := range q.pools {
		s.small = append(s.small, m.pool(poolKey{p, true}))
		s.large = append(s.large, m.pool(poolKey{p, false}))
	}
	return s
}

// run serves the requests and says how many.
func (s *simulation) run(opt *Options) int {
	ops := s.q.ops
	if s.q.replay.Doubts.Cut && s.same {
		for len(ops) > 0 && ops[0].event < 0 {
			ops = ops[1:]
		}
		s.seed(s.q.replay)
		s.fitSeed()
	}
	for i := range ops {
		if opt.lean && s.result.FailedRequests > 0 {
			return i
		}
		s.serve(&ops[i])
		if opt.check != nil {
			opt.check(s.model)
		}
	}
	return len(ops)
}

// A simulation is the model at work on requests.
type simulation struct {
	*model
	q            *Requests
	small, large []*pool // by place in Requests.pools
	same         bool    // the setting is that of the recording
	recorded     bool    // Options.Recorded
}

// serve carries out one request and notes the peaks.
func (s *simulation) serve(o *op) {
	s.event = o.event
	switch o.kind {
	case opAlloc:
		if !s.ask(o.block) {
			s.fail(o.block, s.q.size[o.block])
		}
	case opFree:
		s.freeNow(o.block)
	case opGiveBack:
		s.giveBack(o.block)
	case opFinish:
		s.finish(o.block)
	case opEmpty:
		if o.block < 0 || s.block[o.block] == noNode {
			s.releaseAll()
		}
	case opRelease:
		// Why there was no room is not known (other programs, a limit), only that there was none under this setting.
		if s.recorded && s.same {
			s.releaseAt(&s.q.released[o.block])
		}
	case opTry:
		s.try(o.block)
	case opDrop:
		if s.q.failed[o.block-s.q.first()].drop {
			s.freeNow(o.block)
		}
	case opRetry:
		if !s.takeOver(s.q.instead[o.block], o.block) && !s.ask(o.block) {
			s.fail(o.block, s.q.size[o.block])
		}
	}
	res := s.result
	gap := s.reserved - s.allocated - s.private
	if s.allocated > res.PeakAllocated {
		res.PeakAllocated, res.CacheAtPeak = s.allocated, gap
	}
	if gap > res.LargestGap {
		res.LargestGap, res.LargestGapEvent = gap, o.event
	}
}

// ask serves a request from its pools; false where it fails.
func (s *simulation) ask(block int32) bool {
	p := s.q.pool[block]
	return s.alloc(block, s.q.size[block], s.small[p], s.large[p])
}

// try serves a request that failed in the recording.
//
//  1. As the run was recorded, it fails.
//  2. One that was made in place of another that is served here is not made.
//  3. Served, it lives as long as what was asked for in its place; where nothing was, what would have come after is unknown.
//  4. Where it fails here too, the program does what it did then. If that was to die, it has failed.
func (s *simulation) try(block int32) {
	f := &s.q.failed[block-s.q.first()]
	switch {
	case s.recorded:
	case f.before >= 0 && s.takeOver(f.before, block):
	case s.ask(block):
		s.result.AtLeast = s.result.AtLeast || f.After.Fatal()
	case f.After.Fatal():
		s.fail(block, s.q.size[block])
	default:
		s.result.GotOver++
	}
}

// takeOver gives a block to another request; false where the first has none.
func (s *simulation) takeOver(from, to int32) bool {
	i := s.block[from]
	if i == noNode {
		return false
	}
	s.block[from], s.block[to] = noNode, i
	return true
}

// sameSetting says that the requests were recorded under cfg.
func (q *Requests) sameSetting(cfg *Config) bool {
	s := &q.replay.Settings
	return s.Known && s.Expandable == cfg.Expandable && s.MaxSplitSize == cfg.MaxSplitSize &&
		s.GCThreshold == cfg.GCThreshold && sameDivisions(&s.RoundupPower2, &cfg.Roundup)
}

// seed lays out what was there before the trace, as it was.
func (m *model) seed(r *torchmem.Replay) {
	private := privatePools(r)
	for _, g := range r.StateAt(-1) {
		p := m.pool(poolKey{poolID{g.Stream, private.of(g.Addr, -1)}, g.Small})
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
	m.result.PeakAllocated, m.result.CacheAtPeak = m.allocated, m.reserved-m.allocated-m.private
}

// fitSeed gives the cache back where what was there before the trace is more than the capacity. What does not fit even then
// is a failed request.
func (s *simulation) fitSeed() {
	if s.room(0) {
		return
	}
	s.result.Retries++
	s.releaseAll()
	if s.room(0) {
		return
	}
	s.result.FailedRequests++
	s.result.Failed = append(s.result.Failed, FailedRequest{Event: -1, Block: -1, Request: s.reserved - s.capacity,
		Rounded: s.reserved - s.capacity, Allocated: s.allocated, Reserved: s.reserved})
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
			m.count(p, b.Size)
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
