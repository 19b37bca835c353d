package whatif

import (
	"cmp"
	"slices"
)

// Base is the place of the setting that the others are compared with: the recorded one, else the default.
func (w *Comparison) Base() int {
	base := 0
	for i := range w.Settings {
		if w.Settings[i].IsRecorded {
			return i
		}
		if w.Settings[i].IsDefault {
			base = i
		}
	}
	return base
}

// rank sorts the settings from best to worst, as Compare says.
func (w *Comparison) rank() {
	w.Ranked = true
	slices.SortStableFunc(w.Settings, func(a, b Setting) int {
		byCard := cmp.Compare(a.SmallestCard, b.SmallestCard)
		if fails := a.Failed() > 0; fails != (b.Failed() > 0) {
			if fails {
				return 1
			}
			return -1
		} else if fails && byCard != 0 {
			return byCard
		}
		return cmp.Or(cmp.Compare(a.PeakReserved, b.PeakReserved), byCard, cmp.Compare(a.CUDAMallocs, b.CUDAMallocs),
			cmp.Compare(len(a.Conf), len(b.Conf)))
	})
}

// Chosen are the places of at most n settings that stand for all: the base, the default, what was asked for as far as
// it fits, from the first on, and the worst.
func (w *Comparison) Chosen(n int) []int {
	worst, base := 0, w.Base()
	for i := range w.Settings {
		if w.Settings[i].PeakReserved > w.Settings[worst].PeakReserved {
			worst = i
		}
	}
	keep := map[int]bool{base: true, worst: true}
	for i := range w.Settings {
		if w.Settings[i].IsDefault {
			keep[i] = true
		}
	}
	seen := map[int64]bool{} // one of several that come to the same will do
	for i := range keep {
		seen[w.Settings[i].PeakReserved] = true
	}
	for _, again := range [2]bool{false, true} {
		for i := range w.Settings {
			if len(keep) >= n {
				break
			}
			if p := w.Settings[i].PeakReserved; again || !seen[p] {
				keep[i], seen[p] = true, true
			}
		}
	}
	out := []int{base}
	for i := range w.Settings {
		if keep[i] && i != base {
			out = append(out, i)
		}
	}
	return out
}
