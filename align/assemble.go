package align

import (
	"cmp"
	"maps"
	"slices"

	"nsysmem/align/theory"
	"nsysmem/nsysdb"
)

// An assembler makes the report from what the stages before it found.
type assembler struct {
	src      *source
	aligned  *alignment
	rows     *rows
	uses     *uses
	snapshot *joined   // nil without one
	callers  *callers  // nil without call chains
	time     stretch   // of the report
	ended    []*ending // by process.index

	doubts []Warning
}

// assemble makes the report. It takes what uses and snapshot hold by row, so that nothing of a large report is there
// twice.
func assemble(src *source, a *alignment, r *rows, u *uses, snap *joined, who *callers) *Report {
	meta := src.db.Meta()
	as := &assembler{src: src, aligned: a, rows: r, uses: u, snapshot: snap, callers: who, time: a.time.with(u.time)}
	rep := &Report{Collected: src.collected, Recording: u.recording(src, a),
		Source: Source{Path: src.db.Path(), NsysVersion: meta.NsysVersion, SchemaVersion: meta.SchemaVersion,
			StartUTC: meta.StartUTC, Start: as.time.first, End: as.time.last, OS: meta.OS, Driver: meta.Driver,
			CUDADriver: meta.CUDADriver, TimeShift: meta.TimeShift}}
	as.ended, as.doubts = endings(src, a, r, u)
	if snap != nil {
		as.doubts = append(as.doubts, snap.doubts...)
	}
	listed := make(map[*process]bool)
	for _, t := range u.tracks {
		rep.Tracks = append(rep.Tracks, as.track(t, !listed[t.proc]))
		listed[t.proc] = true
	}
	slices.SortStableFunc(rep.Tracks, func(x, y *Track) int {
		return cmp.Or(cmp.Compare(x.PID, y.PID), cmp.Compare(x.Device, y.Device))
	})
	for i := range a.iterations {
		rep.Families = append(rep.Families, a.iterations[i].families...)
	}
	slices.SortStableFunc(rep.Families, compareFamilies)
	rep.Warnings = slices.Concat(a.ranges.doubts, a.doubts, r.doubts, u.doubts, as.doubts)
	return rep
}

// compareFamilies puts the chosen ones first, then those with most launches and time of each process.
func compareFamilies(x, y Family) int {
	return cmp.Or(trueFirst(x.Chosen, y.Chosen), cmp.Compare(x.PID, y.PID),
		cmp.Compare(y.Launches, x.Launches), cmp.Compare(y.Total, x.Total),
		cmp.Compare(x.Pattern, y.Pattern), cmp.Compare(x.Domain, y.Domain), cmp.Compare(x.TID, y.TID))
}

// trueFirst puts what is true before what is not.
func trueFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// closed is an end for output: the end of the report where the range was never closed.
func (as *assembler) closed(end int64) int64 {
	if end == maxTime {
		return as.time.last
	}
	return end
}

// track makes the report of a track. The failed calls of a process stand on its first one: a call does not say its device.
//
//  1. Iterations and phases are laid out, and what is counted by row is put into them.
//  2. The first iterations that allocate what later ones reuse are marked, and one that is cut off; medians are of the rest.
//  3. What the options ask for is listed.
func (as *assembler) track(t *trackUse, first bool) *Track {
	p, opts := t.proc, &as.src.opts
	out := &Track{PID: p.pid, Process: p.name, Device: t.device, IterationsFrom: iterationsOf(as.aligned.iterations, p).from}
	out.setDevice(as.src.db.Meta().GPUs)
	uses := as.lines(out, p)
	as.levels(t, out, uses)
	as.work(t, out, uses)
	as.apiUses(p, out, uses)
	as.rests(p, out, uses)
	markTruncated(out)
	markWarmup(out, as.src.collected.Memory)
	out.Phases = phaseStats(out)
	if opts.Infer == InferAlways {
		out.Inferred = compareInferred(as.src, as.aligned, as.rows, p)
		out.compareMemory(as.snapshot.levels(t))
	}
	out.Ranges = as.ranges(p, uses)
	if first {
		as.failed(t, out)
	}
	if k := t.kernels; k != nil && k.aside > 0 && len(out.Iterations) > 0 && opts.Threads != ThreadsThrough {
		as.doubts = append(as.doubts, Warning{Code: Aside, PID: out.PID, Device: out.Device, Count: k.aside})
	}
	out.Theory = theory.Of(opts.Params, opts.DType, opts.Optimizer)
	sortBlocks(t.memory.blocks)
	out.Tensors = as.tensors(t, out)
	if as.uses.keepBlocks {
		out.Stayed = as.stayed(t, out)
	}
	out.Libraries = as.libraries(t)
	if opts.Blocks {
		as.blocks(t, out)
	}
	if opts.Kernels {
		as.details(t, out)
	}
	if opts.Spans {
		out.Spans = as.spans(p)
	}
	return out
}

// setDevice names the GPU of a track. A process numbers the devices that it may see; the machine's own number is used
// only where the export tells how the two go together, or where there is but one.
func (t *Track) setDevice(gpus []nsysdb.GPU) {
	var g *nsysdb.GPU
	for i := range gpus {
		if v, ok := gpus[i].CUDAIDs[t.PID]; ok && v == t.Device {
			g = &gpus[i]
			break
		}
		if gpus[i].CUDAIDs == nil && gpus[i].ID == t.Device {
			g = &gpus[i]
		}
	}
	if g == nil && len(gpus) == 1 {
		g = &gpus[0]
	}
	if g != nil {
		t.DeviceName, t.DeviceUUID, t.DeviceTotal = g.Name, g.UUID, g.TotalMemory
	}
}

// levels fills a track's levels, and those of its rows.
func (as *assembler) levels(t *trackUse, out *Track, uses []*Use) {
	sweeps := as.snapshot.levels(t)
	kinds := slices.SortedFunc(maps.Keys(sweeps), compareLevels)
	others := len(kinds)
	if sweeps[LevelDevice] != nil {
		others--
	}
	if others > 0 {
		store := make([]LevelUse, others*len(uses))
		for i, u := range uses {
			u.Other = store[i*others : i*others : (i+1)*others]
		}
	}
	for _, kind := range kinds {
		l := sweeps[kind]
		if l.peakN == 0 { // never above what it started with
			l.out.PeakAt = as.time.first
		}
		if e := at(as.ended, t.proc); e != nil && e.memory && !kind.FromSnapshot() {
			l.out.Ended, l.out.EndedAt = true, e.last
		}
		out.Levels = append(out.Levels, l.out)
		if kind == LevelDevice {
			out.Total.Memory = l.out.whole()
			if l.out.Static > 0 {
				l.takeOwn(uses)
			}
			l.takeRows(func(r int32) *MemoryUse { return &uses[r].Memory })
			continue
		}
		k := len(out.Total.Other)
		out.Total.Other = append(out.Total.Other, LevelUse{kind, l.out.whole()})
		for _, u := range uses {
			u.Other = append(u.Other, LevelUse{Level: kind})
		}
		l.takeRows(func(r int32) *MemoryUse { return &uses[r].Other[k].MemoryUse })
	}
	if t.memory.pool.pools != nil {
		pool := t.memory.pool.out
		out.Pool = &pool
	}
}

// whole is the use of a level over the whole report.
func (l *Level) whole() MemoryUse {
	return MemoryUse{Start: l.Baseline, End: l.End, Net: l.End - l.Baseline, Peak: l.Peak, PeakAt: l.PeakAt, Need: l.Peak - l.Baseline,
		Allocs: l.Allocs, AllocBytes: l.AllocBytes, Frees: l.Frees, FreeBytes: l.FreeBytes, FailedAllocs: l.FailedAllocs,
		StaticAllocs: l.Static, StaticAllocBytes: l.StaticBytes}
}

// work fills the kernels and copies of a track and of its rows.
func (as *assembler) work(t *trackUse, out *Track, uses []*Use) {
	if k := t.kernels; k != nil {
		out.Attribution = k.attr
		out.Total.GPU.setKernels(&k.total)
		for i, u := range uses {
			u.GPU.setKernels(&k.use[i])
		}
		k.use = nil
	}
	if c := t.copies; c != nil {
		out.Total.GPU.setCopies(&c.total)
		for i, u := range uses {
			u.GPU.setCopies(&c.use[i])
		}
		c.use = nil
	}
}

// apiUses adds the API time of each range to its row and the rows above.
func (as *assembler) apiUses(p *process, out *Track, uses []*Use) {
	calls, r := as.aligned.calls, as.aligned.ranges
	for i := range r.spans {
		if r.spans[i].proc != p.index {
			continue
		}
		out.Total.API.add(&calls.use[i])
		if row := as.rows.of[i]; row >= 0 {
			uses[row].API.add(&calls.use[i])
		}
	}
	out.Total.API.add(calls.outside(r, p))
	for i, w := range slices.Backward(as.rows.proc(p).list) {
		if w.parent >= 0 {
			uses[w.parent].API.add(&uses[i].API)
		}
	}
}

// rests puts a rest that has no time of its own at the end of its iteration.
func (as *assembler) rests(p *process, out *Track, uses []*Use) {
	for i, w := range as.rows.proc(p).list {
		if w.kind == rowOther && w.calls == 0 {
			uses[i].Memory.PeakAt = out.Iterations[w.iter].End
		}
	}
}

// failed lists the calls of a process that failed to allocate.
func (as *assembler) failed(t *trackUse, out *Track) {
	var levels []int64 // the device level at each failed call of the process
	if l := t.memory.levels[LevelDevice]; l != nil && as.src.collected.Memory {
		levels = l.markAt
	}
	calls := as.aligned.calls
	for i := range calls.failed {
		f := &calls.failed[i]
		if f.proc != t.proc {
			continue
		}
		iter, path := as.rows.where(t.proc, f.at)
		x := FailedAlloc{Time: f.time, Duration: f.duration, TID: nsysdb.TID(f.tid), Call: callName(as.src.db.String(f.name)), Return: f.ret, Iteration: iter, Level: -1,
			Caller: as.callers.ofChain(f.chain)}
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
