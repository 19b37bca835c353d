package workbook

import (
	"strconv"

	"github.com/xuri/excelize/v2"

	"nsysmem/render/tables"
)

// plotted are the rows of a table that a chart shows.
type plotted struct {
	sheet    string
	grid     *tables.Grid
	over     string // key of the column that names the rows
	head     int    // row of the table's head on the sheet, from 1
	from, to int    // rows below the head, half-open, from 0
}

// labelSkip is of how many rows one has its name below.
func (p plotted) labelSkip() int { return max(1, (p.to-p.from-1)/20) }

// series shows columns, each by its key and colour.
func (p plotted) series(columns [][2]string) []excelize.ChartSeries {
	var out []excelize.ChartSeries
	first, last := p.head+1+p.from, p.head+p.to
	for _, c := range columns {
		col := p.grid.Place(c[0])
		out = append(out, excelize.ChartSeries{
			Name:       cells(p.sheet, col, p.head, p.head),
			Categories: cells(p.sheet, p.grid.Place(p.over), first, last),
			Values:     cells(p.sheet, col, first, last),
			Fill:       solid(c[1]),
		})
	}
	return out
}

// bars is a chart of columns as bars.
func (p plotted) bars(columns [][2]string) *excelize.Chart {
	return &excelize.Chart{Type: excelize.Col, Series: p.series(columns), YAxis: axis(),
		XAxis: excelize.ChartAxis{Font: axisFont, TickLabelPosition: excelize.ChartTickLabelLow}}
}

// lines is a chart of columns as lines.
func (p plotted) lines(columns [][2]string) *excelize.Chart {
	shown := p.to - p.from
	c := p.bars(columns)
	c.Type, c.XAxis.TickLabelSkip = excelize.Line, p.labelSkip()
	for i := range c.Series {
		s := &c.Series[i]
		s.Line, s.Marker = excelize.LineOptions{Width: 2}, excelize.ChartMarker{Symbol: "none"}
		if shown <= markedPoints {
			s.Marker = excelize.ChartMarker{Symbol: "circle", Size: 5, Fill: s.Fill}
		}
	}
	return c
}

func solid(color string) excelize.Fill {
	return excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{color}}
}

func title(s string) excelize.ChartTitle {
	return excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: s, Font: &excelize.Font{Size: 11, Bold: true, Color: "404040"}}}}
}

// axisFont is dark enough to be read; the library's own is not.
var axisFont = excelize.Font{Color: "404040", Size: 9}

func axis() excelize.ChartAxis {
	return excelize.ChartAxis{Font: axisFont, Title: title("MiB"), MajorGridLines: true, Minimum: new(0.0), NumFmt: excelize.ChartNumFmt{CustomNumFmt: "#,##0"}}
}

// cells is an absolute reference to rows of a column, counted from 0.
func cells(sheet string, col, from, to int) string {
	name, _ := excelize.ColumnNumberToName(col + 1)
	s := quoteSheet(sheet) + "!$" + name + "$" + strconv.Itoa(from)
	if to != from {
		s += ":$" + name + "$" + strconv.Itoa(to)
	}
	return s
}
