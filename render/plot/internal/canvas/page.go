package canvas

// A Page writes a picture from the top: each part takes its height from what is left.
type Page struct {
	*Canvas
	Left Rect // what is left, within the margins
}

// Lengths of a page, in points of the layout.
const (
	margin    = 12
	titleRise = 11
)

// NewPage is the page of an empty canvas.
func NewPage(c *Canvas) *Page {
	m := c.Pt(margin)
	return &Page{c, Rect{m, m, c.W - m, c.H - m}}
}

// Skip leaves points of the layout free.
func (p *Page) Skip(points float64) { p.Left.Y1 -= p.Pt(points) }

// Title writes the picture's title and what it is of, each on one line.
func (p *Page) Title(title, about string) {
	p.Skip(titleRise)
	p.Text(p.Fit(title, Title, p.Left.W()), p.Left.X0, p.Left.Y1, Title)
	p.Skip(line)
	faint := Small.In(Faint)
	p.Text(p.Fit(about, faint, p.Left.W()), p.Left.X0, p.Left.Y1, faint)
}

// Lines writes a line of text after another.
func (p *Page) Lines(lines []string) {
	for _, s := range lines {
		p.Skip(line)
		p.Text(s, p.Left.X0, p.Left.Y1, Normal)
	}
}

// Rows is how many lines of text a share of the picture's height has; at least 1.
func (p *Page) Rows(share float64) int { return max(int(float64(p.H)*share/float64(p.Pt(line))), 1) }

// Legend writes a legend of at most so many rows, with its head in front and a gap, in points of the layout, below.
func (p *Page) Legend(head string, entries Entries, rows int, gap float64) {
	p.Skip(headRise)
	p.Text(head, p.Left.X0, p.Left.Y1, Strong)
	list, used := p.place(entries, p.Left.X0+p.Width(head, Strong)+p.Pt(headGap), p.Left.X1, rows)
	p.drawLegend(list, p.Left.Y1)
	p.Left.Y1 -= p.Pt(line)*Length(used-1) + p.Pt(gap)
}
