package workbook

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"nsysmem/internal/wording"
)

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
//  1. The properties of the sheet, and which cells it has, come before the writer is made.
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
	// A table without rows has one that says why.
	if err := b.dimension(sheet, len(t.cols), 1+max(to-from, 1)); err != nil {
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
	if err := w.AddTable(&excelize.Table{Range: "A1:" + last, Name: name, StyleName: "TableStyleLight1", ShowRowStripes: new(true)}); err != nil {
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
		if err := w.SetRow(string(cell), r.cells()); err != nil {
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
