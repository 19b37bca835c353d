package align

import (
	"maps"

	"nsysmem/align/tensor"
	"nsysmem/torchmem"
)

// A joinedDevice is the device of a snapshot that belongs to a track, with the levels that it tells.
type joinedDevice struct {
	of                  *Snapshot
	match               *tensor.Match
	allocated, reserved *levelSweep
	graphs              *levelSweep // nil where there is no private pool
}

// A joined is the devices of snapshots, by the track that each belongs to.
type joined struct {
	devices map[trackKey]*joinedDevice
	doubts  []Warning // about snapshots that are not used
}

// joinSnapshots finds the track that each device of the snapshots belongs to, and sweeps its levels past the rows there.
// Snapshots that must be of the report and are not are refused.
func joinSnapshots(src *source, a *alignment, r *rows, u *uses) (*joined, error) {
	var tracks []laidTrack
	for _, t := range u.tracks {
		tracks = append(tracks, laidTrack{t.trackKey, newDriverBlocks(src, a, r, t)})
	}
	time := reportTime(src, a, u)
	layout := src.lay(tracks, time)
	if err := layout.refused(); err != nil {
		return nil, err
	}
	out := &joined{devices: make(map[trackKey]*joinedDevice), doubts: layout.doubts()}
	for key, l := range layout.of {
		out.devices[key] = sweepSnapshot(l, newTimeline(a, r, key.proc), r, time)
	}
	return out, nil
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

// sweepSnapshot makes the levels allocated and reserved of the device of a snapshot, and that of its private pools.
func sweepSnapshot(of *laid, tl *timeline, r *rows, time tensor.ReportTime) *joinedDevice {
	m := of.match
	shift := time.UTC + m.Clock.Offset
	level := func(kind LevelKind, start int64) *levelSweep {
		l := newLevelSweep(kind, r, tl.proc, nil, time.First)
		l.begin(start)
		return l
	}
	out := &joinedDevice{of: of.snapshot, match: m,
		allocated: level(LevelAllocated, m.Replay.StartAllocated), reserved: level(LevelReserved, m.Replay.StartReserved)}
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
	if free := m.Replay.PrivateFree(); len(free) > 0 {
		out.graphs = level(LevelGraphs, free[0].Free)
		for _, s := range free[1:] {
			out.graphs.change(s.Time-shift, s.Free-out.graphs.level)
		}
		for _, p := range m.Replay.PrivateSegments() {
			out.graphs.attribute(tl, p.Birth, torchmem.Never, p.Size, shift)
		}
		out.graphs.finish()
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

// levels are those of a track: of the driver's events and, where a device of a snapshot belongs to it, of that.
func (j *joined) levels(t *trackUse) map[LevelKind]*levelSweep {
	d := j.device(t.trackKey)
	if d == nil {
		return t.memory.levels
	}
	out := maps.Clone(t.memory.levels)
	out[LevelAllocated], out[LevelReserved] = d.allocated, d.reserved
	if d.graphs != nil {
		out[LevelGraphs] = d.graphs
	}
	return out
}

// device is what belongs to a track; nil for nothing.
func (j *joined) device(key trackKey) *joinedDevice {
	if j == nil {
		return nil
	}
	return j.devices[key]
}
