package torchmem

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
	return r.snap.layout(r.Device, event+1).state()
}
