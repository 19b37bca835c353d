package plot

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"nsysmem/render/plot/internal/canvas"
)

// runLines is the panel of levels by iteration.
type runLines struct {
	*Runs
	low, high   int64 // bytes; of all levels
	first, last int64 // iterations; last is below first where there is none
	band        bool  // there are ranges
}

// newRunLines prepares the panel: how far its axes go.
func newRunLines(r *Runs) *runLines {
	p := &runLines{Runs: r, low: math.MaxInt64, first: math.MaxInt64, last: math.MinInt64}
	for _, l := range r.Lines {
		for _, pt := range l.Points {
			p.low, p.high = min(p.low, pt.Low), max(p.high, pt.High)
			p.first, p.last = min(p.first, pt.Iteration), max(p.last, pt.Iteration)
			p.band = p.band || pt.High > pt.Low
		}
	}
	return p
}

// middleName names the middle line of levels that have a range, so that nobody looks for a mean where the lower of two is drawn.
func (p *runLines) middleName() string {
	even, most := false, 0
	for _, l := range p.Lines {
		for _, pt := range l.Points {
			most = max(most, pt.Runs)
			even = even || pt.High > pt.Low && pt.Runs%2 == 0 && pt.Runs > 0
		}
	}
	switch {
	case !even:
		return "median"
	case most == 2:
		return "the lower of two"
	}
	return "median (of an even number the lower middle one)"
}

// linePen is that of the i-th line.
func (p *runLines) linePen(i int) canvas.Pen { return runPens[i%len(runPens)].Wide(1.6) }

// heading says of which levels the lines and bands are.
func (p *runLines) heading() canvas.Heading {
	h := canvas.Heading{Title: "Highest level of each iteration"}
	if p.band {
		h.Title += ": " + p.middleName() + ", and range over " + p.Over
	}
	for i, l := range p.Lines {
		h.Entries.Add(true, l.Label, canvas.LineSample(p.linePen(i)))
	}
	return h
}

// xOf is where an iteration lies: a single one in the middle, and none on the frame.
func (p *runLines) xOf(c *canvas.Canvas, a canvas.Area, iteration int64) canvas.Length {
	if p.last == p.first {
		return a.Mid().X
	}
	pad := min(a.W()/(2*canvas.Length(p.last-p.first+1)), c.Pt(20))
	return a.X0 + pad + (a.W()-2*pad)*canvas.Length(float64(iteration-p.first)/float64(p.last-p.first))
}

// draw draws the panel in r: the axes, then all bands, then the lines over them.
func (p *runLines) draw(c *canvas.Canvas, r canvas.Rect) {
	a := c.Area(r, canvas.Inset{Below: c.AxisRoom(), Right: 2, Least: 15})
	if p.high == 0 && p.last < p.first {
		c.Note("no iteration with a known level", a.Rect)
		return
	}
	a.Low, a.High = canvas.ByteRange(min(p.low, p.high), p.high, false)
	a.X0 += c.ByteAxisWidth(a)
	c.ByteAxis(a)
	c.Frame(a)
	p.countAxis(c, a)

	lines := make([][]RunPoint, len(p.Lines))
	for i, l := range p.Lines {
		lines[i] = thinRun(l.Points, p.first, p.last, max(int(a.W()/max(c.Pixel, 0.1)), 1))
		if p.band {
			top := p.linePath(c, a, lines[i], func(pt *RunPoint) int64 { return pt.High })
			bottom := p.linePath(c, a, lines[i], func(pt *RunPoint) int64 { return pt.Low })
			slices.Reverse(bottom)
			look := p.linePen(i).Color
			c.Polygon(color.NRGBA{look.R, look.G, look.B, 0x48}, append(top, bottom...)) // one may lie over another
		}
	}
	const dotted = 60 // points up to which each has a dot
	for i, points := range lines {
		path, pen := p.linePath(c, a, points, func(pt *RunPoint) int64 { return pt.Mid }), p.linePen(i)
		c.Line(pen, path...)
		if len(path) <= dotted {
			for _, pt := range path {
				c.Disc(pen.Color, pt, c.Pt(1.9))
			}
		}
	}
}

// countAxis numbers the iterations.
func (p *runLines) countAxis(c *canvas.Canvas, a canvas.Area) {
	const mark = 40 // points of the layout that a number has to itself
	step := int64(canvas.NiceStep(float64(max(p.last-p.first, 1)), max(int(a.W()/c.Pt(mark)), 2)))
	for it := (p.first + step - 1) / step * step; it <= p.last; it += step {
		x := p.xOf(c, a, it)
		c.Mark(a, x)
		c.Count(a, strconv.FormatInt(it, 10), x)
	}
	c.AxisTitle(a, "iteration")
}

// linePath is a level of points as a line.
func (p *runLines) linePath(c *canvas.Canvas, a canvas.Area, points []RunPoint, level func(*RunPoint) int64) []canvas.Point {
	path := make([]canvas.Point, len(points))
	for i := range points {
		path[i] = canvas.Point{X: p.xOf(c, a, points[i].Iteration), Y: a.Y(level(&points[i]))}
	}
	return path
}

// thinRun keeps one point a column: the lowest, the highest, and the last middle of those in it.
func thinRun(points []RunPoint, first, last int64, columns int) []RunPoint {
	if len(points) <= columns {
		return points
	}
	var out []RunPoint
	at := int64(-1)
	for _, p := range points {
		column := int64(float64(p.Iteration-first) / float64(max(last-first, 1)) * float64(columns))
		if column != at {
			out, at = append(out, p), column
			continue
		}
		o := &out[len(out)-1]
		o.Low, o.Mid, o.High = min(o.Low, p.Low), p.Mid, max(o.High, p.High)
	}
	return out
}
