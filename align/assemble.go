package align

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"nsysmem/align/theory"
	"nsysmem/nsysdb"
)

// assemble makes the report from the sums.
func (a *analysis) assemble() {
	src := &a.rep.Source
	for _, s := range []stretch{a.memoryTime, a.kernelTime, a.copyTime} {
		if s.any {
			a.sawTime(s.first, s.last)
		}
	}
	src.Start, src.End = a.firstTime, a.lastTime
	for _, p := range a.procs {
		p.tracks = slices.DeleteFunc(p.tracks, (*track).idle)
	}
	a.countFailed()
	procs := slices.Clone(a.procs)
	slices.SortFunc(procs, func(p, q *process) int { return cmp.Compare(p.gpid, q.gpid) })
	for _, p := range procs {
		a.ensureTrack(p)
		sort.Slice(p.tracks, func(i, j int) bool { return p.tracks[i].device < p.tracks[j].device })
		for _, t := range p.tracks {
			a.rep.Tracks = append(a.rep.Tracks, a.trackReport(t))
		}
	}
	sort.SliceStable(a.rep.Tracks, func(i, j int) bool {
		x, y := a.rep.Tracks[i], a.rep.Tracks[j]
		if x.PID != y.PID {
			return x.PID < y.PID
		}
		return x.Device < y.Device
	})
	sort.SliceStable(a.rep.Families, func(i, j int) bool {
		x, y := &a.rep.Families[i], &a.rep.Families[j]
		switch {
		case x.Chosen != y.Chosen:
			return x.Chosen
		case x.PID != y.PID:
			return x.PID < y.PID
		case x.Launches != y.Launches:
			return x.Launches > y.Launches
		case x.Total != y.Total:
			return x.Total > y.Total
		case x.Pattern != y.Pattern:
			return x.Pattern < y.Pattern
		case x.Domain != y.Domain:
			return x.Domain < y.Domain
		}
		return x.TID < y.TID
	})
	a.rep.Recording = a.recording()
}

// idle says that a track has no event. Rows read out of order make such tracks: a free names another device than its
// allocation, which was not yet met.
func (t *track) idle() bool {
	return len(t.levels) == 0 && t.pool.pools == nil && t.gpu.total == GPUUse{} && t.copies.total == copyUse{}
}

// ensureTrack gives a process that used CUDA but left no event on any device a track to show its zeros on.
func (a *analysis) ensureTrack(p *process) {
	if len(p.tracks) == 0 && (a.rep.Collected.Memory || a.rep.Collected.Kernels) && p.apiSeen {
		a.track(p, 0)
	}
}

// closed is an end for output: the end of the capture where the range was never closed.
func (a *analysis) closed(end int64) int64 {
	if end == maxTime {
		return a.rep.Source.End
	}
	return end
}

func (a *analysis) trackReport(t *track) *Track {
	p := t.proc
	out := &Track{PID: p.pid, Process: p.name, Device: t.device, IterationsFrom: p.from, Attribution: t.gpu.attr}
	a.device(out, p)
	uses := a.lines(out, p)
	a.rowUses(t, out, uses)
	markTruncated(out)
	markWarmup(out, a.rep.Collected.Memory)
	out.Phases = phaseStats(out)
	if a.opts.Infer == InferAlways {
		out.Inferred = a.compareInferred(p)
	}
	a.ranges(out, p, uses)
	a.failedAllocs(out, p)
	if n := t.gpu.aside; n > 0 && len(out.Iterations) > 0 {
		a.warn(Warning{Code: Aside, PID: out.PID, Device: out.Device, Count: n})
	}
	out.Theory = theory.Of(a.opts.Params, a.opts.DType, a.opts.Optimizer)
	t.sortBlocks()
	out.Tensors = a.tensors(out, t)
	if a.keepBlocks {
		out.Stayed = a.stayed(out, t)
	}
	if a.opts.Blocks {
		a.blocks(out, t)
	}
	if a.opts.Kernels {
		a.details(out, t)
	}
	if a.opts.Spans {
		a.phaseSpans(out, p)
	}
	return out
}

// device names the GPU of a track. A process numbers the devices that it may see; the machine's own number is used
// only where the export tells how the two go together, or where there is but one.
func (a *analysis) device(out *Track, p *process) {
	gpus := a.db.Meta().GPUs
	var g *nsysdb.GPU
	for i := range gpus {
		if v, ok := gpus[i].CUDAIDs[p.pid]; ok && v == out.Device {
			g = &gpus[i]
			break
		}
		if gpus[i].CUDAIDs == nil && gpus[i].ID == out.Device {
			g = &gpus[i]
		}
	}
	if g == nil && len(gpus) == 1 {
		g = &gpus[0]
	}
	if g != nil {
		out.DeviceName, out.DeviceUUID, out.DeviceTotal = g.Name, g.UUID, g.TotalMemory
	}
}

// rowUses adds up everything that is counted for each row of a track, and fills the track's totals. It gives back what
// the track holds for rows.
func (a *analysis) rowUses(t *track, out *Track, uses []*Use) {
	p := t.proc
	if a.rep.Collected.Memory && t.levels[LevelDevice] == nil {
		l := newLevelSweep(LevelDevice, p, endOrder(p.calls), a.firstTime)
		l.finish()
		t.levels[LevelDevice] = l
	}
	kinds := slices.SortedFunc(maps.Keys(t.levels), compareLevels)
	others := len(kinds)
	if t.levels[LevelDevice] != nil {
		others--
	}
	if others > 0 {
		store := make([]LevelUse, others*len(uses))
		for i, u := range uses {
			u.Other = store[i*others : i*others : (i+1)*others]
		}
	}
	for _, kind := range kinds {
		l := t.levels[kind]
		if l.peakN == 0 { // never above what it started with
			l.out.PeakAt = a.rep.Source.Start
		}
		out.Levels = append(out.Levels, l.out)
		total := wholeTime(&l.out)
		if kind == LevelDevice {
			out.Total.Memory = total
			l.rowMemory(p, func(r int32) *MemoryUse { return &uses[r].Memory })
			continue
		}
		out.Total.Other = append(out.Total.Other, LevelUse{kind, total})
		for _, u := range uses {
			u.Other = append(u.Other, LevelUse{Level: kind})
		}
		k := len(out.Total.Other) - 1
		l.rowMemory(p, func(r int32) *MemoryUse { return &uses[r].Other[k].MemoryUse })
	}
	if t.pool.pools != nil {
		pool := t.pool.out
		out.Pool = &pool
	}
	for i, u := range uses {
		if t.gpu.use != nil {
			u.GPU.addKernels(&t.gpu.use[i])
		}
		if t.copies.use != nil {
			u.GPU.addCopies(&t.copies.use[i])
		}
	}
	t.gpu.use, t.copies.use = nil, nil
	out.Total.GPU = t.gpu.total
	out.Total.GPU.addCopies(&t.copies.total)
	a.apiUses(p, uses, out)
	for i := range p.rows { // a rest that has no time of its own lies at the end of its iteration
		if w := &p.rows[i]; w.kind == rowOther && w.calls == 0 {
			uses[i].Memory.PeakAt = out.Iterations[w.iter].End
		}
	}
}

// wholeTime is the use of a level over the whole report.
func wholeTime(l *Level) MemoryUse {
	return MemoryUse{Start: l.Baseline, End: l.End, Net: l.End - l.Baseline, Peak: l.Peak, PeakAt: l.PeakAt, Need: l.Peak - l.Baseline,
		Allocs: l.Allocs, AllocBytes: l.AllocBytes, Frees: l.Frees, FreeBytes: l.FreeBytes, FailedAllocs: l.FailedAllocs}
}

// apiUses adds the API time of each range to its row and the rows above.
func (a *analysis) apiUses(p *process, uses []*Use, out *Track) {
	for i := range a.spans {
		if s := &a.spans[i]; s.proc == p.index {
			out.Total.API.add(&a.apiUse[i])
			if s.row >= 0 {
				uses[s.row].API.add(&a.apiUse[i])
			}
		}
	}
	if k := len(a.spans) + int(p.index); k < len(a.apiUse) {
		out.Total.API.add(&a.apiUse[k])
	}
	for i := len(p.rows) - 1; i >= 0; i-- {
		if up := p.rows[i].parent; up >= 0 {
			uses[up].API.add(&uses[i].API)
		}
	}
}

// lines makes a track's iterations and their phases, and gives for each row the place where what is counted for it is to
// stand: a report may have a million rows, so that none is kept twice.
func (a *analysis) lines(out *Track, p *process) []*Use {
	first := make([]int64, len(p.rows))
	last := make([]int64, len(p.rows))
	dur := make([]int64, len(p.rows))
	for i := range first {
		first[i], last[i] = maxTime, -maxTime
	}
	for _, c := range p.calls {
		end := a.closed(c.end)
		first[c.row] = min(first[c.row], c.start)
		last[c.row] = max(last[c.row], end)
		dur[c.row] += end - c.start
	}
	phases, others := 0, len(p.rows)
	for i := range p.iters {
		phases += int(p.iters[i].last - p.iters[i].row)
		others -= int(p.iters[i].last-p.iters[i].row) + 1
	}
	uses := make([]*Use, len(p.rows))
	out.Iterations = make([]Iteration, len(p.iters))
	store := make([]Phase, 0, phases) // of all iterations
	for k := range p.iters {
		it := &p.iters[k]
		s := &a.spans[it.span]
		n := &out.Iterations[k]
		*n = Iteration{Index: it.index, Name: a.names[s.name], Start: s.start, End: a.closed(s.end), Truncated: s.open || s.cut}
		uses[it.row] = &n.Use
		from := len(store)
		inferred := false
		for r := it.row + 1; r <= it.last; r++ {
			w := &p.rows[r]
			store = append(store, Phase{Path: w.path, Name: w.name, Depth: int(w.depth), Calls: w.calls,
				Start: first[r], End: last[r], Duration: dur[r], Inferred: w.span >= 0 && a.spans[w.span].pseudo})
			ph := &store[len(store)-1]
			uses[r] = &ph.Use
			if w.calls == 0 {
				ph.Start, ph.End, ph.Duration = n.End, n.End, 0
			}
			if w.span >= 0 && a.spans[w.span].open {
				n.Truncated = true
			}
			if w.kind == rowOther { // the rest of inferred phases is inferred like them
				ph.Inferred = inferred
			}
			inferred = inferred || ph.Inferred
		}
		if len(store) > from {
			n.Phases = store[from:len(store):len(store)]
		}
	}
	rest := make([]Use, 0, others)
	for i := range uses {
		if uses[i] == nil {
			rest = append(rest, Use{})
			uses[i] = &rest[len(rest)-1]
		}
	}
	return uses
}

func (a *analysis) ranges(out *Track, p *process, uses []*Use) {
	for i := range p.rows {
		w := &p.rows[i]
		if w.kind != rowRange {
			continue
		}
		s := &a.spans[w.span]
		if w.merged && !uses[i].any() {
			continue
		}
		out.Ranges = append(out.Ranges, RangeUse{Name: w.name, Domain: a.domainName(s), TID: nsysdb.TID(s.thread.tid), Calls: w.calls,
			Start: s.start, End: a.closed(s.end), Duration: a.closed(s.end) - s.start, Open: s.open, Contains: w.contains, Use: *uses[i]})
	}
	if len(out.Ranges) == 0 {
		return
	}
	ends, sums := make(map[int32]int64), make(map[int32]int64)
	for _, c := range p.calls {
		if p.rows[c.row].merged {
			end := a.closed(c.end)
			ends[c.row] = max(ends[c.row], end)
			sums[c.row] += end - c.start
		}
	}
	k := 0
	for i := range p.rows {
		if w := &p.rows[i]; w.kind == rowRange && (!w.merged || uses[i].any()) {
			if end, ok := ends[int32(i)]; ok {
				out.Ranges[k].End, out.Ranges[k].Duration = end, sums[int32(i)]
			}
			k++
		}
	}
	sort.SliceStable(out.Ranges, func(i, j int) bool { return out.Ranges[i].Start < out.Ranges[j].Start })
}

// any says that something is attributed to the row.
func (u *Use) any() bool {
	return u.API.Calls > 0 || u.GPU.Kernels > 0 || u.GPU.Copies > 0 || u.GPU.Memsets > 0 || u.Memory.Allocs > 0 || u.Memory.Frees > 0
}

// where names the iteration and phase of a place; outside of iterations the range.
func (a *analysis) where(p *process, at place) (iter int, path string) {
	s := at.span()
	if s < 0 || a.spans[s].row < 0 {
		return -1, ""
	}
	w := &p.rows[a.spans[s].row]
	if w.kind == rowIteration {
		return int(w.iter), OtherPhase
	}
	return int(w.iter), w.path
}

// failedAllocs lists the failed calls of a process on its first track: a call does not say its device.
func (a *analysis) failedAllocs(out *Track, p *process) {
	if len(p.tracks) > 0 && p.tracks[0].device != out.Device {
		return
	}
	var levels []int64 // the device level at each failed call of the process
	if len(p.tracks) > 0 && a.rep.Collected.Memory {
		if l := p.tracks[0].levels[LevelDevice]; l != nil {
			levels = l.markAt
		}
	}
	for i := range a.failed {
		f := &a.failed[i]
		if f.proc != p {
			continue
		}
		iter, path := a.where(p, f.at)
		x := FailedAlloc{Time: f.time, Duration: f.duration, TID: nsysdb.TID(f.tid), Call: callName(a.db.String(f.name)), Return: f.ret, Iteration: iter, Level: -1}
		if n := len(out.Failed); n < len(levels) {
			x.Level = levels[n]
		}
		if iter >= 0 {
			x.Phase = path
		} else {
			x.Range = path
		}
		out.Failed = append(out.Failed, x)
	}
}

func (a *analysis) phaseSpans(out *Track, p *process) {
	for _, c := range p.calls {
		w := &p.rows[c.row]
		if w.kind != rowPhase {
			continue
		}
		out.Spans = append(out.Spans, Span{Iteration: int(w.iter), Path: w.path, Depth: int(w.depth), Start: c.start,
			End: a.closed(c.end), Inferred: a.spans[w.span].pseudo})
	}
}
