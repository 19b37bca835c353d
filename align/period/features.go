package period

import "slices"

// A feature is a short run of operations that recurs: a mark that might come once an iteration.
type feature struct {
	hash        uint64
	kind        int // index into kinds
	count       int
	first, last int // places of the first and the last
	even        int // how often its distance from the one before is about the distance before that
}

// A kind is a way to make runs: how many operations, by name alone or with shapes.
type kind struct {
	size  int
	loose bool
}

var kinds = [...]kind{{1, true}, {1, false}, {3, true}, {3, false}}

// hashes lists the hash of the run that begins at each operation, for one kind.
func (v view) hashes(k kind, out []uint64) []uint64 {
	out = out[:0]
	for i := 0; i+k.size <= v.len(); i++ {
		var h uint64
		for j := i; j < i+k.size; j++ {
			if k.loose {
				h = mix(h*31 + v.loose(j))
			} else {
				h = mix(h*31 + v.key(j))
			}
		}
		out = append(out, h)
	}
	return out
}

type slot struct {
	hash        uint64
	count, even int32
	first, last int32
	dist        int32
}

// features finds the runs of all kinds that recur at least least times, most often evenly. One table, filled once a
// kind, keeps this linear.
func (v view) features(least int) []feature {
	size := 16
	for size < 2*v.len() {
		size *= 2
	}
	table := make([]slot, size)
	var out []feature
	var hs []uint64
	for n, k := range kinds {
		if n > 0 {
			clear(table)
		}
		hs = v.hashes(k, hs)
		for i, h := range hs {
			p := h & uint64(size-1)
			for table[p].count > 0 && table[p].hash != h {
				p = (p + 1) & uint64(size-1)
			}
			s := &table[p]
			if s.count == 0 {
				*s = slot{hash: h, count: 1, first: int32(i), last: int32(i)}
				continue
			}
			d := int32(i) - s.last
			if s.count > 1 && 4*abs(d-s.dist) <= max(d, s.dist) {
				s.even++
			}
			s.count++
			s.last, s.dist = int32(i), d
		}
		for i := range table {
			s := &table[i]
			if int(s.count) >= least && 2*s.even >= s.count-2 {
				out = append(out, feature{s.hash, n, int(s.count), int(s.first), int(s.last), int(s.even)})
			}
		}
	}
	return out
}

func abs(x int32) int32 {
	if x < 0 {
		return -x
	}
	return x
}

// A level is a candidate: the places of one mark.
type level struct {
	at      []int
	weight  int     // features that recur as often
	quality float64 // how well the stretches between marks match
	copies  float64 // share of stretches with a copy between host and device
	hints   float64 // share of stretches with an optimizer's kernels
	graphs  float64 // share of stretches with a graph launch
	length  int     // median operations between marks
	cover   float64 // share of all work between first and last mark
}

// maxLevels bounds how many candidates are looked at.
const maxLevels = 24

// levels chooses marks of different counts, those that many features share first, and measures each. They come by
// count, least first.
func (v view) levels() []level {
	fs := v.features(4)
	weight := map[int]int{}
	for _, f := range fs {
		weight[f.count]++
	}
	counts := make([]int, 0, len(weight))
	for c := range weight {
		counts = append(counts, c)
	}
	slices.Sort(counts)
	score := make(map[int]int, len(counts)) // features of about that count, by a window over the sorted counts
	lo, hi, sum := 0, 0, 0
	for _, c := range counts {
		d := max(1, c/50)
		for hi < len(counts) && counts[hi] <= c+d {
			sum += weight[counts[hi]]
			hi++
		}
		for counts[lo] < c-d {
			sum -= weight[counts[lo]]
			lo++
		}
		score[c] = sum
	}
	slices.SortStableFunc(counts, func(a, b int) int {
		if score[a] != score[b] {
			return score[b] - score[a]
		}
		return weight[b] - weight[a]
	})
	var chosen []int
	for _, c := range counts {
		if len(chosen) == maxLevels {
			break
		}
		if !slices.ContainsFunc(chosen, func(d int) bool { return int(abs(int32(c-d))) <= max(1, max(c, d)/20) }) {
			chosen = append(chosen, c)
		}
	}
	// Of the features with a count the most even stands for it, single operations before runs.
	best := map[int]*feature{}
	for i := range fs {
		f := &fs[i]
		if !slices.Contains(chosen, f.count) {
			continue
		}
		if b := best[f.count]; b == nil || f.even > b.even || f.even == b.even && (f.kind < b.kind || f.kind == b.kind && f.first < b.first) {
			best[f.count] = f
		}
	}
	out := make([]level, 0, len(chosen))
	slices.Sort(chosen)
	var hs []uint64
	places := make(map[int][]int, len(chosen))
	for n, k := range kinds {
		var want []*feature
		for _, c := range chosen {
			if best[c].kind == n {
				want = append(want, best[c])
			}
		}
		if len(want) == 0 {
			continue
		}
		hs = v.hashes(k, hs)
		for _, f := range want {
			list := make([]int, 0, f.count)
			for i := f.first; i <= f.last; i++ {
				if hs[i] == f.hash {
					list = append(list, i)
				}
			}
			places[f.count] = list
		}
	}
	before := make([]int, v.len()+1) // work before each place
	for i := range v.idx {
		before[i+1] = before[i] + v.at(i).weight()
	}
	for _, c := range chosen {
		l := level{at: places[c], weight: score[c]}
		v.measure(&l)
		l.cover = share(before[l.at[len(l.at)-1]]-before[l.at[0]], before[v.len()])
		out = append(out, l)
	}
	return out
}

// measure compares stretches between marks, at most maxPairs of them.
func (v view) measure(l *level) {
	n := len(l.at) - 1
	stride := (n + maxPairs - 1) / maxPairs
	var lengths []int
	for i := 0; i < n; i++ {
		lengths = append(lengths, l.at[i+1]-l.at[i])
	}
	l.length = median(lengths)
	var sum float64
	seen, pairs, copies, hints, graphs := 0, 0, 0, 0, 0
	for i := 0; i < n; i += stride {
		s := v.cut(l.at[i], l.at[i+1])
		seen++
		c, h, g := false, false, false
		for j := range s.idx {
			o := s.at(j)
			c = c || o.Class == HtoD || o.Class == DtoH
			h = h || o.Flags&Optimizer != 0
			g = g || o.Class == Graph
			if j > 1<<16 {
				break
			}
		}
		copies, hints, graphs = copies+one(c), hints+one(h), graphs+one(g)
		if i+1 < n {
			sum += similar(s, v.cut(l.at[i+1], l.at[i+2]))
			pairs++
		}
	}
	l.copies, l.hints, l.graphs = share(copies, seen), share(hints, seen), share(graphs, seen)
	if pairs > 0 {
		l.quality = sum / float64(pairs)
	}
}

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
