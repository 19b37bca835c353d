package torchmem

import (
	"cmp"
	"slices"
	"sort"
)

// A PrivateSegment is a segment of a private pool, or a mapped piece of one. CUDA graphs have such pools: their memory serves
// no other requests, and what is free in it is still written to when a graph is replayed.
type PrivateSegment struct {
	Addr  uint64
	Size  int64    // bytes
	Pool  [2]int64 // its owner, as in Segment.PoolID
	Birth int64    // ns since 1970; Never where it was there before the trace began
	Since int32    // place in the trace of the entry that took it; -1 where there is none
}

// PrivateSegments are those that the snapshot still holds at its end, by address: entries of a trace do not say which pool
// they are of (observed up to PyTorch 2.11), so that what was given back before counts as of the common pools. It is nil
// where there are none.
func (r *Replay) PrivateSegments() []PrivateSegment {
	var out []PrivateSegment
	for i := range r.snap.Segments {
		g := &r.snap.Segments[i]
		if g.Device != r.Device || g.PoolID == [2]int64{} {
			continue
		}
		for k := range r.Segments {
			if l := &r.Segments[k]; l.Death == Never && l.Addr-g.Addr < uint64(g.Size) {
				out = append(out, PrivateSegment{Addr: l.Addr, Size: l.Size, Pool: g.PoolID, Birth: l.Birth, Since: l.BirthEvent})
			}
		}
	}
	slices.SortFunc(out, func(a, b PrivateSegment) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}

// A PrivateStep is how much of private pools is free from one entry of the trace on.
type PrivateStep struct {
	Time  int64 // ns since 1970
	Event int32 // place in the trace; -1 for what was there before it began
	Free  int64 // bytes that private pools hold and no block has
}

// PrivateFree is the free memory of private pools through the trace; nil where there are no such pools. The first step is
// what was there before, with Event -1. One entry makes one step at most.
func (r *Replay) PrivateFree() []PrivateStep {
	pools := r.PrivateSegments()
	if len(pools) == 0 {
		return nil
	}
	changes := []PrivateStep{{Time: r.From, Event: -1}}
	for _, p := range pools {
		changes = append(changes, PrivateStep{p.Birth, p.Since, p.Size})
	}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		k := sort.Search(len(pools), func(k int) bool { return pools[k].Addr > b.Addr }) - 1
		if k < 0 || b.Addr-pools[k].Addr >= uint64(pools[k].Size) || b.BirthEvent >= 0 && b.BirthEvent < pools[k].Since {
			continue // of a segment that was there before, and given back
		}
		changes = append(changes, PrivateStep{b.Birth, b.BirthEvent, -b.Counted})
		if b.DeathEvent >= 0 {
			changes = append(changes, PrivateStep{b.Death, b.DeathEvent, b.Counted})
		}
	}
	slices.SortStableFunc(changes, func(a, b PrivateStep) int { return cmp.Compare(a.Event, b.Event) })
	out := changes[:1]
	for _, c := range changes[1:] {
		last := out[len(out)-1]
		if c.Event > last.Event {
			out = append(out, PrivateStep{c.Time, c.Event, last.Free})
		}
		out[len(out)-1].Free += c.Free
	}
	return out
}
