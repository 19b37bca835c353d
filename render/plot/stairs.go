package plot

import (
	"image/color"

	"nsysmem/align"

	"gonum.org/v1/plot/vg"
)

// column is what a curve does within one pixel column.
type column struct {
	any             bool // whether the level changes in it
	low, high, last int64
}

// stairs is a curve brought to pixel columns. However many events fall into a column, its lowest and highest level stay.
type stairs struct {
	kind    align.LevelKind
	before  int64 // level at the left edge
	columns []column
	low     int64 // lowest level in view
	high    int64 // highest level in view
}

// newStairs brings the part of c that ts shows to n columns.
func newStairs(c align.Curve, ts timeScale, n int) stairs {
	s := stairs{kind: c.Kind, before: c.Before, columns: make([]column, max(n, 1))}
	from, to := ts.segments[0].from, ts.segments[len(ts.segments)-1].to
	first := 0
	for ; first < len(c.Points) && c.Points[first].Time < from; first++ {
		s.before = c.Points[first].Last
	}
	s.low, s.high = s.before, s.before
	for _, pt := range c.Points[first:] {
		if pt.Time > to {
			break
		}
		i := min(int(ts.frac(pt.Time)*float64(len(s.columns))), len(s.columns)-1)
		col := &s.columns[i]
		if !col.any {
			*col = column{true, pt.Low, pt.High, pt.Last}
		} else {
			col.low, col.high, col.last = min(col.low, pt.Low), max(col.high, pt.High), pt.Last
		}
		s.low, s.high = min(s.low, pt.Low), max(s.high, pt.High)
	}
	return s
}

// at is the level at the end of column i, and the highest within it.
func (s stairs) at(i int) (last, high int64) {
	last = s.before
	high = last
	for k := 0; k <= i && k < len(s.columns); k++ {
		if s.columns[k].any {
			if k == i {
				high = max(last, s.columns[k].high)
			}
			last = s.columns[k].last
		}
		if k < i {
			high = last
		}
	}
	return last, high
}

// topColumn is the first column that reaches the highest level in view.
func (s stairs) topColumn() int {
	if s.before == s.high {
		return 0
	}
	for i, c := range s.columns {
		if c.any && c.high == s.high {
			return i
		}
	}
	return 0
}

// dense says that the level goes up and down within most columns, so that a line would be a solid block.
func (s stairs) dense() bool {
	n := 0
	for _, c := range s.columns {
		if c.any && c.low < c.high {
			n++
		}
	}
	return n > 0 && n > len(s.columns)/2
}

// draw draws the stairs into a as a line; where they are dense, as the band from the lowest to the highest level.
func (s stairs) draw(p *painter, a plotArea, c color.RGBA, width vg.Length, dashes []float64) {
	if s.dense() {
		low, high := s.edges(a)
		p.polygon(mix(c, white, 0.62), append(append([]vg.Point{}, high...), reversed(low)...))
		p.line(width, c, dashes, low...)
		p.line(width, c, dashes, high...)
		return
	}
	dx := (a.x1 - a.x0) / vg.Length(len(s.columns))
	y := a.y(s.before)
	line := []vg.Point{{X: a.x0, Y: y}}
	for i, col := range s.columns {
		if !col.any {
			continue
		}
		x := a.x0 + dx*(vg.Length(i)+0.5)
		low, high, last := a.y(col.low), a.y(col.high), a.y(col.last)
		line = append(line, vg.Point{X: x, Y: y})
		if high > max(y, last) {
			line = append(line, vg.Point{X: x, Y: high})
		}
		if low < min(y, last) {
			line = append(line, vg.Point{X: x, Y: low})
		}
		y = last
		line = append(line, vg.Point{X: x, Y: y})
	}
	p.line(width, c, dashes, append(line, vg.Point{X: a.x1, Y: y})...)
}

// edges are the lowest and highest level of each column, as lines from the left.
func (s stairs) edges(a plotArea) (low, high []vg.Point) {
	dx := (a.x1 - a.x0) / vg.Length(len(s.columns))
	level := s.before
	for i, col := range s.columns {
		lo, hi := level, level
		if col.any {
			lo, hi, level = min(lo, col.low), max(hi, col.high), col.last
		}
		xa, xb := a.x0+dx*vg.Length(i), a.x0+dx*vg.Length(i+1)
		low = appendStep(low, xa, xb, a.y(lo))
		high = appendStep(high, xa, xb, a.y(hi))
	}
	return low, high
}

// appendStep appends a level from xa to xb, without points within a straight line.
func appendStep(pts []vg.Point, xa, xb, y vg.Length) []vg.Point {
	if n := len(pts); n > 1 && pts[n-1].Y == y {
		pts[n-1].X = xb
		return pts
	}
	return append(pts, vg.Point{X: xa, Y: y}, vg.Point{X: xb, Y: y})
}

// drawGround fills the area under the lowest level of each column.
func (s stairs) drawGround(p *painter, a plotArea, c color.RGBA) {
	low, _ := s.edges(a)
	p.polygon(c, append(low, vg.Point{X: a.x1, Y: a.y0}, vg.Point{X: a.x0, Y: a.y0}))
}

func reversed(pts []vg.Point) []vg.Point {
	out := make([]vg.Point, len(pts))
	for i, pt := range pts {
		out[len(pts)-1-i] = pt
	}
	return out
}
