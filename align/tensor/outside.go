package tensor

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"nsysmem/align/caller"
	"nsysmem/torchmem"
)

// Outside is memory that the driver handed out to others than PyTorch's allocator.
type Outside struct {
	Bytes  int64   // device memory live at the end of the report
	Peak   int64   // highest sum of it
	Static int64   // bytes of device-static memory, such as modules' variables, live at the end; in none of the others
	Blocks int     // of Static
	Takers []Taker // largest first

	// Who asked for it, largest first, static memory left out; nil where no call chains were recorded. AtPeak adds up to Peak,
	// and Live to Bytes.
	Libraries []Library
}

// A Taker is the blocks outside PyTorch that one call took in one phase, by one function of one library where call chains
// were recorded.
type Taker struct {
	Caller    caller.Caller // zero where unknown
	Call      string
	Iteration int // place in the track's iterations; -1 for none
	Phase     string
	Blocks    int
	Bytes     int64 // allocated
	Live      int64 // bytes of those that are live at the end
}

// outside sums the driver's blocks of a track that are not in PyTorch's segments.
//
//  1. Static memory is summed apart, and blocks in segments are left out.
//  2. The others are summed by call and place, and by library where call chains tell who asked.
//  3. The changes that they make are laid out by time, which gives the highest sum, and what each library had of it.
func (m *Memory) outside(d Driver) *Outside {
	out := &Outside{}
	segs := segmentsOf(m)
	var takers ledger[Taker, Taker] // by one that has taken nothing yet
	var libraries Libraries
	var changes []change
	callers := d.Callers()
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
		if callers != nil {
			who.Caller = callers(i)
		}
		x := takers.at(who, who)
		x.Blocks++
		x.Bytes += b.Bytes
		l := libraries.Of(who.Caller.Library, false)
		l.Blocks++
		l.Bytes += b.Bytes
		of := libraries.place[libraryKey{name: l.Name}]
		changes = append(changes, change{b.Start, b.Bytes, of})
		if b.End == Never {
			x.Live += b.Bytes
			l.Live += b.Bytes
			out.Bytes += b.Bytes
		} else {
			changes = append(changes, change{b.End, -b.Bytes, of})
		}
	}
	peak, before := peakOf(changes)
	for _, c := range before {
		libraries.sums[c.of].AtPeak += c.by
	}
	out.Peak, out.Takers = peak, takers.sums
	sortTakers(out.Takers)
	if callers != nil {
		out.Libraries = libraries.List()
	}
	return out
}

// sortTakers puts the largest first.
func sortTakers(list []Taker) {
	slices.SortStableFunc(list, func(x, y Taker) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Iteration, y.Iteration),
			strings.Compare(x.Call+x.Phase, y.Call+y.Phase), strings.Compare(x.Caller.Library, y.Caller.Library),
			strings.Compare(x.Caller.Function, y.Caller.Function))
	})
}

// A change is bytes taken, or given back, at a time, by one of the libraries.
type change struct {
	at, by int64
	of     int
}

// peakOf is the highest sum of changes, and those up to the first time of it; none where it is 0. What is taken at a time
// comes before what is given back then.
func peakOf(changes []change) (peak int64, before []change) {
	slices.SortFunc(changes, func(x, y change) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.by, x.by), cmp.Compare(x.of, y.of))
	})
	level, n := int64(0), 0
	for i, c := range changes {
		if level += c.by; level > peak {
			peak, n = level, i+1
		}
	}
	return peak, changes[:n]
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
