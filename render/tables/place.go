package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/render/phrase"
)

// A Place is where in the program something happened.
type Place struct {
	Track     *align.Track
	Iteration int    // place in Track.Iterations; -1 for none
	Phase     string // path; empty for none
}

// trackColumns say which process and device a row is of.
func trackColumns[R any](of func(R) *align.Track) []Column[R] {
	return []Column[R]{
		{Key: "pid", Head: "process", Unit: ID, Int: func(r R) int64 { return of(r).PID }},
		{Key: "device", Head: "device", Unit: ID, Int: func(r R) int64 { return of(r).Device }},
	}
}

// placeColumns say in which iteration and phase a row is, and whether ranges of the program or the GPU work tell so.
func placeColumns[R any](of func(R) Place) []Column[R] {
	return []Column[R]{
		iterationColumn("iteration", of),
		optional(Column[R]{Key: "phase", Head: "phase", Text: func(r R) string { return of(r).Phase }}),
		{Key: "from", Head: "from", Unit: Origin,
			Int: func(r R) int64 { return one(of(r).from() == Origins[1]) },
			Has: func(r R) bool { return of(r).from() != "" }},
	}
}

// from is one of Origins; empty where there is neither iteration nor phase.
func (p Place) from() string { return phrase.From(p.Track, p.Iteration, p.Phase) }

// iterationColumn is the number of the iteration that a row is in.
func iterationColumn[R any](key string, of func(R) Place) Column[R] {
	at := func(r R) *align.Iteration {
		p := of(r)
		return p.Track.IterationAt(p.Iteration)
	}
	return Column[R]{Key: key, Head: "iteration", Unit: ID,
		Int: func(r R) int64 { return int64(at(r).Index) },
		Has: func(r R) bool { return at(r) != nil }}
}

// iterationName is its name.
func iterationName[R any](of func(R) Place) Column[R] {
	at := func(r R) *align.Iteration {
		p := of(r)
		return p.Track.IterationAt(p.Iteration)
	}
	return Column[R]{Key: "iteration_name", Head: "iteration",
		Text: func(r R) string { return at(r).Name },
		Has:  func(r R) bool { return at(r) != nil }}
}

// optional is a column of rows that may lack what it shows, for which an empty text or 0 stands.
func optional[R any](c Column[R]) Column[R] {
	if c.Text != nil {
		c.Has = func(r R) bool { return c.Text(r) != "" }
	} else {
		c.Has = func(r R) bool { return c.Int(r) != 0 }
	}
	return c
}

// unknown is a column for which an empty text or 0 stands for what is not known.
func unknown[R any](c Column[R]) Column[R] {
	c = optional(c)
	c.Known, c.Has = c.Has, nil
	return c
}

// columnsOf are some columns of a catalogue.
func columnsOf[R any](catalogue []Column[R], keys ...string) []Column[R] {
	return slices.DeleteFunc(slices.Clone(catalogue), func(c Column[R]) bool { return !slices.Contains(keys, c.Key) })
}
