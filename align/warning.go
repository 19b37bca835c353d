package align

import (
	"slices"

	"nsysmem/nsysdb"
)

// A Warning is a doubt about the figures that no other field of the report tells. Package findings puts it into words,
// as it does what the other fields tell.
type Warning struct {
	Code    Code
	PID     int64  // process that it concerns; 0 for the whole report
	Device  int64  // of Aside and SnapshotRival, the track's device; else 0
	Count   int64  // how many; 0 where there is nothing to count
	Numbers []int  // of IterationGap, those that are missing; of Disagreement, how many the ranges tell
	Pattern string // of IterationGap and Disagreement, the names of the iterations with digits as "#", or the regular expression

	// Of SnapshotRival and SnapshotLeftOut, Name is the snapshot that is not used.
	Other string // of SnapshotRival, the one that is used in its place
	Why   string // of SnapshotLeftOut

	// Of TraceEnded:
	Events []Events // the kinds that ended
	Time   int64    // ns; the last of them
	Name   string   // of the iteration in which they ended; empty before the first. Of KernelsLost, the first one
}

// counted are the warnings that count something.
func counted(doubts ...Warning) []Warning {
	return slices.DeleteFunc(doubts, func(w Warning) bool { return w.Count <= 0 })
}

// A Code says what kind of doubt a warning is. It is stable: scripts know warnings by it.
type Code string

// The codes, with what Count counts.
const (
	UnknownEvents   Code = "unknown_events"      // memory events that are neither allocation nor free, and do not count
	DamagedEvents   Code = "damaged_events"      // memory events without a usable size, which do not count
	MemoryColumns   Code = "memory_columns"      // nothing: the memory table lacks a column without which no event counts
	DamagedRanges   Code = "damaged_ranges"      // ranges that end at 0 or before their start; they count as never closed
	OpenRanges      Code = "open_ranges"         // other ranges that were never closed
	ClippedRanges   Code = "range_clipped"       // ranges of one process that outlast their iteration
	Disagreement    Code = "iterations_disagree" // iterations that the GPU work tells, where those by ranges are others
	IterationGap    Code = "iteration_gap"       // nothing: Numbers are missing from the sequence
	Aside           Code = "aside"               // kernels launched in libraries' ranges on other threads, of a track with iterations
	TraceEnded      Code = "trace_ended"         // iterations of one process after its events ended, whose figures are unknown
	KernelsLost     Code = "kernels_lost"        // iterations of one process from which kernels are missing although later ones have theirs
	MemoryLost      Code = "memory_lost"         // allocations of one process that has no memory event, where others have theirs
	SnapshotRival   Code = "snapshot_rival"      // nothing: two snapshots are of one track, and one is used
	SnapshotLeftOut Code = "snapshot_left_out"   // nothing: a snapshot is of no track
)

// A Recording says how the recording itself went: what was recorded and what was not, beyond Collected.
type Recording struct {
	File         []nsysdb.Warning // doubts about the file
	Diagnostics  []Diagnostic     // what the profiler said: warnings and worse
	MemoryEvents int64            // memory events that can be read
	MemoryKinds  bool             // they say of which kind the memory is
	Launches     int64            // API calls that launch work on the GPU
	WholeGraphs  bool             // CUDA graphs were traced as one, without their kernels
	Unseen       []Unseen         // processes with virtual memory in no event
}

// Unseen is a process that asks for virtual memory, of which its memory events show nothing.
type Unseen struct {
	PID   int64
	Calls int64 // cuMemCreate and alike; never 0
}
