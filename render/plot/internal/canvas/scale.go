package canvas

import (
	"math"
	"slices"
	"sort"
)

// segment is a stretch of time with one scale of its own.
type segment struct {
	from, to int64   // ns
	f0, f1   float64 // where it lies, as fractions of the width
	weight   float64 // its part of the width, beside the others' weights
	squeezed bool    // drawn at a smaller scale than the stretches that matter
}

// A Scale says where on a width a time lies.
//
// A training run spends seconds on setting up and on its first iteration, and then milliseconds on each of the others: on
// one scale these would be a few pixels wide. Where they would, the long stretches are squeezed, and the axis says so.
type Scale struct {
	Squeezed bool // some stretches are

	segments []segment
}

// Linear is one scale for all of from to to, in ns.
func Linear(from, to int64) Scale {
	return Scale{segments: []segment{{from: from, to: max(to, from+1), f1: 1}}}
}

// How much a stretch may take at most before it is squeezed.
const (
	maxStretch = 3.0  // times the width of a median stretch that matters
	maxGap     = 1.0  // between two of them, likewise
	maxLead    = 0.18 // before the first, times the width of all of them
	maxTail    = 0.06 // after the last, likewise
	legible    = 0.5  // share of the width that they have on one scale, above which nothing is squeezed
	tolerance  = 1.5  // times the most: a little longer is no reason for another scale
)

// A Stretch is a part of the time that is to be told apart from its neighbours, such as an iteration.
type Stretch struct {
	From, To int64 // ns
	Usual    bool  // it is one of those that the others are measured by
}

// median is the lower median of how long stretches last, the usual ones where there are any.
func median(list []Stretch) float64 {
	var all, usual []int64
	for _, s := range list {
		d := max(s.To-s.From, 1)
		all = append(all, d)
		if s.Usual {
			usual = append(usual, d)
		}
	}
	if len(usual) > 0 {
		all = usual
	}
	slices.Sort(all)
	return float64(all[(len(all)-1)/2])
}

// NewScale lays from to to, in ns, out so that a list of stretches, in order, can be told apart.
//
//  1. Where they are wide enough on one scale, there is one.
//  2. Else each stretch, and each gap between two, gets the width of its length, or the most that it may take.
//  3. What lies before and after all of them gets a share of what they got together.
//  4. The widths are made fractions of the whole.
func NewScale(from, to int64, list []Stretch) Scale {
	if len(list) == 0 {
		return Linear(from, to)
	}
	usual := median(list)
	if float64(len(list))*usual >= legible*float64(to-from) {
		return Linear(from, to)
	}
	var segs []segment
	first := list[0].From
	at := max(first, from)
	add := func(end int64, most float64) {
		if end = min(end, to); end > at {
			segs = append(segs, newSegment(at, end, most))
			at = end
		}
	}
	for i, s := range list {
		if i > 0 {
			add(s.From, maxGap*usual)
		}
		add(s.To, maxStretch*usual)
	}
	block := weights(segs)
	add(to, maxTail*block)
	if first > from {
		segs = append([]segment{newSegment(from, first, maxLead*block)}, segs...)
	}
	s := Scale{segments: segs}
	total, f := weights(segs), 0.0
	for i := range segs {
		g := &segs[i]
		g.f0 = f
		f += g.weight / total
		g.f1 = f
		s.Squeezed = s.Squeezed || g.squeezed
	}
	if !s.Squeezed {
		return Linear(from, to)
	}
	segs[len(segs)-1].f1 = 1
	return s
}

// newSegment gives a stretch the width of its length, or the most that it may take.
func newSegment(from, to int64, most float64) segment {
	s := segment{from: from, to: to, weight: float64(to - from)}
	if s.weight > most*tolerance {
		s.weight, s.squeezed = most, most < s.weight
	}
	return s
}

// weights is what segments weigh together.
func weights(segs []segment) float64 {
	sum := 0.0
	for _, s := range segs {
		sum += s.weight
	}
	return sum
}

// Ends are the first and the last time of a scale, in ns.
func (s Scale) Ends() (from, to int64) { return s.segments[0].from, s.segments[len(s.segments)-1].to }

// Frac is where a time t, in ns, lies, from 0 to 1.
func (s Scale) Frac(t int64) float64 {
	i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].to >= t })
	if i == len(s.segments) {
		return 1
	}
	g := s.segments[i]
	if t <= g.from {
		return g.f0
	}
	return g.f0 + (g.f1-g.f0)*float64(t-g.from)/float64(g.to-g.from)
}

// Column is in which of n columns over the whole width a time t, in ns, lies.
func (s Scale) Column(t int64, n int) int { return min(int(s.Frac(t)*float64(n)), n-1) }

// Finest is the number of columns of n over the whole width that a nanosecond has at most.
func (s Scale) Finest(n int) float64 {
	most := 0.0
	for _, g := range s.segments {
		most = max(most, (g.f1-g.f0)*float64(n)/float64(g.to-g.from))
	}
	return most
}

// groups are the stretches of one scale, in order.
func (s Scale) groups() []segment {
	var out []segment
	for _, g := range s.segments {
		if n := len(out); n > 0 && !g.squeezed && !out[n-1].squeezed {
			out[n-1].to, out[n-1].f1 = g.to, g.f1
			continue
		}
		out = append(out, g)
	}
	return out
}

// Axis marks a scale, each stretch by its own, all in one unit, counted from zero (ns). width is that of the scale, between
// what a mark has to itself.
func (s Scale) Axis(zero int64, width, between Length) TimeAxis {
	from, to := s.Ends()
	if !s.Squeezed {
		return NewTimeAxis(from, to, zero, 0, int(width/between))
	}
	farthest := max(from-zero, zero-from, to-zero, 1)
	a := NewTimeAxis(from, to, zero, farthest, 2)
	a.Ticks = nil
	for _, g := range s.groups() {
		n := max(int(width*Length(g.f1-g.f0)/between), 1)
		part := NewTimeAxis(g.from, g.to, zero, farthest, n)
		a.Ticks, a.Step = append(a.Ticks, part.Ticks...), min(a.Step, part.Step)
	}
	return a
}

// squeeze is how many times more time a length stands for where a scale is squeezed most than where it is not; 1 where
// nothing is squeezed.
func (s Scale) squeeze() float64 {
	const least = 1e-12 // of the width, so that nothing is divided by 0
	most, plain := 0.0, math.Inf(1)
	for _, g := range s.segments {
		perWidth := float64(g.to-g.from) / max(g.f1-g.f0, least)
		if g.squeezed {
			most = max(most, perWidth)
		} else {
			plain = min(plain, perWidth)
		}
	}
	return max(most/plain, 1)
}
