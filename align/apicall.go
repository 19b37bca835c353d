package align

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"nsysmem/nsysdb"
)

// Ways in which an event came to its range, as the low bits of a place.
const (
	wayNone  = 0
	waySame  = 1
	wayOther = 2
)

// A place is where an event belongs: its range and the way it came there.
type place int32

func placeOf(span int32, way place) place { return place(span+1)<<2 | way }

// span is the index of the range; -1 for none.
func (p place) span() int32 { return int32(p>>2) - 1 }

func (p place) way() place { return p & 3 }

// An apiPart is what one goroutine makes of its part of the API calls.
type apiPart struct {
	a        *analysis
	threads  map[int64]*apiThread
	last     *apiThread
	before   *apiThread          // the one before last: two threads take turns
	classes  []uint8             // by nameId: class + 1; 0 where not yet known
	far      map[int64]callClass // of ids too high for that
	corr     map[int32]*corrMap  // by process
	use      []APIUse            // by span, then by process for calls without one
	launches []int64             // by span, then likewise
	failed   []failedCall
	names    map[int32]map[int64]int32 // by process: correlation id → nameId of calls that allocate or free
	calls    map[callKey]*CallStat
	maxEnd   int64
	minStart int64
	vmm      map[int32]int64 // cuMemCreate calls by process
}

type callKey struct {
	span int32 // or -1-process
	name int64
}

type apiThread struct {
	tid    int64
	proc   *process
	corr   *corrMap
	names  map[int64]int32
	own    cursor
	main   cursor
	isMain bool
	helper bool
}

type failedCall struct {
	proc     *process
	at       place
	time     int64
	duration int64
	tid      int64
	name     int64
	ret      int64
	class    callClass
}

// readCalls joins every API call to the range that was open, on its thread or on the main one, and keeps that place by
// correlation id. Parts of the table are read at once; each keeps its own sums, added up in the end.
func (a *analysis) readCalls(ctx context.Context) error {
	n := len(a.spans)
	parts := min(runtime.GOMAXPROCS(0), 8)
	if a.db.Rows(nsysdb.API) < 1<<16 {
		parts = 1
	}
	work := make([]*apiPart, parts)
	for i := range work {
		work[i] = &apiPart{a: a, threads: make(map[int64]*apiThread), corr: make(map[int32]*corrMap),
			use: make([]APIUse, n+maxProcs), launches: make([]int64, n+maxProcs), names: make(map[int32]map[int64]int32),
			vmm: make(map[int32]int64), minStart: maxTime, maxEnd: -maxTime,
			classes: make([]uint8, nearIDs), far: make(map[int64]callClass)}
		if a.opts.Kernels {
			work[i].calls = make(map[callKey]*CallStat)
		}
	}
	scan := nsysdb.Scan{Table: nsysdb.API, Parts: parts, Columns: []nsysdb.Column{nsysdb.Start, nsysdb.End,
		nsysdb.GlobalTID, nsysdb.CorrelationID, nsysdb.NameID, nsysdb.ReturnValue}}
	if a.db.Missing(nsysdb.API) {
		a.joinCalls(work)
		return nil
	}
	var done progress
	err := a.db.Scan(ctx, scan, func(b *nsysdb.Batch) error {
		work[b.Part].add(b)
		done.add(a, "API calls", int64(b.Rows), a.db.Rows(nsysdb.API))
		return nil
	})
	if err != nil {
		return err
	}
	a.joinCalls(work)
	return nil
}

func (p *apiPart) add(b *nsysdb.Batch) {
	start, end, tid, corr, name, ret := b.Cols[0], b.Cols[1], b.Cols[2], b.Cols[3], b.Cols[4], b.Cols[5]
	if start == nil || tid == nil {
		return
	}
	a, none := p.a, len(p.a.spans)
	hasCorr, hasEnd := corr != nil, end != nil
	maxEnd, minStart := p.maxEnd, p.minStart
	for i := 0; i < b.Rows; i++ {
		from := start[i]
		if from == nsysdb.Null || tid[i] == nsysdb.Null {
			continue // neither time nor thread can be guessed
		}
		t := p.last
		if t == nil || t.tid != tid[i] {
			t = p.thread(tid[i])
		}
		at := t.place(from, a)
		slot := int(at.span())
		if slot < 0 {
			slot = none + int(t.proc.index)
		}
		if hasCorr && corr[i] > 0 {
			t.corr.set(corr[i], int32(at))
		}
		p.use[slot].Calls++
		last := from
		if hasEnd && end[i] > last {
			last = end[i]
		}
		maxEnd, minStart = max(maxEnd, last), min(minStart, from)
		if name == nil {
			continue
		}
		if p.calls != nil {
			p.call(at.span(), t.proc, name[i], last-from, ret != nil && ret[i] > 0)
		}
		class := p.class(name[i])
		if class == classOther {
			continue
		}
		if class == classLaunch {
			p.launches[slot]++
			continue
		}
		switch u := &p.use[slot]; {
		case class == classSync:
			u.SyncNS += last - from
			continue
		case class == classFree:
			u.FreeNS += last - from
		default:
			u.AllocNS += last - from
			if ret != nil && failed(class, ret[i]) {
				p.failed = append(p.failed, failedCall{t.proc, at, from, last - from, tid[i], name[i], ret[i], class})
			}
			if class == classAllocVMM {
				p.vmm[t.proc.index]++
			}
		}
		if a.keepNames && corr != nil {
			t.names[corr[i]] = int32(name[i])
		}
	}
	p.maxEnd, p.minStart = maxEnd, minStart
}

func (p *apiPart) call(span int32, proc *process, name, ns int64, failed bool) {
	k := callKey{span, name}
	if span < 0 {
		k.span = -1 - proc.index
	}
	s := p.calls[k]
	if s == nil {
		s = &CallStat{}
		p.calls[k] = s
	}
	s.Count++
	s.NS += ns
	s.MaxNS = max(s.MaxNS, ns)
	if failed {
		s.Failed++
	}
}

func (p *apiPart) thread(tid int64) *apiThread {
	if t := p.before; t != nil && t.tid == tid {
		p.last, p.before = t, p.last
		return t
	}
	t := p.threads[tid]
	if t == nil {
		proc := p.a.process(nsysdb.Process(tid))
		t = p.a.newThread(proc, tid)
		if p.corr[proc.index] == nil {
			p.corr[proc.index] = &corrMap{}
			p.names[proc.index] = make(map[int64]int32)
		}
		t.corr, t.names = p.corr[proc.index], p.names[proc.index]
		p.threads[tid] = t
	}
	p.last, p.before = t, p.last
	return t
}

// newThread is a thread of a process as calls are joined by it.
func (a *analysis) newThread(proc *process, tid int64) *apiThread {
	t := &apiThread{tid: tid, proc: proc, helper: helperThread.MatchString(a.threadNames[tid])}
	if own := proc.find(tid); own != nil {
		t.own = cursor{segs: own.segs, pos: -1}
		t.isMain = own == proc.main
	}
	if t.isMain && proc.inferred || !t.isMain && !a.opts.SameThread {
		t.main = cursor{segs: proc.mainSegs, pos: -1}
	}
	return t
}

// place joins a moment of a thread to a range.
//
//  1. The innermost range open on the thread itself. With Options.Through, an operator's or library's range on a thread
//     that does not carry the iterations gives way to what the main thread is in, so that a phase holds all the work
//     of its backward thread.
//  2. Else the innermost range open on the main thread of the process, unless the thread is a helper.
//  3. Else none.
//
// Where phases are inferred, they lie on the main thread as ranges would, and operators' ranges give way to them there
// too.
func (t *apiThread) place(at int64, a *analysis) place {
	own := t.own.at(at)
	if t.isMain && t.proc.inferred {
		if m := t.main.at(at); m >= 0 {
			return placeOf(m, waySame)
		}
	}
	if own >= 0 {
		if (a.opts.Through || t.proc.inferred) && !t.isMain && !t.helper && a.spans[own].operator {
			if m := t.main.at(at); m >= 0 {
				if a.opts.Through {
					return placeOf(m, wayOther)
				}
				return placeOf(m, waySame)
			}
		}
		return placeOf(own, waySame)
	}
	if !t.isMain && !t.helper {
		if m := t.main.at(at); m >= 0 {
			return placeOf(m, wayOther)
		}
	}
	return placeOf(-1, wayNone)
}

// joinCalls adds up the parts.
func (a *analysis) joinCalls(work []*apiPart) {
	n := len(a.spans)
	a.apiUse, a.launchCount = work[0].use, work[0].launches
	a.corr = make([][]*corrMap, len(a.procs))
	a.allocNames = make([][]map[int64]int32, len(a.procs))
	a.failed = nil
	a.vmm = make([]int64, len(a.procs))
	a.callStats = work[0].calls
	for k, w := range work {
		if k > 0 {
			for i := range w.use {
				a.apiUse[i].add(&w.use[i])
				a.launchCount[i] += w.launches[i]
			}
			for key, s := range w.calls {
				if t := a.callStats[key]; t != nil {
					t.Count, t.NS, t.Failed, t.MaxNS = t.Count+s.Count, t.NS+s.NS, t.Failed+s.Failed, max(t.MaxNS, s.MaxNS)
				} else {
					a.callStats[key] = s
				}
			}
		}
		for p, m := range w.corr {
			m.finish()
			a.corr[p] = append(a.corr[p], m)
			a.allocNames[p] = append(a.allocNames[p], w.names[p])
			a.procs[p].apiSeen = true
		}
		for p, v := range w.vmm {
			a.vmm[p] += v
		}
		a.failed = append(a.failed, w.failed...)
		if w.minStart != maxTime {
			a.sawTime(w.minStart, w.maxEnd)
		}
	}
	slices.SortFunc(a.failed, compareFailed)
	for _, p := range a.procs {
		p.failedAt = nil
	}
	for i := range a.failed {
		f := &a.failed[i]
		f.proc.failedAt = append(f.proc.failedAt, f.time)
	}
	a.launches = make([]int64, len(a.procs))
	for i, v := range a.launchCount[:n] {
		a.launches[a.spans[i].proc] += v
	}
	for i := range a.procs {
		a.launches[i] += a.launchCount[n+i]
	}
}

// compareFailed puts failed calls in time order.
func compareFailed(x, y failedCall) int {
	return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.tid, y.tid), cmp.Compare(x.duration, y.duration),
		cmp.Compare(x.name, y.name), cmp.Compare(x.ret, y.ret))
}

// inclusiveLaunches are the launches within each span, those of the spans inside it too. A span that overlaps another
// without lying inside it does not count for it.
func (a *analysis) inclusiveLaunches(p *process) []int64 {
	if a.inclusive == nil {
		a.inclusive = make(map[*process][]int64)
	}
	if inc := a.inclusive[p]; inc != nil {
		return inc
	}
	inc := append([]int64(nil), a.launchCount[:len(a.spans)]...)
	for _, t := range p.threads {
		parent := make([]int32, len(t.ranges))
		var open []int32
		for i, id := range t.ranges {
			s := &a.spans[id]
			for len(open) > 0 && a.spans[t.ranges[open[len(open)-1]]].end <= s.start {
				open = open[:len(open)-1]
			}
			parent[i] = -1
			for k := len(open) - 1; k >= 0; k-- {
				if a.spans[t.ranges[open[k]]].end >= s.end {
					parent[i] = open[k]
					break
				}
			}
			open = append(open, int32(i))
		}
		for i := len(t.ranges) - 1; i >= 0; i-- {
			if parent[i] >= 0 {
				inc[t.ranges[parent[i]]] += inc[t.ranges[i]]
			}
		}
	}
	a.inclusive[p] = inc
	return inc
}

// nearIDs is the number of nameIds whose class is kept in a plain list.
const nearIDs = 1 << 16

// class is the class of a function. Each part keeps its own, so that none waits for another.
func (p *apiPart) class(name int64) callClass {
	if uint64(name) < uint64(len(p.classes)) {
		if v := p.classes[name]; v > 0 {
			return callClass(v - 1)
		}
		c := classify(p.a.db.String(name))
		p.classes[name] = uint8(c) + 1
		return c
	}
	c, ok := p.far[name]
	if !ok {
		c = classify(p.a.db.String(name))
		p.far[name] = c
	}
	return c
}

func (u *APIUse) add(v *APIUse) {
	u.Calls += v.Calls
	u.AllocNS += v.AllocNS
	u.FreeNS += v.FreeNS
	u.SyncNS += v.SyncNS
}
