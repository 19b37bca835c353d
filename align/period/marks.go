package period

// A mark is a short run of operations that recurs: it might come once an iteration.
type mark struct {
	hash        uint64
	kind        int // index into markKinds
	count       int
	first, last int // places of the first and the last
	even        int // how often its distance from the one before is about the distance before that
}

// markKinds are the ways to make runs: how many operations, by name alone or with shapes.
var markKinds = [...]struct {
	size int
	id   identity
}{{1, (*Op).name}, {1, (*Op).shape}, {3, (*Op).name}, {3, (*Op).shape}}

// runsOf lists the hash of the run of a kind that begins at each place, in a buffer that may be too small.
func (s sequence) runsOf(kind int, buf []uint64) []uint64 {
	k := markKinds[kind]
	return runs(s.ids(k.id, buf), k.size)
}

// A slot is what the table of marks knows of one run.
type slot struct {
	hash        uint64
	count, even int32
	first, last int32
	dist        int32 // from the last one to the one before
}

// see counts one more of a run, at a place.
func (s *slot) see(hash uint64, place int32) {
	if s.count == 0 {
		*s = slot{hash: hash, count: 1, first: place, last: place}
		return
	}
	dist := place - s.last
	if s.count > 1 && !unevenGap.exceeded(distance(int(dist), int(s.dist)), int(max(dist, s.dist))) {
		s.even++
	}
	s.count++
	s.last, s.dist = place, dist
}

// marks finds the runs of all kinds that recur at least leastMarks times, most often evenly. One table with open
// addressing, filled once a kind, keeps this linear.
func (s sequence) marks() []mark {
	size := 16
	for size < 2*s.len() {
		size *= 2
	}
	wrap := uint64(size - 1)
	table := make([]slot, size)
	var out []mark
	var hashes []uint64
	for kind := range markKinds {
		clear(table)
		hashes = s.runsOf(kind, hashes)
		for i, h := range hashes {
			p := h & wrap
			for table[p].count > 0 && table[p].hash != h {
				p = (p + 1) & wrap
			}
			table[p].see(h, int32(i))
		}
		for i := range table {
			t := &table[i]
			if t.count >= leastMarks && most.of(int(t.even), int(t.count)-2) {
				out = append(out, mark{t.hash, kind, int(t.count), int(t.first), int(t.last), int(t.even)})
			}
		}
	}
	return out
}

// better says that a mark is to stand for others of equal count rather than b: the most even one, single operations
// before runs, the earlier of two.
func (a *mark) better(b *mark) bool {
	switch {
	case a.even != b.even:
		return a.even > b.even
	case a.kind != b.kind:
		return a.kind < b.kind
	}
	return a.first < b.first
}
