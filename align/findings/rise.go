package findings

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

const (
	// trifle is the share of a peak below which a change of a level is noise: allocators round, and libraries take a few
	// KiB now and then. It is 1 in 10,000, 8 MiB on a card of 80 GiB.
	trifle = 10000

	// leastRise is how many iterations a rise takes at least: two make no trend.
	leastRise = 3

	// thirdShare is the part of a rise that each third of its time must add, 1 in 30: a tenth of an even share. A rise
	// that is a single step, or that came to an end, has a third that adds nothing or next to it.
	thirdShare = 30

	// pauseShare is the part of its time for which a rise may pause, 1 in 4: a list that grows in every tenth iteration
	// does, and a cache that met two larger sizes in a run has longer ones.
	pauseShare = 4
)

// A rise is how a level grows over the steady iterations.
type rise struct {
	first, since, last *align.Iteration // since is the first that adds something which stays
	grown              int64            // bytes; end of the last less start of the first
	median             int64            // bytes an iteration
	steady             int              // iterations that it was measured over
}

// A levelRow is a level at the end of each steady iteration.
type levelRow struct {
	its    []*align.Iteration
	levels []int64 // bytes; one more than its: the first is the level at the start of the first iteration
}

// riseOf measures a level over the steady iterations; use gives it, nil where an iteration does not have it.
//
//  1. What counts is what stays: the lowest level from a time on to the end. A level that falls back later has not grown
//     by what it gave up.
//  2. A level that gave up more than half of what it gained is a saw-tooth, as a garbage collector or a pool that is
//     emptied makes one: the last tooth may only wait for its fall, and is left out.
//  3. From the first iteration that adds something that stays, each third of the iterations must add its part, and no
//     long pause be among them. One step does not, be it the first iteration's or that of a last one cut short, nor does
//     growth that ended.
//  4. All of it must be more than a trifle of the level's peak.
func riseOf(t *align.Track, peak int64, use func(*align.Iteration) *align.MemoryUse) (r rise, grows bool) {
	row := steadyLevels(t, use)
	row.cutTooth()
	n := len(row.its)
	if n < leastRise {
		return r, false
	}
	r.first, r.last, r.steady = row.its[0], row.its[n-1], n
	r.grown = row.levels[n] - row.levels[0]
	adds := make([]int64, n)
	for i := range adds {
		adds[i] = row.levels[i+1] - row.levels[i]
	}
	slices.Sort(adds)
	r.median = adds[(n-1)/2]
	stays := row.stays()
	since := begin(stays)
	if r.grown <= peak/trifle || !steadily(stays[since:], peak/trifle) {
		return r, false
	}
	r.since = row.its[since]
	return r, true
}

// steadyLevels lists a level over the steady iterations that have it.
func steadyLevels(t *align.Track, use func(*align.Iteration) *align.MemoryUse) levelRow {
	var row levelRow
	for i := range t.Iterations {
		it := &t.Iterations[i]
		u := use(it)
		if !it.Steady() || u == nil {
			continue
		}
		if row.its == nil {
			row.levels = append(row.levels, u.Start)
		}
		row.its, row.levels = append(row.its, it), append(row.levels, u.End)
	}
	return row
}

// cutTooth leaves out what follows the last fall of a level that gave up more than half of what it gained from its first
// to its last iteration. A step down within a tooth is no fall, but what is half as deep as the deepest.
func (r *levelRow) cutTooth() {
	if len(r.its) == 0 {
		return
	}
	high, deepest := r.levels[0], int64(0)
	for _, l := range r.levels {
		high, deepest = max(high, l), max(deepest, high-l)
	}
	if grown := r.levels[len(r.its)] - r.levels[0]; 2*deepest <= grown {
		return
	}
	end, falls, high, low := len(r.its), false, r.levels[0], int64(0)
	for i, l := range r.levels {
		switch {
		case !falls && high-l > deepest/2:
			falls, low, end = true, l, i
		case !falls:
			high = max(high, l)
		case l <= low: // the floor it lies on counts too
			low, end = l, i
		case l-low > deepest/2:
			falls, high = false, l
		}
	}
	r.its, r.levels = r.its[:end], r.levels[:end+1]
}

// stays is at each place the lowest level from there to the end: what is not given back.
func (r *levelRow) stays() []int64 {
	out := slices.Clone(r.levels)
	for i := len(out) - 2; i >= 0; i-- {
		out[i] = min(out[i], out[i+1])
	}
	return out
}

// begin is the place from which on what stays grows: the first hundredth of the rise is passed over, as far as a pause
// parts it from the rest.
func begin(stays []int64) int {
	n := len(stays) - 1
	p := n
	for p > 0 && tells(stays[p]-stays[0], stays[n]-stays[0]) {
		p--
	}
	for p > 0 && stays[p] > stays[p-1] {
		p--
	}
	return p
}

// steadily says that what stays, a level that never falls, rises in each third of its time by its part of the whole, by
// more than noise, and without long pauses. The largest step is no part of that whole, as it may be a warm-up that came late.
func steadily(stays []int64, noise int64) bool {
	n := len(stays) - 1
	if n < leastRise {
		return false
	}
	whole, largest, pause, longest := stays[n]-stays[0], int64(0), 0, 0
	for i := range n {
		add := stays[i+1] - stays[i]
		largest, pause = max(largest, add), pause+1
		if add > 0 {
			pause = 0
		}
		longest = max(longest, pause)
	}
	if whole-largest <= noise || longest > (n+pauseShare/2)/pauseShare {
		return false
	}
	for k := range 3 {
		if add := stays[n*(k+1)/3] - stays[n*k/3]; add <= 0 || add < (whole-largest)/thirdShare {
			return false
		}
	}
	return true
}

// text says by how much something grows; lead is its name and the verb. Where most iterations add nothing, as where a list
// grows now and then, the median says nothing.
func (r *rise) text(lead string) string {
	each, typical := r.median, "at the median"
	if each <= 0 {
		each, typical = r.grown/int64(r.steady), "on average"
	}
	return fmt.Sprintf("%s by %s from %s to %s, %s an iteration %s",
		lead, wording.Bytes(r.grown), r.since.Name, r.last.Name, wording.Bytes(each), typical)
}

// tells says that a part of a rise is worth a word: more than a hundredth of it.
func tells(part, whole int64) bool { return part > whole/100 }
