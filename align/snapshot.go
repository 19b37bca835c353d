package align

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// snapshotTensors fills what tensors hold, from the snapshot that belongs to the track.
func (as *assembler) snapshotTensors(out *Track, t *trackUse, m *match, tl *timeline) {
	r := m.replay
	ten := &Tensors{From: "snapshot", Conf: r.Settings.Conf, Replay: r, Shift: as.src.db.Meta().StartUTC + m.offset,
		Clock: &Clock{Offset: m.offset, Spread: m.spread, Matched: m.matched, Segments: m.of}}
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
			f = frameOf(as.src.opts.Snapshot.Stack(b.Stack))
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
	as.categorize(out, ten, tl, peakAt)
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
	ten.Outside = as.outside(t, ten)
	ten.Stayed = stayedTensors(out, ten.Blocks)
	out.Tensors = ten
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

// segmentFinder tells whether memory is in PyTorch's segments.
type segmentFinder struct {
	segments []torchmem.SegmentLife // by address, then birth
	longest  int64                  // bytes
	tensors  *Tensors
}

func newSegmentFinder(ten *Tensors) *segmentFinder {
	f := &segmentFinder{segments: slices.Clone(ten.Replay.Segments), tensors: ten}
	slices.SortStableFunc(f.segments, func(x, y torchmem.SegmentLife) int {
		return cmp.Or(cmp.Compare(x.Addr, y.Addr), cmp.Compare(x.Birth, y.Birth))
	})
	for i := range f.segments {
		f.longest = max(f.longest, f.segments[i].Size)
	}
	return f
}

// holds says that a block lies in a segment that lives while it does.
func (f *segmentFinder) holds(b *rawBlock) bool {
	addr := uint64(b.address)
	i := sort.Search(len(f.segments), func(k int) bool { return f.segments[k].Addr > addr }) - 1
	for ; i >= 0 && addr-f.segments[i].Addr < uint64(f.longest); i-- {
		s := &f.segments[i]
		if addr >= s.Addr+uint64(s.Size) {
			continue
		}
		birth, death := f.tensors.ReportTime(s.Birth), f.tensors.ReportTime(s.Death)
		if (birth == Never || b.end == Never || b.end > birth-clockSpread) && (death == Never || b.start == Never || b.start < death) {
			return true
		}
	}
	return false
}

// outside sums the device memory of a track that is not in PyTorch's segments, by who took it.
func (as *assembler) outside(t *trackUse, ten *Tensors) *Outside {
	segments := newSegmentFinder(ten)
	out := &Outside{}
	index := make(map[Taker]int) // by call, iteration and phase
	var changes []change
	call := as.aligned.calls.callNames(as.src.db, t.proc)
	for i := range t.memory.blocks {
		b := &t.memory.blocks[i]
		if b.kind == nsysdb.KindDeviceStatic && b.end == Never {
			out.Static += b.bytes
			out.Blocks++
		}
		if b.kind != nsysdb.KindDevice || segments.holds(b) {
			continue
		}
		k := Taker{Call: call(b.bornCorr)}
		k.Iteration, k.Phase = as.rows.where(t.proc, b.born)
		n, ok := index[k]
		if !ok {
			n = len(out.Takers)
			index[k] = n
			out.Takers = append(out.Takers, k)
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
	out.Peak = highestSum(changes)
	slices.SortStableFunc(out.Takers, func(x, y Taker) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Iteration, y.Iteration),
			strings.Compare(x.Call+x.Phase, y.Call+y.Phase))
	})
	return out
}

// A change is one of a sum of bytes.
type change struct{ at, by int64 }

// highestSum is the highest sum that changes come to; at one time, what is added comes first.
func highestSum(changes []change) int64 {
	slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.by, x.by)) })
	level, peak := int64(0), int64(0)
	for _, c := range changes {
		level += c.by
		peak = max(peak, level)
	}
	return peak
}
