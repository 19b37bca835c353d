package align

import (
	"fmt"
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
	track   *track
	replay  *torchmem.Replay
	late    []int64 // ns; by matched segment, in rising order
	of      int     // segments of the snapshot in the report's time
	offset  int64
	spread  int64
	matched int

	begin, end int64 // ns since 1970; the report's time
	apart      bool  // the trace is not of the report's time
}

// joinSnapshot finds the track that each device of the snapshot belongs to and adds its levels there.
//
//  1. A segment that PyTorch took is a memory event of the report with the same address and size.
//  2. The lateness of the snapshot's stamps is the densest millisecond of the differences; the least of those is the
//     offset of the clocks, since a stamp is taken after the driver's call.
//  3. A device whose segments mostly match a track is that track; a snapshot none of whose devices does is refused.
func (a *analysis) joinSnapshot() error {
	snap := a.opts.Snapshot
	if snap == nil {
		return nil
	}
	var best []match
	var told []string
	for _, d := range snap.Devices() {
		r, err := snap.Replay(d)
		if err != nil {
			return fmt.Errorf("align: snapshot %q: %w", a.opts.SnapshotName, err)
		}
		m := match{device: d, replay: r}
		for _, t := range a.allTracks() {
			x := match{device: d, replay: r, track: t}
			x.compare(a)
			if m.track == nil || x.matched > m.matched {
				m = x
			}
		}
		if m.track == nil || m.matched == 0 || 2*m.matched < m.of {
			if m.apart {
				told = append(told, fmt.Sprintf("device %d: recorded from %s to %s, the report from %s to %s", d, utcText(m.replay.From), utcText(m.replay.To), utcText(m.begin), utcText(m.end)))
				continue
			}
			told = append(told, fmt.Sprintf("device %d: %d of %d segments are in the report", d, m.matched, m.of))
			continue
		}
		best = append(best, m)
	}
	if len(best) == 0 {
		if len(told) == 0 {
			told = []string{"it has no device"}
		}
		return fmt.Errorf("align: snapshot %q: it is of another run, device or process (%s): give the snapshot of the run that was profiled",
			a.opts.SnapshotName, strings.Join(told, "; "))
	}
	for i := range best {
		best[i].track.snapshot = &best[i]
		a.snapshotLevels(&best[i])
	}
	return nil
}

// utcText is a time in ns since 1970 to the second, as info shows when a report began.
func utcText(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04:05 UTC") }

// compare matches the segments of a snapshot's device with the memory events of a track.
func (m *match) compare(a *analysis) {
	rows := make(map[int64][]*rawBlock)
	for i := range m.track.blocks {
		if b := &m.track.blocks[i]; b.kind == nsysdb.KindDevice && b.start != Never {
			rows[b.address] = append(rows[b.address], b)
		}
	}
	utc := a.rep.Source.StartUTC
	first, last := a.memoryTime.first, max(a.memoryTime.last, a.lastTime)
	if a.timed {
		first = min(first, a.firstTime)
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
		var near *rawBlock
		for _, b := range rows[int64(s.Addr)] {
			if used[b] || b.bytes != s.Size && !s.Expandable {
				continue
			}
			if near == nil || utc != 0 && abs(b.start-at) < abs(near.start-at) {
				near = b
			}
		}
		if near != nil {
			used[near] = true
			m.late = append(m.late, at-near.start)
		}
	}
	if len(m.late) == 0 {
		m.begin, m.end = utc+first, utc+last
		m.apart = utc != 0 && m.replay.Timed() && (m.replay.To < m.begin-clockReach || m.replay.From > m.end+clockReach)
		m.bySegments(rows)
		return
	}
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
	if utc != 0 && abs(m.late[from]) > clockReach {
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

// snapshotLevels adds the levels allocated and reserved to a track.
func (a *analysis) snapshotLevels(m *match) {
	t := m.track
	shift := a.rep.Source.StartUTC + m.offset
	ends := endOrder(t.proc.calls)
	start := a.memoryTime.first
	if a.timed {
		start = min(start, a.firstTime)
	}
	alloc, resv := newLevelSweep(LevelAllocated, t.proc, ends, start), newLevelSweep(LevelReserved, t.proc, ends, start)
	for _, l := range []*levelSweep{alloc, resv} {
		t.levels[l.kind] = l
	}
	r := m.replay
	alloc.begin(r.StartAllocated)
	resv.begin(r.StartReserved)
	for i := range r.Steps {
		s := &r.Steps[i]
		alloc.change(s.Time-shift, s.Allocated-alloc.level)
		resv.change(s.Time-shift, s.Reserved-resv.level)
	}
	tl := a.timeline(t.proc)
	for i := range r.Blocks {
		b := &r.Blocks[i]
		alloc.attribute(a, tl, b.Birth, b.Death, b.Counted, shift)
	}
	for i := range r.Segments {
		s := &r.Segments[i]
		resv.attribute(a, tl, s.Birth, s.Death, s.Size, shift)
	}
	alloc.finish()
	resv.finish()
}

// begin sets the level before the first event.
func (s *levelSweep) begin(level int64) {
	s.level, s.out.Peak = level, level
}

// attribute counts a block for the rows in which it was handed out and given back, by time.
func (s *levelSweep) attribute(a *analysis, tl *timeline, birth, death, bytes, shift int64) {
	if birth != torchmem.Never {
		s.out.Allocs++
		s.out.AllocBytes += bytes
		n := s.row(a, placeOf(tl.in.at(birth-shift), waySame))
		n.allocs++
		n.allocBytes += bytes
	}
	if death != torchmem.Never {
		s.out.Frees++
		s.out.FreeBytes += bytes
		n := s.row(a, placeOf(tl.in.at(death-shift), waySame))
		n.frees++
		n.freeBytes += bytes
	}
}
