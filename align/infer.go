package align

import (
	"context"
	"fmt"
	"slices"

	"nsysmem/align/period"
	"nsysmem/nsysdb"
)

// An inference is what a search in the GPU work of a process gives; zero where none was made.
type inference struct {
	result  period.Result
	ops     *opList        // nil unless Options.Infer is InferAlways
	members []int32        // spans of inferred iterations
	from    IterationsFrom // how those were found
	why     string         // why none were found, where they were searched for
	stands  standing       // of the ranges that were chosen
}

// inferences are those of all processes, and the ranges with the inferred ones among them.
type inferences struct {
	ranges *ranges // those from before where nothing was found
	leads  []lead  // likewise
	byProc map[*process]inference
}

// cheapLaunches is up to how many launches of a process its GPU work is always asked: 16,000 take 50 ms on one core.
const cheapLaunches = 1 << 14

// infer finds iterations and phases in the GPU work of the processes that lack ranges for them.
//
// Of a small program the GPU work is asked too where ranges tell both: it costs little.
//
//  1. The operations of those processes are read and joined to their launches.
//  2. Each process's are searched for what repeats.
//  3. What is found is cut where memory is taken: see period.Result.CutByMemory.
//  4. It is put among the ranges: iterations where there are none, phases where iterations have none.
func infer(ctx context.Context, src *source, r *ranges, c *calls, leads []lead, picks []picked) (*inferences, error) {
	out := &inferences{ranges: r, leads: leads, byProc: make(map[*process]inference)}
	procs := src.processes.all()[:len(picks)]
	want := make(map[*process]bool)
	for i, p := range procs {
		if c.launched[i] == 0 && src.db.Missing(nsysdb.Kernel) && src.db.Missing(nsysdb.GraphTrace) {
			continue // there is nothing to search
		}
		iterations, phases := src.lacks(r, picks[i].chosen)
		if iterations || phases || picks[i].doubtful() || src.opts.Infer == InferAlways || src.iteration == nil && c.launched[i] <= cheapLaunches {
			want[p] = true
		}
	}
	if src.opts.Infer == InferOff || len(want) == 0 {
		return out, nil
	}
	ops, err := readOps(ctx, src, &joiner{src: src, ranges: r, leads: leads}, want)
	if err != nil {
		return nil, err
	}
	found, err := search(ctx, src, want, ops, r.time.with(c.time))
	if err != nil {
		return nil, err
	}
	b := newInferrer(src, r, leads)
	for i, p := range procs {
		if want[p] {
			out.byProc[p] = b.process(p, ops[p], found[p], picks[i].chosen)
		}
	}
	if len(b.ranges.spans) > len(r.spans) {
		out.ranges, out.leads = &b.ranges, b.leads
	}
	return out, nil
}

// lacks says whether a process lacks ranges for iterations, or for phases inside those that were chosen. What the options
// ask for by name is not searched for.
func (s *source) lacks(r *ranges, chosen *candidate) (iterations, phases bool) {
	if chosen == nil {
		return s.iteration == nil, false
	}
	chosen.phases = chosen.hasPhases(r)
	return false, !chosen.phases
}

// An inferrer makes ranges of other ones and of what is inferred.
type inferrer struct {
	src    *source
	ranges ranges
	leads  []lead
	names  map[string]int32 // of inferred ranges
}

// newInferrer begins with the ranges as they are, which stay as they are.
func newInferrer(src *source, r *ranges, leads []lead) *inferrer {
	b := &inferrer{src: src, ranges: *r, leads: slices.Clone(leads), names: make(map[string]int32)}
	b.ranges.spans, b.ranges.names = slices.Clip(r.spans), slices.Clip(r.names)
	return b
}

// search searches the operations of some processes, nil where there were too many, and cuts what it finds where memory is
// taken. program is the time of ranges and calls.
func search(ctx context.Context, src *source, want map[*process]bool, ops map[*process]*opList, program stretch) (map[*process]period.Result, error) {
	out := make(map[*process]period.Result)
	cuts := make(map[*process]bool)
	for p := range want {
		list := ops[p]
		if list == nil {
			out[p] = period.Result{Why: fmt.Sprintf("more than %d GPU operations, too many to search for a period", maxOps)}
			continue
		}
		r := period.Find(list.ops, list.begins())
		if out[p] = r; len(r.Iterations) > 0 {
			cuts[p] = true
		}
	}
	if len(cuts) == 0 {
		return out, nil
	}
	memory, err := readMemoryTimes(ctx, src, cuts, program)
	if err != nil {
		return nil, err
	}
	for p := range cuts {
		r := out[p]
		r.CutByMemory(ops[p].ops, memory[p])
		out[p] = r
	}
	return out, nil
}

// process adds what a process lacks, of what was found in its operations.
func (b *inferrer) process(p *process, list *opList, found period.Result, chosen *candidate) inference {
	out := inference{result: found}
	if chosen != nil && b.src.iteration == nil {
		out.stands = b.confirm(chosen, list, &out.result)
		if out.stands.dropped != "" {
			chosen = nil
		}
	}
	switch iterations, phases := b.src.lacks(&b.ranges, chosen); {
	case iterations && len(out.result.Iterations) == 0:
		out.why = out.result.Why
	case iterations:
		out.members, out.from = b.iterations(p, list, &out.result)
	case phases:
		b.phases(p, chosen.family, &out.result)
	}
	if b.src.opts.Infer == InferAlways {
		out.ops = list
	}
	return out
}

// iterations adds inferred iterations, and their phases where the program has no ranges inside them, to the ranges of the
// thread that launches them.
func (b *inferrer) iterations(p *process, list *opList, res *period.Result) (members []int32, from IterationsFrom) {
	its := res.Iterations
	t := b.thread(p, list.threads[list.ops[its[0].First].Thread])
	starts := make([]int64, len(its))
	for i := range its {
		starts[i] = b.pullStart(t, its[i].Earliest, its[i].Start)
	}
	user := b.userRangesIn(t, its)
	unit := res.Unit
	if unit == "training step" || unit == "" {
		unit = "step"
	}
	for i := range its {
		end := its[i].End
		if i+1 < len(its) {
			end = min(end, starts[i+1])
		}
		id := b.add(p, t, fmt.Sprintf("%s %d", unit, i), starts[i], end)
		b.ranges.spans[id].cut = its[i].Truncated
		members = append(members, id)
		if user {
			continue
		}
		for _, ph := range its[i].Phases {
			b.add(p, t, ph.Name, max(ph.Start, starts[i]), min(ph.End, end))
		}
	}
	b.lead(p, t)
	return members, IterationsFrom{How: OriginKernels, Pattern: unit + " #", Confidence: res.Confidence, Count: len(its),
		TID: nsysdb.TID(t.tid), Why: res.Why}
}

// phases adds inferred phases inside annotated iterations.
func (b *inferrer) phases(p *process, f *family, res *period.Result) {
	spans := b.ranges.spans
	var found []period.Phase
	k := 0
	for _, it := range res.Iterations {
		for _, ph := range it.Phases {
			for k < len(f.members) && spans[f.members[k]].end <= ph.Start {
				k++
			}
			for m := k; m < len(f.members) && spans[f.members[m]].start < ph.End; m++ {
				s := &spans[f.members[m]]
				if start, end := max(ph.Start, s.start), min(ph.End, s.end); start < end {
					found = append(found, period.Phase{Name: ph.Name, Start: start, End: end})
				}
			}
		}
	}
	if len(found) == 0 {
		return
	}
	t := b.thread(p, f.thread.tid)
	for _, ph := range found {
		b.add(p, t, ph.Name, ph.Start, ph.End)
	}
	b.lead(p, t)
}

// thread is a copy of a thread that ranges are to be added to, or a new one where there is none.
func (b *inferrer) thread(p *process, tid int64) *thread {
	r := &b.ranges
	r.threads, r.byProc = slices.Clone(r.threads), slices.Clone(r.byProc)
	old := r.thread(p, tid)
	if old == nil {
		return r.newThread(b.src, tid)
	}
	t := *old
	t.ranges = slices.Clip(old.ranges)
	list := slices.Clone(r.byProc[p.index])
	list[slices.Index(list, old)] = &t
	r.byProc[p.index], r.threads[t.id] = list, &t
	return &t
}

// add adds an inferred range to a thread.
func (b *inferrer) add(p *process, t *thread, name string, start, end int64) int32 {
	n, ok := b.names[name]
	if !ok {
		n = int32(len(b.ranges.names))
		b.ranges.names = append(b.ranges.names, name)
		b.names[name] = n
	}
	id := int32(len(b.ranges.spans))
	b.ranges.spans = append(b.ranges.spans, span{start: start, end: max(start, end), name: n, proc: p.index, thread: t.id, inferred: true})
	t.ranges = append(t.ranges, id)
	return id
}

// lead lays out a thread anew, with what was added, and makes it the lead of its process.
func (b *inferrer) lead(p *process, t *thread) {
	sortRanges(t.ranges, b.ranges.spans)
	t.segs = cut(t.ranges, b.ranges.spans, func(id int32) bool { return !b.ranges.spans[id].inferred })
	for len(b.leads) <= int(p.index) {
		b.leads = append(b.leads, lead{})
	}
	b.leads[p.index] = lead{thread: t, inferred: true,
		segs: cut(t.ranges, b.ranges.spans, func(id int32) bool { return !b.ranges.spans[id].operator })}
}

// pullStart moves an iteration's start back to where a range of the program's own begins just before its first launch.
func (b *inferrer) pullStart(t *thread, earliest, start int64) int64 {
	at := start
	for _, id := range t.ranges {
		if s := &b.ranges.spans[id]; !s.operator && s.start >= earliest && s.start < at && s.end < maxTime && s.end > start {
			at = s.start
		}
	}
	return at
}

// userRangesIn says that a thread has ranges of the program's own inside the iterations.
func (b *inferrer) userRangesIn(t *thread, its []period.Iteration) bool {
	k := 0
	for _, id := range t.ranges {
		s := &b.ranges.spans[id]
		if s.operator {
			continue
		}
		for k < len(its) && its[k].End <= s.start {
			k++
		}
		if k < len(its) && s.start >= its[k].Earliest && s.end <= its[k].End {
			return true
		}
	}
	return false
}
