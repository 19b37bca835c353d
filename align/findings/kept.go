package findings

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// Kept is the figures behind tensors that stay from one iteration to the next.
type Kept struct {
	Grown      int64  `json:"grown_bytes"`  // bytes; all that the allocated level rises by
	Median     int64  `json:"median_bytes"` // bytes an iteration
	Since      int    `json:"since"`        // index of the first iteration that adds something
	Phase      string `json:"phase"`        // in which most of what stays was born; empty for none
	Frame      string `json:"frame"`        // line of the program that asked for it; empty where unknown
	Blocks     int    `json:"blocks"`       // of that phase and line
	PhaseBytes int64  `json:"phase_bytes"`  // bytes of those

	rise rise
}

// keptOf finds tensors that stay; nil where there are none, and without a snapshot. Under a caching allocator the
// driver's level may be flat all the while.
//
//  1. The allocated level must rise over the steady iterations.
//  2. The blocks that are live after them and were not before must make up half of the rise at least: tensors that
//     merely get larger, with the length of a sequence say, are no leak.
func keptOf(t *align.Track) *Kept {
	ten := snapshotOf(t)
	if ten == nil {
		return nil
	}
	allocated := func(it *align.Iteration) *align.MemoryUse { return it.Level(align.LevelAllocated) }
	r, grows := riseOf(t, peakOf(t, align.LevelAllocated), allocated)
	if !grows {
		return nil
	}
	sum := int64(0)
	for _, x := range ten.Stayed {
		sum += x.Bytes
	}
	if 2*sum < r.grown {
		return nil
	}
	most := &ten.Stayed[0]
	return &Kept{Grown: r.grown, Median: r.median, Since: r.since.Index, Phase: most.Phase, Frame: most.Frame,
		Blocks: most.Blocks, PhaseBytes: most.Bytes, rise: r}
}

// growthAllocated tells of tensors that stay from one iteration to the next.
func growthAllocated(s *subject) []Finding {
	k := s.kept
	if k == nil {
		return nil
	}
	text := k.rise.text("tensors grow")
	if k.Phase != "" {
		text += ", most of it born in " + k.Phase
	}
	if k.Frame != "" {
		text += " at " + k.Frame
	}
	text += fmt.Sprintf(" (%s, %s)", wording.Plural(k.Blocks, "block"), wording.Bytes(k.PhaseBytes))
	return []Finding{{Severity: Warn, Text: text, Evidence: *k,
		Advice: "something keeps these tensors from one iteration to the next, such as a list of losses or outputs: keep loss.item() or a detached copy on the CPU instead; " +
			keptFilter(s.Tensors.Blocks, k.Phase, k.Frame)}}
}

// keptFilter says how to find kept blocks in the workbook. An end does not tell them: a list goes when the loop is
// over.
func keptFilter(blocks []tensor.Block, phase, frame string) string {
	n, bytes, unknown := 0, int64(0), 0
	for i := range blocks {
		if b := &blocks[i]; b.Phase == phase && b.Frame == frame && b.Lifetime > 1 {
			n, bytes = n+1, bytes+b.Bytes
			if b.Category == "unknown" {
				unknown++
			}
		}
	}
	born, at := "in no phase", frame
	if phase != "" {
		born = "in phase " + phase
	}
	if frame == "" {
		at = tensor.NoFrame
	}
	s := fmt.Sprintf("in the sheet Tensors, filter for a Lifetime of more than 1 iteration, born %s, Frame %s: %s of %s together, those of the last iterations not among them",
		born, at, wording.Plural(n, "block"), wording.Bytes(bytes))
	if 2*unknown > n {
		s += "; their category is unknown, as is that of whatever is kept from one iteration to the next and is neither parameter, gradient nor optimizer state"
	}
	return s
}
