package align

import (
	"regexp"
	"sort"

	"nsysmem/align/period"
	"nsysmem/nsysdb"
)

// A process is one traced process: its threads, its ranges and, once iterations are chosen, its rows.
type process struct {
	gpid     int64
	pid      int64
	name     string
	index    int32 // in analysis.procs
	threads  []*thread
	main     *thread // carries the iterations; work of threads without a range goes to the range open here
	from     IterationsFrom
	iters    []iterSpan
	rows     []row
	calls    []call  // stretches of time of the rows, by start
	groups   []int32 // by row: index into analysis.groups
	tracks   []*track
	mainSegs []seg          // innermost ranges of main that events of other threads, and inferred phases, go by
	inferred bool           // iterations or phases are inferred: operators' ranges give way to them
	pseudo   []int32        // inferred iterations, as indexes into analysis.spans
	found    *period.Result // what a search in the GPU work found; nil where none was made
	ops      *opList        // kept to compare the search with the ranges
	apiSeen  bool           // has API calls
	failedAt []int64        // ns; starts of the calls that were to allocate and failed, rising
}

// A thread is one thread that has ranges.
type thread struct {
	tid    int64 // globalTid
	name   string
	helper bool    // loads data, watches collectives: its work is never a phase's of another thread
	ranges []int32 // indexes into analysis.spans, by start, the longer first on a tie
	segs   []seg
}

// A seg says which range is innermost from its time on.
type seg struct {
	from int64 // ns
	span int32 // index into analysis.spans; -1 for none
}

// A span is a range with its place.
type span struct {
	start, end int64 // ns; end is maxTime while the range is open
	name       int32 // index into analysis.names
	proc       int32
	thread     *thread
	domain     int64
	row        int32 // row of the process; -1 until rows are made
	open       bool  // never closed
	operator   bool  // a framework's operator or a library's own range: never an iteration
	library    bool  // of a library's own, which an operator's need not be
	pseudo     bool  // inferred, not annotated
	cut        bool  // inferred to be cut off
}

// maxTime is the end of ranges that were never closed, until the end of the capture is known.
const maxTime = 1<<63 - 1

// helperThread matches the names of threads whose work is not part of the phase that another thread is in: PyTorch's
// loader and pin-memory threads, and the watchers of its collectives (names as PyTorch 2.x sets them).
var helperThread = regexp.MustCompile(`(?i)^pt_data|^pt_nccl|pin_?mem|data_?load|prefetch|watchdo?g|heartb`)

func newProcess(gpid int64, index int32) *process {
	return &process{gpid: gpid, pid: nsysdb.PID(gpid), index: index, from: IterationsFrom{How: OriginNone}}
}

// find is the thread of a globalTid; nil where it has no ranges.
func (p *process) find(tid int64) *thread {
	for _, t := range p.threads {
		if t.tid == tid {
			return t
		}
	}
	return nil
}

// thread is find, but makes a thread that is not there yet.
func (p *process) thread(tid int64) *thread {
	if t := p.find(tid); t != nil {
		return t
	}
	t := &thread{tid: tid}
	p.threads = append(p.threads, t)
	return t
}

// sortRanges puts a thread's ranges in the order in which they open: by start, the longer first on a tie, so that the
// shorter counts as the inner one.
func (t *thread) sortRanges(spans []span) {
	sort.SliceStable(t.ranges, func(i, j int) bool {
		a, b := &spans[t.ranges[i]], &spans[t.ranges[j]]
		if a.start != b.start {
			return a.start < b.start
		}
		if a.end != b.end {
			return a.end > b.end
		}
		if a.name != b.name {
			return a.name < b.name
		}
		return a.domain < b.domain
	})
}

// cut makes segs of the thread's ranges: for each moment the innermost range, that is, of the open ones the one that started
// last, the shorter on a tie.
//
// Ranges are walked in opening order. Open ranges lie on a stack in that order, so that the innermost is always the
// topmost that has not ended. Ends are met in time order by a heap.
func (t *thread) cut(spans []span, keep func(*span) bool) []seg {
	var segs []seg
	var stack []int32
	var ends endHeap
	put := func(at int64, id int32) {
		n := len(segs)
		if n > 0 && segs[n-1].span == id {
			return
		}
		if n > 0 && segs[n-1].from == at {
			segs[n-1].span = id
			if n > 1 && segs[n-2].span == id {
				segs = segs[:n-1]
			}
			return
		}
		segs = append(segs, seg{at, id})
	}
	top := func(at int64) int32 {
		for len(stack) > 0 && spans[stack[len(stack)-1]].end <= at {
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 {
			return -1
		}
		return stack[len(stack)-1]
	}
	closeUntil := func(at int64) {
		for len(ends) > 0 && ends[0] <= at {
			e := ends.pop()
			put(e, top(e))
		}
	}
	for _, id := range t.ranges {
		s := &spans[id]
		if s.end <= s.start || !keep(s) {
			continue
		}
		closeUntil(s.start)
		stack = append(stack, id)
		if s.end != maxTime {
			ends.push(s.end)
		}
		put(s.start, id)
	}
	closeUntil(maxTime)
	return segs
}

// A cursor looks up segs at times that mostly rise.
type cursor struct {
	segs []seg
	pos  int // seg that holds the last time asked for; -1 before the first
}

func (c *cursor) at(t int64) int32 {
	s := c.segs
	if len(s) == 0 {
		return -1
	}
	i := c.pos
	switch {
	case i >= 0 && s[i].from > t, i+8 < len(s) && s[i+8].from <= t:
		i = sort.Search(len(s), func(k int) bool { return s[k].from > t }) - 1
	default:
		for i+1 < len(s) && s[i+1].from <= t {
			i++
		}
	}
	c.pos = i
	if i < 0 {
		return -1
	}
	return s[i].span
}

// endHeap is a heap of times, the earliest first.
type endHeap []int64

func (h *endHeap) push(v int64) {
	*h = append(*h, v)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up] <= a[i] {
			break
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *endHeap) pop() int64 {
	a := *h
	v := a[0]
	n := len(a) - 1
	a[0] = a[n]
	a = a[:n]
	for i := 0; ; {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && a[k+1] < a[k] {
			k++
		}
		if a[i] <= a[k] {
			break
		}
		a[i], a[k] = a[k], a[i]
		i = k
	}
	*h = a
	return v
}
