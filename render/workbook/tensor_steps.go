package workbook

import (
	"sort"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/phrase"
)

// The three levels, each with the word that its columns begin with.
var threeLevels = []struct {
	kind align.LevelKind
	word string
}{{align.LevelAllocated, "Allocated"}, {align.LevelReserved, "Reserved"}, {align.LevelDevice, "Traced"}}

// Columns of the sheet Tensor levels that the Overview's chart shows.
const (
	tensorLead     = 7 // columns before the first level
	levelFigures   = 5 // columns a level
	levelPeakPlace = 3
)

// levelColumns are the columns of a row's three levels, and of what lies between them.
func levelColumns() []column {
	var mib, bytes []column
	for _, l := range threeLevels {
		mib = append(mib, column{head: l.word + " start (MiB)", as: asMiB}, column{head: l.word + " end (MiB)", as: asMiB}, column{head: l.word + " net (MiB)", as: asChange},
			column{head: l.word + " peak (MiB)", as: asMiB, bar: true}, column{head: l.word + " need (MiB)", as: asMiB, bar: true})
		for _, f := range []string{" start", " end", " net", " peak", " need"} {
			bytes = append(bytes, column{head: l.word + f + " (bytes)", as: asCount})
		}
	}
	mib = append(mib, column{head: "Unused cache at end (MiB)", as: asMiB}, column{head: "Outside PyTorch at end (MiB)", as: asMiB})
	bytes = append(bytes, column{head: "Unused cache at end (bytes)", as: asCount}, column{head: "Outside PyTorch at end (bytes)", as: asCount})
	return append(mib, bytes...)
}

// levels takes the columns of levelColumns.
func (r *row) levels(u *align.Use) {
	unused, outside, ok := u.Gaps()
	level := func(kind align.LevelKind) (m *align.MemoryUse, known bool) {
		if m = u.Level(kind); m == nil {
			return &align.MemoryUse{}, false
		}
		return m, true
	}
	for _, l := range threeLevels {
		m, known := level(l.kind)
		r.level(known, m)
	}
	r.mib(ok, unused)
	r.mib(ok, outside)
	for _, l := range threeLevels {
		m, known := level(l.kind)
		r.exact(known, m)
	}
	r.intIf(ok, unused)
	r.intIf(ok, outside)
}

// leveled is the number of iterations of a track that has the levels of a snapshot.
func leveled(t *align.Track) int {
	if !t.HasTensorLevels() {
		return 0
	}
	return len(t.Iterations)
}

func tensorLevelsTable(rep *findings.Report) *table {
	n, at := flatten(rep, leveled)
	return &table{
		sheet: "Tensor levels", name: "Tensor_levels", tab: tabTensors, n: n, fixed: 4, none: "none found",
		cols: append(columns(column{head: "Iteration", as: asID}, column{head: "Name"}, column{head: "Flags"}, column{head: "From"},
			column{head: "Allocated peaks in"}), levelColumns()...),
		fill: func(i int, r *row) {
			t, j := at(i)
			it := &t.Iterations[j]
			r.track(t)
			r.int(int64(it.Index))
			r.text(it.Name)
			r.text(phrase.Flags(it))
			r.text(from(t.IterationsFrom.Inferred()))
			r.text(it.PeakPhase("allocated"))
			r.levels(&it.Use)
		},
	}
}

// tensorPhasesTable has the levels of each phase over the steady iterations.
func tensorPhasesTable(rep *findings.Report) *table {
	n, at := flatten(rep, func(t *align.Track) int {
		if !t.HasTensorLevels() {
			return 0
		}
		return len(t.Phases)
	})
	cols := columns(column{head: "Phase"}, column{head: "Depth", as: asID}, column{head: "From"}, column{head: "Steady iterations", as: asCount})
	for _, l := range threeLevels {
		cols = append(cols, column{head: l.word + " start (MiB, median)", as: asMiB}, column{head: l.word + " end (MiB, median)", as: asMiB},
			column{head: l.word + " net (MiB, median)", as: asChange}, column{head: l.word + " peak (MiB, max)", as: asMiB, bar: true},
			column{head: l.word + " need (MiB, median)", as: asMiB, bar: true}, column{head: l.word + " need (MiB, max)", as: asMiB, bar: true})
	}
	for _, l := range threeLevels {
		cols = append(cols, column{head: l.word + " peak (bytes, max)", as: asCount}, column{head: l.word + " need (bytes, max)", as: asCount})
	}
	return &table{
		sheet: "Tensor phases", name: "Tensor_phases", tab: tabTensors, n: n, fixed: 3, none: "none: no phases inside steady iterations", cols: cols,
		fill: func(i int, r *row) {
			t, j := at(i)
			p := &t.Phases[j]
			r.track(t)
			r.text(p.Path)
			r.int(int64(p.Depth))
			r.text(from(p.Inferred))
			r.int(int64(p.Iterations))
			level := func(kind align.LevelKind) (med, top *align.MemoryUse, known bool) {
				med, top = p.Median.Level(kind), p.Max.Level(kind)
				if med == nil || top == nil {
					return &align.MemoryUse{}, &align.MemoryUse{}, false
				}
				return med, top, true
			}
			for _, l := range threeLevels {
				med, top, known := level(l.kind)
				for _, v := range []int64{med.Start, med.End, med.Net, top.Peak, med.Need, top.Need} {
					r.mib(known, v)
				}
			}
			for _, l := range threeLevels {
				_, top, known := level(l.kind)
				r.intIf(known, top.Peak)
				r.intIf(known, top.Need)
			}
		},
	}
}

// tensorPhaseRowsTable has a row for each phase of each iteration.
func tensorPhaseRowsTable(rep *findings.Report) *table {
	type at struct {
		t     *align.Track
		it    *align.Iteration
		first int
	}
	var its []at
	n := 0
	for _, t := range rep.Tracks {
		for i := range leveled(t) {
			its = append(its, at{t, &t.Iterations[i], n})
			n += len(t.Iterations[i].Phases)
		}
	}
	return &table{
		sheet: "Tensor phase rows", name: "Tensor_phase_rows", tab: tabTensors, n: n, fixed: 4, none: "none: no phases inside iterations",
		cols: append(columns(column{head: "Iteration", as: asID}, column{head: "Phase"}, column{head: "Depth", as: asID}, column{head: "From"},
			column{head: "Calls", as: asCount}), levelColumns()...),
		fill: func(i int, r *row) {
			k := sort.Search(len(its), func(k int) bool { return its[k].first > i }) - 1
			t, it := its[k].t, its[k].it
			p := &it.Phases[i-its[k].first]
			r.track(t)
			r.int(int64(it.Index))
			r.text(p.Path)
			r.int(int64(p.Depth))
			r.text(from(p.Inferred || t.IterationsFrom.Inferred()))
			r.int(int64(p.Calls))
			r.levels(&p.Use)
		},
	}
}
