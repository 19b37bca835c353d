package plot

import (
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// A clock says when something happened, counted as the timeline's axis counts.
type clock struct {
	axis  *canvas.TimeAxis // nil without a timeline
	first int64            // ns; the first event in view, from which the axis counts
	since bool             // whether it does
}

// newClock is the clock of a picture of the canvas' width, on which the unit and the marks of the axis depend.
func (s *scene) newClock(c *canvas.Canvas) clock {
	if !s.view.timeline {
		return clock{}
	}
	axis := s.scale.Axis(s.zero(), c.W-c.Pt(90), c.Pt(axisMark))
	return clock{&axis, s.zero(), s.view.o.SinceFirst}
}

// timeText writes a time of the report in the unit of the timeline's axis, a digit finer than its marks.
func (k clock) timeText(t int64) string {
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
