package align

import (
	"context"
	"fmt"
	"regexp"
	"sort"

	"nsysmem/nsysdb"
)

// iterate reads the API calls, chooses the iterations of each process and makes its rows. A process's main thread is
// guessed from the ranges alone; where the launches then tell that another thread carries the iterations, the calls
// are read once more.
func (a *analysis) iterate(ctx context.Context, re *regexp.Regexp) error {
	fams := make(map[*process][]*family)
	for _, p := range a.procs {
		fams[p] = a.families(p)
		if p.main = guessMain(a, fams[p]); p.main != nil {
			p.mainSegs = p.main.segs
		}
	}
	chosen := make(map[*process]*family)
	for try := 0; ; try++ {
		a.inclusive = nil
		if err := a.readCalls(ctx); err != nil {
			return err
		}
		moved := false
		for _, p := range a.procs {
			f := a.pick(p, fams[p], re)
			chosen[p] = f
			if f != nil && f.thread != p.main {
				p.main, moved = f.thread, true
			}
		}
		for _, p := range a.procs {
			if p.main != nil {
				p.mainSegs = p.main.segs
			}
		}
		if !moved || try > 0 {
			break
		}
	}
	found, err := a.infer(ctx, chosen)
	if err != nil {
		return err
	}
	if found {
		if err := a.readCalls(ctx); err != nil {
			return err
		}
	}
	for _, p := range a.procs {
		a.settle(p, fams[p], chosen[p])
	}
	a.group()
	a.keepBlocks = a.keepBlocks || a.allocatesAllAlong()
	return nil
}

// pick chooses the family that carries a process's iterations.
func (a *analysis) pick(p *process, fams []*family, re *regexp.Regexp) *family {
	for _, f := range fams {
		f.why, f.chosen = "", false
		f.measure(a, a.inclusiveLaunches(p), a.launches[p.index])
	}
	if re != nil {
		return a.byPattern(p, re, a.opts.Domain)
	}
	if a.opts.Domain == "" {
		return choose(a, fams)
	}
	var in []*family
	for _, f := range fams {
		if a.inDomain(&a.spans[f.members[0]], a.opts.Domain) {
			in = append(in, f)
		} else {
			f.why = "in another domain"
		}
	}
	return choose(a, in)
}

// settle fixes a process's iterations and makes its rows.
func (a *analysis) settle(p *process, fams []*family, f *family) {
	if f == nil && !p.from.Inferred() {
		why := whyNone(fams)
		if p.from.Why != "" {
			why += "; " + p.from.Why
		}
		p.from = IterationsFrom{How: OriginNone, Why: why}
	}
	var members []int32
	if f != nil {
		members = f.members
		f.closeMembers(a.spans)
		names := make([]string, len(members))
		for i, id := range members {
			names[i] = a.names[a.spans[id].name]
		}
		index, gaps := numbering(names)
		p.from = IterationsFrom{How: OriginRanges, Pattern: f.pattern, Domain: a.domainName(&a.spans[members[0]]), Confidence: 1,
			Count: len(members), TID: nsysdb.TID(f.thread.tid), Why: f.why, Gaps: gaps}
		if a.opts.Iteration != "" {
			p.from.How = OriginPattern
		}
		a.buildRows(p, members)
		for i := range p.iters {
			p.iters[i].index = index[i]
		}
		if len(gaps) > 0 {
			a.warn(Warning{Code: IterationGap, PID: p.pid, Numbers: gaps, Pattern: f.pattern})
		}
	} else {
		a.buildRows(p, p.pseudo)
		for i := range p.iters {
			p.iters[i].index = i
		}
	}
	for _, f := range fams {
		a.rep.Families = append(a.rep.Families, Family{PID: p.pid, TID: nsysdb.TID(f.thread.tid), Domain: a.domainName(&a.spans[f.members[0]]),
			Pattern: f.pattern, Count: len(f.members), Total: f.total, Launches: f.share, Chosen: f.chosen, Why: f.why, Operator: f.operator})
	}
}

func whyNone(fams []*family) string {
	if len(fams) == 0 {
		return "the report has no NVTX ranges of this process"
	}
	ops := 0
	for _, f := range fams {
		if f.operator {
			ops++
		}
	}
	if ops == len(fams) {
		return "all ranges are a framework's or library's own"
	}
	return fmt.Sprintf("none of the %d range names repeats around the GPU work", len(fams))
}

// guessMain is the thread that most likely carries the iterations: the one whose ranges named for a round, else whose
// ranges at all, last longest. Operators' ranges do not count, unless there is nothing else.
func guessMain(a *analysis, fams []*family) *thread {
	type score struct{ word, user, any int64 }
	scores := make(map[*thread]*score)
	var threads []*thread
	for _, f := range fams {
		s := scores[f.thread]
		if s == nil {
			s = &score{}
			scores[f.thread] = s
			threads = append(threads, f.thread)
		}
		t := f.time(a)
		s.any += t
		if !f.operator {
			s.user += t
			if f.word != "" {
				s.word += t
			}
		}
	}
	sort.SliceStable(threads, func(i, j int) bool {
		x, y := scores[threads[i]], scores[threads[j]]
		if h, k := threads[i].helper, threads[j].helper; h != k {
			return k
		}
		if x.word != y.word {
			return x.word > y.word
		}
		if x.user != y.user {
			return x.user > y.user
		}
		if x.any != y.any {
			return x.any > y.any
		}
		return threads[i].tid < threads[j].tid
	})
	if len(threads) == 0 {
		return nil
	}
	return threads[0]
}

// group gives each row the group that details are summed by.
func (a *analysis) group() {
	type key struct {
		where Where
		path  string
	}
	ids := make(map[key]int32)
	a.groups = []group{{"", InNone}}
	id := func(path string, where Where) int32 {
		k := key{where, path}
		v, ok := ids[k]
		if !ok {
			v = int32(len(a.groups))
			ids[k] = v
			a.groups = append(a.groups, group{path, where})
		}
		return v
	}
	for _, p := range a.procs {
		p.groups = make([]int32, len(p.rows))
		for i := range p.rows {
			switch r := &p.rows[i]; r.kind {
			case rowRange:
				p.groups[i] = id(r.path, InRange)
			case rowPhase:
				p.groups[i] = id(r.path, InIteration)
			default:
				p.groups[i] = id(OtherPhase, InIteration)
			}
		}
	}
}

// group is the group of a row; 0 for none.
func (p *process) group(r int32) int32 {
	if r < 0 {
		return 0
	}
	return p.groups[r]
}

// allocatesAllAlong says that in some process most of the later iterations spend time in allocating calls: then the
// driver's blocks may be the tensors, and are kept.
func (a *analysis) allocatesAllAlong() bool {
	for _, p := range a.procs {
		busy := make([]uint8, len(p.iters)) // 1 allocates, 2 frees
		for i := range a.spans {
			s := &a.spans[i]
			if s.proc != p.index || s.row < 0 || p.rows[s.row].iter < 0 {
				continue
			}
			k := p.rows[s.row].iter
			if a.apiUse[i].AllocNS > 0 {
				busy[k] |= 1
			}
			if a.apiUse[i].FreeNS > 0 {
				busy[k] |= 2
			}
		}
		n := 0
		for _, b := range busy[len(busy)/2:] {
			if b == 3 {
				n++
			}
		}
		if half := len(busy) - len(busy)/2; half > 0 && 4*n >= 3*half {
			return true
		}
	}
	return false
}
