package align

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"nsysmem/nsysdb"
)

// iterations are those of one process, and how they were found.
type iterations struct {
	from     IterationsFrom
	members  []int32 // spans, in time order; nil for none
	numbers  []int   // of members: Iteration.Index
	families []Family
	searched inference // what the GPU work gives
}

// iterationsOf is what a list by process has for one. A process that is met later than the list was made has none.
func iterationsOf(list []iterations, p *process) iterations {
	if int(p.index) < len(list) {
		return list[p.index]
	}
	return iterations{from: IterationsFrom{How: OriginNone}}
}

// An alignment is what the program's time is divided by: ranges, with inferred ones among them, the iterations of each
// process, and where each API call belongs.
type alignment struct {
	ranges     *ranges
	iterations []iterations // by process.index
	leads      []lead       // likewise
	calls      *calls
	time       stretch // of the capture, ranges and calls
	doubts     []Warning
}

// lead is the lead of a process.
func (a *alignment) lead(p *process) lead { return at(a.leads, p) }

// iterate reads the API calls and chooses the iterations of each process. A process's lead is guessed from the ranges
// alone; where the launches then tell that another thread carries the iterations, or where iterations or phases are
// inferred, the calls are read once more.
func iterate(ctx context.Context, src *source, r *ranges) (*alignment, *places, error) {
	var fams [][]*family
	var leads []lead
	for _, p := range src.processes.all() {
		f := families(r, p)
		fams, leads = append(fams, f), append(leads, leadOn(guessThread(r, f)))
	}
	c, joined, err := readCalls(ctx, src, r, leads)
	if err != nil {
		return nil, nil, err
	}
	picks := pickAll(src, r, c, fams)
	if leads, moved := follow(leads, picks); moved {
		if c, joined, err = readCalls(ctx, src, r, leads); err != nil {
			return nil, nil, err
		}
		picks = pickAll(src, r, c, fams)
	}
	leads, _ = follow(leads, picks)
	inferred, err := infer(ctx, src, r, c, leads, picks)
	if err != nil {
		return nil, nil, err
	}
	if inferred.ranges != r {
		r, leads = inferred.ranges, inferred.leads
		if c, joined, err = readCalls(ctx, src, r, leads); err != nil {
			return nil, nil, err
		}
	}
	a := &alignment{leads: leads, calls: c, time: r.time.with(c.time)}
	for i, p := range src.processes.all() {
		var pick picked
		if i < len(picks) {
			pick = picks[i]
		}
		it := settle(src, r, pick, inferred.byProc[p])
		a.iterations = append(a.iterations, it)
		if s := it.searched.stands; it.from.How == OriginRanges && s.disagrees() {
			a.doubts = append(a.doubts, Warning{Code: Disagreement, PID: p.pid, Count: int64(s.found), Numbers: []int{len(it.members)},
				Pattern: it.from.Pattern})
		}
		if gaps := it.from.Gaps; len(gaps) > 0 {
			a.doubts = append(a.doubts, Warning{Code: IterationGap, PID: p.pid, Numbers: gaps, Pattern: it.from.Pattern})
		}
	}
	a.ranges = r.closing(a.iterations)
	return a, joined, nil
}

// A picked is what was chosen for one process, and among what.
type picked struct {
	chosen     *candidate // nil for none
	candidates []*candidate
}

// doubtful says that the GPU work is to be asked about what was chosen.
func (p picked) doubtful() bool { return p.chosen != nil && (p.chosen.doubt != "" || p.chosen.part) }

// pickAll chooses for each process by how many launches its families hold.
func pickAll(src *source, r *ranges, c *calls, fams [][]*family) []picked {
	out := make([]picked, len(c.launched))
	b := newBallot(r, c)
	for i, p := range src.processes.all()[:len(out)] {
		for _, f := range at(fams, p) {
			out[i].candidates = append(out[i].candidates, b.candidate(p, f))
		}
		out[i].chosen = b.pick(src, p, out[i].candidates)
	}
	return out
}

func leadOn(t *thread) lead {
	if t == nil {
		return lead{}
	}
	return lead{thread: t, segs: t.segs}
}

// follow makes the threads of what was picked the leads, and tells whether that moves one.
func follow(leads []lead, picks []picked) (out []lead, moved bool) {
	out = slices.Clone(leads)
	for i, pick := range picks {
		if i >= len(out) {
			break // a process without ranges
		}
		if f := pick.chosen; f != nil && f.thread != out[i].thread {
			out[i], moved = leadOn(f.thread), true
		}
	}
	return out, moved
}

// settle fixes the iterations of a process, by what was picked or inferred.
func settle(src *source, r *ranges, pick picked, inf inference) iterations {
	it := iterations{searched: inf}
	f := pick.chosen
	if f != nil {
		if against := inf.stands.against(f); against != "" {
			f.chosen, f.why = false, against
			f = nil
		}
	}
	switch {
	case f != nil:
		names := make([]string, len(f.members))
		for i, id := range f.members {
			names[i] = r.name(id)
		}
		it.members = f.members
		it.from = IterationsFrom{How: OriginRanges, Pattern: f.pattern, Domain: r.domainName(&r.spans[f.members[0]]),
			Confidence: confidence(f, inf.stands), Count: len(f.members), TID: nsysdb.TID(f.thread.tid), Why: f.why}
		it.numbers, it.from.Gaps = numbering(names)
		if src.iteration != nil {
			it.from.How = OriginPattern
		}
	case len(inf.members) > 0:
		it.members, it.from = inf.members, inf.from
		it.numbers = make([]int, len(inf.members))
		for i := range it.numbers {
			it.numbers[i] = i
		}
	default:
		it.from = IterationsFrom{How: OriginNone, Why: whyNone(pick.candidates)}
		if inf.why != "" {
			it.from.Why += "; " + inf.why
		}
	}
	for _, c := range pick.candidates {
		first := &r.spans[c.members[0]]
		it.families = append(it.families, Family{PID: nsysdb.PID(c.thread.tid), TID: nsysdb.TID(c.thread.tid), Domain: r.domainName(first),
			Pattern: c.pattern, Count: len(c.members), Total: c.total, Launches: c.share, Chosen: c.chosen, Why: c.why, Operator: c.operator})
	}
	return it
}

// closing ends iterations that were never closed where the next one begins.
func (r *ranges) closing(its []iterations) *ranges {
	out := r
	for k := range its {
		members := its[k].members
		for i := 1; i < len(members); i++ {
			if r.spans[members[i-1]].end != maxTime {
				continue
			}
			if out == r {
				copied := *r
				copied.spans = slices.Clone(r.spans)
				out = &copied
			}
			out.spans[members[i-1]].end = out.spans[members[i]].start
		}
	}
	return out
}

func whyNone(cs []*candidate) string {
	if len(cs) == 0 {
		return "the report has no NVTX ranges of this process"
	}
	if !slices.ContainsFunc(cs, func(c *candidate) bool { return !c.operator }) {
		return "all ranges are a framework's or library's own"
	}
	return fmt.Sprintf("none of the %d range names repeats around the GPU work", len(cs))
}

// guessThread is the thread that most likely carries the iterations: the one whose ranges named for a round, else whose
// ranges at all, last longest. Operators' ranges do not count, unless there is nothing else. It is nil where there is no
// range.
func guessThread(r *ranges, fams []*family) *thread {
	type score struct {
		word, user, any int64 // ns
	}
	scores := make(map[*thread]*score)
	for _, f := range fams {
		s := entry(scores, f.thread)
		t := f.time(r, r.time.last)
		s.any += t
		if !f.operator {
			s.user += t
			if f.word != "" {
				s.word += t
			}
		}
	}
	var best *thread
	for t, s := range scores {
		if best == nil || cmp.Or(trueFirst(t.helper, best.helper), cmp.Compare(s.word, scores[best].word),
			cmp.Compare(s.user, scores[best].user), cmp.Compare(s.any, scores[best].any), cmp.Compare(best.tid, t.tid)) > 0 {
			best = t
		}
	}
	return best
}
