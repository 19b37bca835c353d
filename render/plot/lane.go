package plot

import (
	"gonum.org/v1/plot/vg"
)

// piece is a part of a lane: a phase or a range over a stretch of time.
type piece struct {
	key        int // which phase; pieces of one key join
	start, end int64
}

// share is how much of a pixel column a key fills.
type share struct {
	key int
	f   float64 // 0 to 1
}

// shares says for each of n columns of a scale how much of it each key fills.
func shares(pieces []piece, ts timeScale, n int) [][]share {
	cover := make([][]share, n)
	add := func(i, key int, f float64) {
		for k := range cover[i] {
			if cover[i][k].key == key {
				cover[i][k].f += f
				return
			}
		}
		cover[i] = append(cover[i], share{key, f})
	}
	for _, pc := range pieces {
		a, b := ts.frac(pc.start)*float64(n), ts.frac(pc.end)*float64(n)
		if b <= a {
			continue
		}
		ia, ib := min(int(a), n-1), min(int(b), n-1)
		if ia == ib {
			add(ia, pc.key, b-a)
			continue
		}
		add(ia, pc.key, float64(ia+1)-a)
		for i := ia + 1; i < ib; i++ {
			add(i, pc.key, 1)
		}
		add(ib, pc.key, b-float64(ib))
	}
	return cover
}

// lane gives each of n columns to the key that fills most of it, and to -1 where next to nothing is filled.
func lane(pieces []piece, ts timeScale, n int) []int {
	const least = 0.1 // of a column, below which it stays empty
	out := make([]int, n)
	for i, column := range shares(pieces, ts, n) {
		out[i] = -1
		best, sum := 0.0, 0.0
		for _, s := range column {
			sum += s.f
			if s.f > best {
				best, out[i] = s.f, s.key
			}
		}
		if sum < least {
			out[i] = -1
		}
	}
	return out
}

// runs calls f for each run of one key in a lane, with its place on the picture.
func runs(cols []int, x0, x1 vg.Length, f func(key int, a, b vg.Length)) {
	dx := (x1 - x0) / vg.Length(max(len(cols), 1))
	for i := 0; i < len(cols); {
		j := i
		for j < len(cols) && cols[j] == cols[i] {
			j++
		}
		if cols[i] >= 0 {
			f(cols[i], x0+dx*vg.Length(i), x0+dx*vg.Length(j))
		}
		i = j
	}
}
