package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// A Category is what the tensors of one category of a track hold, with theory beside it.
type Category struct {
	Track  *align.Track
	Name   string
	Use    *align.CategoryUse // nil where the category has no blocks, or nothing was measured
	Beside *phrase.Beside     // nil where theory has nothing of it
}

// MeasuredCategories are the categories that have blocks.
func MeasuredCategories(t *align.Track) []*Category {
	var out []*Category
	for i := range t.Tensors.Categories {
		use := &t.Tensors.Categories[i]
		out = append(out, &Category{Track: t, Name: use.Name, Use: use})
	}
	return out
}

// ExpectedCategories are those of which theory knows.
func ExpectedCategories(t *align.Track) []*Category {
	var out []*Category
	beside := phrase.BesideTheory(t)
	for i := range beside {
		out = append(out, &Category{Track: t, Name: beside[i].Category, Beside: &beside[i]})
	}
	return out
}

// AllCategories are both, in the order of align.CategoryNames.
func AllCategories(t *align.Track) []*Category {
	byName := make(map[string]*Category)
	for _, c := range ExpectedCategories(t) {
		byName[c.Name] = c
	}
	if t.Tensors != nil {
		for _, c := range MeasuredCategories(t) {
			if b := byName[c.Name]; b != nil {
				c.Beside = b.Beside
			}
			byName[c.Name] = c
		}
	}
	var out []*Category
	for _, name := range align.CategoryNames {
		if c := byName[name]; c != nil {
			out = append(out, c)
		}
	}
	return out
}

// measured says that the tensors of the track are known: a category without blocks holds nothing then.
func (c *Category) measured() bool { return c.Track.Tensors != nil }

func (c *Category) highest() int64 {
	if c.Use == nil {
		return 0
	}
	return c.Use.Max
}

func (c *Category) atPeak() int64 {
	if c.Use == nil {
		return 0
	}
	return c.Use.AtPeak
}

func (c *Category) expected() bool { return c.Beside != nil }

// compared says that there are both theory and measure.
func (c *Category) compared() bool { return c.Beside != nil && c.Beside.Known }

// categories is the catalogue of the categories of tensors. Sizes are requested bytes.
var categories = slices.Concat(
	trackColumns(func(c *Category) *align.Track { return c.Track }),
	[]Column[*Category]{
		{Key: "category", Head: "category", Text: func(c *Category) string { return c.Name }},
		{Key: "max_bytes", Head: "highest in steady iterations", Unit: Bytes, Bar: true, Int: (*Category).highest, Known: (*Category).measured},
		{Key: "at_peak_bytes", Head: "at peak", Unit: Bytes, Bar: true, Int: (*Category).atPeak, Known: (*Category).measured},
		{Key: "share", Head: "share of it", Unit: Term,
			Text: func(c *Category) string { return wording.Share(c.atPeak(), c.Track.Tensors.Peak.Bytes) }},
		{Key: "formula", Head: "theory", Unit: Term, Text: func(c *Category) string { return c.Beside.Formula }, Has: (*Category).expected},
		{Key: "expected_bytes", Head: "theory", Unit: Bytes, Int: func(c *Category) int64 { return c.Beside.Expected }, Has: (*Category).expected},
		{Key: "measured_bytes", Head: "measured", Unit: Bytes, Int: func(c *Category) int64 { return c.Beside.Measured },
			Has: (*Category).expected, Known: (*Category).compared},
		{Key: "difference_bytes", Head: "difference", Unit: Change, Int: func(c *Category) int64 { return c.Beside.Difference() },
			Has: (*Category).expected, Known: (*Category).compared},
		{Key: "note", Head: "a difference is likely", Text: func(c *Category) string { return c.Beside.Note },
			Has: func(c *Category) bool { return c.expected() && c.Beside.Note != "" }},
		{Key: "iterations_from", Head: "iterations from", Unit: Origin,
			Int: func(c *Category) int64 { return one(c.Track.IterationsFrom.How == "kernels") }},
	})

// Categories has a row for each category of a track's tensors, Theory one for each of which theory knows, to the byte.
var (
	categoryTables = define(categories, Views{
		Terminal: "category:0/8, max_bytes=steady max, at_peak_bytes, share:1",
		Markdown: "category, max_bytes, at_peak_bytes=At the peak, share",
		JSON:     "max_bytes, at_peak_bytes",
		Workbook: "pid, device, category, max_bytes, at_peak_bytes, formula, expected_bytes, difference_bytes, " +
			"max_bytes!=Highest, at_peak_bytes!, expected_bytes!, difference_bytes!, note~, iterations_from",
	}, Views{
		Terminal: "category:0/8, formula:1, expected_bytes!:2=bytes, measured_bytes!, difference_bytes!",
		Markdown: "category, formula, expected_bytes!=Bytes, measured_bytes!, difference_bytes!, note=Likely",
		JSON:     "category, formula, expected_bytes, measured_bytes, difference_bytes, note",
	})
	Categories = &categoryTables[0]
	Theory     = &categoryTables[1]
)

// CategoryGrid is the table of the categories of all tracks.
func CategoryGrid(rep *align.Report) Grid {
	var all []*Category
	for _, t := range rep.Tracks {
		all = append(all, AllCategories(t)...)
	}
	return Rows(Categories.Columns(Workbook), all)
}

// CategoryRows are the rows of one track in that table, half-open.
func CategoryRows(rep *align.Report, t *align.Track) (from, to int) {
	return rowsOf(rep, t, func(t *align.Track) int { return len(AllCategories(t)) })
}
