package plot

import (
	"math"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"nsysmem/align"
)

// segment is a stretch of the timeline with one scale of its own.
type segment struct {
	from, to int64   // ns
	f0, f1   float64 // where it lies, as fractions of the width
	squeezed bool    // drawn at a smaller scale than the iterations
}

// timeScale says where on the width of a timeline a time lies.
//
// A training run spends seconds on setting up and on its first iteration, and then milliseconds on each of the others: on
// one scale these would be a few pixels wide. Where they would, the long stretches are squeezed, and the picture says so.
type timeScale struct {
	segments []segment
	squeezed bool
}

// linear is one scale for all of from to to.
func linear(from, to int64) timeScale {
	return timeScale{segments: []segment{{from: from, to: max(to, from+1), f1: 1}}}
}

// How much a stretch may take at most before it is squeezed.
const (
	maxIteration = 3.0  // times the width of a median iteration
	maxGap       = 1.0  // between iterations, likewise
	maxLead      = 0.18 // before the first iteration, times the width of all iterations
	maxTail      = 0.06 // after the last, likewise
	legible      = 0.5  // share of the width that the iterations have on one scale, above which nothing is squeezed
)

// newTimeScale lays from to to out so that its iterations can be told apart.
func newTimeScale(from, to int64, its []*align.Iteration) timeScale {
	var durations, steady []int64
	for _, it := range its {
		d := max(it.End-it.Start, 1)
		durations = append(durations, d)
		if it.Steady() {
			steady = append(steady, d)
		}
	}
	if len(durations) == 0 {
		return linear(from, to)
	}
	if len(steady) > 0 {
		durations = steady
	}
	median := float64(lowerMedian(durations))
	if float64(len(its))*median >= legible*float64(to-from) {
		return linear(from, to)
	}

	var segs []segment
	var weights []float64
	at := from
	add := func(end int64, most float64) {
		end = min(end, to)
		if end <= at {
			return
		}
		d := float64(end - at)
		w := d
		if d > most*1.5 { // a little longer is no reason for another scale
			w = most
		}
		segs = append(segs, segment{from: at, to: end, squeezed: w < d})
		weights = append(weights, w)
		at = end
	}
	sum := func() float64 {
		s := 0.0
		for _, w := range weights {
			s += w
		}
		return s
	}
	for i, it := range its {
		if i == 0 {
			at = max(it.Start, from) // what lies before gets its share below
		} else {
			add(it.Start, maxGap*median)
		}
		add(it.End, maxIteration*median)
	}
	block := sum()
	if at < to {
		add(to, maxTail*block)
	}
	if first := its[0].Start; first > from {
		d := float64(first - from)
		w := d
		if d > 1.5*maxLead*block {
			w = maxLead * block
		}
		segs = append([]segment{{from: from, to: first, squeezed: w < d}}, segs...)
		weights = append([]float64{w}, weights...)
	}
	s := timeScale{segments: segs}
	total, f := sum(), 0.0
	for i := range segs {
		segs[i].f0 = f
		f += weights[i] / total
		segs[i].f1 = f
		s.squeezed = s.squeezed || segs[i].squeezed
	}
	if len(segs) == 0 || !s.squeezed {
		return linear(from, to)
	}
	segs[len(segs)-1].f1 = 1
	return s
}

// frac is where t lies, from 0 to 1.
func (s timeScale) frac(t int64) float64 {
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

// finest is the number of columns of n over the whole width that a nanosecond has at most.
func (s timeScale) finest(n int) float64 {
	most := 0.0
	for _, g := range s.segments {
		most = max(most, (g.f1-g.f0)*float64(n)/float64(g.to-g.from))
	}
	return most
}

// groups are the stretches of one scale, in order.
func (s timeScale) groups() []segment {
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

// axis marks the timeline, each stretch by its own scale, all in one unit; width is that of the timeline.
func (s timeScale) axis(zero int64, width, between vg.Length) timeAxis {
	from, to := s.segments[0].from, s.segments[len(s.segments)-1].to
	if !s.squeezed {
		return newTimeAxis(from, to, zero, 0, int(width/between))
	}
	farthest := max(from-zero, zero-from, to-zero, 1)
	a := newTimeAxis(from, to, zero, farthest, 2)
	a.ticks = nil
	for _, g := range s.groups() {
		n := max(int(width*vg.Length(g.f1-g.f0)/between), 1)
		part := newTimeAxis(g.from, g.to, zero, farthest, n)
		a.ticks, a.step = append(a.ticks, part.ticks...), min(a.step, part.step)
	}
	return a
}

// squeeze is how many times more time a length stands for where the timeline is squeezed most than where it is not; 1
// where nothing is squeezed.
func (s timeScale) squeeze() float64 {
	most, plain := 0.0, math.Inf(1)
	for _, g := range s.segments {
		perWidth := float64(g.to-g.from) / max(g.f1-g.f0, 1e-12)
		if g.squeezed {
			most = max(most, perWidth)
		} else {
			plain = min(plain, perWidth)
		}
	}
	return max(most/plain, 1)
}

// tickAt is the time of a mark.
func tickAt(t plot.Tick) int64 { return int64(t.Value) }
