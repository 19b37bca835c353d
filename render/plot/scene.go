package plot

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/align/findings"
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
	s.scale = v.timeScale()
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
	if i := slices.IndexFunc(curves, func(c align.Curve) bool { return c.Kind == kind }); i >= 0 {
		return &curves[i]
	}
	return nil
}

// bornIn says that tensors are stacked by the phase where they were born.
func (s *scene) bornIn() bool { return s.stack != nil && s.view.stack == "phase" }

// inferred says that the phases in view, or the iterations, were found in the GPU work.
func (s *scene) inferred() bool {
	return slices.ContainsFunc(s.view.its, func(it *align.Iteration) bool {
		return s.track.IterationsFrom.Inferred() || slices.ContainsFunc(it.Phases, func(ph align.Phase) bool { return ph.Inferred })
	})
}

// failedInView are the allocating calls that failed in the time of the timeline.
func (s *scene) failedInView() []*align.FailedAlloc {
	var out []*align.FailedAlloc
	for i := range s.track.Failed {
		if f := &s.track.Failed[i]; s.view.inside(f.Time) {
			out = append(out, f)
		}
	}
	return out
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
