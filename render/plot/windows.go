package plot

import (
	"nsysmem/align"
)

// stretch is a window of time that needs curves.
type stretch struct {
	from, to int64
	points   int
	big      bool // of the enlarged iteration, not of the timeline
}

// mostPoints bounds the memory that curves may take; a curve of fewer events has every one of them.
const mostPoints = 1 << 18

// shrinks is how many times shorter than the report a timeline may come out that shrinks to its data later: it needs points
// for the time that it will show.
const shrinks = 16

// stretches are the windows of time that need curves. The iterations are one of their own: they may be drawn at a much
// larger scale than what lies around them.
func (v *view) stretches() []stretch {
	var s []stretch
	add := func(from, to int64, big bool, perNS float64) {
		if to > from {
			// Two points a pixel column keep its lowest and highest level in place.
			n := min(max(2*perNS*float64(to-from), float64(v.columns)), mostPoints)
			s = append(s, stretch{from, to, int(n), big})
		}
	}
	if v.timeline {
		perNS := shrinks * float64(v.columns) / float64(v.to-v.from)
		finest := max(perNS, v.timeScale().Finest(v.columns))
		end := v.to + 1 // windows are half-open, and the last event counts
		if v.fixed || len(v.its) == 0 {
			add(v.from, end, false, finest)
		} else {
			a, b := v.its[0].Start, v.its[len(v.its)-1].End
			a, b = min(max(a, v.from), end), min(max(b, v.from), end)
			add(v.from, a, false, perNS)
			add(a, max(a, b), false, finest)
			add(max(a, b), end, false, perNS)
		}
	}
	if v.steady && v.big >= 0 {
		it := v.its[v.big]
		end := max(it.End, it.Start+1)
		add(it.Start, end, true, float64(v.columns)/float64(end-it.Start))
	}
	return s
}

// margins is what a timeline that shrinks keeps on either side of the data: one part in so many of them.
const margins = 100

// shrink cuts the idle time before and after everything of a track off the timeline.
func (v *view) shrink(track *align.Track, curves []align.Curve) {
	first, last := v.to, v.from
	see := func(a, b int64) { first, last = min(first, a), max(last, b) }
	for _, c := range curves {
		if n := len(c.Points); n > 0 {
			see(c.Points[0].Time, c.Points[n-1].Time)
		}
	}
	for i := range track.Iterations {
		see(track.Iterations[i].Start, track.Iterations[i].End)
	}
	for i := range track.Ranges {
		see(track.Ranges[i].Start, track.Ranges[i].End)
	}
	for i := range track.Failed {
		see(track.Failed[i].Time, track.Failed[i].Time)
	}
	if first > last {
		return
	}
	pad := max((last-first)/margins, 1)
	v.from, v.to = max(v.from, first-pad), min(v.to, last+pad)
	v.to = max(v.to, v.from+1)
}
