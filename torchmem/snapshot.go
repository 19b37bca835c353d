// Package torchmem reads the memory snapshots that PyTorch writes (torch.cuda.memory._dump_snapshot), replays what its
// caching allocator did, and models what the allocator would have done under other settings.
//
// It is pure: it takes readers and values, opens no file and knows no clock. Times are int64 nanoseconds since 1970 in
// UTC (a snapshot itself counts microseconds), sizes int64 bytes, and the order of events is that of the trace, since
// many events share a microsecond.
package torchmem

import (
	"maps"
	"slices"

	"nsysmem/torchmem/internal/sizes"
)

// A StackID names a call stack of a Snapshot; 0 is the empty one.
type StackID uint32

// A Frame is one line of a call stack, innermost first in a stack.
type Frame struct {
	Name string // function
	File string
	Line int64 // 0 where unknown
}

// BlockState says who has a block.
type BlockState uint8

// The states of a block in a snapshot.
const (
	Inactive    BlockState = iota // in the cache
	Active                        // handed out (active_allocated)
	PendingFree                   // given back, still in use by a stream (active_awaiting_free, active_pending_free)
	NotMapped                     // a gap in an expandable segment; only in maps, not in snapshots
)

// A SnapshotBlock is one block of a segment as it was when the snapshot was taken.
type SnapshotBlock struct {
	Addr      uint64
	Size      int64 // bytes, as the allocator counts it
	Requested int64 // bytes, as the program asked; of a cached block, of its last use; 0 where unknown
	State     BlockState
	Stack     StackID
}

// A Segment is one piece of memory that the allocator holds from the driver.
type Segment struct {
	Device     int
	Addr       uint64
	Size       int64 // bytes
	Allocated  int64 // bytes of blocks that are handed out, as the snapshot says
	Stream     uint64
	Small      bool     // of the pool for requests up to 1 MiB
	Expandable bool     // a mapped stretch of an expandable segment
	PoolID     [2]int64 // owner: 0,0 for the common pools, else a graph's private pool
	Stack      StackID  // where it was allocated; 0 where unknown
	Blocks     []SnapshotBlock
}

// Settings are the allocator's settings as the snapshot has them.
type Settings struct {
	Known         bool   // the snapshot says its settings
	Conf          string // as in PYTORCH_CUDA_ALLOC_CONF; empty for the defaults
	MaxSplitSize  int64  // bytes; 0 for no limit
	GCThreshold   float64
	Expandable    bool
	GraphReuse    bool            // graph_capture_record_stream_reuse is among them, whatever its value: PyTorch has it since 2.9
	RoundupPower2 sizes.Divisions // divisions for sizes from 1 MiB << index on; 0 for none
}

// An Annotation is a mark that PyTorch itself left, such as the start of an optimizer's step.
type Annotation struct {
	Time   int64 // ns since 1970
	Name   string
	Stage  string // "START" or "END"
	Device int64
}

// A Snapshot is what one file holds.
type Snapshot struct {
	Settings    Settings
	Segments    []Segment // of all devices, in the file's order
	Traces      []Trace   // by device index; nil for an old snapshot without traces
	Annotations []Annotation
	OddEvents   int // entries of traces with sizes or addresses that cannot be; they are left out (Action is Other)

	frames  []Frame
	stacks  []uint32 // frame ids of all stacks, one after another
	stackAt []uint32 // where each stack starts in stacks; the next entry is its end
	texts   []string
}

// trace is the trace of a device; nil where it has none.
func (s *Snapshot) trace(device int) *Trace {
	if device < 0 || device >= len(s.Traces) {
		return nil
	}
	return &s.Traces[device]
}

// Stack is a call stack, innermost frame first; empty for 0 and for an id that the snapshot does not have.
func (s *Snapshot) Stack(id StackID) []Frame {
	if int(id)+1 >= len(s.stackAt) {
		return nil
	}
	ids := s.stacks[s.stackAt[id]:s.stackAt[id+1]]
	out := make([]Frame, len(ids))
	for i, f := range ids {
		out[i] = s.frames[f]
	}
	return out
}

// Text is the text behind a TraceEvent.Note; empty for 0.
func (s *Snapshot) Text(id uint32) string {
	if id == 0 || int(id) >= len(s.texts) {
		return ""
	}
	return s.texts[id]
}

// Devices are the devices that have a trace or segments, in rising order.
func (s *Snapshot) Devices() []int {
	used := make(map[int]bool)
	for i := range s.Traces {
		if s.Traces[i].n > 0 {
			used[i] = true
		}
	}
	for i := range s.Segments {
		used[s.Segments[i].Device] = true
	}
	return slices.Sorted(maps.Keys(used))
}
