package findings

import (
	"cmp"
	"fmt"
	"strings"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// Growth is the figures behind a device level that rises over the steady iterations.
type Growth struct {
	Grown      int64  `json:"grown_bytes"`  // bytes; all of the rise
	Median     int64  `json:"median_bytes"` // bytes an iteration
	Since      int    `json:"since"`        // index of the first iteration that adds something
	Phase      string `json:"phase"`        // in which most of what stays was born; empty where unknown
	PhaseBytes int64  `json:"phase_bytes"`  // bytes of that; 0 where unknown
	*Parts            // what the rise is made of; nil without a snapshot
}

// growthPhases is how many phases the text names in which blocks were born that stay. A fourth rarely matters, and a
// caption has no room for it.
const growthPhases = 3

// growth tells of a device level that rises over the steady iterations, in which phases the blocks were born that stay,
// and, with a snapshot, how much of it tensors need.
func growth(s *subject) []Finding {
	r, grows := riseOf(s.Track, s.Total.Memory.Peak, func(it *align.Iteration) *align.MemoryUse { return &it.Memory })
	if !grows {
		return nil
	}
	e := Growth{Grown: r.grown, Median: r.median, Since: r.since.Index}
	text := r.text("the device level grows")
	if most := s.Stayed; len(most) > 0 && most[0].Phase != "" {
		e.Phase, e.PhaseBytes = most[0].Phase, most[0].Bytes
		for i, x := range most[:min(len(most), growthPhases)] {
			lead := ", %s in %s"
			if i == 0 {
				lead = ": %s in blocks born in %s"
			}
			text += fmt.Sprintf(lead, wording.Bytes(x.Bytes), cmp.Or(x.Phase, "no range"))
		}
	}
	if p := partsOf(s.Track, &r); p != nil {
		e.Parts = &p.Parts
		text += p.text(&r)
	}
	return []Finding{{Severity: Warn, Text: text, Advice: growthAdvice(s, &e), Evidence: e}}
}

// growthAdvice says what to do about a device level that grows. It speaks of other findings on the track only where
// there are such.
func growthAdvice(s *subject, e *Growth) string {
	if s.snapshot() == nil {
		where := ""
		if e.Phase != "" {
			where = ", Phase " + e.Phase
		}
		return "in the sheet Allocations, filter for these iterations" + where + " and look for blocks that are freed in no or a later iteration; " +
			"with a caching allocator, a PyTorch memory snapshot tells growth of tensors from fragmentation"
	}
	var parts []string
	switch {
	case s.kept != nil:
		parts = append(parts, "tensors are kept from one iteration to the next: the finding on them says which")
	case e.Parts != nil && e.Need > 0:
		parts = append(parts, "look for what gets larger from step to step, such as images or sequences: the peak of the largest is what the card must hold")
	}
	switch {
	case s.pieces != nil:
		parts = append(parts, "the finding on the cache says what lies in pieces and which settings to try")
	case e.Parts != nil && e.Cache > 0:
		parts = append(parts, "nsysmem whatif says what the cache would hold under other settings")
	}
	if e.Parts != nil && tells(e.Outside, e.Grown) {
		parts = append(parts, "the table Memory outside PyTorch says which calls took that part")
	}
	return strings.Join(parts, "; ")
}
