package plot

import (
	"fmt"
	"math"
	"slices"

	"nsysmem/render/plot/internal/canvas"
)

// runBars is the panel of a bar for each run. Where there are more runs than columns that can be told apart, neighbours
// share one that shows the highest of them.
type runBars struct {
	bars   []RunBar
	per    int           // bars a column
	height canvas.Length // with the heading
}

// newRunBars prepares the panel for a rectangle.
func newRunBars(c *canvas.Canvas, bars []RunBar, r canvas.Rect) *runBars {
	const axis, narrowest = 80, 3 // points of the layout
	columns := max(int((r.W()-c.Pt(axis))/c.Pt(narrowest)), 1)
	return &runBars{bars: bars, per: (len(bars) + columns - 1) / columns, height: r.H()}
}

// heading names only what is in the panel.
func (p *runBars) heading() canvas.Heading {
	any := func(is func(b RunBar) bool) bool { return slices.ContainsFunc(p.bars, is) }
	h := canvas.Heading{Title: "Peak of each run"}
	if p.per > 1 {
		h.Title += fmt.Sprintf(" (highest of each %d runs)", p.per)
	}
	h.Entries.Add(true, "peak", canvas.Swatch(canvas.Blue))
	h.Entries.Add(any(func(b RunBar) bool { return b.Known && b.End < b.Peak }), "live at the end", canvas.LineSample(endPen))
	h.Entries.Add(any(func(b RunBar) bool { return b.Failed }), "report failed", crossSample(0))
	h.Entries.Add(any(func(b RunBar) bool { return !b.Failed && !b.Known }), "memory not collected", func(c *canvas.Canvas, r canvas.Rect) {
		c.Disc(canvas.Faint, r.Mid(), c.Pt(2))
	})
	return h
}

// endPen draws the level at the end of a run.
var endPen = canvas.Pen{Width: 2, Color: canvas.Orange}

// Of the bars and their labels, in points of the layout or as shares.
const (
	axisShare    = 0.7  // about the share of the panel's height that its area has
	runSlot      = 90   // width of a column at most
	runBarShare  = 0.36 // of that the bar's half
	runBarHalf   = 22   // and at most
	labelShare   = 0.4  // of the panel's height that turned labels have at most
	labelLongest = 130
	labelRoom    = 8
	turnedEvery  = 11 // between turned labels
)

// draw draws the panel in r.
//
//  1. The width of the byte axis, for about the height that the area will have, and that of a column.
//  2. Labels are turned where they would not fit side by side, which takes room below the area; where even turned ones are
//     too many, only some are written.
//  3. The area and its axis, then the columns.
func (p *runBars) draw(c *canvas.Canvas, r canvas.Rect) {
	if len(p.bars) == 0 {
		r.X1 -= c.Pt(2)
		c.Note("no run", r)
		return
	}
	var high int64
	widest := canvas.Length(0)
	for _, b := range p.bars {
		high = max(high, b.Peak)
		widest = max(widest, c.Width(b.Label, canvas.Small))
	}
	n := (len(p.bars) + p.per - 1) / p.per
	a := canvas.Area{Rect: canvas.Rect{Y1: p.height * axisShare}}
	a.Low, a.High = canvas.ByteRange(0, high, false)
	a.X0, a.X1 = r.X0+c.ByteAxisWidth(a), r.X1-c.Pt(2)
	slot := min(a.W()/canvas.Length(n), c.Pt(runSlot))
	labels, below := runLabels{room: slot - c.Pt(2)}, c.Pt(14)
	if widest > slot-c.Pt(4) {
		labels = runLabels{true, min(widest, p.height*labelShare, c.Pt(labelLongest))}
		below = labels.room + c.Pt(labelRoom)
	}
	r.X0 = a.X0
	a.Rect = c.Area(r, canvas.Inset{Below: below, Right: 2, Least: 15}).Rect
	a.Axis = a.Y0
	c.ByteAxis(a)
	c.Frame(a)

	every := 1
	if labels.turned {
		every = max(int(math.Ceil(float64(c.Pt(turnedEvery)/slot))), 1)
	}
	left := (a.X0 + a.X1 - slot*canvas.Length(n)) / 2
	half := min(slot*runBarShare, c.Pt(runBarHalf))
	for i := range n {
		group := p.bars[i*p.per : min((i+1)*p.per, len(p.bars))]
		x := left + slot*(canvas.Length(i)+0.5)
		highest(group).draw(c, a, x, half)
		if i%every == 0 {
			labels.writeLabel(c, group[0].Label, x, a.Y0)
		}
	}
}

// runLabels are how labels are written under bars.
type runLabels struct {
	turned bool
	room   canvas.Length // of one, along its text
}

// writeLabel writes a label under a bar at x.
func (l runLabels) writeLabel(c *canvas.Canvas, s string, x, y canvas.Length) {
	s = c.Fit(s, canvas.Small, l.room)
	if l.turned {
		c.Turned(s, x+c.Pt(3), y-c.Pt(4)-c.Width(s, canvas.Small)/2, canvas.Small)
		return
	}
	c.Text(s, x, y-c.Pt(11), canvas.Small.Centred())
}

// draw draws one bar centred on x.
func (b RunBar) draw(c *canvas.Canvas, a canvas.Area, x, half canvas.Length) {
	switch {
	case b.Failed:
		c.Cross(canvas.Pen{Width: 1.6, Color: failed}, canvas.Point{X: x, Y: a.Y0 + c.Pt(7)}, min(c.Pt(4), half+c.Pt(1)))
	case !b.Known:
		c.Disc(canvas.Faint, canvas.Point{X: x, Y: a.Y0 + c.Pt(5)}, min(c.Pt(2.2), half+c.Pt(1)))
	default:
		c.Fill(canvas.Blue, canvas.Rect{X0: x - half, Y0: a.Y0, X1: x + half, Y1: a.Y(b.Peak)})
		if b.End < b.Peak {
			c.Horizontal(endPen, a.Y(b.End), x-half, x+half)
		}
	}
}

// highest is the bar that stands for several.
func highest(bars []RunBar) RunBar {
	out := bars[0]
	for _, b := range bars[1:] {
		if b.Failed || !out.Failed && (!b.Known || out.Known && b.Peak <= out.Peak) {
			continue
		}
		out = b
	}
	return out
}
