package allocator

import (
	"sort"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// Requests are what a program asked of the allocator, in order: what a simulation serves under another setting. They are
// shared by simulations and never change.
type Requests struct {
	Device int
	Conf   string // setting that they were recorded under; empty for the defaults, or where the snapshot does not tell
	Notes  []string

	ops      []op
	size     []int64  // of each block, as requested
	pool     []uint32 // of each block, a place in pools
	pools    []poolOf
	released []recordedSegment // what the allocator gave back by itself
	known    *driverKnown
	cut      bool // something was there before the first request
	replay   *torchmem.Replay
	settings torchmem.Settings
}

type poolOf struct {
	stream  uint64
	private int // 0 for the common pools
}

type opKind uint8

const (
	opAlloc    opKind = iota // the block is asked for
	opGiveBack               // the program frees it
	opFinish                 // no stream uses it any more
	opEmpty                  // torch.cuda.empty_cache
	opRelease                // the allocator gave a segment back by itself; block is the place in released
)

type op struct {
	event int32
	block int32
	kind  opKind
}

// Len is the number of allocations, frees and releases of the cache.
func (q *Requests) Len() int { return len(q.ops) }

// Block is the place in Replay.Blocks that a FailedRequest.Block names; they are the same.
func (q *Requests) Block(i int) *torchmem.Block { return &q.replay.Blocks[i] }

// RequestsOf are the requests of the trace that was replayed. Blocks that were there before it come first, in order of address.
// Segments given back in a row are taken for a torch.cuda.empty_cache, unless the driver is asked for memory from the
// same place in the program right after: then the allocator itself made room. An empty_cache that gave nothing back has
// left no trace.
func RequestsOf(r *torchmem.Replay) *Requests {
	q := &Requests{Device: r.Device, Conf: r.Settings.Conf, cut: r.Doubts.Cut, replay: r, settings: r.Settings}
	q.size = make([]int64, len(r.Blocks))
	q.pool = make([]uint32, len(r.Blocks))
	private := privatePools(r.Snapshot(), r.Device)
	index := map[poolOf]uint32{}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		q.size[i] = b.Requested
		p := poolOf{b.Stream, private.of(b.Addr)}
		n, ok := index[p]
		if !ok {
			n = uint32(len(q.pools))
			index[p] = n
			q.pools = append(q.pools, p)
		}
		q.pool[i] = n
	}
	if len(private.list) > 0 {
		q.Notes = append(q.Notes, "the program has private pools (CUDA graphs): blocks of segments that were given back are taken for blocks of the common pools")
	}

	live := map[uint64]int32{}
	first := 0
	q.ops = make([]op, 0, 3*len(r.Blocks))
	for ; first < len(r.Blocks) && r.Blocks[first].BirthEvent < 0; first++ {
		q.ops = append(q.ops, op{-1, int32(first), opAlloc})
		live[r.Blocks[first].Addr] = int32(first)
		if r.Blocks[first].Death != torchmem.Never && r.Blocks[first].DeathEvent < 0 {
			q.ops = append(q.ops, op{-1, int32(first), opGiveBack})
		}
	}
	k := &driverKnown{bases: map[expandKey]uint64{}}
	var segments []recordedSegment
	dated := 0                 // segments whose event is that of the request that they were for
	var back []recordedSegment // given back, not yet known why
	var backStack torchmem.StackID
	emptied := func(at int32) {
		if len(back) > 0 {
			q.ops = append(q.ops, op{at, -1, opEmpty})
			back = back[:0]
		}
	}
	// asked is called for each request to the driver, of which may know whether room was made for it.
	asked := func(e *torchmem.TraceEvent, at int32) {
		if len(back) == 0 || e.Stack != backStack && e.Stack != 0 && backStack != 0 {
			return
		}
		for _, s := range back {
			q.ops = append(q.ops, op{at, int32(len(q.released)), opRelease})
			q.released = append(q.released, s)
		}
		back = back[:0]
	}
	r.Trace().Each(func(i int, e *torchmem.TraceEvent) bool {
		at := int32(i)
		switch e.Action {
		case torchmem.Alloc, torchmem.FreeRequested, torchmem.FreeCompleted:
			for ; dated < len(segments); dated++ {
				segments[dated].event = at
			}
		}
		switch e.Action {
		case torchmem.SegmentFree, torchmem.SegmentUnmap:
			back = append(back, recordedSegment{at, true, e.Addr, e.Size})
			backStack = e.Stack
			if e.Action == torchmem.SegmentFree {
				segments = append(segments, recordedSegment{at, true, e.Addr, e.Size})
			}
		case torchmem.SegmentAlloc:
			segments = append(segments, recordedSegment{at, false, e.Addr, e.Size})
			asked(e, at)
		case torchmem.SegmentMap:
			key := expandKey{e.Stream, e.Size == sizes.SmallSegment} // the large pool maps more at a time
			if _, ok := k.bases[key]; !ok {
				k.bases[key] = e.Addr
			}
			asked(e, at)
		case torchmem.OOM: // the cache was given back in vain
			asked(e, at)
		case torchmem.Alloc:
			emptied(at)
			if first == len(r.Blocks) || r.Blocks[first].BirthEvent != at {
				return true
			}
			if old, ok := live[e.Addr]; ok { // its free is not in the trace
				q.ops = append(q.ops, op{at, old, opGiveBack}, op{at, old, opFinish})
			}
			live[e.Addr] = int32(first)
			q.ops = append(q.ops, op{at, int32(first), opAlloc})
			first++
		case torchmem.FreeRequested, torchmem.FreeCompleted:
			emptied(at)
			b, ok := live[e.Addr]
			if !ok {
				return true
			}
			if e.Action == torchmem.FreeRequested {
				q.ops = append(q.ops, op{at, b, opGiveBack})
				return true
			}
			if r.Blocks[b].DeathEvent == at { // the first half is missing
				q.ops = append(q.ops, op{at, b, opGiveBack})
			}
			q.ops = append(q.ops, op{at, b, opFinish})
			delete(live, e.Addr)
		}
		return true
	})
	emptied(int32(r.Events))
	for ; dated < len(segments); dated++ {
		segments[dated].event = int32(r.Events)
	}
	learned := learn(segments)
	learned.bases = k.bases
	q.known = learned
	return q
}

// poolPlaces are the segments of private pools, by address.
type poolPlaces struct{ list []poolPlace }

type poolPlace struct {
	addr uint64
	size int64
	no   int
}

func privatePools(s *torchmem.Snapshot, device int) poolPlaces {
	var out poolPlaces
	no := map[[2]int64]int{}
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Device != device || g.PoolID == [2]int64{} {
			continue
		}
		if no[g.PoolID] == 0 {
			no[g.PoolID] = len(no) + 1
		}
		out.list = append(out.list, poolPlace{g.Addr, g.Size, no[g.PoolID]})
	}
	sort.Slice(out.list, func(i, j int) bool { return out.list[i].addr < out.list[j].addr })
	return out
}

func (p poolPlaces) of(addr uint64) int {
	i := sort.Search(len(p.list), func(i int) bool { return p.list[i].addr > addr }) - 1
	if i >= 0 && addr-p.list[i].addr < uint64(p.list[i].size) {
		return p.list[i].no
	}
	return 0
}
