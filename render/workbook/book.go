package workbook

import "github.com/xuri/excelize/v2"

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
	props := &excelize.SheetPropsOptions{FitToPage: new(true)}
	if tab != "" {
		props.TabColorRGB = &tab
	}
	if err := b.f.SetSheetProps(name, props); err != nil {
		return err
	}
	margin := 0.4
	if err := b.f.SetPageMargins(name, &excelize.PageLayoutMarginsOptions{Left: &margin, Right: &margin, Top: &margin, Bottom: new(0.5), Header: &margin, Footer: &margin}); err != nil {
		return err
	}
	const a4 = 9
	return b.f.SetPageLayout(name, &excelize.PageLayoutOptions{
		Orientation: new("landscape"), FitToWidth: &pages, FitToHeight: new(0), Size: new(a4)})
}

// dimension states that a sheet has cells up to a column and a row, both from 1. The library states A1, and readers that go
// through a sheet without loading it believe that.
func (b *book) dimension(sheet string, col, row int) error {
	last, err := excelize.CoordinatesToCellName(max(col, 1), max(row, 1))
	if err != nil {
		return err
	}
	if last == "A1" {
		return b.f.SetSheetDimension(sheet, last)
	}
	return b.f.SetSheetDimension(sheet, "A1:"+last)
}
