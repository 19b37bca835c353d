package canvas

// A Column is one column of a table: its head, and what a row of type T has in it.
type Column[T any] struct {
	Head  string
	Cell  func(T) string
	Pen   func(T) Pen // in place of Cell: a piece of line
	Right bool        // figures end at one place, and are not cut
	Yield int         // columns of a table that is too wide lose the ends of their texts, 1 first, then 2; 0 for never
}

// text is what a row has in the column; empty where that is a piece of line.
func (col *Column[T]) text(row T) string {
	if col.Cell == nil {
		return ""
	}
	return col.Cell(row)
}

// Lengths of tables, in points of the layout.
const (
	tableLine  = 12.5 // from one baseline to the next
	tableGap   = 14   // between columns
	tableLead  = 24   // width of a piece of line
	tableLeast = 90   // width that a column keeps
	tableOver  = 15   // how far a column may stand out of the page, its gap counted
)

// TableRows is how many rows, the head left out, a table in a share of the picture's height has; at least 1.
func (p *Page) TableRows(share float64) int {
	return max(int(float64(p.H)*share/float64(p.Pt(tableLine)))-1, 1)
}

// widths are those of the columns, their gaps included. Columns that may be cut give way until the table fits.
func widths[T any](p *Page, columns []Column[T], rows []T) []Length {
	widths := make([]Length, len(columns))
	total := Length(0)
	for k, col := range columns {
		widths[k] = p.Width(col.Head, Strong)
		for _, row := range rows {
			widths[k] = max(widths[k], p.Width(col.text(row), Small))
		}
		if col.Pen != nil {
			widths[k] = p.Pt(tableLead)
		}
		widths[k] += p.Pt(tableGap)
		total += widths[k]
	}
	for turn := 1; turn <= len(columns); turn++ {
		for k, col := range columns {
			if cut := min(total-p.Left.W(), widths[k]-p.Pt(tableLeast)); col.Yield == turn && cut > 0 {
				widths[k] -= cut
				total -= cut
			}
		}
	}
	return widths
}

// Table writes a table; more, where not empty, is said below, in its second column.
func Table[T any](p *Page, columns []Column[T], rows []T, more string) {
	widths := widths(p, columns, rows)
	write := func(text func(col *Column[T]) string, st Style) {
		x := p.Left.X0
		for k := range columns {
			col := &columns[k]
			switch s := text(col); {
			case x+widths[k] > p.Left.X1+p.Pt(tableOver):
			case col.Right:
				p.Text(s, x+widths[k]-p.Pt(tableGap), p.Left.Y1, st.Right())
			default:
				p.Text(p.Fit(s, st, widths[k]-p.Pt(10)), x, p.Left.Y1, st)
			}
			x += widths[k]
		}
	}
	p.Skip(9)
	write(func(col *Column[T]) string { return col.Head }, Strong)
	for _, row := range rows {
		p.Skip(tableLine)
		write(func(col *Column[T]) string {
			if col.Pen != nil {
				p.Horizontal(col.Pen(row), p.Left.Y1+p.Pt(3), p.Left.X0, p.Left.X0+p.Pt(tableLead))
			}
			return col.text(row)
		}, Small)
	}
	if more != "" {
		p.Skip(12)
		p.Text(more, p.Left.X0+widths[0], p.Left.Y1, Small.In(Faint))
	}
}
