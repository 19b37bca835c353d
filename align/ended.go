package align

// The thresholds of a trace that ended while the program went on.
const (
	// endedIterations is how many iterations without events it takes at least. A single one may be the program's own end.
	endedIterations = 2

	// endedLaunches is how many launches must be missing at least where the calls are missing too: a program that launches
	// now and then may just have stopped. A graph stands for so many kernels.
	endedLaunches = 16
	graphWorth    = 8
)

// Events are the kinds of events whose recording may end before the program does.
type Events string

// The kinds, as they are called in sentences.
const (
	EventsAPI    Events = "CUDA API calls"
	EventsGPU    Events = "kernels"
	EventsMemory Events = "memory events"
)

// An ending is what is unknown of a process because its trace ended before it, or has gaps.
type ending struct {
	lost   []Lost // by row; nil where nothing is
	cut    []bool // by iteration: some of its data are missing
	memory bool   // no memory event was recorded up to the end
	last   int64  // ns; from when on, where memory
}

// mark says of the iteration at place k, and of its phases, what is unknown.
func (e *ending) mark(out *Iteration, k int, it *iterSpan) {
	out.Truncated, out.Lost = out.Truncated || e.cut[k], e.lost[it.row]
	for i := range out.Phases {
		out.Phases[i].Lost = e.lost[int(it.row)+1+i]
	}
}

// An ender looks at one process for events that end while its iterations go on. Their end alone says nothing: a caching
// allocator asks the driver for nothing once it is warm, and a program may go on without the GPU. So:
//
//  1. API calls ended where no thread of the process made any after an iteration in which it had, while at least
//     endedIterations more followed, of a family in which most held launches so far. A program that is done with the GPU
//     still makes calls when it exits. Whatever is recorded after that belongs to nothing, and memory is unknown.
//  2. Kernels ended where later iterations launch them: each launch that succeeds leaves a kernel. A single iteration is
//     enough where it launches much: the end of a recording may cut off what the GPU had yet to do.
//  3. Memory events ended where later iterations allocate device memory: each such call leaves an event.
//
// What begins after the end is unknown, and the iteration at hand is cut off unless all that it should have is there.
type ender struct {
	src    *source
	a      *alignment
	rows   *procRows
	proc   *process
	tracks []*trackUse

	calls  []rowCalls // by row, inclusive
	work   []int64    // kernels and whole graphs, likewise
	copies []int64    // copies and memsets, likewise
	allocs int64      // calls that allocate device memory, in and outside of rows
	graphs bool       // whole graphs are recorded

	lastWork   int64 // ns; when the last kernel or graph began; -maxTime for none
	lastMemory int64 // ns; of the last memory event; -maxTime for none

	ending
	doubts []Warning
}

// endings finds what is unknown of each process because its trace ended; nil for those of which nothing is.
func endings(src *source, a *alignment, r *rows, u *uses) (out []*ending, doubts []Warning) {
	if !src.collected.API {
		return nil, nil
	}
	tracks := make(map[*process][]*trackUse)
	for _, t := range u.tracks {
		tracks[t.proc] = append(tracks[t.proc], t)
	}
	procs := src.processes.all()
	out = make([]*ending, len(procs))
	for i, p := range procs {
		e := &ender{src: src, a: a, rows: r.proc(p), proc: p, tracks: tracks[p]}
		if len(e.rows.iters) <= endedIterations || i >= len(a.calls.last) {
			continue
		}
		e.count(r)
		api := e.api()
		if !api {
			e.memoryEvents()
		}
		e.kernels(api)
		e.gaps()
		if e.lost != nil {
			out[i] = &e.ending
		}
		doubts = append(doubts, e.doubts...)
	}
	return out, doubts
}

// api finds out whether API calls ended.
func (e *ender) api() bool {
	n, end := len(e.rows.iters), e.a.calls.last[e.proc.index]
	last := e.lastOf(func(i int) bool { return e.of(i).calls > 0 })
	later := n - 1 - last
	if last < 0 || later < endedIterations || end >= e.start(last+1) {
		return false
	}
	var launches []int64 // of the iterations that were whole, as far as that can be told
	holding, least := 0, int64(maxTime)
	for i := range max(last, 1) {
		v := e.of(i).worth()
		if v > 0 {
			holding++
		}
		launches, least = append(launches, v), min(least, e.of(i).calls)
	}
	usual := median(launches)
	if 4*holding < 3*len(launches) || usual*int64(later) < endedLaunches {
		return false
	}
	e.cutFrom(last, last > 0 && e.of(last).worth() >= usual && e.of(last).calls >= least)
	e.after(end, Lost{Memory: true, Kernels: true, Copies: true, API: true})
	kinds := []Events{EventsAPI}
	further := e.start(min(last+2, n-1)) // the GPU runs behind: what was launched in time may run a little later
	if e.src.collected.Kernels && e.lastWork < further {
		kinds = append(kinds, EventsGPU)
	}
	if e.memory = e.src.collected.Memory && e.lastMemory < e.start(last+1); e.memory {
		e.last = max(e.lastMemory, end)
		kinds = append(kinds, EventsMemory)
	}
	e.doubt(end, last, kinds...)
	return true
}

// memoryEvents finds out whether memory events ended.
func (e *ender) memoryEvents() {
	end := e.lastMemory
	if end == -maxTime {
		e.noMemory()
		return
	}
	n, missing := 0, int64(0)
	last := e.lastOf(func(i int) bool { return e.start(i) <= end })
	for i := last + 1; i < len(e.rows.iters); i++ {
		if v := int64(e.of(i).allocs); v > 0 {
			n, missing = n+1, missing+v
		}
	}
	events := int64(0)
	for _, t := range e.tracks {
		if l := t.memory.levels[LevelDevice]; l != nil {
			events += l.out.Allocs
		}
	}
	// Where most calls left no event before either, such calls do not.
	if n < endedIterations || 2*events < e.allocs-missing {
		return
	}
	e.cutFrom(last, last < 0 || e.allocEvents(last) >= int64(e.of(last).allocs))
	e.after(end, Lost{Memory: true})
	e.memory, e.last = true, end
	e.doubt(end, last, EventsMemory)
}

// kernels finds out whether kernels ended. Where API calls did, a single later launch is enough, and no doubt of its own.
func (e *ender) kernels(died bool) {
	if !e.src.collected.Kernels || !e.joined() {
		return
	}
	its := e.rows.iters
	last := e.lastOf(func(i int) bool { return e.work[its[i].row] > 0 })
	n, missing := 0, int64(0) // later iterations that launch, and how much
	for i := last + 1; i < len(its); i++ {
		if v := e.launched(its[i].row); v > 0 {
			n, missing = n+1, missing+v
		}
	}
	if n == 0 || !died && n < endedIterations && missing < endedLaunches {
		return
	}
	lost := Lost{Kernels: true, Copies: true}
	for i := last + 1; i < len(its); i++ {
		lost.Copies = lost.Copies && e.copies[its[i].row] == 0
	}
	e.cutFrom(last, last < 0 || e.work[its[last].row] >= e.launched(its[last].row))
	from := int64(-maxTime) // ranges before any iteration may have lost theirs too
	if last >= 0 {
		from = e.start(last)
	}
	starts := e.rows.starts()
	for i := range e.rows.list {
		w := &e.rows.list[i]
		gone := w.iter > int32(last) && w.kind != rowRange || starts[i] >= from && e.work[i] == 0 && e.launched(int32(i)) > 0
		if gone {
			e.lost[i].add(lost)
		}
	}
	if !died {
		e.doubt(e.lastWork, last, EventsGPU)
	}
}

// begin makes room for what is lost.
func (e *ender) begin() {
	e.lost, e.cut = make([]Lost, len(e.rows.list)), make([]bool, len(e.rows.iters))
}

// cutFrom marks the iterations after one as cut off, and that one too unless it is whole.
func (e *ender) cutFrom(last int, whole bool) {
	if e.lost == nil {
		e.begin()
	}
	for i := range e.cut {
		e.cut[i] = e.cut[i] || i > last || i == last && !whole
	}
}

// after marks what begins after a time.
func (e *ender) after(end int64, lost Lost) {
	starts := e.rows.starts()
	for i := range e.lost {
		if starts[i] > end {
			e.lost[i].add(lost)
		}
	}
}

func (e *ender) doubt(end int64, last int, kinds ...Events) {
	e.doubts = append(e.doubts, Warning{Code: TraceEnded, PID: e.proc.pid, Count: int64(len(e.rows.iters) - 1 - last),
		Events: kinds, Time: end, Name: e.name(last)})
}

func (l *Lost) add(m Lost) {
	l.Memory, l.Kernels = l.Memory || m.Memory, l.Kernels || m.Kernels
	l.Copies, l.API = l.Copies || m.Copies, l.API || m.API
}
