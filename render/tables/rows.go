package tables

import (
	"sort"

	"nsysmem/align"
)

// Across numbers the items of all tracks of a report one after the other: n is how many there are, and at gives the track
// of item i and its place there.
func Across(rep *align.Report, count func(*align.Track) int) (n int, at func(i int) (*align.Track, int)) {
	starts := make([]int, len(rep.Tracks))
	for i, t := range rep.Tracks {
		starts[i] = n
		n += count(t)
	}
	return n, func(i int) (*align.Track, int) {
		k := sort.SearchInts(starts, i+1) - 1
		return rep.Tracks[k], i - starts[k]
	}
}

// A Row is one item of a track: a phase, a range, a block.
type Row[T any] struct {
	Report *align.Report
	Track  *align.Track
	Item   *T

	from *origins // of the track; nil until it is asked for
}

func (r *Row[T]) collected() *align.Collected { return &r.Report.Collected }

// after is the time of a point on the report's clock since the report began, from which people count.
func (r *Row[T]) after(at int64) int64 { return at - r.Report.Source.Start }

// trackColumns say whose row it is.
func trackColumns[T any]() []Column[*Row[T]] {
	return []Column[*Row[T]]{
		{Key: "pid", Head: "process", Unit: ID, Int: func(r *Row[T]) int64 { return r.Track.PID }},
		{Key: "device", Head: "device", Unit: ID, Int: func(r *Row[T]) int64 { return r.Track.Device }},
	}
}

// RowsOf are the rows of some items of a track, by their places.
func RowsOf[T any](rep *align.Report, t *align.Track, items []T, places []int) []*Row[T] {
	rows := make([]*Row[T], len(places))
	for n, i := range places {
		rows[n] = &Row[T]{Report: rep, Track: t, Item: &items[i]}
	}
	return rows
}

// AllRows are the rows of all items of a list.
func AllRows[T any](rep *align.Report, t *align.Track, items []T) []*Row[T] {
	rows := make([]*Row[T], len(items))
	for i := range items {
		rows[i] = &Row[T]{Report: rep, Track: t, Item: &items[i]}
	}
	return rows
}

// RowGrid is a table of the items of all tracks, each of which is asked for them once: to list them may take long.
func RowGrid[T any](rep *align.Report, cols []Column[*Row[T]], items func(*align.Track) []T) Grid {
	lists := make(map[*align.Track][]T, len(rep.Tracks))
	for _, t := range rep.Tracks {
		lists[t] = items(t)
	}
	n, at := Across(rep, func(t *align.Track) int { return len(lists[t]) })
	r := &Row[T]{Report: rep}
	var list []T // of r.Track
	return Over(cols, n, func(i int) *Row[T] {
		t, k := at(i)
		if r.Track != t {
			r.Track, r.from, list = t, nil, lists[t]
		}
		r.Item = &list[k]
		return r
	})
}

// trackRows is a table of rows that are made for each track. Those of a track share what was inferred in it.
func trackRows[T any](rep *align.Report, cols []Column[*Row[T]], of func(*align.Track) []*Row[T]) Grid {
	var all []*Row[T]
	for _, t := range rep.Tracks {
		from := newOrigins(t)
		for _, r := range of(t) {
			r.from = from
			all = append(all, r)
		}
	}
	return Rows(cols, all)
}

// StepOf is the step of an iteration of a track, or of a phase of it; nil stands for the iteration itself.
func StepOf(rep *align.Report, t *align.Track, it *align.Iteration, p *align.Phase) *Step {
	return &Step{Collected: &rep.Collected, From: rep.Source.Start, Path: rep.Source.Path, Track: t, Iteration: it, Phase: p}
}

// IterationGrid is a table of the iterations of all tracks.
func IterationGrid(rep *align.Report, cols []Column[*Step]) Grid {
	return iterationGrid(rep, cols, func(t *align.Track) int { return len(t.Iterations) })
}

// iterationGrid is a table of the first so many iterations of each track.
func iterationGrid(rep *align.Report, cols []Column[*Step], count func(*align.Track) int) Grid {
	n, at := Across(rep, count)
	s := StepOf(rep, nil, nil, nil)
	return Over(cols, n, func(i int) *Step {
		t, k := at(i)
		s.Track, s.Iteration = t, &t.Iterations[k]
		return s
	})
}

// PhaseGrid is a table of the phases of all iterations of the tracks that count; of all where counts is nil.
func PhaseGrid(rep *align.Report, cols []Column[*Step], counts func(*align.Track) bool) Grid {
	type place struct {
		track     *align.Track
		iteration *align.Iteration
		first     int // number of its first phase
	}
	var places []place
	n := 0
	for _, t := range rep.Tracks {
		if counts != nil && !counts(t) {
			continue
		}
		for i := range t.Iterations {
			places = append(places, place{t, &t.Iterations[i], n})
			n += len(t.Iterations[i].Phases)
		}
	}
	s := StepOf(rep, nil, nil, nil)
	return Over(cols, n, func(i int) *Step {
		p := &places[sort.Search(len(places), func(k int) bool { return places[k].first > i })-1]
		s.Track, s.Iteration, s.Phase = p.track, p.iteration, &p.iteration.Phases[i-p.first]
		return s
	})
}
