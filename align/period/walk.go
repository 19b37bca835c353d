package period

// A match is how far two sequences go together.
type match struct {
	a, b  int // operations of each up to the last one that matches
	equal int // operations that match
}

// matchStarts compares two sequences from their starts as long as they match, and steps over insertions, losses and
// changes.
func matchStarts(a, b sequence) match { return compare(a, b, false) }

// matchEnds compares two sequences likewise from their ends backward.
func matchEnds(a, b sequence) match { return compare(a, b, true) }

// compare matches by name; where few names match, by kind, if that goes further.
func compare(a, b sequence, fromEnd bool) match {
	m := walk(&walker{a, b, fromEnd, (*Op).name})
	if n := min(a.len(), b.len()); !most.of(m.equal, n) {
		k := walk(&walker{a, b, fromEnd, (*Op).kind})
		if furtherByKind.exceeded(k.equal, m.equal) && kindsThrough*k.equal > n {
			return k
		}
	}
	return m
}

// A walker compares two sequences, by one identity of operations.
type walker struct {
	a, b    sequence
	fromEnd bool
	id      identity
}

// walk goes along both sequences:
//
//  1. While the heads are equal, take both.
//  2. Else skip what differs.
//  3. Where the sequences part for good, stop.
func walk(w *walker) match {
	var m match
	for i, j := 0, 0; i < w.a.len() && j < w.b.len(); {
		if w.equal(i, j) {
			i++
			j++
			m.equal++
			m.a, m.b = i, j
			continue
		}
		x, y, ok := w.skip(i, j)
		if !ok {
			break
		}
		i, j = x, y
	}
	return m
}

// skip finds the least number of operations to leave out, of both sequences together, after which two in a row are
// equal. It fails where more than resync would have to go.
func (w *walker) skip(i, j int) (x, y int, ok bool) {
	left := w.a.len() - i + w.b.len() - j
	for d := 1; d <= min(resync, left-4); d++ {
		for skipped := 0; skipped <= d; skipped++ {
			x, y = i+skipped, j+d-skipped
			if x+1 < w.a.len() && y+1 < w.b.len() && w.equal(x, y) && w.equal(x+1, y+1) {
				return x, y, true
			}
		}
	}
	return 0, 0, false
}

func (w *walker) equal(i, j int) bool {
	if w.fromEnd {
		i, j = w.a.len()-1-i, w.b.len()-1-j
	}
	return w.id(w.a.at(i)) == w.id(w.b.at(j))
}
