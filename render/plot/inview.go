package plot

import (
	"nsysmem/align"
)

// A height is the highest that a level comes in view.
type levelHeight struct {
	bytes, at int64
	known     bool // else nothing tells, or only how high
}

// inView is the highest level of a kind in view, and when it was first reached.
//
//  1. Where the run's peak lies in view, that is it.
//  2. Else the curve tells how high it comes. Its points may stand for stretches of time: the iteration that reaches that
//     level knows the time to the nanosecond.
//  3. Without a timeline the iterations shown are what is in view.
func (s *scene) inView(kind align.LevelKind) levelHeight {
	v := s.view
	if lv := s.track.Level(kind); lv != nil && lv.Peak > 0 && v.inside(lv.PeakAt) && (v.timeline || v.holds(lv.PeakAt)) {
		return levelHeight{lv.Peak, lv.PeakAt, true}
	}
	if !v.timeline {
		return v.inIterations(kind)
	}
	h := s.inTimeline(kind)
	if !h.known || h.at == v.from {
		return h
	}
	for _, it := range v.its {
		if m := it.Level(kind); m != nil && m.Peak == h.bytes && m.PeakAt >= h.at && v.inside(m.PeakAt) {
			return levelHeight{h.bytes, m.PeakAt, true}
		}
	}
	return h
}

// inTimeline is the highest level of a kind on the curve of the timeline.
func (s *scene) inTimeline(kind align.LevelKind) levelHeight {
	v, c := s.view, curveOf(s.time, kind)
	if c == nil {
		return levelHeight{}
	}
	h := levelHeight{c.Before, v.from, true}
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
func (v *view) inIterations(kind align.LevelKind) levelHeight {
	var h levelHeight
	for _, it := range v.its {
		if m := it.Level(kind); m != nil && (!h.known || m.Peak > h.bytes) {
			h = levelHeight{m.Peak, m.PeakAt, true}
		}
	}
	return h
}
