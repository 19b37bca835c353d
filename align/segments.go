package align

import "nsysmem/torchmem"

// A MapSegment is one segment of the allocator's memory, a MapBlock one block of it.
type (
	MapSegment = torchmem.MapSegment
	MapBlock   = torchmem.MapBlock
)

// The states of a MapBlock.
const (
	BlockFree    = torchmem.Inactive    // in the cache
	BlockLive    = torchmem.Active      // handed out
	BlockPending = torchmem.PendingFree // given back, still in use by a stream
)

// MapAt is the map of segments and blocks at a time of the report, events at that very time included, by address; nil
// without a snapshot. MapBlock.Block is a place in Blocks.
func (t *Tensors) MapAt(at int64) []MapSegment {
	if t.Replay == nil {
		return nil
	}
	return t.Replay.StateAt(t.Replay.EventAt(at + t.Shift + 1))
}

// MapAtPeak is the map at the peak of the allocated or the reserved level, and when that is; nil without a snapshot.
func (t *Tensors) MapAtPeak(reserved bool) ([]MapSegment, int64) {
	if t.Replay == nil {
		return nil, 0
	}
	whole := t.Replay.Whole()
	event := whole.AllocatedPeakEvent
	if reserved {
		event = whole.ReservedPeakEvent
	}
	return t.Replay.StateAt(int(event)), t.ReportTime(t.Replay.TimeOf(event))
}

// MapAtFailure is the map at the i-th of Failures, just before the request; nil without a snapshot.
func (t *Tensors) MapAtFailure(i int) []MapSegment {
	if t.Replay == nil || i < 0 || i >= len(t.Replay.Failures) {
		return nil
	}
	return t.Replay.StateAt(int(t.Replay.Failures[i].Event) - 1)
}
