package tables

import (
	"nsysmem/align"
	"nsysmem/render/phrase"
)

// origins say which iterations and phases of a track were found in the GPU work. They are looked up for every block, and
// so gathered once.
type origins struct {
	some  bool            // anything was
	paths map[string]bool // phases that were, in any iteration
}

func newOrigins(t *align.Track) *origins {
	o := &origins{some: phrase.Inferred(t) != "", paths: make(map[string]bool)}
	if !o.some {
		return o
	}
	for i := range t.Iterations {
		for k := range t.Iterations[i].Phases {
			if p := &t.Iterations[i].Phases[k]; p.Inferred || t.IterationsFrom.Inferred() {
				o.paths[p.Path] = true
			}
		}
	}
	return o
}

func (r *Row[T]) origins() *origins {
	if r.from == nil {
		r.from = newOrigins(r.Track)
	}
	return r.from
}

// originOf says for the iteration and the phase of a row, or the range outside of iterations, whether ranges or the GPU
// work tell of them; unknown where it lies in neither.
func originOf[T any](place func(*T) (iteration int, path string)) Column[*Row[T]] {
	return Column[*Row[T]]{Key: "from", Head: "from", Unit: Origin,
		Int: func(r *Row[T]) int64 {
			iteration, path := place(r.Item)
			return one(r.origins().some && phrase.From(r.Track, iteration, path) == Origins[1])
		},
		Known: func(r *Row[T]) bool {
			iteration, path := place(r.Item)
			return iteration >= 0 || path != ""
		}}
}

// iterationOf is the number of the iteration at a place of the row's track; unknown outside of iterations.
func iterationOf[T any](key, head string, place func(*T) int) Column[*Row[T]] {
	return Column[*Row[T]]{Key: key, Head: head, Unit: ID,
		Int:   func(r *Row[T]) int64 { return int64(r.Track.IterationAt(place(r.Item)).Index) },
		Known: func(r *Row[T]) bool { return r.Track.IterationAt(place(r.Item)) != nil }}
}
