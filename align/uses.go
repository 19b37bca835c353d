package align

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"nsysmem/nsysdb"
)

// A tracked keeps something for each track, and the time of what is counted there.
type tracked[T any] struct {
	tracks map[trackKey]*T
	time   stretch

	// What was looked up last: the next event mostly is of the same track.
	last         *T
	gpid, device int64
}

// of is what is kept for a device of a process, begun when first met.
func (t *tracked[T]) of(ps *processes, gpid, device int64, begin func(*process) *T) *T {
	if t.last != nil && t.gpid == gpid && t.device == device {
		return t.last
	}
	key := trackKey{ps.of(gpid), device}
	if t.tracks == nil {
		t.tracks = make(map[trackKey]*T)
	}
	if t.tracks[key] == nil {
		t.tracks[key] = begin(key.proc)
	}
	t.last, t.gpid, t.device = t.tracks[key], gpid, device
	return t.last
}

// A trackUse is what a track used: its memory, kernels and copies, by row.
type trackUse struct {
	trackKey
	memory  *memoryTrack // never nil; without levels where there are no events
	kernels *kernelSum   // nil where there are none
	copies  *copySum     // nil where there are none
}

// uses are those of all tracks.
type uses struct {
	tracks     []*trackUse // by process, then device
	time       stretch     // of the events
	memoryTime stretch     // of the memory events alone
	memoryRows int64       // memory events that can be read
	keepBlocks bool        // memoryTrack.blocks are filled, and wanted for more than who asked for them
	doubts     []Warning
}

// readUses reads memory events, kernels and copies at once, each joined to its row through its API call.
//
//  1. Three goroutines read a kind of event each. They share nothing that changes, but the list of processes.
//  2. What they found is put together by track. A process that used CUDA but left no event on any device has a track too,
//     to show its zeros on.
//  3. Calls that failed to allocate are counted: they do not say their device, so that they count for the process's first.
func readUses(ctx context.Context, src *source, a *alignment, r *rows, at *places) (*uses, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var memory *memorySweep
	var kernels *tracked[kernelSum]
	var copies *tracked[copySum]
	keepBlocks := src.wantsBlocks() || a.allocatesAllAlong(r)
	jobs := []func() error{
		func() (err error) {
			memory, err = readMemory(ctx, src, a, r, at, keepBlocks || a.calls.anyChain())
			return err
		},
		func() (err error) { kernels, err = readKernels(ctx, src, a, r, at); return err },
		func() (err error) { copies, err = readCopies(ctx, src, r, at); return err },
	}
	errs := make(chan error)
	for _, job := range jobs {
		go func() { errs <- job() }()
	}
	var first error
	for range jobs {
		err := <-errs
		if err != nil {
			cancel() // the others need not go on
		}
		if first == nil || errors.Is(first, context.Canceled) && err != nil {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	u := &uses{memoryTime: memory.time, time: memory.time.with(kernels.time, copies.time), memoryRows: memory.rows,
		keepBlocks: keepBlocks, doubts: memory.doubts}
	u.join(src, a, r, memory, kernels, copies)
	u.complete(src, a, r)
	return u, nil
}

// join puts together what was read of each track.
func (u *uses) join(src *source, a *alignment, r *rows, memory *memorySweep, kernels *tracked[kernelSum], copies *tracked[copySum]) {
	byKey := make(map[trackKey]*trackUse)
	for key, m := range memory.tracks {
		entry(byKey, key).memory = m
	}
	for key, k := range kernels.tracks {
		entry(byKey, key).kernels = k
	}
	for key, c := range copies.tracks {
		entry(byKey, key).copies = c
	}
	used := make(map[*process]bool)
	for key := range byKey {
		used[key.proc] = true
	}
	seen := src.collected.Memory || src.collected.Kernels || src.collected.Launches > 0
	for _, p := range src.processes.all() {
		if !used[p] && seen && at(a.calls.names, p) != nil {
			entry(byKey, trackKey{p, 0})
		}
	}
	for key, t := range byKey {
		t.trackKey = key
		u.tracks = append(u.tracks, t)
	}
	slices.SortFunc(u.tracks, func(x, y *trackUse) int {
		return cmp.Or(cmp.Compare(x.proc.gpid, y.proc.gpid), cmp.Compare(x.device, y.device))
	})
}

// complete adds what no memory event tells: the failed calls, and a device level of zero.
func (u *uses) complete(src *source, a *alignment, r *rows) {
	first := make(map[*process]*trackUse)
	for _, t := range u.tracks {
		if first[t.proc] == nil {
			first[t.proc] = t
		}
		if t.memory == nil {
			t.memory = newMemoryTrack(t.proc)
		}
	}
	if !src.collected.Memory {
		return
	}
	level := func(t *trackUse, kind LevelKind) *levelSweep {
		l := t.memory.levels[kind]
		if l == nil {
			l = t.memory.level(kind, a, r, a.time.first)
			l.finish()
		}
		return l
	}
	for i := range a.calls.failed {
		f := &a.calls.failed[i]
		l := level(first[f.proc], f.class.level())
		l.out.FailedAllocs++
		l.row(f.at).failed++
	}
	for _, t := range u.tracks {
		level(t, LevelDevice)
	}
}

// allocatesAllAlong says that in some process most of the later iterations spend time in calls that allocate and in ones
// that free: then the driver's blocks may be the tensors, and are kept.
func (a *alignment) allocatesAllAlong(r *rows) bool {
	const allocates, frees = 1, 2
	busy := make([][]uint8, len(r.byProc)) // by process, then iteration
	for i, p := range r.byProc {
		busy[i] = make([]uint8, len(p.iters))
	}
	for id := range a.ranges.spans {
		p, row := a.ranges.spans[id].proc, r.of[id]
		if row < 0 {
			continue
		}
		k := r.byProc[p].list[row].iter
		if k < 0 {
			continue
		}
		if a.calls.use[id].AllocNS > 0 {
			busy[p][k] |= allocates
		}
		if a.calls.use[id].FreeNS > 0 {
			busy[p][k] |= frees
		}
	}
	for _, its := range busy {
		later := its[len(its)/2:]
		n := 0
		for _, b := range later {
			if b == allocates|frees {
				n++
			}
		}
		if len(later) > 0 && 4*n >= 3*len(later) {
			return true
		}
	}
	return false
}

// recording says how the recording went, once all tables are read.
func (u *uses) recording(src *source, a *alignment) Recording {
	c, db, meta := a.calls, src.db, src.db.Meta()
	out := Recording{File: db.Warnings(), Diagnostics: newWitness(src, a, u).said(meta.Diagnostics), MemoryEvents: u.memoryRows,
		MemoryKinds: db.Has(nsysdb.MemoryUsage, nsysdb.MemKind),
		WholeGraphs: meta.GraphMode == "Graph" && db.Rows(nsysdb.GraphTrace) > 0}
	for _, n := range c.launched {
		out.Launches += n
	}
	for _, p := range src.processes.all() {
		if n := at(c.vmm, p); n > 0 && !u.showsVMM(p) {
			out.Unseen = append(out.Unseen, Unseen{PID: p.pid, Calls: n})
		}
	}
	return out
}

// showsVMM says that a process has memory events at all through which virtual memory could show; exports of 2023.4 and
// later write rows for it (observed), older ones may not.
func (u *uses) showsVMM(p *process) bool {
	for _, t := range u.tracks {
		if t.proc != p {
			continue
		}
		for _, l := range t.memory.levels {
			if l.vmm {
				return true
			}
		}
	}
	return false
}
