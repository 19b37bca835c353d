package allocator

import (
	"slices"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
)

// An After is what a program did when a request of it had failed.
type After uint8

// What programs do.
const (
	Ended   After = iota // nothing more was asked for: it died of it
	Unwound              // an exception freed what was live: what was being done was given up
	Retried              // the same was asked for again, as after torch.cuda.empty_cache
	Smaller              // less was asked for from the same place, as libraries do that take a smaller workspace
	WentOn               // it went on without, and freed nothing
)

// Fatal says that the program did not get over it: had the request been served, other requests would have come after it.
func (a After) Fatal() bool { return a <= Unwound }

// A RecordedFailure is a request that failed in the recording.
type RecordedFailure struct {
	Event      int32 // place in the trace
	Request    int64 // bytes, as the allocator had rounded them: the trace has no other figure
	Reserved   int64 // bytes, after all that could be given back was
	Segment    int64 // bytes that the driver was asked for, with the defaults
	DeviceFree int64 // bytes free on the device just then; 0 where unknown
	Limited    bool  // enough was free on the device: a limit of the process (set_per_process_memory_fraction) was in force
	After      After
}

// A failed is a request that failed in the recording, as the simulation needs it. It has a place in Requests.size, behind all
// blocks.
type failed struct {
	RecordedFailure
	stream uint64
	stack  torchmem.StackID
	drop   bool  // served, it is freed at once: what the program would have done with it is not known
	before int32 // place in size of the failed request that this one was asked for in place of; noNode for none
}

// Failures are the requests that failed in the recording, in order.
func (q *Requests) Failures() []RecordedFailure {
	out := make([]RecordedFailure, len(q.failed))
	for i := range q.failed {
		out[i] = q.failed[i].RecordedFailure
	}
	return out
}

// first is the place in size of the first failed request.
func (q *Requests) first() int32 { return int32(len(q.size) - len(q.failed)) }

// fail adds a request that failed. The size in the trace is the rounded one.
func (t *tracer) fail(at int32, e *torchmem.TraceEvent) {
	q := t.q
	block := int32(len(q.size))
	q.size = append(q.size, e.Size)
	pool, id := uint32(0), poolID{stream: e.Stream}
	for pool < uint32(len(q.pools)) && q.pools[pool] != id {
		pool++
	}
	if pool == uint32(len(q.pools)) {
		q.addPool(id)
	}
	q.pool = append(q.pool, pool)
	free := int64(min(e.Addr, sizes.Max))
	segment := sizes.Segment(e.Size, sizes.LargeSegment)
	q.failed = append(q.failed, failed{stream: e.Stream, stack: e.Stack, before: noNode,
		RecordedFailure: RecordedFailure{Event: at, Request: e.Size, Reserved: t.room.reserved, Segment: segment,
			DeviceFree: free, Limited: free >= segment}})
	t.room.failed(segment, free >= segment)
	t.add(at, block, opTry)
	t.add(at, block, opDrop)
}

// sortFailed tells what the program did after each failed request, by what it asked for next on the same stream and what it
// freed before. It goes backwards: what a failure that follows another came to is known then.
//
//  1. Nothing more: Ended.
//  2. As much as before, or what was freed in the same order and then as much as before: Retried.
//  3. Less, from the same place in the program: Smaller.
//  4. Otherwise Unwound if something was freed, WentOn if not.
//
// In 2 and 3 what was asked for is served in place of the failed request; where that is served there is no need for it.
func (q *Requests) sortFailed() {
	q.instead = map[int32]int32{}
	last := map[uint64]int{}
	if len(q.failed) > 0 {
		for i := range q.ops {
			if o := &q.ops[i]; o.asks() {
				last[q.pools[q.pool[o.block]].stream] = i
			}
		}
	}
	for i := len(q.ops) - 1; i >= 0; i-- {
		if q.ops[i].kind != opTry {
			continue
		}
		block := q.ops[i].block
		f := &q.failed[block-q.first()]
		next := q.nextRequest(i, f, last)
		f.After = next.after
		f.drop = next.after == Unwound || next.after == WentOn
		if next.op < 0 || q.ops[next.op].kind == opRetry {
			continue
		}
		o := &q.ops[next.op]
		if o.kind == opTry {
			second := &q.failed[o.block-q.first()]
			f.After, second.before = second.After, block
			f.drop = false
		} else {
			q.instead[o.block] = block
			o.kind = opRetry
		}
		for k := i; k < next.op; k++ { // what was emptied between the two was so because the first had failed
			if q.ops[k].kind == opEmpty {
				q.ops[k].block = block
			}
		}
	}
}

// A nextStep is what followed a failed request.
type nextStep struct {
	after After
	op    int // place in ops of what was asked for in its place; negative for none
}

// lookAhead is how many requests after a failed one are looked at. An exception that frees more than so many blocks has
// freed what was live.
const lookAhead = 20000

// nextRequest finds what followed the failed request at place i of ops. last is the place of the last request of each stream.
func (q *Requests) nextRequest(i int, f *failed, last map[uint64]int) nextStep {
	var freed []int32 // blocks, by when they were asked for once one of them is asked for again
	again := 0        // of freed, those whose size was asked for again
	for k := i + 2; k < len(q.ops) && k < i+lookAhead; k++ {
		o := &q.ops[k]
		if o.kind == opGiveBack {
			freed = append(freed, o.block)
		}
		if !o.asks() || q.pools[q.pool[o.block]].stream != f.stream {
			continue
		}
		size := q.recordedSize(o.block)
		if size == f.Request && (again == 0 || again == len(freed)) {
			return nextStep{Retried, k}
		}
		if again == 0 && size < f.Request && f.stack != 0 && q.stackOf(o.block) == f.stack {
			return nextStep{Smaller, k}
		}
		if again == 0 {
			slices.Sort(freed)
		}
		if again == len(freed) || o.kind == opTry || q.size[freed[again]] != q.size[o.block] {
			break
		}
		again++
	}
	switch at, any := last[f.stream]; {
	case !any || at <= i:
		return nextStep{Ended, -1}
	case len(freed) > 0:
		return nextStep{Unwound, -1}
	}
	return nextStep{WentOn, -1}
}

// asks says that something is asked for.
func (o *op) asks() bool { return o.kind == opAlloc || o.kind == opRetry || o.kind == opTry }

// recordedSize is what a request was rounded to when it was recorded, bytes.
func (q *Requests) recordedSize(block int32) int64 {
	if block >= q.first() {
		return q.size[block]
	}
	return sizes.Round(q.size[block], &q.replay.Settings.RoundupPower2)
}

// stackOf is where a request was made.
func (q *Requests) stackOf(block int32) torchmem.StackID {
	if n := block - q.first(); n >= 0 {
		return q.failed[n].stack
	}
	return q.replay.Blocks[block].Stack
}
