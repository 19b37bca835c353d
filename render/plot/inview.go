package plot

import (
	"slices"
	"sort"
	"strings"

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

// peakPlace says where the peak of a level that is reached first at a time lies, and when, for its mark and its name: in the
// phase that made it. What static memory of modules adds later, or another phase within 1 % of it, moves neither.
func (n *names) peakPlace(kind align.LevelKind, bytes, at int64) (string, int64) {
	it, by := n.madePeak(kind, bytes, at)
	if it < 0 || by.At == at && by.Ties == nil || by.Phase == "" || by.Phase == align.AtStart {
		return n.where(at), at
	}
	if by.Phase == align.OtherPhase {
		by.Phase = ""
	}
	place := n.in(it, by.Phase, "")
	if len(by.Ties) > 0 {
		ties := make([]string, len(by.Ties))
		for i, p := range by.Ties {
			ties[i] = short(p)
		}
		place += " (tie: " + strings.Join(ties, ", ") + ")"
	}
	return place, by.At
}

// madePeak is the place of the iteration and the phase that made a peak: the run's, else that of the iteration at that time;
// -1 where that is another one.
func (n *names) madePeak(kind align.LevelKind, bytes, at int64) (int, align.PeakBy) {
	its := n.track.Iterations
	if lv := n.track.Level(kind); lv != nil && lv.Peak == bytes && lv.PeakAt == at {
		it, by := n.track.PeakPlace(lv)
		return slices.IndexFunc(its, func(x align.Iteration) bool { return it != nil && x.Start == it.Start }), by
	}
	i := sort.Search(len(its), func(i int) bool { return its[i].Start > at }) - 1
	if i < 0 || at >= its[i].End {
		return -1, align.PeakBy{}
	}
	if m := its[i].Level(kind); m == nil || m.Peak != bytes || m.PeakAt != at {
		return -1, align.PeakBy{}
	}
	return i, its[i].PeakBy(kind)
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
