package findings

import (
	"fmt"

	"nsysmem/align"
)

// Truncated says which iteration is cut off.
type Truncated struct {
	Iteration int `json:"iteration"` // its index
}

// truncated tells of iterations that are cut off. Of those from which everything is missing a warning tells.
func truncated(s *subject) []Finding {
	var out []Finding
	for i := range s.Iterations {
		if it := &s.Iterations[i]; it.Truncated && it.Lost == (align.Lost{}) {
			out = append(out, Finding{Severity: Warn, Evidence: Truncated{it.Index},
				Text: fmt.Sprintf("%s is cut off and left out of medians", it.Name)})
		}
	}
	return out
}
