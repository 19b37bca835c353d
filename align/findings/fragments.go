package findings

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// Fragments is the figures behind free memory of the allocator's cache that did not serve.
type Fragments struct {
	Failed        int   `json:"failed"`               // requests that failed although as much was free
	Misfits       int   `json:"misfits"`              // segments that were added although as much was free
	SteadyMisfits int   `json:"steady_misfits"`       // of Misfits, those in steady iterations
	Segments      int   `json:"segments"`             // segments that were added in all
	AllocatedPeak int64 `json:"allocated_peak_bytes"` // bytes
	ReservedPeak  int64 `json:"reserved_peak_bytes"`  // bytes

	// Of the last request that failed, else of the segment added with most to spare:
	Request     int64 `json:"request_bytes"`      // bytes asked for
	Free        int64 `json:"free_bytes"`         // bytes free in the cache
	LargestFree int64 `json:"largest_free_bytes"` // bytes of the largest block that it could have had
	At          int64 `json:"at_ns"`              // ns on the report's clock

	worst *tensor.Cache
}

// wasteShare is the part of the reserved peak over the allocated one from which on misfits are worth a finding, 1 in 4.
// Every cache rounds up and keeps small and large blocks apart: below that, other settings have little to gain.
const wasteShare = 4

// fragmentsOf finds free bytes that did not help: at requests that failed, and at segments that were added although as
// much was free. It is nil where the cache served well, and without a snapshot.
func fragmentsOf(t *align.Track) *Fragments {
	ten := snapshotOf(t)
	if ten == nil {
		return nil
	}
	e := &Fragments{Segments: len(ten.Growth),
		AllocatedPeak: peakOf(t, align.LevelAllocated), ReservedPeak: peakOf(t, align.LevelReserved)}
	for i := range ten.Growth {
		c := &ten.Growth[i]
		if !c.Misfit() {
			continue
		}
		e.Misfits++
		if c.Iteration >= 0 && t.Iterations[c.Iteration].Steady() {
			e.SteadyMisfits++
		}
		if e.worst == nil || c.Free-c.Request > e.worst.Free-e.worst.Request {
			e.worst = c
		}
	}
	for i := range ten.Failures {
		if c := ten.Failures[i].Cache; c != nil && c.Misfit() {
			e.Failed++
			e.worst = c
		}
	}
	// Private pools of CUDA graphs are no cache: other requests may not have their memory.
	cache := e.ReservedPeak - e.AllocatedPeak - peakOf(t, align.LevelGraphs)
	wasteful := e.ReservedPeak > 0 && wasteShare*cache >= e.ReservedPeak
	if e.Failed == 0 && (e.Misfits == 0 || !wasteful) {
		return nil
	}
	c := e.worst
	e.Request, e.Free, e.LargestFree, e.At = c.Request, c.Free, c.LargestFree, c.Time
	return e
}

// fragmentation tells of a cache in pieces.
func fragmentation(s *subject) []Finding {
	e := s.pieces
	if e == nil {
		return nil
	}
	f := Finding{Evidence: *e,
		Advice: "nsysmem whatif tries other settings of the allocator on this snapshot; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True is the first to try"}
	gap := fmt.Sprintf("%s asked for in %s, %s free, largest free block %s",
		wording.Bytes(e.Request), spot(s.Track, e.worst.Iteration, e.worst.Phase),
		wording.Bytes(e.Free), wording.Bytes(e.LargestFree))
	switch {
	case e.Failed > 0:
		f.Severity = Error
		f.Text = fmt.Sprintf("%d requests failed though as many bytes lay free in the cache, the last one: %s", e.Failed, gap)
		return []Finding{f}
	case e.SteadyMisfits > 0:
		f.Severity = Warn
	default: // a cache that grows only while it warms up does so once
		f.Severity = Info
	}
	f.Text = fmt.Sprintf("the cache is fragmented: %s reserved at its peak where tensors need %s at theirs, and %d of %d segments were added though as many bytes as asked for lay free, %d of them in steady iterations; the widest gap: %s",
		wording.Bytes(e.ReservedPeak), wording.Bytes(e.AllocatedPeak), e.Misfits, e.Segments, e.SteadyMisfits, gap)
	return []Finding{f}
}

// spot names an iteration and a phase in a sentence.
func spot(t *align.Track, iteration int, phase string) string {
	switch known := iteration >= 0 && iteration < len(t.Iterations); {
	case known && phase != "":
		return t.Iterations[iteration].Name + ", " + phase
	case known:
		return t.Iterations[iteration].Name
	case phase != "":
		return phase
	}
	return "no range"
}
