package workbook

import (
	"fmt"
	"math"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/render/phrase"
)

const tabTensors = "7030A0"

// tensorTables are the sheets on tensors, as far as a track has what they need: levels, cache and outside memory come from
// a snapshot, blocks and categories also from a driver whose blocks are the tensors, and theory needs neither.
func tensorTables(rep *findings.Report) []*table {
	levels, tensors, snapshot, theory := false, false, false, false
	for _, t := range rep.Tracks {
		levels = levels || t.HasTensorLevels()
		tensors = tensors || t.Tensors != nil
		snapshot = snapshot || t.Tensors != nil && t.Tensors.Outside != nil
		theory = theory || t.Theory != nil
	}
	var out []*table
	if levels {
		out = append(out, tensorLevelsTable(rep), tensorPhasesTable(rep), tensorPhaseRowsTable(rep))
	}
	if tensors || theory {
		out = append(out, categoriesTable(rep))
	}
	if tensors {
		out = append(out, holdersTable(rep), tensorsTable(rep))
	}
	if snapshot {
		out = append(out, fragmentationTable(rep), outsideTable(rep))
	}
	return out
}

// fromOf says for the iteration and the phase of a row whether ranges or the GPU work tell of them.
func fromOf(rep *findings.Report) func(t *align.Track, place int, path string) string {
	some := make(map[*align.Track]bool)
	for _, t := range rep.Tracks {
		some[t] = phrase.Inferred(t) != ""
	}
	return func(t *align.Track, place int, path string) string {
		switch {
		case place < 0 && path == "":
			return ""
		case some[t]:
			return from(phrase.From(t, place, path) == "inferred")
		}
		return from(false)
	}
}

// pathFrom is the same for rows that stand for a phase in all iterations.
func pathFrom(rep *findings.Report) func(t *align.Track, path string, where align.Where) string {
	type key struct {
		t    *align.Track
		path string
	}
	inferred := make(map[key]bool)
	for _, t := range rep.Tracks {
		if phrase.Inferred(t) == "" {
			continue
		}
		for i := range t.Iterations {
			inferred[key{t, ""}] = t.IterationsFrom.Inferred()
			for k := range t.Iterations[i].Phases {
				if p := &t.Iterations[i].Phases[k]; p.Inferred || t.IterationsFrom.Inferred() {
					inferred[key{t, p.Path}] = true
				}
			}
		}
	}
	return func(t *align.Track, path string, where align.Where) string {
		switch where {
		case align.InIteration:
			return from(inferred[key{t, path}])
		case align.InRange:
			return from(false)
		}
		return ""
	}
}

// stream takes a stream: a small number, or the address of a handle.
func (r *row) stream(s uint64) {
	if s > math.MaxInt32 {
		r.address(s)
		return
	}
	r.int(int64(s))
}

func tensorsOf(t *align.Track) []tensor.Block {
	if t.Tensors == nil {
		return nil
	}
	return t.Tensors.Blocks
}

// tensorsTable has a row for each block that the allocator handed out.
func tensorsTable(rep *findings.Report) *table {
	n, at := flatten(rep, func(t *align.Track) int { return len(tensorsOf(t)) })
	start := rep.Source.Start
	origin := fromOf(rep)
	type stack struct {
		t  *align.Track
		id uint32
	}
	stacks := make(map[stack]string)
	return &table{
		sheet: "Tensors", name: "Tensors", tab: tabTensors, n: n, fixed: 3, none: "none",
		cols: columns(
			column{head: "Time (ms)", as: asTime}, column{head: "Iteration", as: asID}, column{head: "Phase"}, column{head: "From"},
			column{head: "Requested (MiB)", as: asMiB}, column{head: "Requested (bytes)", as: asCount}, column{head: "Counted (bytes)", as: asCount},
			column{head: "Category"}, column{head: "Given back (ms)", as: asTime}, column{head: "Given back in iteration", as: asID},
			column{head: "Given back in phase"}, column{head: "Lifetime (iterations)", as: asCount}, column{head: "Lifetime (ms)", as: asTime},
			column{head: "Address", as: asAddress}, column{head: "Stream", as: asID}, column{head: "Note"}, column{head: "Frame"}, column{head: "Stack"}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &t.Tensors.Blocks[j]
			born, died := k.Start != align.Never, k.End != align.Never
			r.track(t)
			r.ms(born, k.Start-start)
			r.where(origin, t, k.Iteration, k.Phase)
			r.mib(true, k.Bytes)
			r.int(k.Bytes)
			r.int(k.Counted)
			r.text(k.Category)
			r.ms(died, k.End-start)
			r.iterationIndex(t, k.EndIteration)
			r.text(k.EndPhase)
			r.int(int64(k.Lifetime))
			r.ms(born && died, k.End-k.Start)
			r.address(k.Address)
			r.stream(k.Stream)
			switch {
			case !born && !died:
				r.text("live throughout")
			case !born:
				r.text("live before recording")
			case !died:
				r.text("not given back")
			default:
				r.none()
			}
			if k.Frame == "" && t.Tensors.From == tensor.BySnapshot {
				r.text(tensor.NoFrame)
			} else {
				r.text(k.Frame)
			}
			key := stack{t, uint32(k.Stack)}
			s, ok := stacks[key]
			if !ok {
				s = t.Tensors.ShortStack(k.Stack)
				stacks[key] = s
			}
			r.text(s)
		},
	}
}

// Columns of the Categories sheet that the Overview's chart shows.
const (
	columnCategory = 2
	columnAtPeak   = 4
)

// A categoryRow is a category of a track, with theory where there is one for it.
type categoryRow struct {
	t      *align.Track
	name   string
	use    *tensor.CategoryUse // nil where it was not measured or has no blocks
	beside *phrase.Beside      // nil where theory has nothing of it
}

// categoryRows are those of one track.
func categoryRows(t *align.Track) []categoryRow {
	var out []categoryRow
	beside := phrase.BesideTheory(t)
	for _, name := range tensor.CategoryNames {
		row := categoryRow{t: t, name: name}
		if t.Tensors != nil {
			for i := range t.Tensors.Categories {
				if c := &t.Tensors.Categories[i]; c.Name == name {
					row.use = c
				}
			}
		}
		for i := range beside {
			if beside[i].Category == name {
				row.beside = &beside[i]
			}
		}
		if row.use != nil || row.beside != nil {
			out = append(out, row)
		}
	}
	return out
}

func categoriesTable(rep *findings.Report) *table {
	var all []categoryRow
	for _, t := range rep.Tracks {
		all = append(all, categoryRows(t)...)
	}
	return &table{
		sheet: "Categories", name: "Categories", tab: tabTensors, n: len(all), fixed: 3, none: "none",
		cols: columns(
			column{head: "Category"}, column{head: "Highest in steady iterations (MiB)", as: asMiB, bar: true}, column{head: "At peak (MiB)", as: asMiB, bar: true},
			column{head: "Theory"}, column{head: "Theory (MiB)", as: asMiB}, column{head: "Difference (MiB)", as: asChange},
			column{head: "Highest (bytes)", as: asCount}, column{head: "At peak (bytes)", as: asCount}, column{head: "Theory (bytes)", as: asCount},
			column{head: "Difference (bytes)", as: asCount}, column{head: "A difference is likely", as: asLong}, column{head: "Iterations from"}),
		fill: func(i int, r *row) {
			k := &all[i]
			known, b := k.t.Tensors != nil, k.beside
			use := k.use
			if use == nil {
				use = &tensor.CategoryUse{}
			}
			if b == nil {
				b = &phrase.Beside{}
			}
			theory := k.beside != nil
			r.track(k.t)
			r.text(k.name)
			r.mib(known, use.Max)
			r.mib(known, use.AtPeak)
			r.text(b.Formula)
			r.mib(theory, b.Expected)
			r.mib(theory && b.Known, b.Difference())
			r.intIf(known, use.Max)
			r.intIf(known, use.AtPeak)
			r.intIf(theory, b.Expected)
			r.intIf(theory && b.Known, b.Difference())
			r.text(b.Note)
			r.text(from(k.t.IterationsFrom.Inferred()))
		},
	}
}

// holdersTable says who holds memory at the peak and at each request that could not be served.
func holdersTable(rep *findings.Report) *table {
	type part struct {
		t     *align.Track
		when  string
		h     *tensor.Holding
		by    string
		share *tensor.Share
	}
	var all []part
	for _, t := range rep.Tracks {
		ten := t.Tensors
		if ten == nil {
			continue
		}
		add := func(when string, h *tensor.Holding) {
			for _, g := range phrase.ShareGroups(h) {
				for i := range g.Shares {
					all = append(all, part{t, when, h, g.By, &g.Shares[i]})
				}
			}
		}
		add("peak", &ten.Peak)
		for i := range ten.Failures {
			add(fmt.Sprintf("failed request %d", i+1), &ten.Failures[i])
		}
	}
	origin := fromOf(rep)
	return &table{
		sheet: "Who holds it", name: "Who_holds_it", tab: tabTensors, n: len(all), fixed: 3, none: "none",
		cols: columns(
			column{head: "When"}, column{head: "At (ms)", as: asTime}, column{head: "In iteration", as: asID}, column{head: "In phase"}, column{head: "From"},
			column{head: "By"}, column{head: "Name"}, column{head: "Blocks", as: asCount}, column{head: "Size (MiB)", as: asMiB, bar: true},
			column{head: "Share (%)", as: asMiB}, column{head: "Bytes", as: asCount}, column{head: "Failed request (bytes)", as: asCount}),
		fill: func(i int, r *row) {
			k := &all[i]
			r.track(k.t)
			r.text(k.when)
			r.ms(true, k.h.Time-rep.Source.Start)
			r.where(origin, k.t, k.h.Iteration, k.h.Phase)
			r.text(k.by)
			r.text(k.share.Name)
			r.int(int64(k.share.Blocks))
			r.mib(true, k.share.Bytes)
			if k.h.Bytes > 0 {
				r.cells = append(r.cells, float64(k.share.Bytes)/float64(k.h.Bytes)*100)
			} else {
				r.none()
			}
			r.int(k.share.Bytes)
			r.intIf(k.h.Request > 0, k.h.Request)
		},
	}
}

// fragmentationTable has the state of the cache at the reserved peak, at each failed request and at each segment that was
// added.
func fragmentationTable(rep *findings.Report) *table {
	type state struct {
		t    *align.Track
		when string
		c    *tensor.Cache
	}
	var all []state
	for _, t := range rep.Tracks {
		ten := t.Tensors
		if ten == nil {
			continue
		}
		if ten.AtReserved != nil {
			all = append(all, state{t, "reserved peak", ten.AtReserved})
		}
		for i := range ten.Failures {
			if c := ten.Failures[i].Cache; c != nil {
				all = append(all, state{t, fmt.Sprintf("failed request %d", i+1), c})
			}
		}
		for i := range ten.Growth {
			all = append(all, state{t, "segment added", &ten.Growth[i]})
		}
	}
	origin := fromOf(rep)
	return &table{
		sheet: "Fragmentation", name: "Fragmentation", tab: tabTensors, n: len(all), fixed: 3, none: "none: no segment was added while it was recorded",
		cols: columns(
			column{head: "When"}, column{head: "At (ms)", as: asTime}, column{head: "Iteration", as: asID}, column{head: "Phase"}, column{head: "From"},
			column{head: "Request (MiB)", as: asMiB}, column{head: "Free in cache (MiB)", as: asMiB, bar: true}, column{head: "Largest free block (MiB)", as: asMiB, bar: true},
			column{head: "Enough free, in no block"}, column{head: "Stuck (MiB)", as: asMiB}, column{head: "Allocated (MiB)", as: asMiB}, column{head: "Reserved (MiB)", as: asMiB},
			column{head: "Free on the card (MiB)", as: asMiB}, column{head: "Request (bytes)", as: asCount}, column{head: "Free in cache (bytes)", as: asCount},
			column{head: "Largest free block (bytes)", as: asCount}, column{head: "Stuck (bytes)", as: asCount}, column{head: "Allocated (bytes)", as: asCount},
			column{head: "Reserved (bytes)", as: asCount}),
		fill: func(i int, r *row) {
			t, c := all[i].t, all[i].c
			r.track(t)
			r.text(all[i].when)
			r.ms(true, c.Time-rep.Source.Start)
			r.where(origin, t, c.Iteration, c.Phase)
			r.mib(c.Request > 0, c.Request)
			r.mib(true, c.Free)
			r.mib(true, c.LargestFree)
			if c.Misfit() {
				r.text("yes")
			} else {
				r.none()
			}
			r.mib(true, c.Stuck)
			r.mib(true, c.Allocated)
			r.mib(true, c.Reserved)
			r.mib(c.DeviceFree > 0, c.DeviceFree)
			r.intIf(c.Request > 0, c.Request)
			r.int(c.Free)
			r.int(c.LargestFree)
			r.int(c.Stuck)
			r.int(c.Allocated)
			r.int(c.Reserved)
		},
	}
}

// outsideTable has who took device memory beside PyTorch's allocator.
func outsideTable(rep *findings.Report) *table {
	takers := make(map[*align.Track][]tensor.Taker)
	for _, t := range rep.Tracks {
		if t.Tensors != nil && t.Tensors.Outside != nil {
			takers[t] = phrase.OutsideTakers(t.Tensors.Outside)
		}
	}
	n, at := flatten(rep, func(t *align.Track) int { return len(takers[t]) })
	origin := fromOf(rep)
	return &table{
		sheet: "Outside PyTorch", name: "Outside_PyTorch", tab: tabTensors, n: n, fixed: 3, none: "none: all device memory is in PyTorch's segments",
		cols: columns(
			column{head: "Call"}, column{head: "Iteration", as: asID}, column{head: "Phase"}, column{head: "From"}, column{head: "Blocks", as: asCount},
			column{head: "Taken (MiB)", as: asMiB, bar: true}, column{head: "Live at end (MiB)", as: asMiB, bar: true},
			column{head: "Taken (bytes)", as: asCount}, column{head: "Live at end (bytes)", as: asCount}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &takers[t][j]
			r.track(t)
			r.text(k.Call)
			r.where(origin, t, k.Iteration, k.Phase)
			r.int(int64(k.Blocks))
			r.mib(true, k.Bytes)
			r.mib(true, k.Live)
			r.int(k.Bytes)
			r.int(k.Live)
		},
	}
}
