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

// Gaps are, at the end of a row, the bytes in the allocator's cache that no tensor uses (reserved less allocated), and the
// bytes on the device that the allocator does not hold (traced less reserved; static memory is in them). ok is false where
// the row lacks a level.
func (u *Use) Gaps() (unused, outside int64, ok bool) {
	a, r := u.Level(LevelAllocated), u.Level(LevelReserved)
	if a == nil || r == nil {
		return 0, 0, false
	}
	return r.End - a.End, u.Memory.End - r.End, true
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
