package align

// gaps finds iterations up to the last one with kernels from which kernels are missing: the profiler drops whole buffers,
// and goes on. Each launch that succeeds leaves a kernel, so that what a row launches says how many it must have; a capture
// into a graph alone leaves none, and a process that launches graphs is not asked. A few may be missing for other reasons.
//
// Rows that lack kernels are unknown, and their iteration is cut off.
func (e *ender) gaps() {
	if !e.src.collected.Kernels || !e.joined() || e.launchesGraphs() {
		return
	}
	its := e.rows.iters
	last := e.lastOf(func(i int) bool { return e.work[its[i].row] > 0 })
	first, n := -1, int64(0)
	for i := range max(last, 0) {
		it := &its[i]
		if e.missing(it.row) < endedLaunches || e.lost != nil && e.lost[it.row].Kernels {
			continue
		}
		if n++; first < 0 {
			first = i
		}
		e.lose(it, i)
	}
	if n > 0 {
		e.doubts = append(e.doubts, Warning{Code: KernelsLost, PID: e.proc.pid, Count: n, Name: e.name(first)})
	}
}

// lose marks the rows of an iteration that lack kernels. What no phase covers lacks what the phases do not.
func (e *ender) lose(it *iterSpan, i int) {
	if e.lost == nil {
		e.begin()
	}
	e.cut[i] = true
	rest := e.missing(it.row)
	for r := it.row; r <= it.last; r++ {
		miss := e.missing(r)
		if w := &e.rows.list[r]; w.kind == rowPhase && w.parent == it.row {
			rest -= miss
		}
		if miss > 0 {
			e.lost[r].add(Lost{Kernels: true, Copies: e.copies[r] == 0})
		}
	}
	if it.other >= 0 && rest > 0 {
		e.lost[it.other].add(Lost{Kernels: true})
	}
}

// missing is how many kernels that a row launched are not in the report.
func (e *ender) missing(row int32) int64 { return e.launched(row) - e.work[row] }

// launchesGraphs says that the process launches graphs in its iterations.
func (e *ender) launchesGraphs() bool {
	for i := range e.rows.iters {
		if e.of(i).graphs > 0 {
			return true
		}
	}
	return e.graphs
}

// noMemory finds out whether a process has no memory event at all though it allocated, where other processes have theirs:
// all of its memory is unknown, rather than 0.
func (e *ender) noMemory() {
	if !e.src.collected.Memory || e.allocs == 0 {
		return
	}
	if e.lost == nil {
		e.begin()
	}
	for i := range e.lost {
		e.lost[i].add(Lost{Memory: true})
	}
	e.memory, e.last = true, e.a.time.first
	e.doubts = append(e.doubts, Warning{Code: MemoryLost, PID: e.proc.pid, Count: e.allocs})
}
