package align

import (
	"fmt"
	"strings"
)

// A need says what a rise of the device level is made of: its parts add up to it.
type need struct {
	from, to int64      // bytes; highest allocated level before the rise, and up to its end
	at       *Iteration // where it was highest
	need     int64      // bytes that tensors need more at their peak
	outside  int64      // bytes taken outside PyTorch
	cache    int64      // bytes of the rest: the cache
}

// needOf splits a rise of the device level by the peaks of what tensors hold; false without the levels of a snapshot.
func needOf(t *Track, r *rise) (need, bool) {
	start, end := r.first.Level(LevelReserved), r.last.Level(LevelReserved)
	first := r.first.Level(LevelAllocated)
	if start == nil || end == nil || first == nil {
		return need{}, false
	}
	n := need{from: first.Start, to: first.Start}
	for i := range t.Ranges {
		if u := t.Ranges[i].Level(LevelAllocated); u != nil && t.Ranges[i].End <= r.first.Start {
			n.from = max(n.from, u.Peak)
		}
	}
	for i := range t.Iterations {
		it := &t.Iterations[i]
		u := it.Level(LevelAllocated)
		switch {
		case u == nil || it.Start > r.last.Start:
		case it.Start < r.first.Start:
			n.from = max(n.from, u.Peak)
		case u.Peak > n.to:
			n.to, n.at = u.Peak, it
		}
	}
	n.to = max(n.to, n.from)
	n.outside = (r.last.Memory.End - end.End) - (r.first.Memory.Start - start.Start)
	n.need = max(0, min(n.to-n.from, r.grown-n.outside))
	if n.need <= n.from/warmupShare { // a trifle is no growth of tensors
		n.need = 0
	}
	n.cache = r.grown - n.outside - n.need
	return n, true
}

// tells says that a part of a rise is worth a word.
func tells(part, whole int64) bool { return part > whole/100 }

// text says what the rise is made of, as a sentence to follow another.
func (n *need) text(r *rise) string {
	s := "; of the growth, "
	var parts []string
	switch {
	case n.need > 0:
		s = fmt.Sprintf("; tensors need more from step to step: the peak of allocated rises from %s before %s to %s in %s; of the growth, ", size(n.from), r.first.Name, size(n.to), n.at.Name)
		if n.need == r.grown {
			return s + "all is that"
		}
		parts = append(parts, size(n.need)+" is that")
	case n.to == n.from:
		s = fmt.Sprintf("; the peak of allocated does not rise (%s): ", size(n.to))
	}
	if n.cache > 0 {
		parts = append(parts, size(n.cache)+" is cache that lies in pieces")
	}
	if tells(n.outside, r.grown) {
		parts = append(parts, size(n.outside)+" was taken outside PyTorch")
	}
	if len(parts) == 0 {
		return ""
	}
	return s + strings.Join(parts, ", ")
}
