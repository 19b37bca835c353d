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
			out.Blocks++
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
