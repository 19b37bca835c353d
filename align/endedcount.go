package align

import "slices"

// A rowCalls counts the API calls of a row.
type rowCalls struct {
	calls, launches int64
	callProof
}

// count fills what is counted by row.
func (e *ender) count(r *rows) {
	n := len(e.rows.list)
	e.calls, e.work, e.copies = make([]rowCalls, n), make([]int64, n), make([]int64, n)
	c := e.a.calls
	for _, t := range at(e.a.ranges.byProc, e.proc) {
		for _, id := range t.ranges {
			e.allocs += int64(c.proofs[id].allocs)
			if row := r.of[id]; row >= 0 {
				e.calls[row].add(&rowCalls{c.use[id].Calls, c.launches[id], c.proofs[id]})
			}
		}
	}
	e.allocs += int64(c.proofs[len(e.a.ranges.spans)+int(e.proc.index)].allocs)
	for i, w := range slices.Backward(e.rows.list) {
		if w.parent >= 0 {
			e.calls[w.parent].add(&e.calls[i])
		}
	}
	e.lastWork, e.lastMemory = -maxTime, -maxTime
	for _, t := range e.tracks {
		e.lastMemory = max(e.lastMemory, t.memory.last)
		if t.kernels != nil {
			e.lastWork = max(e.lastWork, t.kernels.last)
			e.graphs = e.graphs || t.kernels.total.graphs > 0
			for i := range t.kernels.use {
				e.work[i] += t.kernels.use[i].kernels + t.kernels.use[i].graphs
			}
		}
		if t.copies != nil {
			for i := range t.copies.use {
				e.copies[i] += t.copies.use[i].copies + t.copies.use[i].memsets
			}
		}
	}
}

// worth is how much the calls launch.
func (c *rowCalls) worth() int64 { return c.launches + (graphWorth-1)*int64(c.graphs) }

func (c *rowCalls) add(d *rowCalls) {
	c.calls += d.calls
	c.launches += d.launches
	c.callProof.add(&d.callProof)
}

// of is what is counted for an iteration.
func (e *ender) of(iter int) *rowCalls { return &e.calls[e.rows.iters[iter].row] }

// start is the start of an iteration.
func (e *ender) start(iter int) int64 { return e.a.ranges.spans[e.rows.iters[iter].span].start }

// name is the name of an iteration; empty for -1.
func (e *ender) name(iter int) string {
	if iter < 0 {
		return ""
	}
	return e.a.ranges.name(e.rows.iters[iter].span)
}

// lastOf is the last iteration that has something; -1 where none has.
func (e *ender) lastOf(has func(iter int) bool) int {
	for i := range slices.Backward(e.rows.iters) {
		if has(i) {
			return i
		}
	}
	return -1
}

// allocEvents counts the allocations of device memory that are attributed to an iteration.
func (e *ender) allocEvents(iter int) (n int64) {
	it := &e.rows.iters[iter]
	for _, t := range e.tracks {
		if l := t.memory.levels[LevelDevice]; l != nil {
			for r := it.row; r <= it.last; r++ {
				n += l.count[r].allocs
			}
		}
	}
	return n
}

// launched is how many kernels and graphs must have come from a row.
func (e *ender) launched(row int32) int64 {
	c := &e.calls[row]
	if e.graphs {
		return int64(c.kernels) + int64(c.callProof.graphs)
	}
	return int64(c.kernels)
}

// joined says that kernels know their launches: else none is in any iteration, whatever was recorded.
func (e *ender) joined() bool {
	var kernels, unknown int64
	for _, t := range e.tracks {
		if t.kernels != nil {
			kernels, unknown = kernels+t.kernels.attr.Kernels, unknown+t.kernels.attr.NoLaunch
		}
	}
	return 10*unknown <= kernels
}

// starts are the starts of rows, in ns; maxTime for a rest that has no time of its own.
func (p *procRows) starts() []int64 {
	out := slices.Repeat([]int64{maxTime}, len(p.list))
	for _, c := range p.calls {
		out[c.row] = min(out[c.row], c.start)
	}
	return out
}
