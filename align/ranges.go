package align

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"nsysmem/nsysdb"
)

// ranges are the ranges of a report, laid out by thread. Later stages make new ones of them rather than change them.
type ranges struct {
	spans   []span
	names   []string // of spans
	domains map[nsysdb.DomainID]string
	threads []*thread   // those that have ranges
	byProc  [][]*thread // likewise by process.index, in the order of their ids
	time    stretch     // of the ranges and the capture
	doubts  []Warning
}

// readRanges reads the ranges and lays out for each thread which is innermost at any time.
//
//  1. Processes and names get numbers that do not depend on the order of the table's rows.
//  2. Each range is told to be the program's own, an operator's or a library's, and given to its thread.
//  3. Each thread's ranges are put in the order in which they open, and cut into segs.
func readRanges(ctx context.Context, src *source) (*ranges, error) {
	nv, err := src.db.NVTX(ctx)
	if err != nil {
		return nil, err
	}
	settleOrder(nv, src.processes)
	r := &ranges{names: nv.Names, domains: nv.Domains, spans: make([]span, 0, len(nv.Ranges)), time: src.capture}
	owners, clean := r.owners()
	library := make(map[nsysdb.DomainID]bool)
	for id, name := range nv.Domains {
		library[id] = libraryDomain.MatchString(name)
	}
	threads := make(map[int64]*thread)
	open, damaged := int64(0), int64(0)
	for i := range nv.Ranges {
		n := &nv.Ranges[i]
		t := threads[n.TID]
		if t == nil {
			t = r.newThread(src, n.TID)
			threads[n.TID] = t
		}
		s := span{start: n.Start, end: n.End, name: n.Name, proc: src.processes.of(n.TID).index, thread: t.id, domain: n.Domain}
		if n.End == nsysdb.Null {
			s.end, s.open = maxTime, true
			open++
		}
		if n.Damaged {
			damaged++
		}
		r.time.add(n.Start, max(n.Start, n.End)) // Null, the End of an open range, is below any time
		own := owners[n.Name].in(library[r.domainID(&s)])
		s.name, s.operator, s.library = clean[n.Name], own == ownOperator || own == ownLibrary, own == ownLibrary || own == ownModule
		t.ranges = append(t.ranges, int32(len(r.spans)))
		r.spans = append(r.spans, s)
	}
	r.doubts = counted(Warning{Code: DamagedRanges, Count: damaged}, Warning{Code: OpenRanges, Count: open - damaged})
	for _, t := range r.threads {
		sortRanges(t.ranges, r.spans)
		r.loosen(t)
		t.segs = cut(t.ranges, r.spans, nil)
	}
	for _, ts := range r.byProc {
		slices.SortFunc(ts, func(x, y *thread) int { return cmp.Compare(x.tid, y.tid) })
	}
	return r, nil
}

// loosen marks the ranges of frameworks and libraries around which the program has no range of its own on their thread: a
// worker that the program annotates keeps what a library does for it.
func (r *ranges) loosen(t *thread) {
	until := int64(-maxTime) // ns; last end of the program's own ranges so far
	for _, id := range t.ranges {
		s := &r.spans[id]
		if !s.operator && !s.library {
			until = max(until, s.end)
			continue
		}
		s.loose = s.start >= until
	}
}

// newThread adds a thread without ranges.
func (r *ranges) newThread(src *source, tid int64) *thread {
	t := &thread{id: int32(len(r.threads)), tid: tid, helper: helperThread.MatchString(src.threadNames[tid])}
	r.threads = append(r.threads, t)
	p := int(src.processes.of(tid).index)
	for len(r.byProc) <= p {
		r.byProc = append(r.byProc, nil)
	}
	r.byProc[p] = append(r.byProc[p], t)
	return t
}

// thread is the thread of a globalTid; nil where it has no ranges.
func (r *ranges) thread(p *process, tid int64) *thread {
	for _, t := range at(r.byProc, p) {
		if t.tid == tid {
			return t
		}
	}
	return nil
}

// settleOrder makes what follows independent of the order of the table's rows: processes are met by their ids, and an
// index of a name is its place in alphabetical order, names of rounds before all others. Of ranges that start and end at
// the same times the one with the lower index counts as the outer one.
func settleOrder(nv *nsysdb.NVTX, procs *processes) {
	var gpids []int64
	for i := range nv.Ranges {
		if g := nsysdb.Process(nv.Ranges[i].TID); len(gpids) == 0 || gpids[len(gpids)-1] != g {
			gpids = append(gpids, g)
		}
	}
	slices.Sort(gpids)
	for _, g := range slices.Compact(gpids) {
		procs.of(g)
	}
	by := make([]int32, len(nv.Names))
	rest := make([]int, len(nv.Names)) // 0 for a round, 1 for the others
	for i, name := range nv.Names {
		by[i] = int32(i)
		if !iterationWord.MatchString(name) || phaseWord.MatchString(name) {
			rest[i] = 1
		}
	}
	slices.SortFunc(by, func(x, y int32) int {
		return cmp.Or(cmp.Compare(rest[x], rest[y]), cmp.Compare(nv.Names[x], nv.Names[y]))
	})
	names, place := make([]string, len(by)), make([]int32, len(by))
	for k, i := range by {
		names[k], place[i] = nv.Names[i], int32(k)
	}
	nv.Names = names
	for i := range nv.Ranges {
		nv.Ranges[i].Name = place[nv.Ranges[i].Name]
	}
}

var operatorNumbers = regexp.MustCompile(`,?\s*\b(?:seq|op_id|op_ids|sizes|input_op_ids|sz)\s*=\s*(?:\[.*\]|[^,]*)`)

// owners gives for each name who opened its ranges as far as the name tells, and the index of its form without the running
// numbers of operators. Such forms are added to the names, behind the program's own: of ranges that start and end at the
// same times the program's is the outer one.
func (r *ranges) owners() (by []owner, clean []int32) {
	by, clean = make([]owner, len(r.names)), make([]int32, len(r.names))
	index := make(map[string]int32)
	for i, name := range slices.Clone(r.names) {
		by[i], clean[i] = ownerByName(name), int32(i)
		if by[i] != ownOperator && by[i] != ownLibrary {
			continue
		}
		short := cmp.Or(operatorNumbers.ReplaceAllString(name, ""), name)
		k, ok := index[short]
		if !ok {
			k = int32(len(r.names))
			r.names = append(r.names, short)
			index[short] = k
		}
		clean[i] = k
	}
	return by, clean
}

func (r *ranges) domainID(s *span) nsysdb.DomainID {
	return nsysdb.DomainID{GlobalPID: nsysdb.Process(r.threads[s.thread].tid), Domain: s.domain}
}

// domainName is the name of a span's domain; empty for the default one.
func (r *ranges) domainName(s *span) string { return r.domains[r.domainID(s)] }

// name is the name of a span.
func (r *ranges) name(id int32) string { return r.names[r.spans[id].name] }

// inDomain says that a span is in the domain asked for: by name, or ":" for the default one; empty asks for any.
func (r *ranges) inDomain(s *span, domain string) bool {
	if domain == "" {
		return true
	}
	name := r.domainName(s)
	return name == domain || name == "" && (domain == ":" || domain == "default")
}

// stack walks ranges in opening order with those that are open; the innermost is the last.
type stack struct {
	spans []span
	open  []int32
}

// at closes what has ended by a time.
func (s *stack) at(time int64) {
	for n := len(s.open); n > 0 && s.spans[s.open[n-1]].end <= time; n-- {
		s.open = s.open[:n-1]
	}
}

// parents gives for each span the innermost one on its thread in which it lies whole, -1 for none.
func (r *ranges) parents() []int32 {
	out := make([]int32, len(r.spans))
	for _, t := range r.threads {
		walk := stack{spans: r.spans}
		for _, id := range t.ranges {
			s := &r.spans[id]
			walk.at(s.start)
			out[id] = -1
			for _, k := range slices.Backward(walk.open) {
				if r.spans[k].end >= s.end {
					out[id] = k
					break
				}
			}
			walk.open = append(walk.open, id)
		}
	}
	return out
}
