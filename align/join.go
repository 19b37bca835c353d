package align

import (
	"fmt"
	"strings"

	"nsysmem/align/tensor"
	"nsysmem/torchmem"
)

// joinSnapshot finds the track that each device of the snapshot belongs to and adds its levels there: the one in which
// most of its segments are. A snapshot none of whose devices belongs to a track is refused.
func (a *analysis) joinSnapshot() error {
	var why []string
	joined := false
	for _, d := range a.opts.Snapshot.Devices() {
		r, err := a.opts.Snapshot.Replay(d)
		if err != nil {
			return fmt.Errorf("align: snapshot %q: %w", a.opts.SnapshotName, err)
		}
		best, track := &tensor.Match{Replay: r}, (*track)(nil)
		for _, t := range a.allTracks() {
			if m := tensor.Compare(r, a.driver(t), a.reportTime()); track == nil || m.Clock.Matched > best.Clock.Matched {
				best, track = m, t
			}
		}
		if !best.Good() {
			why = append(why, best.Why())
			continue
		}
		track.snapshot, joined = best, true
		a.snapshotLevels(track)
	}
	if joined {
		return nil
	}
	if len(why) == 0 {
		why = []string{"it has no device"}
	}
	return fmt.Errorf("align: snapshot %q: it is of another run, device or process (%s): give the snapshot of the run that was profiled",
		a.opts.SnapshotName, strings.Join(why, "; "))
}

// reportTime is when the report was recorded, as far as is known before its end.
func (a *analysis) reportTime() tensor.ReportTime {
	out := tensor.ReportTime{UTC: a.rep.Source.StartUTC, First: a.memoryTime.first, Last: max(a.memoryTime.last, a.lastTime)}
	if a.timed {
		out.First = min(out.First, a.firstTime)
	}
	return out
}

// snapshotLevels adds the levels allocated and reserved to a track.
func (a *analysis) snapshotLevels(t *track) {
	m := t.snapshot
	shift := a.rep.Source.StartUTC + m.Clock.Offset
	ends := endOrder(t.proc.calls)
	start := a.reportTime().First
	alloc, resv := newLevelSweep(LevelAllocated, t.proc, ends, start), newLevelSweep(LevelReserved, t.proc, ends, start)
	for _, l := range []*levelSweep{alloc, resv} {
		t.levels[l.kind] = l
	}
	r := m.Replay
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
