package align

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"nsysmem/nsysdb"
)

// calls are the API calls of a report, joined to ranges and summed.
type calls struct {
	use      []APIUse              // by span, then by process.index for calls without one
	launches []int64               // calls that launch work, likewise
	detailed []int64               // by span of a lead: those of ranges of other threads that are details of it; nil for none
	launched []int64               // those of a whole process, by process.index
	paces    []*pace               // the same over time; nil for a process without ranges or launches
	proofs   []callProof           // as use
	last     []int64               // ns; start of the last call, by process.index; -maxTime without calls
	vmm      []int64               // cuMemCreate and alike, by process.index
	failed   []failedCall          // in time order
	failedAt [][]int64             // ns; starts of those, by process.index
	names    [][]map[int64]int32   // nameId of allocating and freeing calls by correlation id: by process.index (nil without calls), then part; empty unless wanted
	chains   [][]map[int64]int64   // call chains of allocating calls, likewise; empty unless wanted and recorded
	stats    map[callKey]*CallStat // without names; nil unless Options.Kernels
	time     stretch
}

// A callKey is one function in one range.
type callKey struct {
	span int32 // or -1 less process.index
	name int64 // nameId
}

// A callProof counts calls that succeeded and must have left events behind: where those are missing, they were lost.
type callProof struct {
	kernels, graphs uint32 // launches of kernels, of graphs
	allocs          uint32 // allocations of device memory
}

func (p *callProof) add(q *callProof) {
	p.kernels += q.kernels
	p.graphs += q.graphs
	p.allocs += q.allocs
}

// A failedCall is a call that was to allocate, and got an error.
type failedCall struct {
	proc     *process
	at       place
	time     int64 // ns
	duration int64 // ns
	tid      int64 // globalTid
	name     int64 // nameId
	ret      int64
	class    callClass
	chain    int64 // its call chain; Null for none
}

// Parts of the table of API calls are read at once where it has many rows: more parts than this cost more memory than they
// save time.
const (
	maxParts   = 8
	wholeCalls = 1 << 16 // rows below which the table is read in one part
)

// readCalls joins every API call to the range that was open, on its thread or on the lead, and keeps that place by
// correlation id. Parts of the table are read at once; each keeps its own sums, added up in the end.
func readCalls(ctx context.Context, src *source, r *ranges, leads []lead) (*calls, *places, error) {
	parts := make([]*callPart, 1)
	if src.db.Rows(nsysdb.API) >= wholeCalls {
		parts = make([]*callPart, min(runtime.GOMAXPROCS(0), maxParts))
	}
	for i := range parts {
		parts[i] = newCallPart(src, &joiner{src: src, ranges: r, leads: leads})
	}
	chain := noColumn
	if src.hasChains() {
		chain = nsysdb.ChainID
	}
	api := table{needed: 2, missing: map[nsysdb.Column]int64{nsysdb.End: nsysdb.Null, noColumn: nsysdb.Null},
		told: src.progress("API calls", nsysdb.API).add,
		Scan: nsysdb.Scan{Table: nsysdb.API, Parts: len(parts), Columns: []nsysdb.Column{nsysdb.Start, nsysdb.GlobalTID,
			nsysdb.End, nsysdb.CorrelationID, nsysdb.NameID, nsysdb.ReturnValue, chain}}}
	err := api.read(ctx, src.db, func(b *nsysdb.Batch) error {
		parts[b.Part].add(b)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	c, at := addParts(src, r, parts)
	return c, at, nil
}

// A callPart is what one goroutine makes of its part of the API calls.
type callPart struct {
	src    *source
	joiner *joiner
	spans  int  // number of spans
	named  bool // calls say their function

	threads map[int64]*callThread
	last    *callThread
	before  *callThread         // the one before last: two threads take turns
	classes []uint8             // by nameId: class + 1; 0 where not yet known
	far     map[int64]callClass // of ids too high for that

	procs    map[*process]*procCalls
	use      []APIUse
	launches []int64
	proofs   []callProof
	detailed []int64 // as in calls
	failed   []failedCall
	stats    map[callKey]*CallStat
	time     stretch
}

// A procCalls is what a part keeps of the calls of a process.
type procCalls struct {
	corr   corrMap
	names  map[int64]int32 // as in calls.names
	chains map[int64]int64 // as in calls.chains
	vmm    int64           // as in calls.vmm
	pace   *pace           // of a process with ranges; else nil
	last   int64           // as in calls.last
}

// A callThread is a thread with where the calls of its process go.
type callThread struct {
	joinedThread
	*procCalls
}

// nearIDs is the number of nameIds whose class is kept in a plain list.
const nearIDs = 1 << 16

func newCallPart(src *source, j *joiner) *callPart {
	n := len(j.ranges.spans)
	p := &callPart{src: src, joiner: j, spans: n, named: src.db.Has(nsysdb.API, nsysdb.NameID), threads: make(map[int64]*callThread),
		classes: make([]uint8, nearIDs), far: make(map[int64]callClass),
		procs: make(map[*process]*procCalls),
		use:   make([]APIUse, n+maxProcs), launches: make([]int64, n+maxProcs), proofs: make([]callProof, n+maxProcs)}
	if src.opts.Kernels {
		p.stats = make(map[callKey]*CallStat)
	}
	return p
}

// add takes in a batch of calls. This is the longest loop of all: it allocates nothing, and asks a map for nothing that
// stays the same from one call to the next.
//
//  1. The call's thread says to which range it belongs; that place is kept by correlation id.
//  2. The call counts for its range or, without one, for its process.
//  3. By what its function does, its time is one of allocating, freeing or waiting, or it launches work.
func (p *callPart) add(b *nsysdb.Batch) {
	start, tid, end, corr, names, ret, chain := b.Cols[0], b.Cols[1], b.Cols[2], b.Cols[3], b.Cols[4], b.Cols[5], b.Cols[6]
	first, last := int64(maxTime), int64(-maxTime)
	for i := range b.Rows {
		if start[i] == nsysdb.Null || tid[i] == nsysdb.Null {
			continue // neither time nor thread can be guessed
		}
		t := p.last
		if t == nil || t.tid != tid[i] {
			t = p.thread(tid[i])
		}
		at := t.place(start[i])
		slot := int(at.span())
		if slot < 0 {
			slot = p.spans + int(t.proc.index)
		}
		if corr[i] > 0 {
			t.corr.set(corr[i], int32(at))
		}
		p.use[slot].Calls++
		until := max(start[i], end[i])
		first, last = min(first, start[i]), max(last, until)
		t.last = max(t.last, start[i])
		if !p.named {
			continue
		}
		name := names[i]
		if p.stats != nil {
			p.count(at.span(), t.proc, name, until-start[i], ret[i] > 0)
		}
		switch class := p.class(name); class {
		case classOther:
		case classLaunch, classLaunchGraph:
			p.launches[slot]++
			if at.way() == wayThrough && int(t.under) != slot {
				p.detail(t.under)
			}
			if t.pace != nil {
				t.pace.add(start[i], class)
			}
			p.launch(slot, class, ret[i])
		case classSync:
			p.use[slot].SyncNS += until - start[i]
		default:
			p.memory(t, slot, failedCall{t.proc, at, start[i], until - start[i], tid[i], name, ret[i], class, chain[i]})
			if p.src.wantsBlocks() {
				t.names[corr[i]] = int32(name)
			}
			if class != classFree && chain[i] != nsysdb.Null {
				t.chains[corr[i]] = chain[i]
			}
		}
	}
	if first <= last {
		p.time.add(first, last)
	}
}

// launch takes in a call that launches work: unless it failed, the GPU has run it.
func (p *callPart) launch(slot int, class callClass, ret int64) {
	switch {
	case ret > 0:
	case class == classLaunch:
		p.proofs[slot].kernels++
	default:
		p.proofs[slot].graphs++
	}
}

// detail counts a launch in a range that is a detail of one of the lead.
func (p *callPart) detail(lead int32) {
	if p.detailed == nil {
		p.detailed = make([]int64, p.spans)
	}
	p.detailed[lead]++
}

// memory takes in a call that is to allocate or to free.
func (p *callPart) memory(t *callThread, slot int, c failedCall) {
	if c.class == classFree {
		p.use[slot].FreeNS += c.duration
		return
	}
	p.use[slot].AllocNS += c.duration
	switch {
	case failed(c.class, c.ret):
		p.failed = append(p.failed, c)
	case c.class == classAllocDevice:
		p.proofs[slot].allocs++
	}
	if c.class == classAllocVMM {
		t.vmm++
	}
}

// count sums calls by function.
func (p *callPart) count(span int32, proc *process, name, ns int64, failed bool) {
	k := callKey{span, name}
	if span < 0 {
		k.span = -1 - proc.index
	}
	one := CallStat{Count: 1, NS: ns, MaxNS: ns}
	if failed {
		one.Failed = 1
	}
	entry(p.stats, k).add(&one)
}

func (s *CallStat) add(o *CallStat) {
	s.Count, s.NS, s.Failed, s.MaxNS = s.Count+o.Count, s.NS+o.NS, s.Failed+o.Failed, max(s.MaxNS, o.MaxNS)
}

func (p *callPart) thread(tid int64) *callThread {
	if t := p.before; t != nil && t.tid == tid {
		p.last, p.before = t, p.last
		return t
	}
	t := p.threads[tid]
	if t == nil {
		t = &callThread{joinedThread: p.joiner.thread(tid)}
		t.procCalls = entry(p.procs, t.proc)
		if t.names == nil {
			t.names, t.chains, t.last = make(map[int64]int32), make(map[int64]int64), -maxTime
			if r := p.joiner.ranges; len(at(r.byProc, t.proc)) > 0 {
				t.pace = newPace(r.time, len(r.byProc))
			}
		}
		p.threads[tid] = t
	}
	p.last, p.before = t, p.last
	return t
}

// class is the class of a function. Each part keeps its own, so that none waits for another.
func (p *callPart) class(name int64) callClass {
	near := uint64(name) < uint64(len(p.classes))
	if near && p.classes[name] > 0 {
		return callClass(p.classes[name] - 1)
	}
	c, ok := p.far[name]
	if !ok {
		c = classify(p.src.db.String(name))
		if near {
			p.classes[name] = uint8(c) + 1
		} else {
			p.far[name] = c
		}
	}
	return c
}

// addParts adds up the parts.
func addParts(src *source, r *ranges, parts []*callPart) (*calls, *places) {
	procs := src.processes.all()
	n := len(procs)
	c := &calls{use: parts[0].use, launches: parts[0].launches, detailed: parts[0].detailed, launched: make([]int64, n),
		proofs: parts[0].proofs, last: slices.Repeat([]int64{-maxTime}, n),
		vmm: make([]int64, n), paces: make([]*pace, n), failedAt: make([][]int64, n), names: make([][]map[int64]int32, n),
		chains: make([][]map[int64]int64, n), stats: parts[0].stats}
	at := &places{byProc: make([][]*corrMap, n)}
	for k, w := range parts {
		if k > 0 {
			c.addSums(w)
		}
		for p, m := range w.procs {
			m.corr.finish()
			at.byProc[p.index] = append(at.byProc[p.index], &m.corr)
			c.names[p.index] = append(c.names[p.index], m.names)
			c.chains[p.index] = append(c.chains[p.index], m.chains)
			c.vmm[p.index] += m.vmm
			switch sum := &c.paces[p.index]; {
			case *sum == nil:
				*sum = m.pace
			case m.pace != nil:
				(*sum).merge(m.pace)
			}
			c.last[p.index] = max(c.last[p.index], m.last)
		}
		c.failed = append(c.failed, w.failed...)
		c.time = c.time.with(w.time)
	}
	for _, p := range c.paces {
		if p != nil {
			p.sum()
		}
	}
	slices.SortFunc(c.failed, func(x, y failedCall) int {
		return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.tid, y.tid), cmp.Compare(x.duration, y.duration),
			cmp.Compare(x.name, y.name), cmp.Compare(x.ret, y.ret))
	})
	for i := range c.failed {
		p := c.failed[i].proc.index
		c.failedAt[p] = append(c.failedAt[p], c.failed[i].time)
	}
	for i, v := range c.launches[:len(r.spans)] {
		c.launched[r.spans[i].proc] += v
	}
	for i := range c.launched {
		c.launched[i] += c.launches[len(r.spans)+i]
	}
	return c, at
}

// addSums adds the sums of another part.
func (c *calls) addSums(w *callPart) {
	for i := range w.use {
		c.use[i].add(&w.use[i])
		c.launches[i] += w.launches[i]
		c.proofs[i].add(&w.proofs[i])
	}
	switch {
	case c.detailed == nil:
		c.detailed = w.detailed
	case w.detailed != nil:
		for i, n := range w.detailed {
			c.detailed[i] += n
		}
	}
	for key, s := range w.stats {
		entry(c.stats, key).add(s)
	}
}

// outside is what a process's calls without a range come to.
func (c *calls) outside(r *ranges, p *process) *APIUse { return &c.use[len(r.spans)+int(p.index)] }

// launchesWithin are the launches within each span, those of its details and of the spans inside it too, by their parents.
// A span that overlaps another without lying inside it does not count for it.
func (c *calls) launchesWithin(r *ranges, parents []int32) []int64 {
	within := slices.Clone(c.launches[:len(r.spans)])
	for i, n := range c.detailed {
		within[i] += n
	}
	for _, t := range r.threads {
		for _, id := range slices.Backward(t.ranges) {
			if k := parents[id]; k >= 0 {
				within[k] += within[id]
			}
		}
	}
	return within
}

// callNames gives the name of the allocating or freeing call of a process by correlation id; empty where it is not known.
func (c *calls) callNames(db *nsysdb.DB, p *process) func(corr int64) string {
	known := make(map[int32]string)
	return func(corr int64) string {
		if corr <= 0 {
			return ""
		}
		for _, m := range at(c.names, p) {
			id, ok := m[corr]
			if !ok {
				continue
			}
			name, ok := known[id]
			if !ok {
				name = callName(db.String(int64(id)))
				known[id] = name
			}
			return name
		}
		return ""
	}
}

func (u *APIUse) add(v *APIUse) {
	u.Calls += v.Calls
	u.AllocNS += v.AllocNS
	u.FreeNS += v.FreeNS
	u.SyncNS += v.SyncNS
}
