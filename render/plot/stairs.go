package plot

import (
	"image/color"
	"slices"

	"nsysmem/align"
	"nsysmem/render/plot/internal/canvas"
)

// column is what a curve does within one pixel column.
type column struct {
	any             bool // whether the level changes in it
	before          int64
	low, high, last int64 // of the changes; before where there are none
}

// stairs is a curve brought to pixel columns. However many events fall into a column, its lowest and highest level stay.
type stairs struct {
	kind      align.LevelKind
	before    int64 // level at the left edge
	columns   []column
	low, high int64 // lowest and highest level in view
}

// newStairs brings the part of c that a scale shows to n columns.
func newStairs(c *align.Curve, scale canvas.Scale, n int) *stairs {
	s := &stairs{kind: c.Kind, before: c.Before, columns: make([]column, max(n, 1))}
	from, to := scale.Ends()
	points := c.Points
	for ; len(points) > 0 && points[0].Time < from; points = points[1:] {
		s.before = points[0].Last
	}
	s.low, s.high = s.before, s.before
	for _, pt := range points {
		if pt.Time > to {
			break
		}
		col := &s.columns[scale.Column(pt.Time, len(s.columns))]
		if !col.any {
			*col = column{any: true, low: pt.Low, high: pt.High}
		}
		col.low, col.high, col.last = min(col.low, pt.Low), max(col.high, pt.High), pt.Last
		s.low, s.high = min(s.low, pt.Low), max(s.high, pt.High)
	}
	level := s.before
	for i := range s.columns {
		col := &s.columns[i]
		if !col.any {
			col.low, col.high, col.last = level, level, level
		}
		col.before = level
		level = col.last
	}
	return s
}

// Columns is how many columns there are.
func (s *stairs) Columns() int { return len(s.columns) }

// Span is the lowest and the highest level of column i, that at its start included.
func (s *stairs) Span(i int) (low, high int64) {
	c := &s.columns[i]
	return min(c.before, c.low), max(c.before, c.high)
}

// Top is the highest level in view.
func (s *stairs) Top() int64 { return s.high }

// topColumn is the first column that reaches the highest level in view.
func (s *stairs) topColumn() int {
	if s.before == s.high {
		return 0
	}
	return max(slices.IndexFunc(s.columns, func(c column) bool { return c.any && c.high == s.high }), 0)
}

// topPoint is where the highest level in view is first reached.
func (s *stairs) topPoint(a canvas.Area) canvas.Point {
	return canvas.Point{X: a.Column(float64(s.topColumn())+0.5, len(s.columns)), Y: a.Y(s.high)}
}

// flat says that the level does not change in view.
func (s *stairs) flat() bool { return s.low == s.high }

// dense says that the level goes up and down within most columns, so that a line would be a solid block.
func (s *stairs) dense() bool {
	n := 0
	for i := range s.columns {
		if s.columns[i].low < s.columns[i].high {
			n++
		}
	}
	return n > 0 && n > len(s.columns)/2
}

// bandTint is how much of a dense line's band is white.
const bandTint = 0.62

// draw draws the stairs into an area as a line; where they are dense, as the band from the lowest to the highest level.
func (s *stairs) draw(c *canvas.Canvas, a canvas.Area, pen canvas.Pen) {
	if s.dense() {
		low, high := s.edges(a)
		band := slices.Clone(low)
		slices.Reverse(band)
		c.Polygon(canvas.Mix(pen.Color, canvas.White, bandTint), append(slices.Clone(high), band...))
		c.Line(pen, low...)
		c.Line(pen, high...)
		return
	}
	y := a.Y(s.before)
	line := []canvas.Point{{X: a.X0, Y: y}}
	for i := range s.columns {
		col := &s.columns[i]
		if !col.any {
			continue
		}
		x := a.Column(float64(i)+0.5, len(s.columns))
		low, high, last := a.Y(col.low), a.Y(col.high), a.Y(col.last)
		line = append(line, canvas.Point{X: x, Y: y})
		if high > max(y, last) {
			line = append(line, canvas.Point{X: x, Y: high})
		}
		if low < min(y, last) {
			line = append(line, canvas.Point{X: x, Y: low})
		}
		y = last
		line = append(line, canvas.Point{X: x, Y: y})
	}
	c.Line(pen, append(line, canvas.Point{X: a.X1, Y: y})...)
}

// edges are the lowest and the highest level of each column, as lines from the left.
func (s *stairs) edges(a canvas.Area) (low, high []canvas.Point) {
	n := len(s.columns)
	low = stepLine(a, n, func(i int) int64 { return min(s.columns[i].before, s.columns[i].low) })
	return low, stepLine(a, n, func(i int) int64 { return max(s.columns[i].before, s.columns[i].high) })
}

// stepLine is a level of each of n columns as a line from the left, without points within a straight line.
func stepLine(a canvas.Area, n int, level func(i int) int64) []canvas.Point {
	var pts []canvas.Point
	dx := a.W() / canvas.Length(n)
	for i := range n {
		xa, xb, y := a.X0+dx*canvas.Length(i), a.X0+dx*canvas.Length(i+1), a.Y(level(i))
		if k := len(pts); k > 1 && pts[k-1].Y == y {
			pts[k-1].X = xb
			continue
		}
		pts = append(pts, canvas.Point{X: xa, Y: y}, canvas.Point{X: xb, Y: y})
	}
	return pts
}

// fillLow fills the area under the lowest level of each column.
func (s *stairs) fillLow(c *canvas.Canvas, a canvas.Area, look color.RGBA) {
	low, _ := s.edges(a)
	c.Polygon(look, a.Under(low))
}

// fillHigh fills the area under the highest level of each column.
func (s *stairs) fillHigh(c *canvas.Canvas, a canvas.Area, look color.RGBA) {
	_, high := s.edges(a)
	c.Polygon(look, a.Under(high))
}
