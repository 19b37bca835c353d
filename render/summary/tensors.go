package summary

import (
	"maps"
	"slices"
	"strings"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// maxTops is how many frames, phases and takers of memory a list has: the largest ones.
const maxTops = 20

// tensors writes what a track's tensors hold, theory and inference; nothing where there is neither.
func (e *encoder) tensors(t *align.Track) {
	e.html = true
	if t.Tensors != nil {
		e.raw(",\n \"categories\":")
		e.categories(t)
		e.raw(",\n \"tensors\":")
		e.snapshotOf(t)
	}
	if t.Theory != nil {
		e.raw(",\n \"theory\":")
		e.theory(t)
	}
	if x := t.Inferred; x != nil {
		e.raw(",\n \"inferred\":")
		e.inferred(t, x)
	}
	e.html = false
}

// categories writes an object with a member for each category, in alphabetical order.
func (e *encoder) categories(t *align.Track) {
	byName := make(map[string]*tables.Row[tables.Category])
	for _, c := range tables.MeasuredCategories(t) {
		byName[strings.ReplaceAll(c.Item.Name, " ", "_")] = c
	}
	e.raw("{")
	for i, name := range slices.Sorted(maps.Keys(byName)) {
		e.next(i, "")
		e.text(name)
		e.raw(":")
		object(e, tables.Categories.Columns(tables.JSON), byName[name])
	}
	e.raw("}")
}

// snapshotOf writes what a snapshot tells beside levels and categories. Lists are whole, but for shares: a program may have
// thousands of lines that ask for memory, of which the first few hold nearly all.
func (e *encoder) snapshotOf(t *align.Track) {
	ten := t.Tensors
	e.raw("{")
	e.textField("from", string(ten.From))
	e.textFieldOrNull("file", ten.File)
	e.textFieldOrNull("allocator_conf", ten.Conf)
	e.key("clock")
	if c := ten.Clock; c != nil {
		e.raw("{")
		e.intField("offset_ns", c.Offset)
		e.intField("spread_ns", c.Spread)
		e.intField("matched", int64(c.Matched))
		e.intField("segments", int64(c.Segments))
		e.raw("}")
	} else {
		e.raw("null")
	}
	e.intField("blocks", int64(len(ten.Blocks)))
	e.key("peak")
	e.holding(t, &ten.Peak)
	e.key("failures")
	e.array("", len(ten.Failures), func(i int) { e.holding(t, &ten.Failures[i]) })
	e.key("at_reserved_peak")
	e.cache(t, ten.AtReserved)
	e.key("growth")
	e.array("", len(ten.Growth), func(i int) { e.cache(t, &ten.Growth[i]) })
	e.key("outside")
	if o := ten.Outside; o != nil {
		e.raw("{")
		e.intField("bytes", o.Bytes)
		e.intField("peak_bytes", o.Peak)
		e.intField("static_bytes", o.Static)
		e.key("libraries")
		e.libraries(t, phrase.OutsideLibraries(o))
		e.key("takers")
		objects(e, "", tables.Takers.Columns(tables.JSON), tables.AllRows(e.rep, t, o.Takers))
		e.raw("}")
	} else {
		e.raw("null")
	}
	e.raw("}")
}

// libraries writes who asked for memory; null where no call chains were recorded.
func (e *encoder) libraries(t *align.Track, list []tensor.Library) {
	if list == nil {
		e.raw("null")
		return
	}
	objects(e, "", tables.Libraries.Columns(tables.JSON), tables.AllRows(e.rep, t, list))
}

// holding writes who holds memory at one time, told in all three ways: a program that reads it has no use for the choice that
// people are spared.
func (e *encoder) holding(t *align.Track, h *tensor.Holding) {
	e.raw("{")
	members(e, tables.Holdings.Columns(tables.JSON), tables.HoldingRow(e.rep, t, h))
	groups := []struct {
		key    string
		shares []tensor.Share
	}{{"by_frame", h.ByFrame}, {"by_phase", h.ByPhase}, {"by_category", h.ByCategory}}
	if phrase.HasModules(h) {
		groups = append(groups, struct {
			key    string
			shares []tensor.Share
		}{"by_module", h.ByModule})
	}
	for _, g := range groups {
		e.key(g.key)
		objects(e, "", tables.HolderTable.Columns(tables.JSON), tables.ShareRows(tables.Largest(g.shares, maxTops, "(others)")))
	}
	e.key("cache")
	e.cache(t, h.Cache)
	e.raw("}")
}

// cache writes the state of the allocator's cache; null where it is not known.
func (e *encoder) cache(t *align.Track, c *tensor.Cache) {
	if c == nil {
		e.raw("null")
		return
	}
	object(e, tables.Caches.Columns(tables.JSON), &tables.Row[tables.Cache]{Report: e.rep, Track: t, Item: &tables.Cache{Cache: c}})
}

// theory writes what a model of so many parameters needs, beside what was measured.
func (e *encoder) theory(t *align.Track) {
	th := t.Theory
	e.raw("{")
	e.intField("params", th.Params)
	e.textField("dtype", th.DType)
	e.textField("optimizer", th.Optimizer)
	e.intField("parameter_bytes", th.Parameter)
	e.intField("gradient_bytes", th.Gradient)
	e.intField("optimizer_state_bytes", th.State)
	e.key("beside")
	objects(e, "", tables.Theory.Columns(tables.JSON), tables.ExpectedCategories(t))
	e.raw("}")
}
