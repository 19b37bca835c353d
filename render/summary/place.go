package summary

import (
	"sort"

	"nsysmem/align"
)

// AtStart stands for the peak phase of an iteration whose level never rose above its start.
const AtStart = "at its start"

// PeakPhase is the path of the innermost phase in which the iteration's device level was highest; OtherPhase where that
// was in none, AtStart where the level did not rise, and empty where the iteration has no phases.
func PeakPhase(it *align.Iteration) string {
	if it.Memory.Need == 0 && len(it.Phases) > 0 {
		return AtStart
	}
	return phaseAt(it, "device", it.Memory.Peak, it.Memory.PeakAt)
}

// PeakPlace is the iteration and phase in which a level of the track was highest: nil and an empty path where that was
// outside all iterations.
func PeakPlace(t *align.Track, l *align.Level) (*align.Iteration, string) {
	i := sort.Search(len(t.Iterations), func(i int) bool { return t.Iterations[i].End > l.PeakAt })
	if i == len(t.Iterations) || t.Iterations[i].Start > l.PeakAt {
		return nil, ""
	}
	it := &t.Iterations[i]
	return it, phaseAt(it, l.Kind, l.Peak, l.PeakAt)
}

// phaseAt finds the innermost phase that has the given peak of a level at the given time. A phase that merely spans
// the time, between two of its calls, has its own peak elsewhere and is passed over.
func phaseAt(it *align.Iteration, kind align.LevelKind, peak, at int64) string {
	if len(it.Phases) == 0 {
		return ""
	}
	path, depth := align.OtherPhase, 0
	for i := range it.Phases {
		p := &it.Phases[i]
		if p.Path == align.OtherPhase || p.Depth <= depth {
			continue
		}
		if u := p.Level(kind); u != nil && u.Peak == peak && u.PeakAt == at {
			path, depth = p.Path, p.Depth
		}
	}
	return path
}

// thinned says which rows of a long list are shown.
type thinned struct {
	rows []int // places of the rows to show, rising
	left int   // rows that are not shown
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
