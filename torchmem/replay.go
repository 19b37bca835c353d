package torchmem

import (
	"fmt"
	"sort"
)

// Never is the Birth of what was there before the trace began, and the Death of what was still there at its end.
const Never = -1 << 63

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
	known := t.Len() > 0
	for i := range s.Segments {
		known = known || s.Segments[i].Device == device
	}
	if !known {
		return nil, fmt.Errorf("torchmem: the snapshot has nothing of device %d: it has %v", device, s.Devices())
	}
	if t.Len() > 1<<31-2 {
		return nil, fmt.Errorf("torchmem: a trace of %d entries is too long: record fewer (max_entries)", t.Len())
	}
	r := &Replay{Device: device, Settings: s.Settings, Events: t.Len(), snap: s}
	r.From = t.At(0).Time
	l := newLayout(r)
	l.begin(s, t, device)
	l.run(t, t.Len())
	l.compare(s, device)
	return r, nil
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

// before is the number of steps before time t.
func (r *Replay) before(t int64) int {
	return sort.Search(len(r.Steps), func(i int) bool { return r.Steps[i].Time >= t })
}

// LevelsAt are the levels just before time t.
func (r *Replay) LevelsAt(t int64) (allocated, reserved int64) { return r.levels(r.before(t)) }

// levels are those after the first n steps.
func (r *Replay) levels(n int) (allocated, reserved int64) {
	if n == 0 {
		return r.StartAllocated, r.StartReserved
	}
	return r.Steps[n-1].Allocated, r.Steps[n-1].Reserved
}

// A Use is the two levels over a stretch of time. Start is the level just before it, End the one just before its end,
// Peak the highest within, not under Start.
type Use struct {
	AllocatedStart, AllocatedEnd, AllocatedPeak int64 // bytes
	ReservedStart, ReservedEnd, ReservedPeak    int64 // bytes
	AllocatedPeakEvent                          int32 // place in the trace where it was first reached; -1 for the start
	ReservedPeakEvent                           int32
}

// Over is the use in [from, to), both in ns since 1970.
func (r *Replay) Over(from, to int64) Use {
	a, b := r.before(from), r.before(to)
	u := Use{AllocatedPeakEvent: -1, ReservedPeakEvent: -1}
	u.AllocatedStart, u.ReservedStart = r.levels(a)
	u.AllocatedEnd, u.ReservedEnd = r.levels(max(a, b))
	u.AllocatedPeak, u.ReservedPeak = u.AllocatedStart, u.ReservedStart
	for i := a; i < b; i++ {
		s := &r.Steps[i]
		if s.Allocated > u.AllocatedPeak {
			u.AllocatedPeak, u.AllocatedPeakEvent = s.Allocated, s.Event
		}
		if s.Reserved > u.ReservedPeak {
			u.ReservedPeak, u.ReservedPeakEvent = s.Reserved, s.Event
		}
	}
	return u
}

// Whole is the use over the whole trace.
func (r *Replay) Whole() Use { return r.Over(Never, 1<<63-1) }

// EventAt is the place of the last entry before time t (ns since 1970); -1 for none. For StateAt.
func (r *Replay) EventAt(t int64) int {
	at := -1
	r.Trace().Each(func(i int, e *TraceEvent) bool {
		if e.Time >= t {
			return false
		}
		at = i
		return true
	})
	return at
}

// LiveAt are the places in Blocks of those that are handed out just after entry event of the trace; -1 means before the
// first. In order of Blocks.
func (r *Replay) LiveAt(event int) []int {
	var out []int
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if int(b.BirthEvent) > event {
			continue
		}
		if b.DeathEvent < 0 && b.Death == Never || b.DeathEvent >= 0 && int(b.DeathEvent) > event {
			out = append(out, i)
		}
	}
	return out
}

// A MapSegment is one segment of a map, a MapBlock one block of it.
type MapSegment struct {
	Addr       uint64
	Size       int64 // bytes
	Stream     uint64
	Small      bool
	Expandable bool
	Blocks     []MapBlock // by address; they cover the segment without gaps
}

// A MapBlock is a block of a MapSegment, live or free.
type MapBlock struct {
	Addr  uint64
	Size  int64 // bytes, as the allocator counts it
	State BlockState
	Block int // place in Replay.Blocks; -1 where it is free
}

// StateAt is the map of segments and blocks just after entry event of the trace, by address; -1 means before the first,
// anything beyond the last means the end. It replays from the beginning, so it is for pictures, not for loops.
func (r *Replay) StateAt(event int) []MapSegment {
	q := &Replay{Device: r.Device, Settings: r.Settings, snap: r.snap}
	l := newLayout(q)
	t := r.Trace()
	l.begin(r.snap, t, r.Device)
	l.run(t, min(event+1, t.Len()))
	return l.state()
}

// Snapshot is where the trace comes from.
func (r *Replay) Snapshot() *Snapshot { return r.snap }
