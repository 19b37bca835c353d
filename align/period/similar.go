package period

import "slices"

// An identity is what makes two operations the same: (*Op).name, (*Op).shape or (*Op).kind.
type identity func(*Op) uint64

// ids lists an identity of each operation, in a buffer that may be too small.
func (s sequence) ids(id identity, buf []uint64) []uint64 {
	buf = slices.Grow(buf[:0], s.len())
	for _, i := range s.idx {
		buf = append(buf, id(&s.ops[i]))
	}
	return buf
}

// mix spreads a value over 64 bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// runs turns a list of identities into the hashes of all runs of size of them, in place.
func runs(ids []uint64, size int) []uint64 {
	n := max(0, len(ids)-size+1)
	for i := range n {
		var h uint64
		for _, x := range ids[i : i+size] {
			h = mix(h*31 + x)
		}
		ids[i] = h
	}
	return ids[:n]
}

// sortedRuns lists the hashes of the runs of a stretch, sorted, with repeats. Of a long stretch only the beginning counts.
func (s sequence) sortedRuns(size int, id identity) []uint64 {
	out := runs(s.cut(0, min(s.len(), maxCompared)).ids(id, nil), size)
	slices.Sort(out)
	return out
}

// runSize is how long the runs are by which stretches of n operations are compared.
func runSize(n int) int {
	for _, r := range runSizes {
		if n >= r.operations {
			return r.size
		}
	}
	return 1
}

// overlap is the share of members that two sorted lists have in common, 0 to 1; 0 where one is empty.
func overlap(a, b []uint64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	n := 0
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
	return 2 * float64(n) / float64(len(a)+len(b))
}

// contained is the share of a's members that b has too, however often; both are sorted and a is not empty.
func contained(a, b []uint64) float64 {
	n, j := 0, 0
	for _, x := range a {
		for j < len(b) && b[j] < x {
			j++
		}
		n += one(j < len(b) && b[j] == x)
	}
	return float64(n) / float64(len(a))
}

// overlapBy is the share of runs that two stretches have in common by one identity.
func overlapBy(id identity, a, b sequence) float64 {
	size := runSize(min(a.len(), b.len()))
	return overlap(a.sortedRuns(size, id), b.sortedRuns(size, id))
}

// kinds lists the kinds of what a stretch launches, in order, and tells how many kinds of kernels there are. Memsets are
// left out and kernels of one kind in a row count once: how many there are depends on sizes.
func (s sequence) kinds() (seq []uint64, different int) {
	n := min(s.len(), maxCompared)
	seq = make([]uint64, 0, n)
	seen := map[uint64]bool{}
	for p := range n {
		o := s.at(p)
		k := o.kind()
		if o.work() {
			seen[k] = true
		}
		if o.Class != Memset && (len(seq) == 0 || seq[len(seq)-1] != k) {
			seq = append(seq, k)
		}
	}
	return seq, len(seen)
}

// kindRuns gives the runs by kind of two stretches, sorted; none where they have too few kinds to tell something.
func kindRuns(a, b sequence, size int) (x, y []uint64) {
	x, n := a.kinds()
	y, m := b.kinds()
	if min(n, m) < leastKinds {
		return nil, nil
	}
	x, y = runs(x, size), runs(y, size)
	slices.Sort(x)
	slices.Sort(y)
	return x, y
}

// overlapByKind is the share of runs by kind that two stretches have in common, 0 where they have too few kinds.
func overlapByKind(a, b sequence) float64 {
	n := min(a.len(), b.len())
	size := runSize(n)
	if n >= longForKinds {
		size = kindRun
	}
	return overlap(kindRuns(a, b, size))
}

// alike is the share of operations that two stretches have in common by shape, in whatever order.
func alike(a, b sequence) float64 {
	return overlap(a.sortedRuns(1, (*Op).shape), b.sortedRuns(1, (*Op).shape))
}

// similar compares two stretches by names, and to a smaller part by shapes too: batches of other lengths have the same
// names and other grids. Where other lengths have other kernels too, the kinds of these count, at a discount.
func similar(a, b sequence) float64 {
	names := overlapBy((*Op).name, a, b)
	s := nameWeight*names + (1-nameWeight)*overlapBy((*Op).shape, a, b)
	if s < plainlySimilar {
		s = max(s, kindWeight*overlapByKind(a, b)+(1-kindWeight)*names)
	}
	return s
}

// within is the share of a's runs that b has too, by name or else by kind.
func within(a, b sequence) float64 {
	size := min(withinRun, a.len(), b.len())
	if size == 0 {
		return 0
	}
	s := contained(a.sortedRuns(size, (*Op).name), b.sortedRuns(size, (*Op).name))
	if s < plainlySimilar {
		if x, y := kindRuns(a, b, size); len(x) > 0 {
			s = max(s, contained(x, y))
		}
	}
	return s
}

// apart is how well stretches match those d further on. The first is left out where there are enough: it initialises.
func apart(bodies []sequence, d int) float64 {
	if len(bodies) > d+2 {
		bodies = bodies[1:]
	}
	n := len(bodies) - d
	if n <= 0 {
		return 0
	}
	sum, pairs := 0.0, 0
	for i := range sampled(n) {
		sum += similar(bodies[i], bodies[i+d])
		pairs++
	}
	return sum / float64(pairs)
}

// agreement is how well iterations match: each with the more similar of the next two, so that one odd iteration (an
// evaluation, another batch shape) counts once.
func agreement(bodies []sequence) float64 {
	return max(apart(bodies, 1), apart(bodies, 2))
}
