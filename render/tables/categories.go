package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// A Category is what the tensors of one category of a track hold, with theory beside it.
type Category struct {
	Name   string
	Use    *tensor.CategoryUse // nil where the category has no blocks, or nothing was measured
	Beside *phrase.Beside      // nil where theory has nothing of it
}

type categoryRow = Row[Category]

// MeasuredCategories are the rows of the categories that have blocks.
func MeasuredCategories(t *align.Track) []*Row[Category] {
	var out []*categoryRow
	for i := range t.Tensors.Categories {
		use := &t.Tensors.Categories[i]
		out = append(out, &categoryRow{Track: t, Item: &Category{Name: use.Name, Use: use}})
	}
	return out
}

// ExpectedCategories are those of which theory knows.
func ExpectedCategories(t *align.Track) []*Row[Category] {
	var out []*categoryRow
	beside := phrase.BesideTheory(t)
	for i := range beside {
		out = append(out, &categoryRow{Track: t, Item: &Category{Name: beside[i].Category, Beside: &beside[i]}})
	}
	return out
}

// allCategories are both, in the order of tensor.CategoryNames.
func allCategories(t *align.Track) []*categoryRow {
	byName := make(map[string]*categoryRow)
	for _, r := range ExpectedCategories(t) {
		byName[r.Item.Name] = r
	}
	if t.Tensors != nil {
		for _, r := range MeasuredCategories(t) {
			if expected := byName[r.Item.Name]; expected != nil {
				r.Item.Beside = expected.Item.Beside
			}
			byName[r.Item.Name] = r
		}
	}
	var out []*categoryRow
	for _, name := range tensor.CategoryNames {
		if r := byName[name]; r != nil {
			out = append(out, r)
		}
	}
	return out
}

// isMeasured says that the tensors of the track are known: a category without blocks holds nothing then.
func isMeasured(r *categoryRow) bool { return r.Track.Tensors != nil }

// measured is a figure of a category; 0 where it has no blocks.
func measured(get func(*tensor.CategoryUse) int64) func(r *categoryRow) int64 {
	return func(r *categoryRow) int64 {
		if r.Item.Use == nil {
			return 0
		}
		return get(r.Item.Use)
	}
}

func atPeak(c *tensor.CategoryUse) int64 { return c.AtPeak }

func isExpected(r *categoryRow) bool { return r.Item.Beside != nil }

// isCompared says that there are both theory and measure.
func isCompared(r *categoryRow) bool { return isExpected(r) && r.Item.Beside.Known }

// besideNote says what a difference is likely to be.
func besideNote(r *categoryRow) string {
	if !isExpected(r) {
		return ""
	}
	return r.Item.Beside.Note
}

// categories is the catalogue of the categories of tensors. Sizes are requested bytes.
var categories = slices.Concat(trackColumns[Category](), []Column[*categoryRow]{
	{Key: "category", Head: "category", Text: func(r *categoryRow) string { return r.Item.Name }},
	{Key: "meaning", Head: "what it is", Text: func(r *categoryRow) string { return phrase.Category(r.Item.Name) }},
	{Key: "max_bytes", Head: "highest in steady iterations", Unit: Bytes, Bar: true, Known: isMeasured,
		Int: measured(func(c *tensor.CategoryUse) int64 { return c.Max })},
	{Key: "at_peak_bytes", Head: "at peak", Unit: Bytes, Bar: true, Int: measured(atPeak), Known: isMeasured},
	{Key: "share", Head: "share of it", Unit: Term,
		Text: func(r *categoryRow) string { return wording.Share(measured(atPeak)(r), r.Track.Tensors.Peak.Bytes) }},
	{Key: "formula", Head: "theory", Unit: Term, Text: func(r *categoryRow) string { return r.Item.Beside.Formula }, Has: isExpected},
	{Key: "expected_bytes", Head: "theory", Unit: Bytes, Int: func(r *categoryRow) int64 { return r.Item.Beside.Expected }, Has: isExpected},
	{Key: "measured_bytes", Head: "measured", Unit: Bytes, Int: func(r *categoryRow) int64 { return r.Item.Beside.Measured }, Known: isCompared},
	{Key: "difference_bytes", Head: "difference", Unit: Change, Int: func(r *categoryRow) int64 { return r.Item.Beside.Difference() }, Known: isCompared},
	optional(Column[*categoryRow]{Key: "note", Head: "a difference is likely", Text: besideNote}),
	{Key: "iterations_from", Head: "iterations from", Unit: Origin, Int: func(r *categoryRow) int64 { return one(r.Track.IterationsFrom.Inferred()) }},
})

// Categories has a row for each category of a track's tensors, Theory one for each of which theory knows, to the byte.
var (
	categoryTables = define(categories, Views{
		Terminal: "category:0/8, max_bytes=steady max, at_peak_bytes, share:1",
		Markdown: "category, max_bytes, at_peak_bytes=At the peak, share",
		JSON:     "max_bytes, at_peak_bytes",
		Workbook: "pid, device, category, max_bytes, at_peak_bytes, formula, expected_bytes, difference_bytes, " +
			"max_bytes!=Highest, at_peak_bytes!, expected_bytes!, difference_bytes!, note~, iterations_from, meaning~",
	}, Views{
		Terminal: "category:0/8, formula:1, expected_bytes!:2=bytes, measured_bytes!, difference_bytes!",
		Markdown: "category, formula, expected_bytes!=Bytes, measured_bytes!, difference_bytes!, note=Likely",
		JSON:     "category, formula, expected_bytes, measured_bytes, difference_bytes, note",
	})
	Categories = categoryTables[0]
	Theory     = categoryTables[1]
)

// CategoryGrid is the table of the categories of all tracks.
func CategoryGrid(rep *align.Report) Grid {
	return trackRows(rep, Categories.Columns(Workbook), allCategories)
}

// CategoryRows are the rows of one track in that table, half-open.
func CategoryRows(rep *align.Report, t *align.Track) (from, to int) {
	return rowsOf(rep, t, func(t *align.Track) int { return len(allCategories(t)) })
}
