package align

import (
	"sort"

	"nsysmem/torchmem/category"
)

// A timeline finds iteration, phase and call of a moment of a process, by the ranges of its lead.
type timeline struct {
	spans  []span
	rows   *rows
	proc   *process
	in     cursor  // innermost ranges
	top    cursor  // top-level phases and ranges outside iterations
	starts []int64 // ns; of iterations
}

func newTimeline(a *alignment, r *rows, p *process) *timeline {
	t := &timeline{spans: a.ranges.spans, rows: r, proc: p}
	lead := a.lead(p)
	if lead.thread == nil {
		return t
	}
	rows := r.proc(p)
	t.in = newCursor(lead.segs)
	t.top = newCursor(cut(lead.thread.ranges, t.spans, func(id int32) bool {
		if r.of[id] < 0 {
			return false
		}
		w := &rows.list[r.of[id]]
		return w.kind == rowPhase && w.depth == 1 || w.kind == rowRange && w.contains == 0
	}))
	for i := range rows.iters {
		t.starts = append(t.starts, t.spans[rows.iters[i].span].start)
	}
	return t
}

// Where is the iteration and phase of a moment, as rows.where gives them.
func (t *timeline) Where(at int64) (iter int, path string) {
	return t.rows.where(t.proc, placeOf(t.in.at(at), waySame))
}

// Place is the moment for the search of categories.
func (t *timeline) Place(at int64) category.Place {
	rows := t.rows.proc(t.proc)
	out := category.Place{Iteration: sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > at }) - 1}
	if out.Iteration >= 0 {
		out.Inside = at < t.spans[rows.iters[out.Iteration].span].end
	}
	if span := t.top.at(at); span >= 0 {
		out.Call = int(span) + 1
	}
	if span := t.in.at(at); span >= 0 {
		if r := t.rows.of[span]; r >= 0 && rows.list[r].kind != rowIteration {
			out.Role = category.RoleOf(rows.list[r].path)
		}
	}
	return out
}

// Lifetime is the number of iterations begun in [from, to).
func (t *timeline) Lifetime(from, to int64) int {
	n := func(at int64) int { return sort.Search(len(t.starts), func(i int) bool { return t.starts[i] >= at }) }
	end := len(t.starts)
	if to != Never {
		end = n(to)
	}
	if from == Never {
		return end
	}
	return max(0, end-n(from))
}
