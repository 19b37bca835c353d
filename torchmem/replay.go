package torchmem

import (
	"fmt"
	"math"
	"slices"
)

// Never is the Birth of what was there before the trace began, and the Death of what was still there at its end.
const Never = math.MinInt64

// A Block is one stretch of memory that the allocator handed out.
type Block struct {
	Birth      int64  // ns since 1970; Never where it was live before the trace began
	Death      int64  // ns since 1970, when the program gave it back; Never where it did not
	BirthEvent int32  // place in the trace; -1 where there is none
	DeathEvent int32  // likewise, of free_requested
	Addr       uint64 // address
	Segment    uint64 // address of the segment it lies in (of an expandable one, of the mapped stretch then); 0 where unknown
	Requested  int64  // bytes, as the program asked
	Counted    int64  // bytes, as PyTorch's meter counts it: rounded, or whole where the rest was too small to split off
	Stream     uint64
	Stack      StackID // where it was asked for
	FreeStack  StackID // where it was given back; 0 where unknown or never
}

// A Step is what the levels are from one event on. Only events that change one of them have a step.
type Step struct {
	Time      int64 // ns since 1970, never falling
	Event     int32 // place in the trace
	Allocated int64 // bytes of blocks that are handed out, as torch.cuda.memory_allocated counts them
	Reserved  int64 // bytes held from the driver, as torch.cuda.memory_reserved counts them
}

// A SegmentLife is one segment, or one piece that was mapped into an expandable segment, from driver to driver.
type SegmentLife struct {
	Birth      int64 // ns since 1970; Never where it was there before the trace began
	Death      int64 // ns since 1970; Never where it was kept; of a mapped piece, when its first part went
	BirthEvent int32 // place in the trace; -1 where there is none
	DeathEvent int32
	Addr       uint64
	Size       int64 // bytes
	Stream     uint64
	Small      bool // of the small pool
	Expandable bool
}

// A Cache is the state of the cache at one event, just before it: what was free, and why it did not help.
type Cache struct {
	Event         int32
	Time          int64  // ns since 1970
	Action        Action // SegmentAlloc, SegmentMap or OOM
	Request       int64  // bytes asked for; 0 where the trace does not tell
	Stream        uint64
	Stack         StackID
	Allocated     int64 // bytes
	Reserved      int64 // bytes
	Free          int64 // bytes in the cache, of all streams and pools; Reserved less Allocated and blocks that wait for a stream
	LargestFree   int64 // bytes; the largest free block of all
	LargestUsable int64 // bytes; the largest free block of the stream and pool that the request belongs to
	Stuck         int64 // bytes of Free that lie in segments with live blocks, so that they cannot go back to the driver
	DeviceFree    int64 // bytes free on the device, of OOM; 0 where unknown
}

// Doubts count what a replay could not match. A trace whose ring buffer was cut has some in its beginning.
type Doubts struct {
	Cut            bool // blocks or segments were there before the trace began
	UnmatchedFrees int  // frees of blocks that are not live
	LostFrees      int  // blocks that ended because their address was handed out anew
	Misplaced      int  // blocks that lie in no free block of a known segment: counted with their rounded size
	SegmentFrees   int  // segments given back that were not held
	SegmentsLost   int  // segments that ended because their address came from the driver anew
	UnknownActions int  // entries whose action is not known
	ClockBack      int  // entries earlier than the one before them: taken as of the same time
	Segments       int  // segments at the end that differ from those of the snapshot
}

// A Replay is what one device's trace comes to.
type Replay struct {
	Device         int
	Settings       Settings
	Events         int   // entries of the trace
	From           int64 // ns since 1970; time of the first entry, 0 where there is none
	To             int64 // ns since 1970; time of the last entry
	StartAllocated int64 // bytes before the first entry
	StartReserved  int64 // bytes before the first entry
	Steps          []Step
	Blocks         []Block       // by birth; first those that were live before, by address
	Segments       []SegmentLife // likewise
	Growth         []Cache       // at each segment_alloc and segment_map
	Failures       []Cache       // at each oom
	Marks          []int32       // places of user_defined entries
	Doubts         Doubts

	snap *Snapshot
}

// Replay works out blocks and levels of one device. A device without a trace gives its blocks and segments as the
// snapshot has them. It is an error when the snapshot knows nothing of the device, or the trace is too long to number.
//
//  1. Segments and blocks that were there before the trace began are found: those whose first entry gives them back,
//     and those of the snapshot that have no entry.
//  2. Entries are replayed in order. A block starts where a free block starts; what remains of that is split off where
//     the allocator would have (rest of 512 bytes in the small pool and in expandable segments, of more than 1 MiB in
//     the large pool unless the request is over max_split_size), else the block counts whole.
//  3. allocated falls when a block is given back (free_requested), the block can be used when its last use is over
//     (free_completed); then it merges with its free neighbours.
//
// Source: PyTorch's published allocator; the levels equal its own meters to the byte in every recorded run.
func (s *Snapshot) Replay(device int) (*Replay, error) {
	t := s.trace(device)
	if t.Len() == 0 && !slices.ContainsFunc(s.Segments, func(g Segment) bool { return g.Device == device }) {
		return nil, fmt.Errorf("torchmem: the snapshot has nothing of device %d: it has %v", device, s.Devices())
	}
	if t.Len() >= math.MaxInt32 {
		return nil, fmt.Errorf("torchmem: a trace of %d entries is too long: record fewer (max_entries)", t.Len())
	}
	l := s.layout(device, t.Len())
	l.compare(s, device)
	return l.r, nil
}

// layout replays the first n entries of a device's trace.
func (s *Snapshot) layout(device, n int) *layout {
	t := s.trace(device)
	l := newLayout(&Replay{Device: device, Settings: s.Settings, Events: t.Len(), From: t.At(0).Time, snap: s})
	l.begin(s, t, device)
	l.run(t, n)
	return l
}

// Trace is the trace that was replayed; nil where the device has none.
func (r *Replay) Trace() *Trace { return r.snap.trace(r.Device) }

// Stack is a call stack of the snapshot, innermost frame first; empty for 0.
func (r *Replay) Stack(id StackID) []Frame { return r.snap.Stack(id) }

// TimeOf is the time of an entry, ns since 1970; of -1, that of the first one.
func (r *Replay) TimeOf(event int32) int64 {
	if t := r.Trace(); event >= 0 && int(event) < t.Len() {
		return t.At(int(event)).Time
	}
	if event < 0 {
		return r.From
	}
	return r.To
}

// Timed says that the trace has times. Before PyTorch 2.1 it had none, and nothing can be laid beside a report.
func (r *Replay) Timed() bool { return r.To > 0 }

// Snapshot is where the trace comes from.
func (r *Replay) Snapshot() *Snapshot { return r.snap }
