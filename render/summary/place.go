package summary

import (
	"fmt"
	"slices"
	"sort"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// thinned are the places of those rows of a long list that are shown, rising.
type thinned []int

// choose shows those of n rows that are to be kept.
func choose(n int, keep func(i int) bool) thinned {
	return slices.DeleteFunc(places(n), func(i int) bool { return !keep(i) })
}

// gaps are the lines that stand for rows left out, by the place of the shown row that they stand before, with something to
// say about these.
func (t thinned) gaps(note string) map[int]string {
	out := map[int]string{}
	for n, i := range t {
		if n > 0 && t[n-1] != i-1 {
			out[n] = fmt.Sprintf("… %s more%s", wording.Count(i-t[n-1]-1), note)
		}
	}
	return out
}

// places are the first n places.
func places(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// thinFailed chooses which of n failed allocations to show: the first tell how it began, the last what ended the run.
func thinFailed(n int) thinned {
	return choose(n, func(i int) bool { return n <= 2*textFailed+1 || i < textFailed || i >= n-textFailed })
}

// thin chooses which of many iterations to show: the first and last few, the one with the highest peak with its
// neighbours, and some of the truncated ones.
func thin(its []align.Iteration, limit int) thinned {
	n := len(its)
	keep := map[int]bool{}
	peak, cut := 0, 0
	for i := range its {
		if its[i].Memory.Peak > its[peak].Memory.Peak {
			peak = i
		}
		if its[i].Truncated && cut < 5 {
			keep[i] = true
			cut++
		}
	}
	for d := range 6 {
		keep[d], keep[n-1-d] = true, true
	}
	for i := peak - 1; i <= peak+1; i++ {
		keep[i] = true
	}
	return choose(n, func(i int) bool { return n <= limit || keep[i] })
}

// thinPhases chooses which of many phases to show: those with the highest need, and all that they lie in.
func thinPhases(ps []align.PhaseStat, limit int) thinned {
	order := places(len(ps))
	if len(ps) <= limit {
		return order
	}
	sort.SliceStable(order, func(a, b int) bool {
		x, y := &ps[order[a]], &ps[order[b]]
		if (x.Depth == 1) != (y.Depth == 1) {
			return x.Depth == 1
		}
		if x.Max.Memory.Need != y.Max.Memory.Need {
			return x.Max.Memory.Need > y.Max.Memory.Need
		}
		return x.Median.GPU.KernelNS > y.Median.GPU.KernelNS
	})
	byPath := make(map[string]int, len(ps))
	for i := range ps {
		byPath[ps[i].Path] = i
	}
	keep := map[int]bool{}
	for _, i := range order {
		if len(keep) >= limit {
			break
		}
		for keep[i] = true; ps[i].Depth > 1; keep[i] = true {
			parent := ps[i].Path[:max(len(ps[i].Path)-len(ps[i].Name)-1, 0)]
			up, ok := byPath[parent]
			if !ok || keep[up] {
				break
			}
			i = up
		}
	}
	return choose(len(ps), func(i int) bool { return keep[i] })
}
