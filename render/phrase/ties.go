package phrase

import (
	"fmt"
	"strings"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// mostTies is how many iterations a sentence on ties names, so that it stays within two lines of a terminal.
const mostTies = 3

// Ties says which phases tie with those that a table marks as the ones that made the peak of a level, for some iterations of
// a track by their places; empty where there is no tie.
func Ties(t *align.Track, places []int, kind align.LevelKind) string {
	var parts []string
	n := 0
	for _, i := range places {
		it := t.IterationAt(i)
		if it == nil || it.Lost.Memory && !kind.FromSnapshot() {
			continue
		}
		by := it.PeakBy(kind)
		if len(by.Ties) == 0 {
			continue
		}
		if n++; n <= mostTies {
			parts = append(parts, fmt.Sprintf("%s with %s", it.Name, strings.Join(by.Ties, ", ")))
		}
	}
	if n > mostTies {
		parts = append(parts, wording.Count(n-mostTies)+" more")
	}
	if n == 0 {
		return ""
	}
	return "(≈ marks a tie, of peaks within 1 %: " + strings.Join(parts, "; ") + ")"
}
