package align

// Ways in which an event came to its range, as the low bits of a place.
const (
	wayNone    = 0
	waySame    = 1 // on its own thread
	wayOther   = 2 // on the thread that carries the iterations
	wayThrough = 3 // likewise, through a library's range on its own thread; the range of the place is on either thread
)

// A place is where an event belongs: its range and the way it came there.
type place int32

// nowhere is the place of what belongs to no range.
const nowhere = place(wayNone)

// placeOf is the place of what came to a range by a way; nowhere where there is no range.
func placeOf(span int32, way place) place {
	if span < 0 {
		return nowhere
	}
	return place(span+1)<<2 | way
}

// span is the index of the range; -1 for none.
func (p place) span() int32 { return int32(p>>2) - 1 }

func (p place) way() place { return p & 3 }

// places are the places of all API calls, by process and correlation id. They are the largest thing that is kept of the
// calls, and of use only until events are joined.
type places struct {
	byProc [][]*corrMap // by process.index: one for each part of the table that has calls of it
}

// reader gives one goroutine its own view.
func (p *places) reader() *places {
	out := &places{byProc: make([][]*corrMap, len(p.byProc))}
	for i, ms := range p.byProc {
		for _, m := range ms {
			out.byProc[i] = append(out.byProc[i], m.reader())
		}
	}
	return out
}

// of is the place of a call of a process; false where the call is not in the report.
func (p *places) of(proc *process, corr int64) (place, bool) {
	if corr <= 0 || int(proc.index) >= len(p.byProc) {
		return nowhere, false
	}
	for _, m := range p.byProc[proc.index] {
		if v, ok := m.get(corr); ok {
			return place(v), true
		}
	}
	return nowhere, false
}

// A lead is the thread that carries a process's iterations: work of threads without a range goes to the range open there.
type lead struct {
	thread   *thread // nil for none
	segs     []seg   // innermost ranges there, as other threads' work and inferred phases go by them
	inferred bool    // iterations or phases there are inferred: operators' ranges give way to them
}

// A joiner joins moments of threads to ranges.
type joiner struct {
	src    *source
	ranges *ranges
	leads  []lead // by process.index

	threads map[int64]*joinedThread // by globalTid, as known gives them; nil until it is asked
}

// A joinedThread is a thread as moments are joined on it; times are to rise mostly.
type joinedThread struct {
	tid     int64
	proc    *process
	spans   []span
	own     cursor // innermost ranges of the thread itself
	main    cursor // those of the lead
	isMain  bool   // it is the lead
	helper  bool
	infers  bool  // lead.inferred
	through bool  // ThreadsThrough
	under   int32 // the lead's range at the last moment that was placed by wayThrough
}

func (j *joiner) thread(tid int64) joinedThread {
	p := j.src.processes.of(tid)
	lead := at(j.leads, p)
	t := joinedThread{tid: tid, proc: p, spans: j.ranges.spans, helper: helperThread.MatchString(j.src.threadNames[tid]),
		infers: lead.inferred, through: j.src.opts.Threads == ThreadsThrough}
	if own := j.ranges.thread(p, tid); own != nil {
		t.own = newCursor(own.segs)
		t.isMain = own == lead.thread
	}
	if t.isMain && t.infers || !t.isMain && j.src.opts.Threads != ThreadsSame {
		t.main = newCursor(lead.segs)
	}
	return t
}

// known is a thread that is kept for when it is asked for again.
func (j *joiner) known(tid int64) *joinedThread {
	if j.threads == nil {
		j.threads = make(map[int64]*joinedThread)
	}
	t := entry(j.threads, tid)
	if t.proc == nil {
		*t = j.thread(tid)
	}
	return t
}

// place joins a moment of a thread to a range.
//
//  1. The innermost range open on the thread itself. On a thread that does not carry the iterations, a framework's or
//     library's own range is looked through, so that a phase holds all the work of its backward thread: the work belongs to
//     what the lead is in at the time.
//  2. Else the innermost range open on the lead of the process, unless the thread is a helper.
//  3. Else none.
//
// A library's range that lies whole in the one that it gives way to stays the place, as a detail below that one; rowBuilder
// puts it there. Where phases are inferred, they lie on the lead as ranges would, operators' ranges give way to them there
// too, and none is a detail.
func (t *joinedThread) place(time int64) place {
	own := t.own.at(time)
	if t.isMain {
		if t.infers {
			if m := t.main.at(time); m >= 0 {
				return placeOf(m, waySame)
			}
		}
		return placeOf(own, waySame)
	}
	if own >= 0 && (!(t.through || t.infers) || t.helper || !t.spans[own].loose) {
		return placeOf(own, waySame)
	}
	if !t.helper {
		if m := t.main.at(time); m >= 0 {
			return t.lookThrough(own, m)
		}
	}
	return placeOf(own, waySame)
}

// lookThrough places what belongs to a range of the lead. Own is the range that gives way to it, -1 for none.
func (t *joinedThread) lookThrough(own, m int32) place {
	switch {
	case own < 0:
		return placeOf(m, wayOther)
	case !t.through:
		return placeOf(m, waySame)
	}
	t.under = m
	if !t.infers && t.spans[m].holds(&t.spans[own]) {
		m = own
	}
	return placeOf(m, wayThrough)
}
