package plot

import (
	"fmt"
	"math"
	"sort"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// partial says that the user chose a part of the run, so that what is in view and what the run has are two things.
func (v *view) partial() bool { return v.fixed && !v.segments }

// inView is the highest level of a kind in view, and when it was first reached; ok is false where nothing tells.
//
//  1. Where the run's peak lies in view, that is it.
//  2. Else the curve tells how high it comes. Its points may stand for stretches of time: the iteration that reaches that
//     level knows the time to the nanosecond.
//  3. Without a timeline the iterations shown are what is in view.
func (pic *picture) inView(kind align.LevelKind) (high, at int64, ok bool) {
	v := pic.view
	inside := func(t int64) bool { return t >= v.from && t <= v.to }
	if lv := pic.level(kind); lv != nil && lv.Peak > 0 && inside(lv.PeakAt) && (v.timeline || pic.holds(lv.PeakAt)) {
		return lv.Peak, lv.PeakAt, true
	}
	if v.timeline {
		for i := range pic.time {
			c := &pic.time[i]
			if c.Kind != kind {
				continue
			}
			high, at, ok = c.Before, v.from, true
			for _, pt := range c.Points {
				switch {
				case pt.Time < v.from:
					high = pt.Last
				case pt.Time <= v.to && pt.High > high:
					high, at = pt.High, pt.Time
				}
			}
		}
		if !ok || at == v.from {
			return high, at, ok
		}
	}
	for _, it := range v.its {
		m := it.Level(kind)
		if m == nil || v.timeline && (m.Peak != high || m.PeakAt < at || !inside(m.PeakAt)) {
			continue
		}
		if v.timeline {
			return high, m.PeakAt, true
		}
		if !ok || m.Peak > high {
			high, at, ok = m.Peak, m.PeakAt, true
		}
	}
	return high, at, ok
}

// holds says that one of the iterations shown holds a time.
func (pic *picture) holds(t int64) bool {
	for _, it := range pic.view.its {
		if it.Start <= t && t < it.End {
			return true
		}
	}
	return false
}

// inViewText says how high a level comes in view, where the picture shows a part of the run.
func (pic *picture) inViewText(kind align.LevelKind, name string) string {
	if !pic.view.partial() {
		return ""
	}
	high, at, ok := pic.inView(kind)
	if lv := pic.level(kind); !ok || lv != nil && lv.PeakAt == at { // said already
		return ""
	}
	s := fmt.Sprintf(" In view: %sat most %s, %s", name, wording.Bytes(high), pic.at(at))
	if w := pic.where(at); w != "" {
		s += ", " + w
	}
	return s + "."
}

// peakHead begins a sentence on the run's peak.
func (pic *picture) peakHead(at int64) string {
	switch v := pic.view; {
	case !v.partial():
		return "Peak: "
	case at >= v.from && at <= v.to:
		return "Peak of the whole run, in view: "
	}
	return "Peak of the whole run, not in view: "
}

// shownText says which of the iterations are shown, and which of those asked for there are not.
func (pic *picture) shownText() string {
	v := pic.view
	if !v.partial() || len(v.its) == 0 || len(v.its) == len(pic.track.Iterations) {
		if v.missing == "" {
			return ""
		}
	}
	s := " Shown: " + list(indexes(v.its)) + "."
	if v.missing != "" {
		s = fmt.Sprintf(" Shown: %s; there is no %s.", list(indexes(v.its)), v.missing)
	}
	return s
}

func indexes(its []*align.Iteration) []int {
	out := make([]int, len(its))
	for i, it := range its {
		out[i] = it.Index
	}
	return out
}

// missing are the iterations asked for that there are not, as text; empty for none.
func missing(want [2]int, its []*align.Iteration) string {
	have := indexes(its)
	sort.Ints(have)
	var gaps [][2]int
	next := want[0]
	for _, n := range have {
		if n > next {
			gaps = append(gaps, [2]int{next, n - 1})
		}
		next = max(next, n+1)
	}
	if next <= want[1] {
		gaps = append(gaps, [2]int{next, want[1]})
	}
	s := ""
	for i, g := range gaps {
		switch {
		case i == 4:
			return s + ", …"
		case i > 0:
			s += ", "
		}
		s += fmt.Sprint(g[0])
		if g[1] > g[0] {
			s += "–" + fmt.Sprint(g[1])
		}
	}
	return s
}

// clock writes a time of the report in the unit of the timeline's axis, a digit finer than its marks.
func (pic *picture) clock(t int64) string {
	if !pic.view.timeline || len(pic.scale.segments) == 0 {
		return wording.Seconds(t)
	}
	a := pic.scale.axis(pic.zero(), pic.w-pic.pt(90), pic.pt(axisMark))
	step := int64(1)
	if a.step >= 10 {
		step = int64(math.Pow(10, math.Floor(math.Log10(a.step)))) / 10
	}
	unit := a.unit
	if a.after {
		unit = "s"
	} else {
		t -= a.zero
	}
	return wording.Clock(t, unit, step)
}

// at says when something happened, counted as the timeline's axis counts.
func (pic *picture) at(t int64) string {
	switch {
	case !pic.view.timeline || !pic.o.SinceFirst:
		return "at " + pic.clock(t)
	case t < pic.zero():
		return pic.clock(t) + " from the first event in view"
	}
	return pic.clock(t) + " after the first event in view"
}

// zero is where the timeline's axis counts from.
func (pic *picture) zero() int64 {
	if pic.o.SinceFirst {
		return pic.firstEvent()
	}
	return 0
}
