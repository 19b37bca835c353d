package allocator

import "nsysmem/torchmem"

// A Result is what one setting comes to.
type Result struct {
	Conf              string
	Capacity          int64           // bytes, as given; 0 for no limit
	PeakReserved      int64           // bytes; highest
	PeakReservedEvent int32           // place in the trace
	ReservedRange     [2]int64        // bytes; lowest and highest PeakReserved over the orders that were tried
	Smallest          Smallest        // zero where it was not asked for
	PeakAllocated     int64           // bytes; highest, as the meter counts under this setting
	CacheAtPeak       int64           // bytes; reserved less allocated when allocated is highest first, without what private pools of CUDA graphs have left
	LargestGap        int64           // bytes; highest of reserved less allocated, likewise
	LargestGapEvent   int32           // place in the trace
	EndReserved       int64           // bytes
	EndAllocated      int64           // bytes
	Segments          int             // held at the end; of expandable segments, mapped stretches
	CUDAMallocs       int             // calls that got memory from the driver: cudaMalloc, or mapping of pages
	Retries           int             // times that the driver had not enough and the cache was given back
	FailedRequests    int             // requests that could not be served; a program would have stopped at the first
	GotOver           int             // requests that failed in the recording too, and the program got over it
	AtLeast           bool            // a request that ended the recorded run was served: what would have come after is unknown, and may need more
	PrivateReserved   int64           // bytes of private pools (CUDA graphs, MemPool) at the end
	PrivateFree       int64           // bytes of them that lie free: they serve no other requests
	Failed            []FailedRequest // the first of them, maxFailed at most
	Curve             []CurvePoint
	Final             []torchmem.MapSegment // held at the end, by address; Block is the place in Replay.Blocks
	Notes             []string
	asked             int64 // bytes; the most that was reserved and asked for together, and granted
}

// maxFailed is how many failed requests a Result describes; it counts them all.
const maxFailed = 1000

// A FailedRequest is a request that could not be served. Its block is left out of what follows.
type FailedRequest struct {
	Event       int32 // place in the trace
	Block       int   // place in Replay.Blocks; -1 for one that failed in the recording too
	Request     int64 // bytes asked for
	Rounded     int64 // bytes needed
	Allocated   int64 // bytes
	Reserved    int64 // bytes
	FreeCache   int64 // bytes free in the cache, after all that could be given back was
	FreePrivate int64 // of them, bytes that lie in private pools (CUDA graphs, MemPool) that serve others
	LargestFree int64 // bytes; the largest of its blocks
}

// A CurvePoint is a step of the reserved level. Allocated is what the meter shows just before it.
type CurvePoint struct {
	Event     int32 // place in the trace; -1 for what was there before
	Reserved  int64 // bytes, from here on
	Allocated int64 // bytes
}
