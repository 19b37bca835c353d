package findings

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// trifle is the share of a peak below which a change of a level is noise: allocators round, and libraries take a few
// KiB now and then. It is 1 in 10,000, 8 MiB on a card of 80 GiB.
const trifle = 10000

// A rise is how a level grows over the steady iterations.
type rise struct {
	first, since, last *align.Iteration // since is the first that adds something
	grown              int64            // bytes; end of the last less start of the first
	median             int64            // bytes an iteration
}

// riseOf measures a level over the steady iterations; use gives it, nil where an iteration does not have it. It grows
// where more than half of them add something, what lies between two iterations counting for the later one, and where
// all of it is more than a trifle of the level's peak.
func riseOf(t *align.Track, peak int64, use func(*align.Iteration) *align.MemoryUse) (r rise, grows bool) {
	n, rises, end := 0, 0, int64(0)
	var adds []int64
	for i := range t.Iterations {
		it := &t.Iterations[i]
		u := use(it)
		if !it.Steady() || u == nil {
			continue
		}
		if n == 0 {
			r.first, end = it, u.Start
		}
		add := u.End - end
		if add > 0 {
			rises++
			if r.since == nil {
				r.since = it
			}
		}
		adds = append(adds, add)
		r.last, end, n = it, u.End, n+1
	}
	if n < 3 || rises*2 <= n { // two iterations make no trend
		return r, false
	}
	slices.Sort(adds)
	r.grown, r.median = end-use(r.first).Start, adds[(len(adds)-1)/2]
	return r, r.grown > peak/trifle
}

// text says by how much something grows; lead is its name and the verb.
func (r *rise) text(lead string) string {
	return fmt.Sprintf("%s by %s from %s to %s, %s an iteration at the median",
		lead, wording.Bytes(r.grown), r.since.Name, r.last.Name, wording.Bytes(r.median))
}

// tells says that a part of a rise is worth a word: more than a hundredth of it.
func tells(part, whole int64) bool { return part > whole/100 }
