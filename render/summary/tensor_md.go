package summary

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// inferred says under a table that its iterations were not annotated.
func (m *markdown) inferred(t *align.Track) {
	if s := phrase.Inferred(t); s != "" {
		m.para("*(" + wording.Markdown(s) + ")*")
	}
}

// tensors writes what printer.tensors does.
func (m *markdown) tensors(rep *findings.Report, t *align.Track) {
	ten := t.Tensors
	if ten == nil {
		if t.Theory != nil {
			m.head(3, "Theory")
			m.theory(t)
		}
		return
	}
	if t.HasTensorLevels() {
		m.levels(rep, t)
	}
	m.head(3, "Tensors")
	m.line(wording.Markdown(phrase.Tensors(ten)) + ".")
	if s := phrase.Clock(ten.Clock); s != "" {
		m.line("Clock: " + wording.Markdown(s) + ".")
	}
	if s := phrase.Settings(ten); s != "" {
		m.line("Allocator settings: " + wording.Markdown(s) + ".")
	}
	m.line("")
	markdownTable(m, tables.Categories.Columns(tables.Markdown), tables.MeasuredCategories(t), nil)
	if s := phrase.Unknown(ten); s != "" {
		m.para("*(" + wording.Markdown(s) + ")*")
	}
	m.inferred(t)
	if t.Theory != nil {
		m.line("")
		m.theory(t)
	}
	m.head(3, fmt.Sprintf("Who holds %s at the peak, %s", wording.Bytes(ten.Peak.Bytes), wording.Markdown(phrase.At(t, ten.Peak.Iteration, ten.Peak.Phase))))
	m.holding(rep, t, &ten.Peak)
	m.inferred(t)
	m.failures(rep, t)
	m.outside(rep, t)
	m.fragmentation(rep, t)
}

// failures, outside and fragmentation write what those of printer do.
func (m *markdown) failures(rep *findings.Report, t *align.Track) {
	list := t.Tensors.Failures
	if len(list) == 0 {
		return
	}
	final := &list[len(list)-1]
	m.head(3, fmt.Sprintf("Requests that could not be served (%d)", len(list)))
	m.caches(t, tables.FailedCaches(rep.Report, t, last(list, textFailures)))
	m.para(fmt.Sprintf("At the last of them, %s in tensors:", wording.Bytes(final.Bytes)))
	m.line("")
	m.holding(rep, t, final)
}

func (m *markdown) fragmentation(rep *findings.Report, t *align.Track) {
	if t.Tensors.AtReserved == nil {
		return
	}
	m.head(3, "Fragmentation of the cache")
	m.line(wording.Markdown(phrase.Fragmentation(t)))
	if list := misfits(rep, t); len(list) > 0 {
		m.line("")
		m.caches(t, last(list, textMisfits))
	}
}

// levels writes the tables of printer.threeLevels. Phases are never thinned here: a page may be searched.
func (m *markdown) levels(rep *findings.Report, t *align.Track) {
	if len(t.Iterations) > 0 {
		m.head(3, "Three levels of each iteration")
		show := thin(t.Iterations, textIterations)
		markdownTable(m, tables.TensorLevels.Columns(tables.Markdown), stepsOf(rep, t, show), show.gaps(""))
		m.inferred(t)
	}
	if len(t.Phases) > 0 {
		m.head(3, "Three levels of each phase (highest over the steady iterations)")
		markdownTable(m, tables.TensorPhases.Columns(tables.Markdown), tables.AllRows(rep.Report, t, t.Phases), nil)
	}
}

func (m *markdown) theory(t *align.Track) {
	m.line(wording.Markdown("Theory: " + phrase.Theory(t.Theory) + "."))
	m.line("")
	markdownTable(m, tables.Theory.Columns(tables.Markdown), tables.ExpectedCategories(t), nil)
}

// holding is one table, unlike in text: a page has room for a column that says how it is told.
func (m *markdown) holding(rep *findings.Report, t *align.Track, h *tensor.Holding) {
	var rows []*tables.Row[tables.Holder]
	for _, g := range phrase.ShareGroups(h) {
		rows = append(rows, tables.Holders(rep.Report, t, h, g, textShares)...)
	}
	markdownTable(m, tables.HolderTable.Columns(tables.Markdown), rows, nil)
}

func (m *markdown) caches(t *align.Track, rows []*tables.Row[tables.Cache]) {
	markdownTable(m, tables.Caches.Columns(tables.Markdown), rows, nil)
	m.inferred(t)
}

func (m *markdown) outside(rep *findings.Report, t *align.Track) {
	o := t.Tensors.Outside
	if o == nil {
		return
	}
	m.head(3, "Memory outside PyTorch")
	m.line(wording.Markdown(phrase.Outside(o)))
	list, _ := topTakers(o)
	if len(list) == 0 {
		return
	}
	m.line("")
	if libraries := phrase.OutsideLibraries(o); len(libraries) > 0 {
		markdownTable(m, tables.Libraries.Columns(tables.Markdown), tables.AllRows(rep.Report, t, libraries), nil)
		m.line("")
	}
	rows := tables.AllRows(rep.Report, t, list)
	markdownTable(m, had(tables.Takers.Columns(tables.Markdown), rows), rows, nil)
	if s := phrase.OutsideHow(o); s != "" {
		m.para("*(" + wording.Markdown(s) + ")*")
	}
	m.inferred(t)
}
