package plot

import (
	"cmp"
	"fmt"
	"slices"

	"nsysmem/align"
)

// trifle is the part of a level's peak, one in so many, below which a change of one iteration is not worth its name.
const trifle = 1000

// pickSteady chooses the iteration to enlarge: a typical one where any is steady, else the last whole one, else the last.
func (v *view) pickSteady() {
	var steady []int
	for i, it := range v.its {
		if it.Steady() {
			steady = append(steady, i)
		}
	}
	switch n := len(v.its); {
	case len(steady) > 0:
		v.big = v.typical(steady)
		v.bigWhy = fmt.Sprintf("typical of %d steady", len(steady))
		if len(steady) == 1 {
			v.bigWhy = "the only steady one"
		}
		if n == 1 {
			v.bigWhy = "the one shown"
		}
	case n > 0:
		v.big, v.bigWhy = n-1, "none is whole; the last"
		for i, it := range v.its {
			if !v.lost(it) && v.lost(v.its[n-1]) {
				v.big, v.bigWhy = i, "none is whole; the last that was recorded"
			}
		}
		for i, it := range v.its {
			if !it.Truncated {
				v.big, v.bigWhy = i, "none is steady; the last whole one"
			}
		}
	}
}

// typical is, of some places in its, that of the iteration to show for all of them.
//
//  1. Those that keep what most do: one that keeps more than the others is no example.
//  2. Of these the one whose need is the median, and of those that need as much, the one whose time is; the earlier of two
//     in the middle.
func (v *view) typical(places []int) int {
	use := func(i int) *align.MemoryUse { return v.use(&v.its[i].Use) }
	var nets []int64
	for _, i := range places {
		nets = append(nets, use(i).Net)
	}
	usual := lowerMedian(nets)
	alike := slices.DeleteFunc(slices.Clone(places), func(i int) bool {
		d := use(i).Net - usual
		return max(d, -d) > use(i).Peak/trifle
	})
	middle := func() int { return alike[(len(alike)-1)/2] }
	slices.SortStableFunc(alike, func(a, b int) int { return cmp.Compare(use(a).Need, use(b).Need) })
	median := use(middle()).Need
	alike = slices.DeleteFunc(alike, func(i int) bool { return use(i).Need != median })
	slices.SortStableFunc(alike, func(a, b int) int {
		x, y := v.its[a], v.its[b]
		return cmp.Compare(x.End-x.Start, y.End-y.Start)
	})
	return middle()
}

// lowerMedian is the median of v, of an even number the lower of the middle two.
func lowerMedian(v []int64) int64 {
	s := slices.Sorted(slices.Values(v))
	return s[(len(s)-1)/2]
}
