package workbook

import (
	"fmt"
	"io"

	"github.com/xuri/excelize/v2"

	"nsysmem/render/tables"
)

// A Book is a workbook that is no report's: an overview of facts and charts, and a sheet for each table.
type Book struct {
	Title   string
	Created int64 // ns since 1970, for the document's properties; 0 for none
	Facts   []Fact
	Tables  []Table
	Charts  []Chart
}

// A Fact is a line of the overview. One without a key continues the line before.
type Fact struct {
	Key, Text string
}

// A Table is a sheet. Where it has more rows than a sheet may, it goes on in another.
type Table struct {
	Sheet string // name of the sheet
	Name  string // of the table, of letters and underscores
	Grid  tables.Grid
	None  string // what is said where there are no rows
	Fixed int    // columns that stay when one scrolls to the right
	Tab   string // colour of the tab, such as "1F4E79"; empty for none
}

// A Chart stands on the overview and shows columns of a table.
type Chart struct {
	Title      string
	Table      *Table
	Lines      bool     // lines; otherwise columns
	Categories string   // key of a column
	Values     []string // keys of columns
	From, To   int      // rows of the table shown, half-open; those beyond what a sheet or a chart takes are left out
	XTitle     string
	YTitle     string
}

// WriteBook writes a workbook. The same Book gives the same bytes. The error is the writer's, or that of a temporary file.
func WriteBook(w io.Writer, k *Book, o Options) error {
	return save(w, o, func(b *book) error { return b.fillBook(k) })
}

func (b *book) fillBook(k *Book) error {
	if err := b.properties(k.Title, k.Created); err != nil {
		return err
	}
	if err := b.front(k); err != nil {
		return err
	}
	for i := range k.Tables {
		if err := b.table(k.Tables[i].table()); err != nil {
			return err
		}
	}
	// The first sheet is the active one already. To say so would read every streamed sheet back into memory.
	return nil
}

func (t *Table) table() *table {
	return table{sheet: t.Sheet, name: t.Name, none: t.None, fixed: t.Fixed, tab: t.Tab}.of(t.Grid)
}

// front writes the overview.
func (b *book) front(k *Book) error {
	if err := b.sheet(overviewSheet, "", 1); err != nil {
		return err
	}
	o := &overview{b: b, row: 1}
	o.long, o.err = b.f.NewStyle(&excelize.Style{Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"}})
	last, _ := excelize.ColumnNumberToName(overviewWidth)
	o.do(b.f.SetColWidth(overviewSheet, "A", last, columnWidth))
	o.do(b.f.SetSheetView(overviewSheet, 0, &excelize.ViewOptions{ShowGridLines: new(false)}))
	o.set(1, k.Title, b.title)
	o.row += 2
	for _, f := range k.Facts {
		o.fact(f.Key, f.Text)
	}
	o.row++
	right, _ := excelize.ColumnNumberToName(overviewWidth/2 + 1)
	for i := range k.Charts {
		c := k.Charts[i].chart()
		if i%2 == 0 {
			o.chart("A", c)
			continue
		}
		o.chart(right, c)
		o.row += chartRows
	}
	o.dimension()
	if o.err != nil {
		return fmt.Errorf("sheet %q: %w", overviewSheet, o.err)
	}
	return nil
}

// chartColours tell the series of a chart apart.
var chartColours = []string{"E08214", "1F4E79", "4393C3", "548235", "7F7F7F"}

func (c *Chart) chart() *excelize.Chart {
	columns := make([][2]string, len(c.Values))
	for i, key := range c.Values {
		columns[i] = [2]string{key, chartColours[i%len(chartColours)]}
	}
	to := max(c.From+1, min(c.To, c.From+chartPoints, maxRows-1))
	p := plotted{c.Table.Sheet, &c.Table.Grid, c.Categories, 1, c.From, to}
	out := p.bars(columns)
	if c.Lines {
		out = p.lines(columns)
	}
	out.Title, out.XAxis.TickLabelSkip = title(c.Title), p.labelSkip()
	if c.XTitle != "" {
		out.XAxis.Title = title(c.XTitle)
	}
	if c.YTitle != "" {
		out.YAxis.Title = title(c.YTitle)
	}
	return out
}
