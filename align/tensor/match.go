package tensor

import (
	"fmt"
	"slices"
	"time"

	"nsysmem/torchmem"
)

const (
	// clockReach is how far a snapshot's clock may be from the report's, in ns: both are the machine's wall clock, so that
	// a snapshot further off is of another run. Lateness of the matched segments is 1 to 25 µs (observed).
	clockReach = int64(1e9)

	// clockSpread is the width in which the lateness of most matched segments must lie, in ns.
	clockSpread = int64(1e6)
)

// A Match is how well one device of a snapshot goes with one track.
type Match struct {
	Replay *torchmem.Replay
	Clock  Clock

	time  ReportTime
	apart bool // the trace is not of the report's time
}

// ReportTime is when a report was recorded.
type ReportTime struct {
	UTC   int64 // ns since 1970 of time 0; 0 where unknown
	First int64 // ns; earliest event
	Last  int64 // ns; latest event
}

// Good says that the snapshot's device is the track's: at least half of its segments are in the report.
func (m *Match) Good() bool { return m.Clock.Matched > 0 && 2*m.Clock.Matched >= m.Clock.Segments }

// Why says what speaks against a match that is not good.
func (m *Match) Why() string {
	utc := func(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04:05 UTC") } // as info shows it
	if r := m.Replay; m.apart {
		return fmt.Sprintf("device %d: recorded from %s to %s, the report from %s to %s",
			r.Device, utc(r.From), utc(r.To), utc(m.time.UTC+m.time.First), utc(m.time.UTC+m.time.Last))
	}
	return fmt.Sprintf("device %d: %d of %d segments are in the report", m.Replay.Device, m.Clock.Matched, m.Clock.Segments)
}

// Compare matches the segments of a snapshot's device with the driver's blocks of a track.
//
//  1. A segment that PyTorch took is a block of the driver with the same address and size: of several at one address,
//     the one next in time.
//  2. The lateness of the snapshot's stamps is the densest millisecond of the differences. The least of those is the
//     offset of the clocks, since a stamp is taken after the driver's call.
//  3. Where no segment was taken in the report's time, those that the snapshot holds at its end are matched.
func Compare(r *torchmem.Replay, d DriverBlocks, t ReportTime) *Match {
	m := &Match{Replay: r, time: t}
	rows := rowsOf(r, d)
	late := m.lateness(rows)
	if len(late) == 0 {
		m.apart = t.UTC != 0 && r.Timed() && (r.To < t.UTC+t.First-clockReach || r.From > t.UTC+t.Last+clockReach)
		if m.Clock.Segments == 0 && !m.apart {
			m.heldAtEnd(rows)
		}
		return m
	}
	slices.Sort(late)
	dense := densest(late)
	if offset := dense[0]; t.UTC == 0 || max(offset, -offset) <= clockReach {
		m.Clock.Matched, m.Clock.Offset, m.Clock.Spread = len(dense), offset, dense[len(dense)-1]-offset
	}
	return m
}

// A row is a block of the driver at the address of a segment.
type row struct {
	start, bytes int64
	used         bool // it is the block of a segment
}

// rowsOf are the driver's blocks at addresses of segments.
func rowsOf(r *torchmem.Replay, d DriverBlocks) map[uint64][]row {
	rows := make(map[uint64][]row)
	for i := range r.Segments {
		rows[r.Segments[i].Addr] = nil
	}
	for _, b := range d.Blocks() {
		if b.Static || b.Start == Never {
			continue
		}
		if list, ok := rows[b.Address]; ok {
			rows[b.Address] = append(list, row{start: b.Start, bytes: b.Bytes})
		}
	}
	return rows
}

// lateness is by how much each matched segment's stamp is later than the driver's block, in ns. It counts the
// segments in the report's time. Pieces of an expandable segment are mapped together, so that their sizes may differ
// from the block's.
func (m *Match) lateness(rows map[uint64][]row) []int64 {
	var late []int64
	for i := range m.Replay.Segments {
		s := &m.Replay.Segments[i]
		if s.Birth == Never || s.BirthEvent < 0 {
			continue
		}
		at := s.Birth - m.time.UTC
		if m.time.UTC != 0 && (at < m.time.First || at > m.time.Last) {
			continue
		}
		m.Clock.Segments++
		var near *row
		away := func(r *row) int64 { return max(r.start-at, at-r.start) }
		list := rows[s.Addr]
		for k := range list {
			r := &list[k]
			if r.used || r.bytes != s.Size && !s.Expandable {
				continue
			}
			if near == nil || m.time.UTC != 0 && away(r) < away(near) {
				near = r
			}
		}
		if near != nil {
			near.used = true
			late = append(late, at-near.start)
		}
	}
	return late
}

// densest is the part of a sorted list within clockSpread that has most of it, the first of several.
func densest(sorted []int64) []int64 {
	from, to := 0, 0
	for i, k := 0, 0; i < len(sorted); i++ {
		for k < len(sorted) && sorted[k]-sorted[i] <= clockSpread {
			k++
		}
		if k-i > to-from {
			from, to = i, k
		}
	}
	return sorted[from:to]
}

// heldAtEnd matches a snapshot whose trace has no segment in the report's time by the segments that it holds at its
// end. The clocks are taken as they are. Addresses alone do not tell a run from another one of the same program, whose
// segments mostly lie where its own did: the trace must be of the report's time.
func (m *Match) heldAtEnd(rows map[uint64][]row) {
	for i := range m.Replay.Segments {
		s := &m.Replay.Segments[i]
		if s.Death != Never {
			continue
		}
		m.Clock.Segments++
		if slices.ContainsFunc(rows[s.Addr], func(r row) bool { return r.bytes == s.Size }) {
			m.Clock.Matched++
		}
	}
}
