package canvas

import (
	"fmt"
	"image/color"
)

// A Sample draws in r what a line of a legend stands for.
type Sample func(c *Canvas, r Rect)

// An Entry is a line of a legend: a sample and what it stands for.
type Entry struct {
	Label  string
	Sample Sample
}

// Entries are the lines of a legend.
type Entries []Entry

// Add adds a line where when says so.
func (e *Entries) Add(when bool, label string, sample Sample) {
	if when {
		*e = append(*e, Entry{label, sample})
	}
}

// Lengths of legends, in points of the layout.
const (
	line        = 13 // from one baseline to the next
	sampleWidth = 14
	sampleGap   = 4  // between a sample and its label
	entryGap    = 12 // between entries
	labelMost   = 190
)

// legendRows is how many rows a legend has at most.
const legendRows = 2

// placed is an entry in its place, or the count of those that have none.
type placed struct {
	label  string
	x      Length
	row    int
	sample Sample // nil for the count
}

// place lays entries out in at most so many rows within x0 to x1, and says how many it took. What does not fit is counted
// ("+ 180 more").
func (c *Canvas) place(entries Entries, x0, x1 Length, rows int) (out []placed, used int) {
	if len(entries) == 0 || rows < 1 {
		return nil, 0
	}
	more := func(n int) string { return fmt.Sprintf("+ %d more", n) }
	x, row := x0, 0
	for i, e := range entries {
		label := c.Fit(e.Label, Small, min((x1-x0)/2, c.Pt(labelMost)))
		w := c.Pt(sampleWidth) + c.Pt(sampleGap) + c.Width(label, Small)
		// The last row keeps room for the count of what is left over.
		room := x1
		if left := len(entries) - i - 1; row == rows-1 && left > 0 {
			room -= c.Pt(entryGap) + c.Width(more(left), Small)
		}
		if x > x0 && x+w > room {
			if row == rows-1 {
				return append(out, placed{label: more(len(entries) - i), x: x, row: row}), rows
			}
			x = x0
			row++
		}
		out = append(out, placed{label, x, row, e.Sample})
		x += w + c.Pt(entryGap)
	}
	return out, row + 1
}

// drawLegend draws what was placed, the first row's baseline at y.
func (c *Canvas) drawLegend(entries []placed, y Length) {
	for _, e := range entries {
		base := y - Length(e.row)*c.Pt(line)
		if e.sample == nil {
			c.Text(e.label, e.x, base, Small.In(Faint))
			continue
		}
		end := e.x + c.Pt(sampleWidth)
		e.sample(c, Rect{e.x, base - c.Pt(0.5), end, base + c.Pt(7)})
		c.Text(e.label, end+c.Pt(sampleGap), base, Small)
	}
}

// Swatch is a sample: a filled box.
func Swatch(col color.Color) Sample {
	return func(c *Canvas, r Rect) {
		r.X0 += c.Pt(3)
		c.Fill(col, r)
		c.Outline(Pen{Width: 0.4, Color: Faint}, r)
	}
}

// LineSample is a sample: a piece of line.
func LineSample(p Pen) Sample {
	return func(c *Canvas, r Rect) { c.Horizontal(p, r.Mid().Y, r.X0, r.X1) }
}

// A Heading is a panel's title and legend.
type Heading struct {
	Title   string
	Shorter []string // titles that say less, for panels that are too narrow, the longest first
	Entries Entries
}

// Add appends to all titles of a heading: what is said in full, briefly to the shorter ones. The title with the brief
// addition is one of them.
func (h *Heading) Add(full, brief string) {
	h.Shorter = append([]string{h.Title + brief}, h.Shorter...)
	h.Title += full
	for i := range h.Shorter[1:] {
		h.Shorter[i+1] += brief
	}
}

// fitting is the first of a heading's titles that fits.
func (c *Canvas) fitting(h Heading, w Length) string {
	title := h.Title
	for _, s := range append([]string{title}, h.Shorter...) {
		if title = s; c.Width(s, Head) <= w {
			return s
		}
	}
	return c.Fit(title, Head, w)
}

// Lengths of headings, in points of the layout.
const (
	headRise   = 10  // from the top of a panel to its title's baseline
	headGap    = 8   // below a heading
	legendGap  = 14  // between a title and the legend beside it
	legendRoom = 350 // beside a title, above which a legend that does not fit in one row stays there
)

// A Measured heading is one that has its place.
type Measured struct {
	Below Length // where the panel's drawing may begin

	title   string
	at      Point // of the title
	entries []placed
	legendY Length
}

// Measure lays a heading out at the top of r: the legend beside the title, or under it where the panel is narrow.
func (c *Canvas) Measure(h Heading, r Rect) Measured {
	m := Measured{title: c.fitting(h, r.W()), at: Point{X: r.X0, Y: r.Y1 - c.Pt(headRise)}}
	m.legendY = m.at.Y
	if len(h.Entries) == 0 {
		m.Below = m.at.Y - c.Pt(headGap)
		return m
	}
	from := r.X0 + c.Width(m.title, Head) + c.Pt(legendGap)
	total := Length(0)
	for _, e := range h.Entries {
		total += c.Pt(sampleWidth+sampleGap+entryGap) + c.Width(e.Label, Small)
	}
	if from+total > r.X1+c.Pt(entryGap) && r.X1-from <= c.Pt(legendRoom) {
		m.legendY -= c.Pt(line)
		from = r.X0
	}
	rows := 0
	m.entries, rows = c.place(h.Entries, from, r.X1, legendRows)
	m.Below = m.legendY - c.Pt(line)*Length(rows-1) - c.Pt(headGap)
	return m
}

// Heading draws a heading.
func (c *Canvas) Heading(m Measured) {
	c.Text(m.title, m.at.X, m.at.Y, Head)
	c.drawLegend(m.entries, m.legendY)
}
