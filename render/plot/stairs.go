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
	kind    string
	before  int64 // level at the left edge
	columns []column
	low     int64 // lowest level in view
	high    int64 // highest level in view
}

// newStairs brings the part of c in from to to to n columns.
func newStairs(c align.Curve, from, to int64, n int) stairs {
	s := stairs{kind: c.Kind, before: c.Before, columns: make([]column, max(n, 1))}
	span := float64(max(to-from, 1))
	first := 0
	for ; first < len(c.Points) && c.Points[first].Time < from; first++ {
		s.before = c.Points[first].Last
	}
	s.low, s.high = s.before, s.before
	for _, pt := range c.Points[first:] {
		if pt.Time > to {
			break
		}
		i := min(max(int(float64(pt.Time-from)/span*float64(len(s.columns))), 0), len(s.columns)-1)
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

// draw draws the stairs into a, the area under them too where fill is not nil.
func (s stairs) draw(p *painter, a plotArea, c color.Color, width vg.Length, dashes []float64, fill color.Color) {
	dx := (a.x1 - a.x0) / vg.Length(len(s.columns))
	y := a.y(s.before)
	line := []vg.Point{{X: a.x0, Y: y}}
	area := []vg.Point{{X: a.x0, Y: a.y0}, {X: a.x0, Y: y}}
	for i, col := range s.columns {
		if !col.any {
			continue
		}
		x := a.x0 + dx*(vg.Length(i)+0.5)
		low, high, last := a.y(col.low), a.y(col.high), a.y(col.last)
		line = append(line, vg.Point{X: x, Y: y})
		area = append(area, vg.Point{X: x, Y: y})
		if high > max(y, last) {
			line = append(line, vg.Point{X: x, Y: high})
		}
		if low < min(y, last) {
			line = append(line, vg.Point{X: x, Y: low})
		}
		y = last
		line = append(line, vg.Point{X: x, Y: y})
		area = append(area, vg.Point{X: x, Y: y})
	}
	line = append(line, vg.Point{X: a.x1, Y: y})
	area = append(area, vg.Point{X: a.x1, Y: y}, vg.Point{X: a.x1, Y: a.y0})
	if fill != nil {
		var path vg.Path
		path.Move(area[0])
		for _, pt := range area[1:] {
			path.Line(pt)
		}
		path.Close()
		p.c.SetColor(fill)
		p.c.Fill(path)
	}
	p.line(width, c, dashes, line...)
}
