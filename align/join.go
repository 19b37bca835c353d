package align

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// clockReach is how far a snapshot's clock may be from the report's: both are the machine's wall clock, so that a
// snapshot further off is of another run. Lateness of the matched segments is 1 to 25 µs (observed).
const clockReach = int64(1e9)

// clockSpread is the width in which the lateness of most matched segments must lie.
const clockSpread = int64(1e6)

// A match is how well one device of a snapshot goes with one track.
type match struct {
	device  int
	track   *track
	replay  *torchmem.Replay
	late    []int64 // ns; by matched segment, in rising order
	of      int     // segments of the snapshot in the report's time
	offset  int64
	spread  int64
	matched int
}

// joinSnapshot finds the track that each device of the snapshot belongs to and adds its levels there.
//
//  1. A segment that PyTorch took is a memory event of the report with the same address and size.
//  2. The lateness of the snapshot's stamps is the densest millisecond of the differences; the least of those is the
//     offset of the clocks, since a stamp is taken after the driver's call.
//  3. A device whose segments mostly match a track is that track; a snapshot none of whose devices does is refused.
func (a *analysis) joinSnapshot() error {
	snap := a.opts.Snapshot
	if snap == nil {
		return nil
	}
	var best []match
	var told []string
	for _, d := range snap.Devices() {
		r, err := snap.Replay(d)
		if err != nil {
			return fmt.Errorf("align: snapshot %q: %w", a.opts.SnapshotName, err)
		}
		m := match{device: d, replay: r}
		for _, t := range a.allTracks() {
			x := match{device: d, replay: r, track: t}
			x.compare(a)
			if m.track == nil || x.matched > m.matched {
				m = x
			}
		}
		if m.track == nil || m.matched == 0 || 2*m.matched < m.of {
			told = append(told, fmt.Sprintf("device %d: %d of %d segments are in the report", d, m.matched, m.of))
			continue
		}
		best = append(best, m)
	}
	if len(best) == 0 {
		if len(told) == 0 {
			told = []string{"it has no device"}
		}
		return fmt.Errorf("align: snapshot %q: it is of another run, device or process (%s): give the snapshot of the run that was profiled",
			a.opts.SnapshotName, strings.Join(told, "; "))
	}
	for i := range best {
		best[i].track.snapshot = &best[i]
		a.snapshotLevels(&best[i])
	}
	return nil
}

// compare matches the segments of a snapshot's device with the memory events of a track.
func (m *match) compare(a *analysis) {
	rows := make(map[int64][]*rawBlock)
	for i := range m.track.blocks {
		if b := &m.track.blocks[i]; b.kind == nsysdb.KindDevice && b.start != Never {
			rows[b.address] = append(rows[b.address], b)
		}
	}
	utc := a.rep.Source.StartUTC
	first, last := a.memoryTime.first, max(a.memoryTime.last, a.lastTime)
	if a.timed {
		first = min(first, a.firstTime)
	}
	used := make(map[*rawBlock]bool)
	for i := range m.replay.Segments {
		s := &m.replay.Segments[i]
		if s.Birth == torchmem.Never || s.BirthEvent < 0 {
			continue
		}
		at := s.Birth - utc
		if utc != 0 && (at < first || at > last) {
			continue
		}
		m.of++
		var near *rawBlock
		for _, b := range rows[int64(s.Addr)] {
			if used[b] || b.bytes != s.Size && !s.Expandable {
				continue
			}
			if near == nil || utc != 0 && abs(b.start-at) < abs(near.start-at) {
				near = b
			}
		}
		if near != nil {
			used[near] = true
			m.late = append(m.late, at-near.start)
		}
	}
	if len(m.late) == 0 {
		m.bySegments(rows)
		return
	}
	slices.Sort(m.late)
	from, to := 0, 0
	for i, k := 0, 0; i < len(m.late); i++ {
		for k < len(m.late) && m.late[k]-m.late[i] <= clockSpread {
			k++
		}
		if k-i > to-from {
			from, to = i, k
		}
	}
	if utc != 0 && abs(m.late[from]) > clockReach {
		return
	}
	m.matched, m.offset, m.spread = to-from, m.late[from], m.late[to-1]-m.late[from]
}

// bySegments matches a snapshot whose trace has no segment in the report's time by the segments that it holds at its
// end. The clocks are taken as they are.
func (m *match) bySegments(rows map[int64][]*rawBlock) {
	if m.of > 0 {
		return
	}
	for i := range m.replay.Segments {
		s := &m.replay.Segments[i]
		if s.Death != torchmem.Never {
			continue
		}
		m.of++
		for _, b := range rows[int64(s.Addr)] {
			if b.bytes == s.Size {
				m.matched++
				break
			}
		}
	}
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// snapshotLevels adds the levels allocated and reserved to a track.
func (a *analysis) snapshotLevels(m *match) {
	t := m.track
	shift := a.rep.Source.StartUTC + m.offset
	ends := endOrder(t.proc.calls)
	start := a.memoryTime.first
	if a.timed {
		start = min(start, a.firstTime)
	}
	alloc, resv := newLevelSweep("allocated", t.proc, ends, start), newLevelSweep("reserved", t.proc, ends, start)
	for _, l := range []*levelSweep{alloc, resv} {
		t.levels[l.name] = l
	}
	r := m.replay
	alloc.begin(r.StartAllocated)
	resv.begin(r.StartReserved)
	for i := range r.Steps {
		s := &r.Steps[i]
		alloc.change(s.Time-shift, s.Allocated-alloc.level)
		resv.change(s.Time-shift, s.Reserved-resv.level)
	}
	tl := a.timeline(t.proc)
	for i := range r.Blocks {
		b := &r.Blocks[i]
		alloc.attribute(a, tl, b.Birth, b.Death, b.Counted, shift)
	}
	for i := range r.Segments {
		s := &r.Segments[i]
		resv.attribute(a, tl, s.Birth, s.Death, s.Size, shift)
	}
	alloc.finish()
	resv.finish()
}

// begin sets the level before the first event.
func (s *levelSweep) begin(level int64) {
	s.level, s.out.Peak = level, level
}

// attribute counts a block for the rows in which it was handed out and given back, by time.
func (s *levelSweep) attribute(a *analysis, tl *timeline, birth, death, bytes, shift int64) {
	if birth != torchmem.Never {
		s.out.Allocs++
		s.out.AllocBytes += bytes
		n := s.row(a, placeOf(tl.in.at(birth-shift), waySame))
		n.allocs++
		n.allocBytes += bytes
	}
	if death != torchmem.Never {
		s.out.Frees++
		s.out.FreeBytes += bytes
		n := s.row(a, placeOf(tl.in.at(death-shift), waySame))
		n.frees++
		n.freeBytes += bytes
	}
}

// snapshotTensors fills what tensors hold, from the snapshot that belongs to the track.
func (a *analysis) snapshotTensors(out *Track, t *track) {
	m := t.snapshot
	r := m.replay
	ten := &Tensors{From: "snapshot", Conf: r.Settings.Conf, Replay: r, Shift: a.rep.Source.StartUTC + m.offset,
		Clock: &Clock{Offset: m.offset, Spread: m.spread, Matched: m.matched, Segments: m.of}}
	tl := a.timeline(t.proc)
	frames := make(map[torchmem.StackID]string)
	ten.Blocks = make([]TensorBlock, len(r.Blocks))
	for i := range r.Blocks {
		b := &r.Blocks[i]
		n := &ten.Blocks[i]
		*n = TensorBlock{Start: ten.ReportTime(b.Birth), End: ten.ReportTime(b.Death), Address: b.Addr, Bytes: b.Requested,
			Counted: b.Counted, Stream: b.Stream, Stack: b.Stack, Iteration: -1, EndIteration: -1}
		if n.Start != Never {
			n.Iteration, n.Phase = tl.where(n.Start)
		}
		n.Lifetime = tl.lifetime(n.Start, n.End)
		f, ok := frames[b.Stack]
		if !ok {
			f = frameOf(a.opts.Snapshot.Stack(b.Stack))
			frames[b.Stack] = f
		}
		n.Frame = f
	}
	for i := range ten.Blocks {
		if n := &ten.Blocks[i]; n.End != Never {
			n.EndIteration, n.EndPhase = tl.where(n.End)
		}
	}
	whole := r.Whole()
	peakAt := ten.ReportTime(r.From)
	if whole.AllocatedPeakEvent >= 0 {
		peakAt = ten.ReportTime(r.Trace().At(int(whole.AllocatedPeakEvent)).Time)
	}
	a.categorize(out, ten, tl, peakAt)
	ten.Peak = ten.holdAt(tl, int(whole.AllocatedPeakEvent), peakAt)
	for i := range ten.Categories {
		ten.Categories[i].AtPeak = 0
		for _, s := range ten.Peak.ByCategory {
			if s.Name == ten.Categories[i].Name {
				ten.Categories[i].AtPeak = s.Bytes
			}
		}
	}
	for i := range r.Growth {
		ten.Growth = append(ten.Growth, ten.cache(tl, &r.Growth[i]))
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		h := ten.holdAt(tl, int(f.Event)-1, ten.ReportTime(f.Time))
		c := ten.cache(tl, f)
		h.Request, h.Cache = f.Request, &c
		ten.Failures = append(ten.Failures, h)
	}
	ten.AtReserved = ten.cacheAt(tl, int(whole.ReservedPeakEvent), &whole)
	ten.Outside = a.outside(t, m, ten)
	out.Tensors = ten
	if d := r.Doubts; d.Cut || d.UnmatchedFrees+d.LostFrees+d.Misplaced+d.SegmentFrees+d.SegmentsLost+d.UnknownActions > 0 {
		a.warnOf(out.PID, "snapshot_doubts", "process %d device %d: the snapshot's trace leaves doubts: it began after the program did (%v), %d frees without a block, %d blocks lost, %d out of place, %d segments lost, %d unknown entries",
			out.PID, out.Device, d.Cut, d.UnmatchedFrees, d.LostFrees, d.Misplaced, d.SegmentFrees+d.SegmentsLost, d.UnknownActions)
	}
	if 10*m.matched < 9*m.of {
		a.warnOf(out.PID, "snapshot_match", "process %d device %d: only %d of %d segments of the snapshot are in the report", out.PID, out.Device, m.matched, m.of)
	}
}

// holdAt sums the blocks that are live just after an entry of the trace.
func (t *Tensors) holdAt(tl *timeline, event int, at int64) Holding {
	live := t.Replay.LiveAt(event)
	blocks := make([]TensorBlock, len(live))
	for k, i := range live {
		blocks[k] = t.Blocks[i]
		blocks[k].End = Never
		if blocks[k].Start != Never {
			blocks[k].Start = min(blocks[k].Start, at)
		}
	}
	h := hold(blocks, at)
	h.Iteration, h.Phase = tl.where(at)
	return h
}

func (t *Tensors) cache(tl *timeline, c *torchmem.Cache) Cache {
	out := Cache{Time: t.ReportTime(c.Time), Request: c.Request, Allocated: c.Allocated, Reserved: c.Reserved, Free: c.Free,
		LargestFree: c.LargestUsable, Stuck: c.Stuck, DeviceFree: c.DeviceFree}
	out.Iteration, out.Phase = tl.where(out.Time)
	return out
}

// cacheAt is the cache just after an entry of the trace.
func (t *Tensors) cacheAt(tl *timeline, event int, whole *torchmem.Use) *Cache {
	c := &Cache{Time: t.ReportTime(t.Replay.From), Reserved: whole.ReservedPeak, Iteration: -1}
	if event >= 0 {
		c.Time = t.ReportTime(t.Replay.Trace().At(event).Time)
	}
	for _, s := range t.Replay.StateAt(event) {
		free, live := int64(0), false
		for _, b := range s.Blocks {
			switch b.State {
			case torchmem.Inactive:
				free += b.Size
				c.LargestFree = max(c.LargestFree, b.Size)
			case torchmem.Active:
				c.Allocated += b.Size
				live = true
			case torchmem.PendingFree:
				live = true
			}
		}
		c.Free += free
		if live {
			c.Stuck += free
		}
	}
	c.Iteration, c.Phase = tl.where(c.Time)
	return c
}

// outside sums the device memory of a track that is not in PyTorch's segments.
func (a *analysis) outside(t *track, m *match, ten *Tensors) *Outside {
	segs := slices.Clone(m.replay.Segments)
	slices.SortStableFunc(segs, func(x, y torchmem.SegmentLife) int {
		return cmp.Or(cmp.Compare(x.Addr, y.Addr), cmp.Compare(x.Birth, y.Birth))
	})
	starts := make([]uint64, len(segs))
	longest := int64(0)
	for i := range segs {
		starts[i] = segs[i].Addr
		longest = max(longest, segs[i].Size)
	}
	inside := func(b *rawBlock) bool {
		addr := uint64(b.address)
		i := sort.Search(len(starts), func(k int) bool { return starts[k] > addr }) - 1
		for ; i >= 0 && addr-starts[i] < uint64(longest); i-- {
			s := &segs[i]
			if addr >= s.Addr+uint64(s.Size) {
				continue
			}
			birth, death := ten.ReportTime(s.Birth), ten.ReportTime(s.Death)
			if (birth == Never || b.end == Never || b.end > birth-clockSpread) && (death == Never || b.start == Never || b.start < death) {
				return true
			}
		}
		return false
	}
	out := &Outside{}
	type key struct {
		call string
		iter int
		path string
	}
	index := make(map[key]int)
	type change struct{ at, by int64 }
	var changes []change
	call := a.callNames(t.proc)
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.kind == nsysdb.KindDeviceStatic && b.end == Never {
			out.Static += b.bytes
		}
		if b.kind != nsysdb.KindDevice || inside(b) {
			continue
		}
		k := key{call: call(b.bornCorr)}
		k.iter, k.path = a.where(t.proc, b.born)
		n, ok := index[k]
		if !ok {
			n = len(out.Takers)
			index[k] = n
			out.Takers = append(out.Takers, Taker{Call: k.call, Iteration: k.iter, Phase: k.path})
		}
		x := &out.Takers[n]
		x.Blocks++
		x.Bytes += b.bytes
		changes = append(changes, change{b.start, b.bytes})
		if b.end == Never {
			x.Live += b.bytes
			out.Bytes += b.bytes
		} else {
			changes = append(changes, change{b.end, -b.bytes})
		}
	}
	slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.by, x.by)) })
	level := int64(0)
	for _, c := range changes {
		level += c.by
		out.Peak = max(out.Peak, level)
	}
	slices.SortStableFunc(out.Takers, func(x, y Taker) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Iteration, y.Iteration),
			strings.Compare(x.Call+x.Phase, y.Call+y.Phase))
	})
	return out
}

// libraryFile matches files of installed packages and of Python itself.
func libraryFile(file string) bool {
	for _, s := range []string{"site-packages", "dist-packages", "/lib/python", "\\lib\\python", "<frozen", "/torch/"} {
		if strings.Contains(file, s) {
			return true
		}
	}
	return false
}

// frameOf is the line of the program that a stack comes from: the innermost Python frame outside of installed packages,
// else the innermost Python frame. Folders are cut off, for they name users.
func frameOf(stack []torchmem.Frame) string {
	pick := -1
	for i := range stack {
		if !strings.HasSuffix(stack[i].File, ".py") {
			continue
		}
		if pick < 0 {
			pick = i
		}
		if !libraryFile(stack[i].File) {
			pick = i
			break
		}
	}
	if pick < 0 {
		return ""
	}
	return frameText(&stack[pick])
}

func frameText(f *torchmem.Frame) string {
	return fmt.Sprintf("%s:%d %s", path.Base(strings.ReplaceAll(f.File, "\\", "/")), f.Line, f.Name)
}

// shortFrames is how many frames a short stack has.
const shortFrames = 6

func shortStack(stack []torchmem.Frame) string {
	var python, other []string
	for i := range stack {
		if f := &stack[i]; strings.HasSuffix(f.File, ".py") {
			if len(python) < shortFrames {
				python = append(python, frameText(f))
			}
		} else if len(other) < shortFrames {
			other = append(other, f.Name)
		}
	}
	if len(python) == 0 {
		python = other
	}
	return strings.Join(python, " < ")
}
