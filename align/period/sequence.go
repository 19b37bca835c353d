package period

import (
	"iter"
	"slices"
)

// A sequence is a part of the operations in launch order: those of some threads, or a stretch of them. A place is an
// index into it.
type sequence struct {
	ops []Op
	idx []int32 // indexes into ops, ascending
}

func (s sequence) at(p int) *Op              { return &s.ops[s.idx[p]] }
func (s sequence) len() int                  { return len(s.idx) }
func (s sequence) cut(from, to int) sequence { return sequence{s.ops, s.idx[from:to]} }
func (s sequence) in(x span) sequence        { return s.cut(x.from, x.to) }
func (s sequence) is(p int, c Class) bool    { return s.at(p).Class == c }

// works is the number of kernels and graph launches.
func (s sequence) works() (n int) {
	for p := range s.idx {
		n += one(s.at(p).work())
	}
	return n
}

// run is how many operations of a class come in a row from a place on.
func (s sequence) run(c Class, from int) (n int) {
	for from+n < s.len() && s.is(from+n, c) {
		n++
	}
	return n
}

// back is the place of the first of the operations of a class that come right before p, but at least low; p itself where
// there are none.
func (s sequence) back(c Class, p, low int) int {
	for p > low && s.is(p-1, c) {
		p--
	}
	return p
}

// afterLast is the place after the last operation of a class in [low, high), or low where there is none.
func (s sequence) afterLast(c Class, low, high int) int {
	for p := high; p > low; p-- {
		if s.is(p-1, c) {
			return p
		}
	}
	return low
}

// first is the place of the first operation of a class, or the length where there is none.
func (s sequence) first(c Class) int {
	for p := range s.idx {
		if s.is(p, c) {
			return p
		}
	}
	return s.len()
}

// leadIn is the place of the first copy to the device, if that comes early, else 0. What lies before it is the
// optimizer's own: scaling factors, a loss that is read.
func (s sequence) leadIn() int {
	for p := 0; p < s.len() && !leadInPart.exceeded(p, s.len()); p++ {
		if s.is(p, HtoD) {
			return p
		}
	}
	return 0
}

// pastCopies is the first place of a stretch that is no copy from or to the host, or its start where all are.
func (s sequence) pastCopies(x span) int {
	for p := x.from; p < x.to; p++ {
		if !s.is(p, HtoD) && !s.is(p, DtoH) {
			return p
		}
	}
	return x.from
}

// A span is a stretch of a sequence as places [from, to).
type span struct{ from, to int }

func (x span) len() int { return x.to - x.from }

// between are the stretches from each place to the next.
func between(at []int) []span {
	var out []span
	for i := 1; i < len(at); i++ {
		out = append(out, span{at[i-1], at[i]})
	}
	return out
}

func lengths(spans []span) []int {
	out := make([]int, len(spans))
	for i, x := range spans {
		out[i] = x.len()
	}
	return out
}

func (s sequence) stretches(spans []span) []sequence {
	out := make([]sequence, len(spans))
	for i, x := range spans {
		out[i] = s.in(x)
	}
	return out
}

// sampled are at most maxSamples of the numbers below n, evenly spread, 0 among them.
func sampled(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		stride := (n + maxSamples - 1) / maxSamples
		for i := 0; i < n; i += stride {
			if !yield(i) {
				return
			}
		}
	}
}

// median of a list that may be reordered, the lower one of two; 0 of none.
func median(x []int) int {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[(len(x)-1)/2]
}

func distance(a, b int) int { return max(a-b, b-a) }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
