package plot

import (
	"nsysmem/render/plot/internal/canvas"
)

// A panel is a part of a picture: a heading, which is measured so that neighbours begin at one height, and what is drawn
// below it.
type panel interface {
	heading() canvas.Heading
	draw(c *canvas.Canvas, below canvas.Rect)
}

// drawPanels draws panels side by side, each in its rectangle, all from one height below their headings.
func drawPanels(c *canvas.Canvas, panels []panel, places []canvas.Rect) {
	top := places[0].Y1
	heads := make([]canvas.Measured, len(panels))
	for i, p := range panels {
		heads[i] = c.Measure(p.heading(), places[i])
		top = min(top, heads[i].Below)
	}
	for _, h := range heads {
		c.Heading(h)
	}
	for i, p := range panels {
		places[i].Y1 = top
		p.draw(c, places[i])
	}
}

// axisMark is the width that a mark of an axis of time has to itself, in points of the layout.
const axisMark = 65

// crossPen draws the crosses of what failed.
var crossPen = canvas.Pen{Width: 1.4, Color: failed}

// crossSample is a sample of a legend: a cross, so many points of the layout right of the middle.
func crossSample(right float64) canvas.Sample {
	return func(c *canvas.Canvas, r canvas.Rect) {
		at := r.Mid()
		at.X += c.Pt(right)
		c.Cross(crossPen, at, c.Pt(3))
	}
}
