package allocator

import (
	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// Requests are what a program asked of the allocator, in order: what a simulation serves under another setting. They are
// shared by simulations and never change.
type Requests struct {
	notes    []string
	ops      []op
	size     []int64  // of each block, as requested; then of each failed request
	pool     []uint32 // of each of them, a place in pools
	pools    []poolID
	failed   []failed        // requests that failed in the recording
	instead  map[int32]int32 // of blocks that were asked for in place of a failed request: its place in size
	room     Room
	released []recordedSegment // what the allocator gave back by itself
	known    *recording
	replay   *torchmem.Replay
}

// A poolID tells what may serve a request: blocks of its stream, in the common pools or in private ones.
type poolID struct {
	stream  uint64
	private int // 0 for the common pools
}

type opKind uint8

const (
	opAlloc    opKind = iota // the block is asked for
	opFree                   // the program frees it, and no stream uses it any more
	opGiveBack               // the program frees it
	opFinish                 // no stream uses it any more
	opEmpty                  // torch.cuda.empty_cache; with a block, unless that failed request was served
	opRelease                // the allocator gave a segment back by itself; block is the place in released
	opTry                    // a request that failed in the recording; block is its place in Requests.size
	opDrop                   // what comes right after it
	opRetry                  // the block is asked for in place of a failed request
)

type op struct {
	event int32
	block int32
	kind  opKind
}

// RequestsOf are the requests of the trace that was replayed. Blocks that were there before it come first, in order of
// address.
//
//  1. Each entry that hands out a block, takes it back or finishes it is one; halves that the trace lacks are added.
//  2. A request that failed is one too, and what the program then did is told (sortFailed).
//  3. Segments given back in a row are taken for a torch.cuda.empty_cache, unless the driver is asked for memory from the
//     same place in the program right after: then the allocator itself made room. An empty_cache that gave nothing back
//     has left no trace.
//  4. What came from the driver and went back, and where, is kept for the model of its addresses, and how much it gave at
//     most for the room that the program had.
func RequestsOf(r *torchmem.Replay) *Requests {
	q := &Requests{replay: r, size: make([]int64, len(r.Blocks)), pool: make([]uint32, len(r.Blocks))}
	q.findPools()
	t := tracer{q: q, blocks: r.Blocks, live: map[uint64]int32{}, bases: map[expandKey]uint64{},
		collects: r.Settings.GCThreshold > 0}
	t.room.took(r.StartReserved)
	q.ops = make([]op, 0, 3*len(r.Blocks))
	t.startBlocks()
	r.Trace().Each(func(i int, e *torchmem.TraceEvent) bool {
		t.entry(int32(i), e)
		return true
	})
	end := int32(r.Events)
	t.emptied(end)
	t.date(end)
	q.sortFailed()
	q.joinFrees()
	q.room = t.room.found()
	q.known = learn(t.segments, t.bases)
	return q
}

// joinFrees makes one request of the two halves of a free that follow each other: most do.
func (q *Requests) joinFrees() {
	out := q.ops[:0]
	for _, o := range q.ops {
		if n := len(out); n > 0 && o.kind == opFinish && out[n-1].kind == opGiveBack && out[n-1].block == o.block {
			out[n-1].event, out[n-1].kind = o.event, opFree
			continue
		}
		out = append(out, o)
	}
	q.ops = out
}

// findPools fills size, pool and pools.
func (q *Requests) findPools() {
	r := q.replay
	private := privatePools(r)
	place := map[poolID]uint32{}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		q.size[i] = b.Requested
		p := poolID{b.Stream, private.of(b.Addr, b.BirthEvent)}
		n, ok := place[p]
		if !ok {
			n = q.addPool(p)
			place[p] = n
		}
		q.pool[i] = n
	}
	if len(private) > 0 {
		q.notes = append(q.notes, "the program has private pools (CUDA graphs): "+
			"blocks of segments that were given back are taken for blocks of the common pools")
	}
}

func (q *Requests) addPool(p poolID) uint32 {
	q.pools = append(q.pools, p)
	return uint32(len(q.pools) - 1)
}

// A tracer turns entries of a trace into requests.
type tracer struct {
	q      *Requests
	blocks []torchmem.Block
	next   int32            // the first of blocks that was not asked for yet
	live   map[uint64]int32 // place in blocks, by address

	segments  []recordedSegment
	dated     int               // segments whose event is that of the request that they were for
	back      []recordedSegment // given back, not yet known why
	backStack torchmem.StackID
	bases     map[expandKey]uint64
	room      roomFinder
	collects  bool // recorded with garbage_collection_threshold
}

func (t *tracer) add(event, block int32, kind opKind) {
	t.q.ops = append(t.q.ops, op{event, block, kind})
}

// startBlocks asks for the blocks that were there before the trace.
func (t *tracer) startBlocks() {
	for ; int(t.next) < len(t.blocks) && t.blocks[t.next].BirthEvent < 0; t.next++ {
		b := &t.blocks[t.next]
		t.add(-1, t.next, opAlloc)
		t.live[b.Addr] = t.next
		if b.Death != torchmem.Never && b.DeathEvent < 0 {
			t.add(-1, t.next, opGiveBack)
		}
	}
}

func (t *tracer) entry(at int32, e *torchmem.TraceEvent) {
	switch e.Action {
	case torchmem.Alloc:
		t.date(at)
		t.emptied(at)
		t.alloc(at, e.Addr)
	case torchmem.FreeRequested:
		t.date(at)
		t.emptied(at)
		if b, ok := t.live[e.Addr]; ok {
			t.add(at, b, opGiveBack)
		}
	case torchmem.FreeCompleted:
		t.date(at)
		t.emptied(at)
		t.finish(at, e.Addr)
	case torchmem.SegmentFree, torchmem.SegmentUnmap:
		s := recordedSegment{at, true, e.Addr, e.Size}
		t.room.gave(e.Size)
		t.back = append(t.back, s)
		t.backStack = e.Stack
		if e.Action == torchmem.SegmentFree {
			t.segments = append(t.segments, s)
		}
	case torchmem.SegmentAlloc:
		t.segments = append(t.segments, recordedSegment{at, false, e.Addr, e.Size})
		t.asked(at, e)
		t.room.took(e.Size)
	case torchmem.SegmentMap:
		t.mapped(e)
		t.asked(at, e)
		t.room.took(e.Size)
	case torchmem.OOM: // the cache was given back in vain
		t.date(at)
		t.asked(at, e)
		t.emptied(at)
		t.fail(at, e)
	}
}

func (t *tracer) alloc(at int32, addr uint64) {
	if int(t.next) == len(t.blocks) || t.blocks[t.next].BirthEvent != at {
		return
	}
	if old, ok := t.live[addr]; ok { // its free is not in the trace
		t.add(at, old, opGiveBack)
		t.add(at, old, opFinish)
	}
	t.live[addr] = t.next
	t.add(at, t.next, opAlloc)
	t.next++
}

func (t *tracer) finish(at int32, addr uint64) {
	b, ok := t.live[addr]
	if !ok {
		return
	}
	if t.blocks[b].DeathEvent == at { // the first half is missing
		t.add(at, b, opGiveBack)
	}
	t.add(at, b, opFinish)
	delete(t.live, addr)
}

// date gives segments that have none yet the event of the request that comes next.
func (t *tracer) date(at int32) {
	for ; t.dated < len(t.segments); t.dated++ {
		t.segments[t.dated].event = at
	}
}

// emptied says that what was given back was a torch.cuda.empty_cache: the program went on without asking the driver.
func (t *tracer) emptied(at int32) {
	if len(t.back) > 0 {
		t.add(at, -1, opEmpty)
		t.back = t.back[:0]
	}
	t.room.settle()
}

// asked says that the driver was asked for memory from a place in the program: room may have been made for it.
func (t *tracer) asked(at int32, e *torchmem.TraceEvent) {
	stack := e.Stack
	if stack != t.backStack && stack != 0 && t.backStack != 0 {
		return
	}
	// Old segments are collected, and pages mapped, without the driver having refused as much before.
	if stack != 0 && stack == t.backStack && len(t.back) > 0 && e.Action == torchmem.SegmentAlloc && !t.collects {
		t.room.refused(e.Size)
	}
	for _, s := range t.back {
		t.add(at, int32(len(t.q.released)), opRelease)
		t.q.released = append(t.q.released, s)
	}
	t.back = t.back[:0]
}

// mapped notes where an expandable segment begins. The large pool maps more at a time than the small one.
func (t *tracer) mapped(e *torchmem.TraceEvent) {
	key := expandKey{e.Stream, e.Size == sizes.SmallSegment}
	if _, ok := t.bases[key]; !ok {
		t.bases[key] = e.Addr
	}
}
