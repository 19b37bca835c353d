package plot

import (
	"slices"
	"sort"

	"nsysmem/render/plot/internal/canvas"
)

// moment is what the level does within a pixel column.
type moment struct {
	pos       int64 // position of the highest level within
	low, high int64 // bytes
}

// stacked is a stack brought to pixel columns. Each shows the moment of its highest level, so that no peak is lost and the
// layers of a column add up to a level that was there.
type stacked struct {
	layers []layer
	sums   [][]int64 // by layer, then column: bytes of this layer and all below
	cols   []moment
	top    []int64 // bytes; highest of each layer by itself
	high   int64   // bytes; highest level in view
}

// toColumns brings the part of a stack that a scale shows to n columns.
//
//  1. The steps of the level say for each column where it is highest. These positions rise from left to right.
//  2. A block counts in the columns whose position lies in its life: from one column on, to another. One pass over the
//     blocks adds it at the one and takes it away at the other.
//  3. Sums from left to right give each layer, sums over the layers its upper edge.
func (s *stack) toColumns(scale canvas.Scale, n int) *stacked {
	n = max(n, 1)
	out := &stacked{layers: s.layers, cols: s.moments(scale, n), top: make([]int64, len(s.layers))}
	for range s.layers {
		out.sums = append(out.sums, make([]int64, n+1))
	}
	column := func(p int64) int { // the first whose position is not before p
		return sort.Search(n, func(i int) bool { return out.cols[i].pos >= p })
	}
	for i := range s.blocks {
		b := &s.blocks[i]
		from, to := column(b.born), n
		if from < n && b.died != atDeath {
			to = column(b.died)
		}
		if to > from {
			out.sums[b.layer][from] += b.bytes
			out.sums[b.layer][to] -= b.bytes
		}
	}
	below := make([]int64, n)
	for k, sums := range out.sums {
		sum := int64(0)
		for i := range n {
			sum += sums[i]
			out.top[k] = max(out.top[k], sum)
			below[i] += sum
			sums[i] = below[i]
		}
	}
	out.high = max(0, slices.Max(below))
	return out
}

// moments are what the level does in each of n columns of a scale.
func (s *stack) moments(scale canvas.Scale, n int) []moment {
	from, to := scale.Ends()
	cols := make([]moment, n)
	level, pos := s.start, int64(atBirth)
	at := 0
	cols[0] = moment{pos, level, level}
	advance := func(to int) { // columns in which nothing happens keep the level
		for at < to {
			at++
			cols[at] = moment{pos, level, level}
		}
	}
	for _, x := range s.steps {
		if x.at > to {
			break
		}
		if x.at >= from {
			advance(scale.Column(x.at, n))
			c := &cols[at]
			if x.level > c.high {
				c.high, c.pos = x.level, x.pos
			}
			c.low = min(c.low, x.level)
		} else {
			cols[0] = moment{x.pos, x.level, x.level}
		}
		level, pos = x.level, x.pos
	}
	advance(n - 1)
	return cols
}

// A level that falls below its highest by more than one part in so many, in more than two thirds of the columns, is dense.
const denseFall = 8

// dense says that the level goes up and down within most columns.
func (s *stacked) dense() bool {
	n := 0
	for _, c := range s.cols {
		if c.low < c.high-c.high/denseFall {
			n++
		}
	}
	return n > len(s.cols)*2/3
}

// flat says that the level does not change in view.
func (s *stacked) flat() bool {
	return !slices.ContainsFunc(s.cols, func(c moment) bool { return c.low != s.high || c.high != s.high })
}

// peak is the first column that reaches the highest level in view.
func (s *stacked) peak() int {
	return max(slices.IndexFunc(s.cols, func(c moment) bool { return c.high == s.high }), 0)
}

// draw fills the layers, each from the axis to its upper edge, the uppermost first: neighbours that only share an edge
// would show a seam.
func (s *stacked) draw(c *canvas.Canvas, a canvas.Area) {
	n := len(s.cols)
	for k, l := range slices.Backward(s.layers) {
		if s.top[k] > 0 {
			c.Polygon(l.color, a.Under(stepLine(a, n, func(i int) int64 { return s.sums[k][i] })))
		}
	}
	if len(s.layers) == 0 {
		return
	}
	top := s.sums[len(s.layers)-1]
	if s.dense() {
		c.Line(canvas.Pen{Width: 0.8, Color: canvas.Ink, Dashes: []float64{2, 1.5}}, stepLine(a, n, func(i int) int64 { return s.cols[i].low })...)
	}
	c.Line(canvas.Pen{Width: 0.7, Color: canvas.Ink}, stepLine(a, n, func(i int) int64 { return top[i] })...)
}
