package tensor

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
func (m *Memory) MapAt(at int64) []MapSegment {
	if m.Replay == nil {
		return nil
	}
	return m.Replay.StateAt(m.Replay.EventAt(at + m.Shift + 1))
}

// MapAtPeak is the map at the peak of the allocated or the reserved level, and when that is; nil without a snapshot.
func (m *Memory) MapAtPeak(reserved bool) ([]MapSegment, int64) {
	if m.Replay == nil {
		return nil, 0
	}
	whole := m.Replay.Whole()
	event := whole.AllocatedPeakEvent
	if reserved {
		event = whole.ReservedPeakEvent
	}
	return m.Replay.StateAt(int(event)), m.ReportTime(m.Replay.TimeOf(event))
}

// MapAtFailure is the map at the i-th of Failures, just before the request; nil without a snapshot.
func (m *Memory) MapAtFailure(i int) []MapSegment {
	if m.Replay == nil || i < 0 || i >= len(m.Replay.Failures) {
		return nil
	}
	return m.Replay.StateAt(int(m.Replay.Failures[i].Event) - 1)
}
