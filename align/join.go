package align

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// clockReach is how far a snapshot's clock may be from the report's: both are the machine's wall clock, so that a
// snapshot further off is of another run. Lateness of the matched segments is 1 to 25 µs (observed).
const clockReach = int64(1e9)

// clockSpread is the width in which the lateness of most matched segments must lie.
const clockSpread = int64(1e6)

// A match is how well one device of a snapshot goes with one track.
type match struct {
	device  int
	track   *trackUse
	replay  *torchmem.Replay
	late    []int64 // ns; by matched segment, in rising order
	of      int     // segments of the snapshot in the report's time
	offset  int64
	spread  int64
	matched int

	begin, end int64 // ns since 1970; the report's time
	apart      bool  // the trace is not of the report's time

	allocated, reserved *levelSweep // of what was joined; else nil
}

// good says that most of the device's segments are the track's.
func (m *match) good() bool { return m.track != nil && m.matched > 0 && 2*m.matched >= m.of }

// told says how badly the device goes with the report.
func (m *match) told() string {
	if m.apart {
		return fmt.Sprintf("device %d: recorded from %s to %s, the report from %s to %s", m.device,
			utcText(m.replay.From), utcText(m.replay.To), utcText(m.begin), utcText(m.end))
	}
	return fmt.Sprintf("device %d: %d of %d segments are in the report", m.device, m.matched, m.of)
}

// snapshots are the devices of a snapshot by the track that each belongs to.
type snapshots map[trackKey]*match

// joinSnapshot finds the track that each device of the snapshot belongs to and sweeps its levels past the rows there.
//
//  1. A segment that PyTorch took is a memory event of the report with the same address and size.
//  2. The lateness of the snapshot's stamps is the densest millisecond of the differences; the least of those is the
//     offset of the clocks, since a stamp is taken after the driver's call.
//  3. A device whose segments mostly match a track is that track; a snapshot none of whose devices does is refused.
func joinSnapshot(src *source, a *alignment, r *rows, u *uses) (snapshots, error) {
	snap, name := src.opts.Snapshot, src.opts.SnapshotName
	out := make(snapshots)
	var told []string
	for _, d := range snap.Devices() {
		replay, err := snap.Replay(d)
		if err != nil {
			return nil, fmt.Errorf("align: snapshot %q: %w", name, err)
		}
		best := &match{device: d, replay: replay}
		for _, t := range u.tracks {
			m := &match{device: d, replay: replay, track: t}
			m.compare(src.db.Meta().StartUTC, u.memoryTime, a.time)
			if best.track == nil || m.matched > best.matched {
				best = m
			}
		}
		if !best.good() {
			told = append(told, best.told())
			continue
		}
		best.sweep(src, a, r, u)
		out[best.track.trackKey] = best
	}
	if len(out) == 0 {
		if len(told) == 0 {
			told = []string{"it has no device"}
		}
		return nil, fmt.Errorf("align: snapshot %q: it is of another run, device or process (%s): give the snapshot of the run that was profiled",
			name, strings.Join(told, "; "))
	}
	return out, nil
}

// utcText is a time in ns since 1970 to the second, as info shows when a report began.
func utcText(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04:05 UTC") }

// compare matches the segments of a snapshot's device with the memory events of a track. The report begins at utc, in ns
// since 1970; 0 where that is unknown.
func (m *match) compare(utc int64, memory, seen stretch) {
	rows := make(map[int64][]*rawBlock) // by address
	for i := range m.track.memory.blocks {
		if b := &m.track.memory.blocks[i]; b.kind == nsysdb.KindDevice && b.start != Never {
			rows[b.address] = append(rows[b.address], b)
		}
	}
	first, last := memory.first, max(memory.last, seen.last)
	if seen.any {
		first = min(first, seen.first)
	}
	used := make(map[*rawBlock]bool)
	for i := range m.replay.Segments {
		s := &m.replay.Segments[i]
		if s.Birth == torchmem.Never || s.BirthEvent < 0 {
			continue
		}
		at := s.Birth - utc
		if utc != 0 && (at < first || at > last) {
			continue
		}
		m.of++
		if b := nearest(s, rows[int64(s.Addr)], used, at, utc != 0); b != nil {
			used[b] = true
			m.late = append(m.late, at-b.start)
		}
	}
	if len(m.late) > 0 {
		m.fitClock(utc != 0)
		return
	}
	m.begin, m.end = utc+first, utc+last
	m.apart = utc != 0 && m.replay.Timed() && (m.replay.To < m.begin-clockReach || m.replay.From > m.end+clockReach)
	m.bySegments(rows)
}

// nearest is the block at a segment's address that is not used yet and is the segment: the one that begins nearest to a
// time where the clocks are known, else the first; nil for none.
func nearest(s *torchmem.SegmentLife, blocks []*rawBlock, used map[*rawBlock]bool, at int64, timed bool) *rawBlock {
	var near *rawBlock
	for _, b := range blocks {
		if used[b] || b.bytes != s.Size && !s.Expandable {
			continue
		}
		if near == nil || timed && abs(b.start-at) < abs(near.start-at) {
			near = b
		}
	}
	return near
}

// fitClock finds the densest stretch of lateness. Where the clocks are known it must not be far.
func (m *match) fitClock(timed bool) {
	slices.Sort(m.late)
	from, to := 0, 0
	for i, k := 0, 0; i < len(m.late); i++ {
		for k < len(m.late) && m.late[k]-m.late[i] <= clockSpread {
			k++
		}
		if k-i > to-from {
			from, to = i, k
		}
	}
	if timed && abs(m.late[from]) > clockReach {
		return
	}
	m.matched, m.offset, m.spread = to-from, m.late[from], m.late[to-1]-m.late[from]
}

// bySegments matches a snapshot whose trace has no segment in the report's time by the segments that it holds at its
// end. The clocks are taken as they are. Addresses alone do not tell a run from another one of the same program, whose
// segments mostly lie where its own did: the trace must be of the report's time.
func (m *match) bySegments(rows map[int64][]*rawBlock) {
	if m.of > 0 || m.apart {
		return
	}
	for i := range m.replay.Segments {
		s := &m.replay.Segments[i]
		if s.Death != torchmem.Never {
			continue
		}
		m.of++
		for _, b := range rows[int64(s.Addr)] {
			if b.bytes == s.Size {
				m.matched++
				break
			}
		}
	}
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// sweep makes the levels allocated and reserved of the track.
func (m *match) sweep(src *source, a *alignment, r *rows, u *uses) {
	p := m.track.proc
	shift := src.db.Meta().StartUTC + m.offset
	start := u.memoryTime.first
	if a.time.any {
		start = min(start, a.time.first)
	}
	m.allocated = newLevelSweep(LevelAllocated, r.proc(p), r.of, nil, start)
	m.reserved = newLevelSweep(LevelReserved, r.proc(p), r.of, nil, start)
	m.allocated.begin(m.replay.StartAllocated)
	m.reserved.begin(m.replay.StartReserved)
	for i := range m.replay.Steps {
		s := &m.replay.Steps[i]
		m.allocated.change(s.Time-shift, s.Allocated-m.allocated.level)
		m.reserved.change(s.Time-shift, s.Reserved-m.reserved.level)
	}
	tl := newTimeline(a, r, p)
	for i := range m.replay.Blocks {
		b := &m.replay.Blocks[i]
		m.allocated.attribute(tl, b.Birth, b.Death, b.Counted, shift)
	}
	for i := range m.replay.Segments {
		s := &m.replay.Segments[i]
		m.reserved.attribute(tl, s.Birth, s.Death, s.Size, shift)
	}
	m.allocated.finish()
	m.reserved.finish()
}

// withLevels are the levels of the driver's events and those of the snapshot.
func (m *match) withLevels(driver map[LevelKind]*levelSweep) map[LevelKind]*levelSweep {
	out := maps.Clone(driver)
	out[LevelAllocated], out[LevelReserved] = m.allocated, m.reserved
	return out
}

// attribute counts a block for the rows in which it was handed out and given back, by time.
func (s *levelSweep) attribute(tl *timeline, birth, death, bytes, shift int64) {
	if birth != torchmem.Never {
		s.allocated(placeOf(tl.in.at(birth-shift), waySame), bytes)
	}
	if death != torchmem.Never {
		s.freed(placeOf(tl.in.at(death-shift), waySame), bytes)
	}
}
