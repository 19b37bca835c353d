package workbook

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"nsysmem/internal/wording"
)

// maxRows is the number of rows that a sheet may have. Tests lower it.
var maxRows = excelize.TotalRows

// A format is how a column shows its cells.
type format uint8

const (
	asText   format = iota
	asLong          // wrapped text
	asID            // a number that is a name: without thousands apart
	asCount         // 1,234
	asMiB           // 1,234.56
	asChange        // +1,234.56
	asTime          // 1,234.567, for ms and µs
	asAddress
	formats
)

// numberFormats are Excel's codes of the formats.
var numberFormats = [formats]string{asID: "0", asCount: "#,##0", asMiB: "#,##0.00", asChange: "+#,##0.00;-#,##0.00;0.00", asTime: "#,##0.000"}

// A column of a table on a sheet.
type column struct {
	head string // unique among the table's heads
	as   format
	bar  bool // with data bars
}

// A scale colours the columns from first to last, counted from 0, by their values.
type scale struct {
	first, last int
	change      bool // about zero, rather than from the least to the greatest
}

// A table is a sheet that is one Excel table with its head in the first row.
type table struct {
	sheet  string // its name
	name   string // of the table; letters and underscores
	cols   []column
	n      int                 // rows
	fill   func(i int, r *row) // gives row i; called more than once
	none   string              // what the first cell says where there are no rows
	fixed  int                 // columns that stay when one scrolls to the right
	scales []scale
	tab    string // colour of the sheet's tab
}

// A book is a workbook in the making.
type book struct {
	f      *excelize.File
	styles [formats]int
	head   [2]int // of columns flush left and flush right
	key    int
	title  int
	strong int
	sheets int
}

const (
	family   = "Calibri"
	fontSize = 11
)

// headStyle is the style of the head of a column.
func (b *book) headStyle(as format) int {
	switch as {
	case asText, asLong, asAddress:
		return b.head[0]
	}
	return b.head[1]
}

func newBook(tempDir string) (*book, error) {
	b := &book{f: excelize.NewFile(excelize.Options{TmpDir: tempDir})}
	var err error
	style := func(s *excelize.Style) (id int) {
		if err == nil {
			id, err = b.f.NewStyle(s)
		}
		return id
	}
	for as := range b.styles {
		s := &excelize.Style{Font: &excelize.Font{Family: family, Size: fontSize}, Alignment: &excelize.Alignment{Vertical: "top"}}
		if code := numberFormats[as]; code != "" {
			s.CustomNumFmt = &code
		}
		switch format(as) {
		case asLong:
			s.Alignment.WrapText = true
			s.Alignment.Horizontal, s.Alignment.Indent = "left", 1
		case asText, asAddress:
			// Else a text begins where the number before it ends.
			s.Alignment.Horizontal, s.Alignment.Indent = "left", 1
		}
		b.styles[as] = style(s)
	}
	for right, horizontal := range []string{"left", "right"} {
		b.head[right] = style(&excelize.Style{
			Font:      &excelize.Font{Family: family, Size: fontSize, Bold: true, Color: "FFFFFF"},
			Fill:      excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"1F4E79"}},
			Alignment: &excelize.Alignment{WrapText: true, Vertical: "center", Horizontal: horizontal, Indent: 1 - right},
		})
	}
	b.title = style(&excelize.Style{Font: &excelize.Font{Family: family, Bold: true, Size: 16, Color: "1F4E79"}})
	b.strong = style(&excelize.Style{Font: &excelize.Font{Family: family, Bold: true, Size: 12, Color: "1F4E79"}})
	b.key = style(&excelize.Style{Font: &excelize.Font{Family: family, Size: fontSize, Color: "595959"}, Alignment: &excelize.Alignment{Vertical: "top"}})
	return b, err
}

// sheet adds an empty sheet behind the others, in landscape and so many pages wide.
func (b *book) sheet(name, tab string, pages int) error {
	var err error
	if b.sheets++; b.sheets == 1 {
		err = b.f.SetSheetName(b.f.GetSheetName(0), name)
	} else {
		_, err = b.f.NewSheet(name)
	}
	if err != nil {
		return err
	}
	fit := true
	props := &excelize.SheetPropsOptions{FitToPage: &fit}
	if tab != "" {
		props.TabColorRGB = &tab
	}
	if err := b.f.SetSheetProps(name, props); err != nil {
		return err
	}
	margin, low := 0.4, 0.5
	if err := b.f.SetPageMargins(name, &excelize.PageLayoutMarginsOptions{Left: &margin, Right: &margin, Top: &margin, Bottom: &low, Header: &margin, Footer: &margin}); err != nil {
		return err
	}
	landscape, high, paper := "landscape", 0, 9 // paper 9 is A4
	return b.f.SetPageLayout(name, &excelize.PageLayoutOptions{Orientation: &landscape, FitToWidth: &pages, FitToHeight: &high, Size: &paper})
}

// pageWidth is the number of characters that are still read with ease across a page.
const pageWidth = 190.0

// table writes a table to a sheet of its own, and to more sheets where one has too few rows for it.
func (b *book) table(t *table) error {
	room := maxRows - 1
	uniqueHeads(t.cols)
	widths := columnWidths(t)
	for part := 0; part == 0 || part*room < t.n; part++ {
		if err := b.part(t, widths, part, part*room, min(t.n, (part+1)*room)); err != nil {
			return fmt.Errorf("sheet %q: %w", t.sheet, err)
		}
	}
	return nil
}

// part writes the rows from and below to of a table. The order of the calls is the stream writer's:
//
//  1. The properties of the sheet come before the writer is made.
//  2. Columns and panes come before the first row.
//  3. The head and the rows follow.
//  4. The table and the conditional formats come before the flush.
func (b *book) part(t *table, widths []float64, part, from, to int) error {
	sheet, name := t.sheet, t.name
	if part > 0 {
		suffix := strconv.Itoa(part + 1)
		sheet, name = sheet+" ("+suffix+")", name+"_"+suffix
	}
	total := 0.0
	for _, w := range widths {
		total += w
	}
	if err := b.sheet(sheet, t.tab, int(math.Ceil(total/pageWidth))); err != nil {
		return err
	}
	w, err := b.f.NewStreamWriter(sheet)
	if err != nil {
		return err
	}
	if err := b.columns(w, t, widths); err != nil {
		return err
	}
	if err := w.SetPanes(panes(t.fixed)); err != nil {
		return err
	}
	if err := b.heads(w, t, widths); err != nil {
		return err
	}
	rows, err := b.rows(w, t, from, to)
	if err != nil {
		return err
	}
	last, err := excelize.CoordinatesToCellName(len(t.cols), rows+1)
	if err != nil {
		return err
	}
	stripes := true
	if err := w.AddTable(&excelize.Table{Range: "A1:" + last, Name: name, StyleName: "TableStyleLight1", ShowRowStripes: &stripes}); err != nil {
		return err
	}
	if to > from {
		if err := b.colours(t, sheet, rows); err != nil {
			return err
		}
	}
	if err := b.printTitles(sheet, t.fixed); err != nil {
		return err
	}
	return w.Flush()
}

// columns sets widths and formats. Neighbours that are alike are set at once: the library goes through all columns for each.
func (b *book) columns(w *excelize.StreamWriter, t *table, widths []float64) error {
	for i, j := 0, 0; i < len(t.cols); i = j {
		for j = i + 1; j < len(t.cols) && widths[j] == widths[i] && t.cols[j].as == t.cols[i].as; j++ {
		}
		if err := w.SetColWidth(i+1, j, widths[i]); err != nil {
			return err
		}
		if err := w.SetColStyle(i+1, j, b.styles[t.cols[i].as]); err != nil {
			return err
		}
	}
	return nil
}

// heads writes the first row, as high as the longest head needs at its column's width.
func (b *book) heads(w *excelize.StreamWriter, t *table, widths []float64) error {
	lines := 1
	heads := make([]any, len(t.cols))
	for i, c := range t.cols {
		lines = max(lines, int(math.Ceil(float64(wording.Width(c.head)+3)/widths[i])))
		heads[i] = excelize.Cell{StyleID: b.headStyle(c.as), Value: c.head}
	}
	return w.SetRow("A1", heads, excelize.RowOpts{Height: float64(min(lines, 4)*15 + 3)})
}

// rows writes the rows from and below to, and says how many there are below the head: a table needs one, and a reader needs
// to know why there is none.
func (b *book) rows(w *excelize.StreamWriter, t *table, from, to int) (int, error) {
	if from == to {
		return 1, w.SetRow("A2", []any{excelize.Cell{StyleID: b.key, Value: t.none}})
	}
	var r row
	var cell []byte
	for i := from; i < to; i++ {
		r.reset()
		t.fill(i, &r)
		cell = strconv.AppendInt(append(cell[:0], 'A'), int64(i-from+2), 10)
		if err := w.SetRow(string(cell), r.cells); err != nil {
			return 0, err
		}
	}
	return to - from, nil
}

// printTitles has the head, and the columns that stay in sight, on every printed page.
func (b *book) printTitles(sheet string, fixed int) error {
	titles := quoteSheet(sheet) + "!$1:$1"
	if fixed > 0 {
		col, err := excelize.ColumnNumberToName(fixed)
		if err != nil {
			return err
		}
		titles = quoteSheet(sheet) + "!$A:$" + col + "," + titles
	}
	return b.f.SetDefinedName(&excelize.DefinedName{Name: "_xlnm.Print_Titles", RefersTo: titles, Scope: sheet})
}

// colours adds data bars and colour scales. They begin at zero where that means something, so that lengths and shades
// can be compared.
func (b *book) colours(t *table, sheet string, rows int) error {
	for i, c := range t.cols {
		if !c.bar {
			continue
		}
		err := b.f.SetConditionalFormat(sheet, columnRange(i, i, rows), []excelize.ConditionalFormatOptions{
			{Type: "data_bar", Criteria: "=", MinType: "num", MinValue: "0", MaxType: "max", BarColor: "#9DC3E6"}})
		if err != nil {
			return err
		}
	}
	for _, s := range t.scales {
		o := excelize.ConditionalFormatOptions{Type: "2_color_scale", Criteria: "=", MinType: "num", MinValue: "0", MaxType: "max",
			MinColor: "#FFFFFF", MaxColor: "#E08214"}
		if s.change {
			o = excelize.ConditionalFormatOptions{Type: "3_color_scale", Criteria: "=", MinType: "min", MidType: "num", MidValue: "0", MaxType: "max",
				MinColor: "#4393C3", MidColor: "#FFFFFF", MaxColor: "#E08214"}
		}
		if err := b.f.SetConditionalFormat(sheet, columnRange(s.first, s.last, rows), []excelize.ConditionalFormatOptions{o}); err != nil {
			return err
		}
	}
	return nil
}

// columnRange is the reference of whole columns of a table with so many rows below its head.
func columnRange(first, last, rows int) string {
	a, _ := excelize.ColumnNumberToName(first + 1)
	z, _ := excelize.ColumnNumberToName(last + 1)
	return a + "2:" + z + strconv.Itoa(rows+1)
}

// quoteSheet is a sheet's name as references have it.
func quoteSheet(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

func panes(fixed int) *excelize.Panes {
	col, _ := excelize.ColumnNumberToName(fixed + 1)
	p := &excelize.Panes{Freeze: true, XSplit: fixed, YSplit: 1, TopLeftCell: col + "2", ActivePane: "bottomRight"}
	if fixed == 0 {
		p.ActivePane = "bottomLeft"
	}
	p.Selection = []excelize.Selection{{SQRef: col + "2", ActiveCell: col + "2", Pane: p.ActivePane}}
	return p
}

// maxHead is the length of a table's head that Excel takes, less room for a number behind it.
const maxHead = 240

// escapes are what Excel reads as one character in a head.
var escapes = regexp.MustCompile(`_x([0-9A-Fa-f]{4}_)`)

// uniqueHeads makes heads such as Excel demands of a table: one line, no two that differ in case alone.
func uniqueHeads(cols []column) {
	seen := make(map[string]bool, len(cols))
	for i := range cols {
		h := strings.Join(strings.Fields(wording.Cell(cols[i].head)), " ")
		h = escapes.ReplaceAllString(h, "_X$1")
		if r := []rune(h); len(r) > maxHead {
			h = string(r[:maxHead]) + "…"
		}
		if h == "" {
			h = "Column"
		}
		unique := h
		for n := 2; seen[strings.ToLower(unique)]; n++ {
			unique = h + " (" + strconv.Itoa(n) + ")"
		}
		seen[strings.ToLower(unique)] = true
		cols[i].head = unique
	}
}

const (
	measured = 2000 // so many rows are measured for the columns' widths
	widest   = 60.0
	widestOf = 110.0 // of long text, which is wrapped
)

// columnWidths measures what a table's columns need, in characters: some rows of it, evenly spread, and the heads, which
// may be broken at spaces.
func columnWidths(t *table) []float64 {
	need := make([]int, len(t.cols))
	for i, c := range t.cols {
		for _, word := range strings.Fields(c.head) {
			need[i] = max(need[i], wording.Width(word)+3) // 3 for the filter's button
		}
		need[i] = max(need[i], (wording.Width(c.head)+1)/2+3)
	}
	var r row
	step := max(1, t.n/measured)
	for i := 0; i < t.n; i += step {
		r.reset()
		t.fill(i, &r)
		for j, v := range r.cells {
			need[j] = max(need[j], shownWidth(v, t.cols[j].as))
		}
	}
	widths := make([]float64, len(need))
	for i, n := range need {
		most := widest
		if t.cols[i].as == asLong {
			most = widestOf
		}
		widths[i] = min(float64(n)+2.5, most)
	}
	return widths
}

// shownWidth is the number of characters that a cell takes as its format shows it.
func shownWidth(v any, as format) int {
	var f float64
	switch v := v.(type) {
	case string:
		return wording.Width(v)
	case int64:
		f = float64(v)
	case float64:
		f = v
	default:
		return 0
	}
	digits := 1
	if a := math.Abs(f); a >= 10 {
		digits = int(math.Log10(a)) + 1
	}
	n := digits
	if as != asID {
		n += (digits - 1) / 3
	}
	switch as {
	case asMiB, asChange:
		n += 3
	case asTime:
		n += 4
	}
	if f < 0 || as == asChange {
		n++
	}
	return n
}
