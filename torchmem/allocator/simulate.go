package allocator

import (
	"runtime"
	"sort"
	"sync"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// Options are the circumstances of a simulation.
type Options struct {
	Capacity int64 // bytes that the process may reserve; 0 for no limit
	Order    Order // where segments are put; SimulateOrders and Sweep try them all
	Smallest bool  // SimulateOrders and Sweep find Result.SmallestCapacity too, which takes a dozen more simulations

	stop  bool              // at the first failed request
	begin func(*allocModel) // called before the first step, by tests
	check func(*allocModel) // called after each step, by tests
}

// A Result is what one setting comes to.
type Result struct {
	Conf              string
	Capacity          int64           // bytes, as given; 0 for no limit
	PeakReserved      int64           // bytes; highest
	PeakReservedEvent int32           // place in the trace
	ReservedRange     [2]int64        // bytes; lowest and highest PeakReserved over the orders that were tried
	SmallestCapacity  int64           // bytes; see Requests.SmallestCapacity; 0 where it was not asked for
	PeakAllocated     int64           // bytes; highest, as the meter counts under this setting
	CacheAtPeak       int64           // bytes; reserved less allocated when allocated is highest first
	LargestGap        int64           // bytes; highest of reserved less allocated
	LargestGapEvent   int32           // place in the trace
	EndReserved       int64           // bytes
	EndAllocated      int64           // bytes
	Segments          int             // held at the end; of expandable segments, mapped stretches
	CUDAMallocs       int             // calls that got memory from the driver: cudaMalloc, or mapping of pages
	Retries           int             // times that the driver had not enough and the cache was given back
	FailedRequests    int             // requests that could not be served; a program would have stopped at the first
	Failed            []FailedRequest // the first of them, maxFailed at most
	Curve             []CurvePoint
	Final             []torchmem.MapSegment // held at the end, by address; Block is the place in Replay.Blocks
	Notes             []string
}

// maxFailed is how many failed requests a Result describes; it counts them all.
const maxFailed = 1000

// A FailedRequest is a request that could not be served. Its block is left out of what follows.
type FailedRequest struct {
	Event       int32 // place in the trace
	Block       int   // place in Replay.Blocks
	Request     int64 // bytes asked for
	Rounded     int64 // bytes needed
	Allocated   int64 // bytes
	Reserved    int64 // bytes
	FreeCache   int64 // bytes free in the cache, after all that could be given back was
	LargestFree int64 // bytes; the largest of its blocks
}

// A CurvePoint is a step of the reserved level. Allocated is what the meter shows just before it.
type CurvePoint struct {
	Event     int32 // place in the trace; -1 for what was there before
	Reserved  int64 // bytes, from here on
	Allocated int64 // bytes
}

// Simulate serves the requests under a setting. With the setting that they were recorded under it comes to the segments
// of the snapshot, and without a capacity it gives back what the recorded run gave back when there was no room. What it cannot know: the trace stays what it was, though a program may ask for other workspaces when
// less memory is free; time is not modelled; and memory outside PyTorch has to be taken off the capacity before.
func (q *Requests) Simulate(cfg *Config, opt Options) *Result {
	m := newAllocModel(cfg, newDriver(opt.Order, q.known), opt.Capacity, len(q.size))
	res := m.result
	res.Conf, res.Capacity = cfg.Text, opt.Capacity
	res.Notes = append(cfg.Notes(), q.Notes...)

	index, groups := map[poolID]*modelPool{}, map[groupID]*poolGroup{}
	small, large := make([]*modelPool, len(q.pools)), make([]*modelPool, len(q.pools))
	for i, p := range q.pools {
		small[i] = m.pool(p.private, p.stream, true, index, groups)
		large[i] = m.pool(p.private, p.stream, false, index, groups)
	}
	m.event = -1
	if opt.begin != nil {
		opt.begin(m)
	}
	ops := q.ops
	same := q.sameSetting(cfg)
	if q.cut && same {
		for len(ops) > 0 && ops[0].event < 0 {
			ops = ops[1:]
		}
		m.seed(q, index, groups)
	}
	for i := range ops {
		o := &ops[i]
		m.event = o.event
		switch o.kind {
		case opAlloc:
			p := q.pool[o.block]
			ok := m.alloc(o.block, q.size[o.block], small[p], large[p])
			if !ok && opt.stop {
				return res
			}
			if m.allocated > res.PeakAllocated {
				res.PeakAllocated, res.CacheAtPeak = m.allocated, m.reserved-m.allocated
			}
		case opGiveBack:
			m.giveBack(o.block)
		case opFinish:
			m.finish(o.block)
		case opEmpty:
			m.releaseAll()
		case opRelease:
			// Why there was no room is not known (other programs, a limit), only that there was none under this setting.
			if same && opt.Capacity == 0 {
				m.releaseAt(&q.released[o.block])
			}
		}
		if opt.check != nil {
			opt.check(m)
		}
		if gap := m.reserved - m.allocated; gap > res.LargestGap {
			res.LargestGap, res.LargestGapEvent = gap, o.event
		}
	}
	res.EndReserved, res.EndAllocated = m.reserved, m.allocated
	res.Final = m.final()
	res.Segments = len(res.Final)
	res.ReservedRange = [2]int64{res.PeakReserved, res.PeakReserved}
	return res
}

// SimulateOrders is Simulate in the driver's order, with ReservedRange over all orders. With expandable segments there is
// only one.
func (q *Requests) SimulateOrders(cfg *Config, opt Options) *Result {
	opt.Order = DriverOrder
	res := q.Simulate(cfg, opt)
	if opt.Smallest {
		res.SmallestCapacity = q.SmallestCapacity(cfg)
	}
	if cfg.Expandable {
		return res
	}
	for o := DriverOrder + 1; o < NumOrders; o++ {
		opt.Order = o
		other := q.Simulate(cfg, opt).PeakReserved
		res.ReservedRange[0] = min(res.ReservedRange[0], other)
		res.ReservedRange[1] = max(res.ReservedRange[1], other)
	}
	if res.ReservedRange[0] != res.ReservedRange[1] {
		res.Notes = append(res.Notes, "among free blocks of one size the lowest address is taken, and where the driver puts a new segment cannot be known for sure: the range is what other orders come to")
	}
	return res
}

// sameSetting says that the requests were recorded under cfg.
func (q *Requests) sameSetting(cfg *Config) bool {
	s := &q.settings
	return s.Known && s.Expandable == cfg.Expandable && s.MaxSplitSize == cfg.MaxSplitSize && s.GCThreshold == cfg.GCThreshold &&
		roundupEqual(&s.RoundupPower2, &cfg.Roundup)
}

// roundupEqual compares divisions; 0 and 1 both mean none.
func roundupEqual(a, b *sizes.Divisions) bool {
	for i := range a {
		if max(a[i], 1) != max(b[i], 1) {
			return false
		}
	}
	return true
}

// SweepGrid are settings worth trying: the default, each rule by itself in a few strengths, and combinations that do not
// work against each other.
func SweepGrid() []string {
	return []string{"", "expandable_segments:True",
		"max_split_size_mb:32", "max_split_size_mb:64", "max_split_size_mb:128", "max_split_size_mb:256",
		"max_split_size_mb:512", "max_split_size_mb:1024", "max_split_size_mb:2048",
		"roundup_power2_divisions:1", "roundup_power2_divisions:2", "roundup_power2_divisions:4", "roundup_power2_divisions:8",
		"roundup_power2_divisions:16", "roundup_power2_divisions:[64:8,256:4,1024:2,>:1]",
		"max_split_size_mb:128,roundup_power2_divisions:4", "max_split_size_mb:256,roundup_power2_divisions:8",
		"max_split_size_mb:512,roundup_power2_divisions:8", "max_split_size_mb:256,max_non_split_rounding_mb:64",
		"large_segment_size_mb:40", "large_segment_size_mb:64", "large_segment_size_mb:128",
		"expandable_segments:True,roundup_power2_divisions:8", "expandable_segments:True,large_segment_size_mb:64"}
}

// Sweep simulates each setting, in parallel on all cores, and returns the results in the order of the settings. done, if
// not nil, is called after each with the number that are finished, from one goroutine at a time.
func (q *Requests) Sweep(cfgs []*Config, opt Options, done func(n int)) []*Result {
	out := make([]*Result, len(cfgs))
	var wg sync.WaitGroup
	var mu sync.Mutex
	next, finished := 0, 0
	for range min(len(cfgs), runtime.GOMAXPROCS(0)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(cfgs) {
					return
				}
				r := q.SimulateOrders(cfgs[i], opt)
				mu.Lock()
				out[i] = r
				finished++
				if done != nil {
					done(finished)
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	return out
}

// SmallestCapacity is the least number of bytes, in whole 2 MiB, with which every request is served: it serves all, and
// 2 MiB less does not. A little less may, since giving back the cache changes what comes after; what is found is safe.
func (q *Requests) SmallestCapacity(cfg *Config) int64 {
	// The limit only keeps what the recorded run gave back from being followed.
	free := q.Simulate(cfg, Options{Capacity: 4 * sizes.MaxSum})
	lo, hi := free.PeakAllocated/sizes.LargeRound, (free.PeakReserved+sizes.LargeRound-1)/sizes.LargeRound // lo fails or is what is needed at least
	if cfg.MemoryFraction > 0 {
		lo, hi = int64(float64(lo)/cfg.MemoryFraction), int64(float64(hi)/cfg.MemoryFraction)+1
	}
	serves := func(n int64) bool {
		return q.Simulate(cfg, Options{Capacity: n * sizes.LargeRound, stop: true}).FailedRequests == 0
	}
	if hi == 0 || lo > 0 && serves(lo) {
		return min(lo, hi) * sizes.LargeRound
	}
	for lo+1 < hi {
		mid := lo + (hi-lo)/2
		if serves(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi * sizes.LargeRound
}

// seed lays out what was there before the trace, as it was.
func (m *allocModel) seed(q *Requests, index map[poolID]*modelPool, groups map[groupID]*poolGroup) {
	private := privatePools(q.replay.Snapshot(), q.Device)
	for _, g := range q.replay.StateAt(-1) {
		p := m.pool(private.of(g.Addr), g.Stream, g.Small, index, groups)
		prev := int32(noNode)
		base := g.Addr
		var gapBefore int32 = noNode
		if g.Expandable {
			gapBefore = m.seedGap(p, g)
			prev = gapBefore
			if prev >= 0 {
				base = m.nodes[prev].base
			}
		}
		var free []int32
		for _, b := range g.Blocks {
			i := m.newNode(modelNode{addr: b.Addr, size: b.Size, prev: prev, next: noNode, pool: p, state: b.State, expandable: g.Expandable, base: base})
			if prev >= 0 {
				m.nodes[i].next = m.nodes[prev].next
				m.nodes[prev].next = i
				if n := m.nodes[i].next; n >= 0 {
					m.nodes[n].prev = i
				}
			}
			prev = i
			switch b.State {
			case torchmem.Inactive:
				free = append(free, i)
			case torchmem.Active:
				m.block[b.Block] = i
				m.allocated += b.Size
			default:
				m.block[b.Block] = i
				m.nodes[i].waitAt = int32(len(m.wait))
				m.wait = append(m.wait, int32(b.Block))
			}
		}
		for _, i := range free {
			m.addFree(i)
		}
		if g.Expandable {
			m.seedRest(p, g, gapBefore, prev)
		}
		a := torchmem.SegmentAlloc
		if g.Expandable {
			a = torchmem.SegmentMap
		}
		m.reserve(a, g.Addr, g.Size, p)
	}
	m.result.PeakAllocated, m.result.CacheAtPeak = m.allocated, m.reserved-m.allocated
}

// seedGap returns the node after which a mapped stretch of an expandable segment follows: the last node of the segment
// so far, cut short, or none for the first stretch.
func (m *allocModel) seedGap(p *modelPool, g torchmem.MapSegment) int32 {
	for k := len(p.unmapped) - 1; k >= 0; k-- {
		i := p.unmapped[k]
		n := &m.nodes[i]
		if n.addr <= g.Addr && g.Addr-n.addr < uint64(n.size) {
			if n.addr == g.Addr {
				return noNode // cannot be: stretches that adjoin are one
			}
			n.size = int64(g.Addr - n.addr)
			return i
		}
	}
	return noNode
}

// seedRest adds the gap behind a mapped stretch, up to the end of the segment's range.
func (m *allocModel) seedRest(p *modelPool, g torchmem.MapSegment, before, last int32) {
	start := m.nodes[last].base
	end := start + expandRange
	at := g.Addr + uint64(g.Size)
	if at >= end {
		return
	}
	i := m.newNode(modelNode{addr: at, size: int64(end - at), prev: last, next: noNode, pool: p, state: torchmem.NotMapped, expandable: true, base: start})
	m.nodes[last].next = i
	m.addGap(i)
	if before < 0 {
		m.expandable++
	}
}

// final lists what is held, by address.
func (m *allocModel) final() []torchmem.MapSegment {
	owner := map[int32]int{}
	for b, i := range m.block {
		if i >= 0 {
			owner[i] = b
		}
	}
	var out []torchmem.MapSegment
	for first := range m.nodes {
		if m.nodes[first].pool == nil || m.nodes[first].prev >= 0 {
			continue
		}
		open := false
		for i := int32(first); i >= 0; i = m.nodes[i].next {
			n := &m.nodes[i]
			if n.state == torchmem.NotMapped {
				open = false
				continue
			}
			if !open {
				out = append(out, torchmem.MapSegment{Addr: n.addr, Stream: n.pool.stream, Small: n.pool.group.small, Expandable: n.expandable})
				open = true
			}
			s := &out[len(out)-1]
			s.Size += n.size
			b := torchmem.MapBlock{Addr: n.addr, Size: n.size, State: n.state, Block: -1}
			if o, ok := owner[i]; ok {
				b.Block = o
			}
			s.Blocks = append(s.Blocks, b)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Addr < out[j].Addr })
	return out
}
