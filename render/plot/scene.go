package plot

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// A scene is all that a picture of a run shows and says, before it has a size. Once made it does not change.
type scene struct {
	names
	rep     *findings.Report
	view    *view
	palette *palette
	time    []align.Curve // of the timeline
	big     []align.Curve // of the enlarged iteration
	scale   canvas.Scale  // of the timeline
	stack   *stack        // nil where nothing is stacked
	memory  *segmentMap   // of the segments view; nil else
}

// newScene sorts the curves out to the panels, and shrinks the timeline to where the data are unless the user chose it.
func newScene(rep *findings.Report, track *align.Track, v *view, curves [][]align.Curve) (*scene, error) {
	s := &scene{names: newNames(track), rep: rep, view: v, palette: newPalette(track)}
	stretches := v.stretches()
	if len(curves) > len(stretches) {
		return nil, fmt.Errorf("plot: %d windows of curves given, %d asked for: call Windows with the same options", len(curves), len(stretches))
	}
	for i, set := range curves {
		if stretches[i].big {
			s.big = set
			continue
		}
		s.time = appendCurves(s.time, set)
	}
	if v.timeline && !v.fixed {
		v.shrink(track, s.time)
	}
	s.scale = v.scale()
	s.stack = newStack(track, s.palette, v)
	if v.segments {
		s.memory = newSegmentMap(track.Tensors, v.o, s.stack)
	}
	return s, nil
}

// appendCurves joins the curves of a stretch of time to those of the stretch before.
func appendCurves(before, next []align.Curve) []align.Curve {
	for _, c := range next {
		if b := curveOf(before, c.Kind); b != nil {
			b.Points = append(b.Points[:len(b.Points):len(b.Points)], c.Points...)
			b.To = c.To
			continue
		}
		before = append(before[:len(before):len(before)], c)
	}
	return before
}

// curveOf is the curve of a kind; nil where there is none.
func curveOf(curves []align.Curve, kind align.LevelKind) *align.Curve {
	for i := range curves {
		if curves[i].Kind == kind {
			return &curves[i]
		}
	}
	return nil
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

// bornIn says that tensors are stacked by the phase where they were born.
func (s *scene) bornIn() bool { return s.stack != nil && s.view.stack == "phase" }

// inferred says that the phases in view, or the iterations, were found in the GPU work.
func (s *scene) inferred() bool {
	if len(s.view.its) > 0 && s.track.IterationsFrom.Inferred() {
		return true
	}
	for _, it := range s.view.its {
		for i := range it.Phases {
			if it.Phases[i].Inferred {
				return true
			}
		}
	}
	return false
}

// failedInView are the allocating calls that failed in the time of the timeline.
func (s *scene) failedInView() []*align.FailedAlloc {
	var out []*align.FailedAlloc
	for i := range s.track.Failed {
		if f := &s.track.Failed[i]; f.Time >= s.view.from && f.Time <= s.view.to {
			out = append(out, f)
		}
	}
	return out
}

// A height is the highest that a level comes in view.
type height struct {
	bytes, at int64
	known     bool // else nothing tells, or only how high
}

// inView is the highest level of a kind in view, and when it was first reached.
//
//  1. Where the run's peak lies in view, that is it.
//  2. Else the curve tells how high it comes. Its points may stand for stretches of time: the iteration that reaches that
//     level knows the time to the nanosecond.
//  3. Without a timeline the iterations shown are what is in view.
func (s *scene) inView(kind align.LevelKind) height {
	v := s.view
	if lv := s.track.Level(kind); lv != nil && lv.Peak > 0 && v.from <= lv.PeakAt && lv.PeakAt <= v.to && (v.timeline || v.holds(lv.PeakAt)) {
		return height{lv.Peak, lv.PeakAt, true}
	}
	if !v.timeline {
		return v.inIterations(kind)
	}
	h := s.inTimeline(kind)
	if !h.known || h.at == v.from {
		return h
	}
	for _, it := range v.its {
		if m := it.Level(kind); m != nil && m.Peak == h.bytes && m.PeakAt >= h.at && v.from <= m.PeakAt && m.PeakAt <= v.to {
			return height{h.bytes, m.PeakAt, true}
		}
	}
	return h
}

// inTimeline is the highest level of a kind on the curve of the timeline.
func (s *scene) inTimeline(kind align.LevelKind) height {
	v, c := s.view, curveOf(s.time, kind)
	if c == nil {
		return height{}
	}
	h := height{c.Before, v.from, true}
	for _, pt := range c.Points {
		switch {
		case pt.Time < v.from:
			h.bytes = pt.Last
		case pt.Time <= v.to && pt.High > h.bytes:
			h.bytes, h.at = pt.High, pt.Time
		}
	}
	return h
}

// inIterations is the highest level of a kind within the iterations shown.
func (v *view) inIterations(kind align.LevelKind) height {
	var h height
	for _, it := range v.its {
		if m := it.Level(kind); m != nil && (!h.known || m.Peak > h.bytes) {
			h = height{m.Peak, m.PeakAt, true}
		}
	}
	return h
}

// zero is where the timeline's axis counts from: the report's time 0, or the first memory event in view.
func (s *scene) zero() int64 {
	if !s.view.o.SinceFirst {
		return 0
	}
	first := s.view.to
	for _, c := range s.time {
		for _, pt := range c.Points {
			if pt.Time >= s.view.from {
				first = min(first, pt.Time)
				break
			}
		}
	}
	if first == s.view.to {
		return s.view.from
	}
	return first
}

// A clock says when something happened, counted as the timeline's axis counts.
type clock struct {
	axis  *canvas.TimeAxis // nil without a timeline
	first int64            // ns; the first event in view, from which the axis counts
	since bool             // whether it does
}

// newClock is the clock of a picture of a width, in which the timeline's marks have so much to themselves.
func (s *scene) newClock(c *canvas.Canvas) clock {
	if !s.view.timeline {
		return clock{}
	}
	axis := s.scale.Axis(s.zero(), c.W-c.Pt(90), c.Pt(axisMark))
	return clock{&axis, s.zero(), s.view.o.SinceFirst}
}

// at writes a time of the report in the unit of the timeline's axis, a digit finer than its marks.
func (k clock) at(t int64) string {
	switch {
	case k.axis == nil:
		return "at " + wording.Seconds(t)
	case !k.since:
		return "at " + k.axis.Clock(t)
	case t < k.first:
		return k.axis.Clock(t) + " from the first event in view"
	}
	return k.axis.Clock(t) + " after the first event in view"
}
