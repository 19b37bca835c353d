// Package tensor says what a program's tensors hold on one device, from PyTorch's own memory snapshot or, where a
// program runs without a caching allocator, from the driver's blocks. It finds out which recorded run a snapshot
// belongs to, and what device memory is none of PyTorch's.
//
// Times are int64 nanoseconds on the report's clock, sizes int64 bytes. What a report knows of the program comes in
// as a Program and a Driver, so that this package knows nothing of how reports are read.
package tensor

import "nsysmem/torchmem"

// Never is the End of a block that was not freed, and the Start of one that was live before recording began.
const Never = torchmem.Never

// Memory is what a track's tensors hold.
type Memory struct {
	From  Origin
	File  string // the snapshot's name; empty without a snapshot
	Clock *Clock // how the snapshot's time goes with the report's; nil without a snapshot
	Conf  string // PYTORCH_CUDA_ALLOC_CONF as the snapshot has it; empty for the defaults or where unknown

	Categories []CategoryUse // those that have blocks, in the order of CategoryNames
	Blocks     []Block       // by birth
	Peak       Holding       // at the allocated level's peak
	Failures   []Holding     // at each request that could not be served
	Outside    *Outside      // memory outside PyTorch; nil without a snapshot
	AtReserved *Cache        // the cache at the reserved level's peak; nil without a snapshot
	Growth     []Cache       // at each segment that was added; nil without a snapshot
	Stayed     []Stayed      // of the allocated level, largest first; nil without a snapshot

	Replay *torchmem.Replay // for maps of segments; nil without a snapshot
	Shift  int64            // ns; snapshot time less Shift is report time

	private []torchmem.PrivateStep    // of Replay
	pools   []torchmem.PrivateSegment // likewise
}

// An Origin says what tells of tensors.
type Origin string

// The origins.
const (
	BySnapshot Origin = "snapshot" // PyTorch's memory snapshot of the same run
	ByDriver   Origin = "driver"   // the driver's own blocks: the program has no caching allocator
)

// ReportTime is a snapshot's time on the report's clock, in ns; Never stays Never.
func (m *Memory) ReportTime(at int64) int64 {
	if at == Never {
		return Never
	}
	return at - m.Shift
}

// ShortStack is a call stack in few words, innermost call first: the Python frames, or the functions where there are
// none. Empty without a snapshot or a stack.
func (m *Memory) ShortStack(id torchmem.StackID) string {
	if m.Replay == nil {
		return ""
	}
	return shortStack(m.Replay.Stack(id))
}

// Clock says how well a snapshot's clock goes with the report's.
type Clock struct {
	Offset   int64 // ns by which the snapshot's stamps are late, at the least
	Spread   int64 // ns between the least and the greatest lateness of the matched segments
	Matched  int   // segment allocations that are also in the report, with address and size
	Segments int   // segment allocations of the snapshot in the report's time
}

// A Block is one block that the allocator handed out.
type Block struct {
	Start        int64 // ns; Never where it was live before recording began
	End          int64 // ns; Never where it was not given back
	Address      uint64
	Bytes        int64 // as requested
	Counted      int64 // bytes as the allocator's meter counts them
	Stream       uint64
	Category     string
	Rule         string // short name of the rule that told the category; empty where none did
	Iteration    int    // place in the track's iterations where it was born; -1 for none
	Phase        string // path there, or the outermost range's name; empty for none
	EndIteration int    // likewise where it was given back
	EndPhase     string
	Lifetime     int // iterations begun while it was live
	Stack        torchmem.StackID
	Frame        string // the innermost Python frame outside of libraries; empty where unknown
	Module       string // the path of the module whose forward asked for it, as the program noted it in PyTorch's metadata of the allocation; empty where it did not
}
