package canvas

import (
	"cmp"
	"image/color"
	"slices"
)

// A Piece is a part of a lane: something with a key over a stretch of its scale. Pieces of one key join.
type Piece struct {
	Key        int
	Start, End int64 // ns, or bytes where the lane is of bytes
}

// A share is how much of a pixel column a key fills.
type share struct {
	Key int
	F   float64 // 0 to 1
}

// shares says for each of n columns of a scale how much of it each key fills.
func shares(pieces []Piece, scale Scale, n int) [][]share {
	cover := make([][]share, n)
	add := func(i, key int, f float64) {
		k := slices.IndexFunc(cover[i], func(s share) bool { return s.Key == key })
		if k < 0 {
			k, cover[i] = len(cover[i]), append(cover[i], share{Key: key})
		}
		cover[i][k].F += f
	}
	for _, p := range pieces {
		a, b := scale.Frac(p.Start)*float64(n), scale.Frac(p.End)*float64(n)
		if b <= a {
			continue
		}
		for i := min(int(a), n-1); i <= min(int(b), n-1); i++ {
			add(i, p.Key, min(b, float64(i+1))-max(a, float64(i)))
		}
	}
	return cover
}

// leastFilled is the part of a column below which it stays empty.
const leastFilled = 0.1

// keys gives each of n columns to the key that fills most of it, and to -1 where next to nothing is filled.
func keys(pieces []Piece, scale Scale, n int) []int {
	out := make([]int, n)
	for i, column := range shares(pieces, scale, n) {
		out[i] = -1
		best, sum := 0.0, 0.0
		for _, s := range column {
			sum += s.F
			if s.F > best {
				best, out[i] = s.F, s.Key
			}
		}
		if sum < leastFilled {
			out[i] = -1
		}
	}
	return out
}

// Lane brings pieces to n columns from r.X0 to r.X1, each of the key that fills most of it, and calls f for each run of one
// key, with its part of r.
func Lane(pieces []Piece, scale Scale, r Rect, n int, f func(key int, r Rect)) {
	runs(keys(pieces, scale, n), r, f)
}

// runs calls f for each run of one key, -1 left out, with its part of r.
func runs(columns []int, r Rect, f func(key int, r Rect)) {
	dx := r.W() / Length(max(len(columns), 1))
	for i := 0; i < len(columns); {
		j := i
		for j < len(columns) && columns[j] == columns[i] {
			j++
		}
		if columns[i] >= 0 {
			f(columns[i], Rect{r.X0 + dx*Length(i), r.Y0, r.X0 + dx*Length(j), r.Y1})
		}
		i = j
	}
}

// byKey sorts the shares of a column and sums them up.
func byKey(column []share) (sum float64) {
	slices.SortFunc(column, func(a, b share) int { return cmp.Compare(a.Key, b.Key) })
	for _, s := range column {
		sum += s.F
	}
	return sum
}

// StackShares fills columns of so many points of the layout by how much of each a key fills, from the top, in the order of
// keys. Where pieces are narrower than a column, the longest would hide all others.
func (c *Canvas) StackShares(pieces []Piece, scale Scale, r Rect, width float64, look func(key int) color.RGBA) {
	n := max(int(r.W()/c.Pt(width)), 1)
	dx := r.W() / Length(n)
	for i, column := range shares(pieces, scale, n) {
		sum := byKey(column)
		y, x := r.Y1, r.X0+dx*Length(i)
		for _, s := range column {
			h := r.H() * Length(s.F/max(sum, 1))
			c.Fill(look(s.Key), Rect{x, y - h, x + dx + c.Pixel/2, y})
			y -= h
		}
	}
}

// FillShares fills r by pixel column: pieces that share a column share its height, from the bottom, in the order of keys,
// painted by shared. Columns of one piece alone join to runs, painted by whole.
func (c *Canvas) FillShares(pieces []Piece, scale Scale, r Rect, whole, shared func(key int, r Rect)) {
	const least = 1e-9 // of a column, so that nothing is divided by 0
	n := c.Across(r.W())
	dx := r.W() / Length(n)
	alone := make([]int, n)
	for i, column := range shares(pieces, scale, n) {
		if len(column) == 1 {
			alone[i] = column[0].Key
			continue
		}
		alone[i] = -1
		sum := byKey(column)
		y, x := r.Y0, r.X0+dx*Length(i)
		for _, s := range column {
			h := r.H() * Length(s.F/max(sum, least))
			shared(s.Key, Rect{x, y, x + dx, y + h})
			y += h
		}
	}
	runs(alone, r, whole)
}
