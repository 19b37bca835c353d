package align

import (
	"cmp"
	"slices"

	"nsysmem/nsysdb"
)

// A rowTime is the time of a row: of the first of its calls to the last.
type rowTime struct {
	first, last int64 // ns
	sum         int64 // ns; of all calls
}

// times are the times of a process's rows.
func (as *assembler) times(p *procRows) []rowTime {
	out := make([]rowTime, len(p.list))
	for i := range out {
		out[i] = rowTime{first: maxTime, last: -maxTime}
	}
	for _, c := range p.calls {
		t, end := &out[c.row], as.closed(c.end)
		t.first, t.last = min(t.first, c.start), max(t.last, end)
		t.sum += end - c.start
	}
	return out
}

// lines makes a track's iterations and their phases, and gives for each row the place where what is counted for it is to
// stand: a report may have a million rows, so that none is kept twice.
func (as *assembler) lines(out *Track, p *process) []*Use {
	rows := as.rows.proc(p)
	times := as.times(rows)
	phases := 0
	for i := range rows.iters {
		phases += int(rows.iters[i].last - rows.iters[i].row)
	}
	uses := make([]*Use, len(rows.list))
	out.Iterations = make([]Iteration, len(rows.iters))
	store := make([]Phase, 0, phases) // of all iterations
	spans := as.aligned.ranges.spans
	for k := range rows.iters {
		it, n := &rows.iters[k], &out.Iterations[k]
		s := &spans[it.span]
		*n = Iteration{Index: it.index, Name: as.aligned.ranges.names[s.name], Start: s.start, End: as.closed(s.end), Truncated: s.open || s.cut}
		uses[it.row] = &n.Use
		from, inferred := len(store), false
		for r := it.row + 1; r <= it.last; r++ {
			ph := as.phase(&rows.list[r], times[r], n)
			if rows.list[r].kind == rowOther { // the rest of inferred phases is inferred like them
				ph.Inferred = inferred
			}
			inferred = inferred || ph.Inferred
			store = append(store, ph)
			uses[r] = &store[len(store)-1].Use
		}
		if len(store) > from {
			n.Phases = store[from:len(store):len(store)]
		}
		if e := at(as.ended, p); e != nil {
			e.mark(n, k, it)
		}
	}
	rest := make([]Use, len(rows.list)-phases-len(rows.iters))
	for i := range uses {
		if uses[i] == nil {
			uses[i], rest = &rest[0], rest[1:]
		}
	}
	return uses
}

// phase makes the line of a row of an iteration. An iteration with a phase that never closed is cut off.
func (as *assembler) phase(w *row, t rowTime, it *Iteration) Phase {
	ph := Phase{Path: w.path, Name: w.name, Depth: int(w.depth), Calls: w.calls, Start: t.first, End: t.last, Duration: t.sum}
	if w.calls == 0 {
		ph.Start, ph.End, ph.Duration = it.End, it.End, 0
	}
	if w.span >= 0 {
		s := &as.aligned.ranges.spans[w.span]
		ph.Inferred = s.inferred
		it.Truncated = it.Truncated || s.open
	}
	return ph
}

// ranges are the outermost ranges outside iterations. An operator's rows to which nothing is attributed are left out.
func (as *assembler) ranges(p *process, uses []*Use) []RangeUse {
	rows, r := as.rows.proc(p), as.aligned.ranges
	times := as.times(rows)
	var out []RangeUse
	for i := range rows.list {
		w := &rows.list[i]
		if w.kind != rowRange || w.merged && !uses[i].any() {
			continue
		}
		s := &r.spans[w.span]
		x := RangeUse{Name: w.name, Domain: r.domainName(s), TID: nsysdb.TID(r.threads[s.thread].tid), Calls: w.calls,
			Start: s.start, End: as.closed(s.end), Duration: as.closed(s.end) - s.start, Open: s.open, Contains: w.contains, Use: *uses[i]}
		if w.merged {
			x.End, x.Duration = times[i].last, times[i].sum
		}
		if e := at(as.ended, p); e != nil {
			x.Lost = e.lost[i]
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(x, y RangeUse) int { return cmp.Compare(x.Start, y.Start) })
	return out
}

// any says that something is attributed to the row.
func (u *Use) any() bool {
	return u.API.Calls > 0 || u.GPU.Kernels > 0 || u.GPU.Copies > 0 || u.GPU.Memsets > 0 || u.Memory.Allocs > 0 || u.Memory.Frees > 0
}

// spans are the calls of the phases of a process.
func (as *assembler) spans(p *process) []Span {
	rows := as.rows.proc(p)
	var out []Span
	for _, c := range rows.calls {
		w := &rows.list[c.row]
		if w.kind != rowPhase {
			continue
		}
		out = append(out, Span{Iteration: int(w.iter), Path: w.path, Depth: int(w.depth), Start: c.start, End: as.closed(c.end),
			Inferred: as.aligned.ranges.spans[w.span].inferred})
	}
	return out
}
