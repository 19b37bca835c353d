package findings

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// FailedAllocs is the figures behind allocations that failed.
type FailedAllocs struct {
	Count int   `json:"count"`
	Last  int64 `json:"last_ns"` // ns on the report's clock
}

// failedAllocs tells of calls to allocate memory that returned an error.
func failedAllocs(s *subject) []Finding {
	n := len(s.Failed)
	if n == 0 {
		return nil
	}
	last := &s.Failed[n-1]
	text := fmt.Sprintf("%d allocations failed", n)
	if last.Iteration >= 0 {
		text += fmt.Sprintf(", the last in %s, %s", s.Iterations[last.Iteration].Name, last.Phase)
	}
	return []Finding{{Severity: Error, Text: text, Evidence: FailedAllocs{n, last.Time},
		Advice: failedCause(s.Track) + "; a report does not hold the sizes that were asked for, a PyTorch memory snapshot does"}}
}

// failedCause says why allocations failed, as far as the errors and the level tell.
func failedCause(t *align.Track) string {
	if !slices.ContainsFunc(t.Failed, func(f align.FailedAlloc) bool { return f.OutOfMemory() }) {
		return "look up the returned errors: none of them says that memory ran out"
	}
	// With the CUDA context and rounding, a process fills a card without that much of it being traced; less than half
	// of the card is somebody else's doing.
	if peak := t.Total.Memory.Peak; t.DeviceTotal > 0 && peak < t.DeviceTotal/2 {
		return fmt.Sprintf("the process had traced %s at most on a card of %s: another process, or a limit set for this one, held the rest",
			wording.Bytes(peak), wording.Bytes(t.DeviceTotal))
	}
	return "the card was full for the process at that time: look at what was live at the peak"
}
