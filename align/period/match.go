package period

import "slices"

// A view is a part of the operations, as indexes into them, in launch order.
type view struct {
	ops []Op
	idx []int32
}

func (v view) at(i int) *Op          { return &v.ops[v.idx[i]] }
func (v view) len() int              { return len(v.idx) }
func (v view) cut(from, to int) view { return view{v.ops, v.idx[from:to]} }
func (v view) loose(i int) uint64    { return v.ops[v.idx[i]].Loose }
func (v view) key(i int) uint64      { return v.ops[v.idx[i]].Key }

// kind is the kind of a kernel, and for other operations their name.
func (v view) kind(i int) uint64 {
	o := &v.ops[v.idx[i]]
	if o.Kind != 0 {
		return o.Kind
	}
	return o.Loose
}

// works is the number of kernels and graph launches.
func (v view) works() (n int) {
	for i := range v.idx {
		n += one(v.at(i).work())
	}
	return n
}

// mix spreads a value over 64 bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// maxGrams bounds how much of a long stretch is compared.
const maxGrams = 4096

// gramSize is the length of the runs that two stretches are compared by. Long runs tell order and so noise from
// repetition; short stretches do not have many of them.
func gramSize(n int) int {
	switch {
	case n >= 16:
		return 4
	case n >= 10:
		return 3
	case n >= 5:
		return 2
	}
	return 1
}

// grams lists the hashes of all runs of k operations, sorted, with repeats.
func (v view) grams(k int, loose bool) []uint64 {
	n := min(v.len(), maxGrams)
	if n < k {
		return nil
	}
	out := make([]uint64, 0, n-k+1)
	for i := 0; i+k <= n; i++ {
		var h uint64
		for j := i; j < i+k; j++ {
			if loose {
				h = mix(h*31 + v.loose(j))
			} else {
				h = mix(h*31 + v.key(j))
			}
		}
		out = append(out, h)
	}
	slices.Sort(out)
	return out
}

// shared counts what two sorted lists have in common.
func shared(a, b []uint64) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n++
			i++
			j++
		}
	}
	return n
}

// dice is the share of runs that two stretches have in common, 0 to 1.
func dice(a, b view, loose bool) float64 {
	n := min(a.len(), b.len())
	if n == 0 {
		return 0
	}
	k := gramSize(n)
	x, y := a.grams(k, loose), b.grams(k, loose)
	return 2 * float64(shared(x, y)) / float64(len(x)+len(y))
}

// kindGrams lists the hashes of all runs of k operations by kind, sorted, with repeats. Memsets are left out and kernels
// of one kind in a row count once: how many there are depends on sizes. It also tells how many kinds of kernels there are.
func (v view) kindGrams(k int) ([]uint64, int) {
	seq := v.kinds()
	seen := map[uint64]bool{}
	for i := range min(v.len(), maxGrams) {
		if v.at(i).work() {
			seen[v.kind(i)] = true
		}
	}
	if len(seq) < k {
		return nil, len(seen)
	}
	out := make([]uint64, 0, len(seq)-k+1)
	for i := 0; i+k <= len(seq); i++ {
		var h uint64
		for _, x := range seq[i : i+k] {
			h = mix(h*31 + x)
		}
		out = append(out, h)
	}
	slices.Sort(out)
	return out, len(seen)
}

// kinds lists the kinds of what a stretch launches, without memsets and repetitions.
func (v view) kinds() []uint64 {
	n := min(v.len(), maxGrams)
	seq := make([]uint64, 0, n)
	for i := range n {
		if v.at(i).Class == Memset {
			continue
		}
		if h := v.kind(i); len(seq) == 0 || seq[len(seq)-1] != h {
			seq = append(seq, h)
		}
	}
	return seq
}

// leastKinds is how many kinds of kernels make a sequence of kinds tell something.
const leastKinds = 5

// kindGram is the length of the runs by kind that long stretches are compared by: there are far fewer kinds than names.
const kindGram = 8

// kindDice is the share of runs by kind that two stretches have in common, 0 where they have too few kinds.
func kindDice(a, b view) float64 {
	k := gramSize(min(a.len(), b.len()))
	if min(a.len(), b.len()) >= 8*kindGram {
		k = kindGram
	}
	x, n := a.kindGrams(k)
	y, m := b.kindGrams(k)
	if len(x) == 0 || len(y) == 0 || min(n, m) < leastKinds {
		return 0
	}
	return 2 * float64(shared(x, y)) / float64(len(x)+len(y))
}

// alike is the share of operations that two stretches have in common, in whatever order.
func alike(a, b view) float64 {
	x, y := a.grams(1, false), b.grams(1, false)
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	return 2 * float64(shared(x, y)) / float64(len(x)+len(y))
}

// similar compares two stretches by names, and to a smaller part by shapes too: batches of other lengths have the same
// names and other grids. Where other lengths have other kernels too, the kinds of these count, at a discount.
func similar(a, b view) float64 {
	names := dice(a, b, true)
	s := 0.75*names + 0.25*dice(a, b, false)
	if s < 0.8 {
		s = max(s, 0.8*kindDice(a, b)+0.2*names)
	}
	return s
}

// within is the share of a's runs that b has too.
func within(a, b view) float64 {
	k := min(2, a.len(), b.len())
	if k == 0 {
		return 0
	}
	x, y := a.grams(k, true), b.grams(k, true)
	s := float64(len(x)-missing(x, y)) / float64(len(x))
	if s < 0.8 {
		x, n := a.kindGrams(k)
		y, m := b.kindGrams(k)
		if len(x) > 0 && min(n, m) >= leastKinds {
			s = max(s, float64(len(x)-missing(x, y))/float64(len(x)))
		}
	}
	return s
}

// missing counts the members of a that b lacks, however often b has the others.
func missing(a, b []uint64) (n int) {
	j := 0
	for _, x := range a {
		for j < len(b) && b[j] < x {
			j++
		}
		if j == len(b) || b[j] != x {
			n++
		}
	}
	return n
}

// resync is how many operations may differ in a row before two sequences are taken to part.
const resync = 48

// align walks two sequences as long as they match by name, from their starts (dir 1) or from their ends (dir -1), and
// steps over insertions, losses and changes. It returns how many operations of each lie up to the last match, and the
// number of matches. Where few names match it walks by kind, if that goes further.
func align(a, b view, dir int) (na, nb, matched int) {
	na, nb, matched = walk(a, b, dir, view.loose)
	if n := min(a.len(), b.len()); 2*matched < n {
		if x, y, m := walk(a, b, dir, view.kind); 2*m > 3*matched && 3*m > n {
			return x, y, m
		}
	}
	return na, nb, matched
}

// walk is align by one identity of operations.
//
// 1. While the heads are equal, take both.
// 2. Else look for the least number of operations to skip, of both together, after which two in a row are equal.
// 3. Without such a place within resync operations, stop.
func walk(a, b view, dir int, id func(view, int) uint64) (na, nb, matched int) {
	at := func(v view, i int) uint64 {
		if dir < 0 {
			i = v.len() - 1 - i
		}
		return id(v, i)
	}
	i, j := 0, 0
	for i < a.len() && j < b.len() {
		if at(a, i) == at(b, j) {
			i++
			j++
			matched++
			na, nb = i, j
			continue
		}
		found := false
		for d := 1; d <= min(resync, a.len()-i+b.len()-j-4) && !found; d++ {
			for s := 0; s <= d; s++ {
				x, y := i+s, j+d-s
				if x+1 >= a.len() || y+1 >= b.len() {
					continue
				}
				if at(a, x) == at(b, y) && at(a, x+1) == at(b, y+1) {
					i, j, found = x, y, true
					break
				}
			}
		}
		if !found {
			break
		}
	}
	return na, nb, matched
}

// median of a list that may be reordered; 0 of none.
func median(x []int) int {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[(len(x)-1)/2]
}
