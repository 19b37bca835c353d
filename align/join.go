package align

import (
	"fmt"
	"maps"
	"strings"

	"nsysmem/align/tensor"
	"nsysmem/torchmem"
)

// A joinedDevice is the device of a snapshot that belongs to a track, with the levels that it tells.
type joinedDevice struct {
	match               *tensor.Match
	allocated, reserved *levelSweep
}

// A snapshot is its devices, by the track that each belongs to.
type snapshot map[trackKey]*joinedDevice

// joinSnapshot finds the track that each device of the snapshot belongs to, and sweeps its levels past the rows there: the
// one in which most of its segments are. A snapshot none of whose devices belongs to a track is refused.
func joinSnapshot(src *source, a *alignment, r *rows, u *uses) (snapshot, error) {
	out := make(snapshot)
	var why []string
	for _, d := range src.opts.Snapshot.Devices() {
		replay, err := src.replay(d)
		if err != nil {
			return nil, fmt.Errorf("align: snapshot %q: %w", src.opts.SnapshotName, err)
		}
		time := reportTime(src, a, u)
		best, key := &tensor.Match{Replay: replay}, trackKey{}
		for i, t := range u.tracks {
			if m := tensor.Compare(replay, newDriverBlocks(src, a, r, t), time); i == 0 || m.Clock.Matched > best.Clock.Matched {
				best, key = m, t.trackKey
			}
		}
		if !best.Good() {
			why = append(why, best.Why())
			continue
		}
		out[key] = sweepSnapshot(best, newTimeline(a, r, key.proc), r, time)
	}
	if len(out) > 0 {
		return out, nil
	}
	if len(why) == 0 {
		why = []string{"it has no device"}
	}
	return nil, fmt.Errorf("align: snapshot %q: it is of another run, device or process (%s): give the snapshot of the run that was profiled",
		src.opts.SnapshotName, strings.Join(why, "; "))
}

// reportTime is when the report was recorded, going by its memory events, ranges and calls.
func reportTime(src *source, a *alignment, u *uses) tensor.ReportTime {
	return tensorTime(src, u.memoryTime, a.time)
}

func tensorTime(src *source, memory, program stretch) tensor.ReportTime {
	out := tensor.ReportTime{UTC: src.db.Meta().StartUTC, First: memory.first, Last: max(memory.last, program.last)}
	if program.any {
		out.First = min(out.First, program.first)
	}
	return out
}

// sweepSnapshot makes the levels allocated and reserved of the device of a snapshot.
func sweepSnapshot(m *tensor.Match, tl *timeline, r *rows, time tensor.ReportTime) *joinedDevice {
	shift := time.UTC + m.Clock.Offset
	level := func(kind LevelKind, start int64) *levelSweep {
		l := newLevelSweep(kind, r, tl.proc, nil, time.First)
		l.begin(start)
		return l
	}
	out := &joinedDevice{m, level(LevelAllocated, m.Replay.StartAllocated), level(LevelReserved, m.Replay.StartReserved)}
	for i := range m.Replay.Steps {
		s := &m.Replay.Steps[i]
		out.allocated.change(s.Time-shift, s.Allocated-out.allocated.level)
		out.reserved.change(s.Time-shift, s.Reserved-out.reserved.level)
	}
	for i := range m.Replay.Blocks {
		b := &m.Replay.Blocks[i]
		out.allocated.attribute(tl, b.Birth, b.Death, b.Counted, shift)
	}
	for i := range m.Replay.Failures {
		out.allocated.out.FailedAllocs++
		out.allocated.row(placeOf(tl.in.at(m.Replay.Failures[i].Time-shift), waySame)).failed++
	}
	for i := range m.Replay.Segments {
		s := &m.Replay.Segments[i]
		out.reserved.attribute(tl, s.Birth, s.Death, s.Size, shift)
	}
	out.allocated.finish()
	out.reserved.finish()
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

// levels are those of a track: of the driver's events and, where a device of the snapshot belongs to it, of that.
func (s snapshot) levels(t *trackUse) map[LevelKind]*levelSweep {
	d := s[t.trackKey]
	if d == nil {
		return t.memory.levels
	}
	out := maps.Clone(t.memory.levels)
	out[LevelAllocated], out[LevelReserved] = d.allocated, d.reserved
	return out
}
