package period

import (
	"cmp"
	"maps"
	"slices"
)

// A level is a candidate for iterations: the places of one mark, and how the stretches from one to the next are. Marks of
// equal count come once each in the same repetition; each count is a level of nesting, from layers to steps to rounds of
// steps.
type level struct {
	at      []int
	length  int     // median operations of a stretch
	quality float64 // 0 to 1; how well neighbouring stretches match
	cover   float64 // share of all work between first and last mark
	feeds   float64 // share of stretches with input from the host
	copies  float64 // likewise, or with a copy to the host
	hints   float64 // share of stretches with an optimizer's kernels
	graphs  float64 // share of stretches with a graph launch
}

// stretches are the parts between marks.
func (l level) stretches() []span { return between(l.at) }

// levels chooses marks of different counts, those that many marks share first, and measures each. They come by count,
// least first.
func (s sequence) levels() []level {
	all := s.marks()
	chosen := commonCounts(all)
	best := map[int]*mark{} // by count
	for i := range all {
		m := &all[i]
		if !slices.Contains(chosen, m.count) {
			continue
		}
		if b := best[m.count]; b == nil || m.better(b) {
			best[m.count] = m
		}
	}
	places := s.placesOf(slices.Collect(maps.Values(best)))
	before := make([]int, s.len()+1) // work before each place
	for p := range s.idx {
		before[p+1] = before[p] + s.at(p).weight()
	}
	out := make([]level, 0, len(chosen))
	for _, c := range chosen {
		l := s.measure(places[best[c]])
		l.cover = share(before[l.at[len(l.at)-1]]-before[l.at[0]], before[s.len()])
		out = append(out, l)
	}
	return out
}

// commonCounts lists at most maxLevels counts of marks, ascending: those that most marks have, or nearly so, and of
// counts that are close to each other one.
func commonCounts(marks []mark) []int {
	number := map[int]int{} // of marks, by count
	for _, m := range marks {
		number[m.count]++
	}
	counts := slices.Sorted(maps.Keys(number))
	near := make(map[int]int, len(counts)) // marks of about that count, by a window over the sorted counts
	lo, hi, sum := 0, 0, 0
	for _, c := range counts {
		d := max(1, c/sameCountPart)
		for ; hi < len(counts) && counts[hi] <= c+d; hi++ {
			sum += number[counts[hi]]
		}
		for ; counts[lo] < c-d; lo++ {
			sum -= number[counts[lo]]
		}
		near[c] = sum
	}
	slices.SortStableFunc(counts, func(a, b int) int {
		return cmp.Or(near[b]-near[a], number[b]-number[a])
	})
	var chosen []int
	for _, c := range counts {
		close := func(d int) bool { return distance(c, d) <= max(1, max(c, d)/closeCountPart) }
		if len(chosen) < maxLevels && !slices.ContainsFunc(chosen, close) {
			chosen = append(chosen, c)
		}
	}
	slices.Sort(chosen)
	return chosen
}

// placesOf finds where marks are.
func (s sequence) placesOf(marks []*mark) map[*mark][]int {
	places := make(map[*mark][]int, len(marks))
	for kind := range markKinds {
		var hashes []uint64
		for _, m := range marks {
			if m.kind != kind {
				continue
			}
			if hashes == nil {
				hashes = s.runsOf(kind, nil)
			}
			list := make([]int, 0, m.count)
			for p := m.first; p <= m.last; p++ {
				if hashes[p] == m.hash {
					list = append(list, p)
				}
			}
			places[m] = list
		}
	}
	return places
}

// measure compares stretches between marks, some of them where they are many.
func (s sequence) measure(at []int) level {
	l := level{at: at}
	parts := l.stretches()
	l.length = median(lengths(parts))
	sum := 0.0
	seen, pairs, feeds, copies, hints, graphs := 0, 0, 0, 0, 0, 0
	for i := range sampled(len(parts)) {
		part := s.in(parts[i])
		seen++
		c := part.contents()
		feeds, copies = feeds+one(c.fed), copies+one(c.fed || c.read)
		hints, graphs = hints+one(c.optimizer), graphs+one(c.graph)
		if i+1 < len(parts) {
			sum += similar(part, s.in(parts[i+1]))
			pairs++
		}
	}
	l.feeds, l.copies = share(feeds, seen), share(copies, seen)
	l.hints, l.graphs = share(hints, seen), share(graphs, seen)
	if pairs > 0 {
		l.quality = sum / float64(pairs)
	}
	return l
}

// contents is what a stretch has besides kernels.
type contents struct {
	fed       bool // input from the host
	read      bool // a copy to the host
	optimizer bool // kernels of an optimizer
	graph     bool // launches of graphs
}

// contents tells what a stretch has; of a very long one only the beginning counts.
func (s sequence) contents() (c contents) {
	for p := range min(s.len(), maxContents) {
		o := s.at(p)
		c.fed = c.fed || o.feeds()
		c.read = c.read || o.Class == DtoH
		c.optimizer = c.optimizer || o.Flags&Optimizer != 0
		c.graph = c.graph || o.Class == Graph
	}
	return c
}

// recurs says that the stretches of a level match, hold a good part of all work, do not come in clusters, and compute.
func (s sequence) recurs(l level) bool {
	extent := l.at[len(l.at)-1] - l.at[0]
	return l.quality >= levelQuality && l.cover >= levelCover && levelSpread.of(l.length*len(l.at), extent) &&
		s.computes(l)
}

// computes says that the stretches of a level have kernels, and of more than one kind unless they are graphs: copies of
// parameters recur too, and so does a lone kernel.
func (s sequence) computes(l level) bool {
	parts := l.stretches()
	computing, seen := 0, 0
	for i := range sampled(len(parts)) {
		seen++
		work, names := false, map[uint64]bool{}
		for p := parts[i].from; p < parts[i].to && (!work || len(names) < 2); p++ {
			o := s.at(p)
			work = work || o.work()
			names[o.Loose] = true
			if o.Class == Graph {
				names[o.Loose+1] = true // a graph alone is enough
			}
		}
		computing += one(work && len(names) >= 2)
	}
	return nearlyAll.of(computing, seen)
}
