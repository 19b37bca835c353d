package tensor

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"nsysmem/torchmem"
)

// Outside is memory that the driver handed out to others than PyTorch's allocator.
type Outside struct {
	Bytes  int64   // device memory live at the end of the report
	Peak   int64   // highest sum of it
	Static int64   // bytes of device-static memory, such as modules' variables, live at the end; in none of the others
	Blocks int     // of Static
	Takers []Taker // largest first
}

// A Taker is the blocks outside PyTorch that one call took in one phase.
type Taker struct {
	Call      string
	Iteration int // place in the track's iterations; -1 for none
	Phase     string
	Blocks    int
	Bytes     int64 // allocated
	Live      int64 // bytes of those that are live at the end
}

// outside sums the driver's blocks of a track that are not in PyTorch's segments.
func (m *Memory) outside(d Driver) *Outside {
	out := &Outside{}
	segs := segmentsOf(m)
	var takers ledger[Taker, Taker] // by one that has taken nothing yet
	var changes []change
	for i, b := range d.Blocks() {
		if b.Static {
			if b.End == Never {
				out.Static += b.Bytes
				out.Blocks++
			}
			continue
		}
		if segs.hold(&b) {
			continue
		}
		var who Taker
		who.Call, who.Iteration, who.Phase = d.Born(i)
		x := takers.at(who, who)
		x.Blocks++
		x.Bytes += b.Bytes
		changes = append(changes, change{b.Start, b.Bytes})
		if b.End == Never {
			x.Live += b.Bytes
			out.Bytes += b.Bytes
		} else {
			changes = append(changes, change{b.End, -b.Bytes})
		}
	}
	out.Peak, out.Takers = peakOf(changes), takers.sums
	slices.SortStableFunc(out.Takers, func(x, y Taker) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Iteration, y.Iteration),
			strings.Compare(x.Call+x.Phase, y.Call+y.Phase))
	})
	return out
}

// A change is bytes taken, or given back, at a time.
type change struct{ at, by int64 }

// peakOf is the highest sum of changes. What is taken at a time comes before what is given back then.
func peakOf(changes []change) int64 {
	slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.by, x.by)) })
	level, peak := int64(0), int64(0)
	for _, c := range changes {
		level += c.by
		peak = max(peak, level)
	}
	return peak
}

// segments are PyTorch's segments by address, to be looked up.
type segments struct {
	m       *Memory
	list    []torchmem.SegmentLife // by address, then birth
	longest uint64                 // bytes of the longest
}

func segmentsOf(m *Memory) *segments {
	s := &segments{m: m, list: slices.Clone(m.Replay.Segments)}
	slices.SortStableFunc(s.list, func(x, y torchmem.SegmentLife) int {
		return cmp.Or(cmp.Compare(x.Addr, y.Addr), cmp.Compare(x.Birth, y.Birth))
	})
	for i := range s.list {
		s.longest = max(s.longest, uint64(s.list[i].Size))
	}
	return s
}

// hold says that a block begins in a segment that was there at the same time. The clocks differ by less than
// clockSpread.
func (s *segments) hold(b *DriverBlock) bool {
	i := sort.Search(len(s.list), func(k int) bool { return s.list[k].Addr > b.Address }) - 1
	for ; i >= 0 && b.Address-s.list[i].Addr < s.longest; i-- {
		g := &s.list[i]
		if b.Address >= g.Addr+uint64(g.Size) {
			continue
		}
		birth, death := s.m.ReportTime(g.Birth), s.m.ReportTime(g.Death)
		begun := birth == Never || b.End == Never || b.End > birth-clockSpread
		ended := death != Never && b.Start != Never && b.Start >= death
		if begun && !ended {
			return true
		}
	}
	return false
}
