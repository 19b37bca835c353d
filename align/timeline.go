package align

import (
	"sort"

	"nsysmem/torchmem/category"
)

// A timeline finds iteration, phase and call of a moment of a process, by the ranges of its main thread.
type timeline struct {
	a    *analysis
	p    *process
	in   cursor  // innermost ranges
	top  cursor  // top-level phases and ranges outside iterations
	iter []int64 // starts of iterations
}

func (a *analysis) timeline(p *process) *timeline {
	t := &timeline{a: a, p: p}
	if p.main == nil {
		return t
	}
	t.in = cursor{segs: p.mainSegs, pos: -1}
	t.top = cursor{segs: p.main.cut(a.spans, func(s *span) bool {
		if s.row < 0 {
			return false
		}
		w := &p.rows[s.row]
		return w.kind == rowPhase && w.depth == 1 || w.kind == rowRange && w.contains == 0
	}), pos: -1}
	for i := range p.iters {
		t.iter = append(t.iter, a.spans[p.iters[i].span].start)
	}
	return t
}

// Where is the iteration and phase of a moment, as analysis.where gives them.
func (t *timeline) Where(at int64) (iter int, path string) {
	return t.a.where(t.p, placeOf(t.in.at(at), waySame))
}

// Place is the moment for the search of categories.
func (t *timeline) Place(at int64) category.Place {
	out := category.Place{Iteration: sort.Search(len(t.iter), func(i int) bool { return t.iter[i] > at }) - 1}
	if out.Iteration >= 0 {
		out.Inside = at < t.a.spans[t.p.iters[out.Iteration].span].end
	}
	if span := t.top.at(at); span >= 0 {
		out.Call = int(span) + 1
	}
	if span := t.in.at(at); span >= 0 {
		if r := t.a.spans[span].row; r >= 0 && t.p.rows[r].kind != rowIteration {
			out.Role = category.RoleOf(t.p.rows[r].path)
		}
	}
	return out
}

// Lifetime is the number of iterations begun in [from, to).
func (t *timeline) Lifetime(from, to int64) int {
	n := func(at int64) int { return sort.Search(len(t.iter), func(i int) bool { return t.iter[i] >= at }) }
	end := len(t.iter)
	if to != Never {
		end = n(to)
	}
	if from == Never {
		return end
	}
	return max(0, end-n(from))
}
