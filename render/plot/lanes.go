package plot

import (
	"image/color"
	"strconv"

	"nsysmem/align"
	"nsysmem/render/plot/internal/canvas"
)

// Lengths of lanes, in points of the layout.
const (
	laneHeight = 13
	laneGap    = 3   // between the lanes and the axis, and between the panel and the lanes
	laneRise   = 3.5 // from the lower edge of a lane to its name's baseline
	laneLabel  = 4   // between a lane and its name
)

// sharesName is what the lane of phases is called where iterations are too narrow for each phase to be drawn.
const sharesName = "phase shares"

// lanes are the strips of iterations and phases between a panel over time and its axis.
type lanes struct {
	*scene
	band
}

// newLanes has the top-level phases in view, and the outermost ranges outside iterations.
func (s *scene) newLanes() *lanes {
	l := &lanes{scene: s}
	from, to := s.view.from, s.view.to
	// Ranges first: where one holds the iterations, their phases lie over it.
	for i := range s.track.Ranges {
		r := &s.track.Ranges[i]
		// Operators have one row for all their calls: its time is not that of a call.
		if r.Contains == 0 && r.Calls <= 1 && r.End > from && r.Start < to {
			l.addPiece(bandLook{r.Name, s.palette.ranges[r.Name], true}, r.Start, r.End)
		}
	}
	for _, it := range s.view.its {
		for _, sp := range s.spansOf(it) {
			if sp.Depth == 1 && sp.End > from && sp.Start < to {
				l.addPiece(bandLook{sp.Path, s.palette.color(sp.Path), false}, sp.Start, sp.End)
			}
		}
	}
	return l
}

// roomBelow is what the lanes take.
func (l *lanes) roomBelow(c *canvas.Canvas) canvas.Length {
	h := canvas.Length(0)
	if len(l.view.its) > 0 {
		h += c.Pt(laneHeight)
	}
	if len(l.pieces) > 0 {
		h += c.Pt(laneHeight)
	}
	if h > 0 {
		h += c.Pt(laneGap) // so that the mark at 0 and the name of the lane stand apart
	}
	return h
}

// nameRoom is the room that the name of a lane wants to the left; 0 where there are no lanes.
func (l *lanes) nameRoom(c *canvas.Canvas, name string) canvas.Length {
	if len(l.view.its) == 0 && len(l.pieces) == 0 {
		return 0
	}
	return c.Width(name, canvas.Small) + c.Pt(6)
}

// draw draws the lanes under an area whose names have so much room to the left.
func (l *lanes) draw(c *canvas.Canvas, a canvas.Area, margin canvas.Length) {
	c.Horizontal(canvas.FramePen, a.Y0, a.X0, a.X1)
	r := canvas.Rect{X0: a.X0, X1: a.X1, Y1: a.Y0 - c.Pt(laneGap)}
	name := func(s string) { c.Text(s, a.X0-c.Pt(laneLabel), r.Y0+c.Pt(laneRise), canvas.Small.Right()) }
	if len(l.view.its) > 0 {
		r.Y0 = r.Y1 - c.Pt(laneHeight)
		l.strip(c, a, r)
		name(c.Fit(l.word, canvas.Small, margin-c.Pt(laneLabel+1)))
		r.Y1 = r.Y0
	}
	if len(l.pieces) > 0 {
		r.Y0 = r.Y1 - c.Pt(laneHeight)
		name(l.phases(c, a, r))
	}
}

// strip draws the numbered iterations in r.
func (l *lanes) strip(c *canvas.Canvas, a canvas.Area, r canvas.Rect) {
	const narrow = 3 // points of the layout
	its := l.view.its
	part := func(it *align.Iteration) canvas.Rect {
		return canvas.Rect{X0: a.X(it.Start), Y0: r.Y0, X1: a.X(it.End), Y1: r.Y1}
	}
	wide := float64(a.W())/float64(len(its)) >= float64(c.Pt(narrow))
	if wide {
		for _, it := range its {
			l.stripPart(c, it, part(it))
		}
	} else {
		c.Fill(stripA, canvas.Rect{X0: a.X(its[0].Start), Y0: r.Y0, X1: a.X(its[len(its)-1].End), Y1: r.Y1})
	}
	place := func(it *align.Iteration) (x0, x1 canvas.Length) {
		return max(a.X(it.Start), a.X0), min(a.X(it.End), a.X1)
	}
	numbers(c, its, place, func(s string, x canvas.Length, it *align.Iteration) {
		if it.Truncated && wide { // readable on the hatching
			w := c.Width(s, canvas.Small)/2 + c.Pt(1.5)
			c.Fill(canvas.White, canvas.Rect{X0: x - w, Y0: r.Y0 + c.Pt(1), X1: x + w, Y1: r.Y1 - c.Pt(1)})
		}
		c.Text(s, x, r.Y0+c.Pt(laneRise), canvas.Small.Centred())
	})
}

// stripPart draws one iteration: neighbours in two greys, those that do not count as steady white.
func (l *lanes) stripPart(c *canvas.Canvas, it *align.Iteration, r canvas.Rect) {
	ground := stripA
	switch {
	case it.Truncated || it.Warmup:
		ground = canvas.White
	case l.place[it]%2 == 1:
		ground = stripB
	}
	c.Fill(ground, r)
	if it.Truncated {
		c.Hatch(canvas.Faint, r)
	}
	if it.Truncated || it.Warmup {
		c.Outline(canvas.Pen{Width: 0.5, Color: canvas.Edge}, r)
	}
}

// numberGap is left between the numbers of iterations, in points of the layout.
const numberGap = 5

// numbers calls write for as many of the iterations as have room for their number: all, else every 2nd, 5th, 10th, …. place
// says where an iteration lies.
func numbers(c *canvas.Canvas, its []*align.Iteration, place func(*align.Iteration) (x0, x1 canvas.Length),
	write func(string, canvas.Length, *align.Iteration)) {
	middle := func(it *align.Iteration) canvas.Length {
		x0, x1 := place(it)
		return (x0 + x1) / 2
	}
	for base := 1; base <= 1e9; base *= 10 {
		for _, m := range [...]int{1, 2, 5} {
			var some []*align.Iteration
			for _, it := range its {
				if it.Index%(base*m) == 0 {
					some = append(some, it)
				}
			}
			if !apart(c, some, middle) {
				continue
			}
			if len(some) == 0 { // no number is a multiple; the first will do
				some = its[:1]
			}
			for _, it := range some {
				write(strconv.Itoa(it.Index), middle(it), it)
			}
			return
		}
	}
}

// apart says that the numbers of iterations do not touch each other.
func apart(c *canvas.Canvas, its []*align.Iteration, middle func(*align.Iteration) canvas.Length) bool {
	last := canvas.Length(-1e9)
	for _, it := range its {
		half, mid := c.Width(strconv.Itoa(it.Index), canvas.Small)/2, middle(it)
		if mid-half < last+c.Pt(numberGap) {
			return false
		}
		last = mid + half
	}
	return true
}

// phases draws the lane of phases in r and returns what the lane is to be called.
func (l *lanes) phases(c *canvas.Canvas, a canvas.Area, r canvas.Rect) string {
	const shareColumn = 2.5 // points of the layout
	if l.crowded(c, a.W()) {
		c.StackShares(l.pieces, a.Scale, r, shareColumn, func(key int) color.RGBA { return l.looks[key].color })
		return sharesName
	}
	iterations := len(l.track.Iterations) > 0
	l.eachRun(a.Scale, r, c.Across(a.W()), func(_ int, look bandLook, r canvas.Rect) {
		c.Fill(look.color, r)
		if look.outer || !iterations {
			look.writeName(c, look.name, r, 4, 4.5) // clear of the axis, underscores too
		}
	})
	if iterations {
		return "phase"
	}
	return "range"
}

// crowded says that iterations are too narrow on a timeline of width w for their phases to be told apart.
func (s *scene) crowded(c *canvas.Canvas, w canvas.Length) bool {
	const narrow = 4 // points of the layout
	n := len(s.view.its)
	return n > 0 && w/canvas.Length(n) < c.Pt(narrow)
}

// unnamed are the ranges on the lane of phases that have no room there for their names: those outside iterations, and where
// there are none, all that can be seen.
func (l *lanes) unnamed(c *canvas.Canvas) []bandLook {
	width := c.W - c.Pt(85) // about that of the lane
	if !l.view.timeline || l.crowded(c, width) {
		return nil
	}
	named := map[int]bool{}
	var order []int
	l.eachRun(l.scale, canvas.Rect{X1: width}, c.Across(width), func(key int, look bandLook, r canvas.Rect) {
		if !look.outer {
			return
		}
		if _, seen := named[key]; !seen {
			order = append(order, key)
		}
		named[key] = named[key] || bandName(c, look.name, r.W()-c.Pt(4)) != ""
	})
	var out []bandLook
	for _, key := range order {
		if !named[key] || len(l.track.Iterations) == 0 {
			out = append(out, l.looks[key])
		}
	}
	return out
}
