package align

// A LevelKind is a kind of traced memory, or of what a caching allocator makes of it. Other values than these are
// "kind N": memory whose number the export does not name.
type LevelKind string

// The kinds. Levels of different kinds are never added up.
const (
	LevelDevice    LevelKind = "device"      // device, array and device-static memory
	LevelAllocated LevelKind = "allocated"   // of a snapshot: what tensors hold
	LevelReserved  LevelKind = "reserved"    // of a snapshot: what the caching allocator holds
	LevelGraphs    LevelKind = "graph pools" // of a snapshot: of reserved, what lies free in private pools, which CUDA graphs write to when they are replayed
	LevelManaged   LevelKind = "managed"     // managed and managed-static memory
	LevelPinned    LevelKind = "pinned"
	LevelPageable  LevelKind = "pageable"
	LevelUnknown   LevelKind = "unknown" // the export does not know either

	LevelPoolSize LevelKind = "pool size" // of curves only: the size of the memory pools
	LevelPoolUsed LevelKind = "pool used" // of curves only: their used part
	LevelHeld     LevelKind = "held"      // of curves only, in place of LevelGraphs: that on top of LevelAllocated
)

// FromSnapshot says that a caching allocator's snapshot tells the level, not the driver's events.
func (k LevelKind) FromSnapshot() bool {
	return k == LevelAllocated || k == LevelReserved || k == LevelGraphs
}

// An Origin says how iterations were found.
type Origin string

// The origins.
const (
	OriginRanges  Origin = "nvtx"    // a family of ranges that repeats
	OriginPattern Origin = "pattern" // the ranges that Options.Iteration asks for
	OriginKernels Origin = "kernels" // inferred from the GPU work
	OriginNone    Origin = "none"    // there are none
)

// A Where says on which side of the iterations a sum lies.
type Where string

// The sides.
const (
	InIteration Where = "iteration" // in a phase, or in what no phase covers
	InRange     Where = "range"     // in a range outside of any iteration
	InNone      Where = "none"      // in no range
)
