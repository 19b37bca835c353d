package summary

import (
	"fmt"
	"sort"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// thinned says which rows of a long list are shown.
type thinned struct {
	rows []int // places of the rows to show, rising
	left int   // rows that are not shown
}

// gaps are the lines that stand for rows left out, by the place of the shown row that they stand before.
func (t *thinned) gaps() map[int]string { return t.gapsWith("") }

// gapsWith is gaps with something to say about the rows left out.
func (t *thinned) gapsWith(note string) map[int]string {
	out := map[int]string{}
	for n, i := range t.rows {
		if n > 0 && t.rows[n-1] != i-1 {
			out[n] = fmt.Sprintf("… %s more%s", wording.Count(i-t.rows[n-1]-1), note)
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
	var t thinned
	for i := range n {
		if n <= 2*textFailed+1 || i < textFailed || i >= n-textFailed {
			t.rows = append(t.rows, i)
		}
	}
	t.left = n - len(t.rows)
	return t
}

// thin chooses which of many iterations to show: the first and last few, the one with the highest peak with its
// neighbours, and some of the truncated ones.
func thin(its []align.Iteration, limit int) thinned {
	n := len(its)
	keep := map[int]bool{}
	if n <= limit {
		for i := range its {
			keep[i] = true
		}
	} else {
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
		for d := 0; d < 6; d++ {
			keep[d], keep[n-1-d] = true, true
		}
		for i := max(peak-1, 0); i <= min(peak+1, n-1); i++ {
			keep[i] = true
		}
	}
	var t thinned
	for i := range its {
		if keep[i] {
			t.rows = append(t.rows, i)
		}
	}
	t.left = n - len(t.rows)
	return t
}

// thinPhases chooses which of many phases to show: those with the highest need, and all that they lie in.
func thinPhases(ps []align.PhaseStat, limit int) thinned {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	if len(ps) > limit {
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
		order = order[:0]
		for i := range ps {
			if keep[i] {
				order = append(order, i)
			}
		}
	}
	return thinned{rows: order, left: len(ps) - len(order)}
}
