package align

// Level is a row's use of the level of a kind; nil where the row has none. The device level is always there where memory
// was collected.
func (u *Use) Level(kind LevelKind) *MemoryUse {
	if kind == LevelDevice {
		return &u.Memory
	}
	for i := range u.Other {
		if u.Other[i].Level == kind {
			return &u.Other[i].MemoryUse
		}
	}
	return nil
}

// Gaps are what lies between the levels at the end of a row. Allocated and they add up to the device level.
type Gaps struct {
	Unused  int64 // bytes in the allocator's cache that no tensor uses and any may have
	Graphs  int64 // bytes that lie free in private pools of CUDA graphs: only their replays use them
	Outside int64 // bytes on the device that the allocator does not hold; static memory is in them
}

// Gaps are those of a row. ok is false where it lacks a level.
func (u *Use) Gaps() (g Gaps, ok bool) {
	a, r := u.Level(LevelAllocated), u.Level(LevelReserved)
	if a == nil || r == nil {
		return Gaps{}, false
	}
	if p := u.Level(LevelGraphs); p != nil {
		g.Graphs = p.End
	}
	g.Unused, g.Outside = r.End-a.End-g.Graphs, u.Memory.End-r.End
	return g, true
}

// IterationAt is the iteration at a place of the track; nil for -1 and whatever else is no place.
func (t *Track) IterationAt(place int) *Iteration {
	if place < 0 || place >= len(t.Iterations) {
		return nil
	}
	return &t.Iterations[place]
}

// HasTensorLevels says that a track has the levels allocated and reserved, which come from a snapshot.
func (t *Track) HasTensorLevels() bool {
	return t.Level(LevelAllocated) != nil && t.Level(LevelReserved) != nil
}

// Inferred says that the iterations were found in the GPU work alone.
func (f IterationsFrom) Inferred() bool { return f.How == OriginKernels }

// LevelOf is the level of a kind among several; nil where none is of it.
func LevelOf(levels []Level, kind LevelKind) *Level {
	for i := range levels {
		if levels[i].Kind == kind {
			return &levels[i]
		}
	}
	return nil
}

// Level is the track's level of a kind; nil where it has no events.
func (t *Track) Level(kind LevelKind) *Level { return LevelOf(t.Levels, kind) }
