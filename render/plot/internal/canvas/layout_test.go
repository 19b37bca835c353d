package canvas

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
)

// newTest is a canvas whose texts can be read.
func newTest(t *testing.T) *Canvas {
	t.Helper()
	fonts, err := NewFonts("", false)
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := NewSheet(Size{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New("svg", sheet, fonts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drawn is the picture as text.
func drawn(t *testing.T, c *Canvas) string {
	t.Helper()
	b, err := c.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLegendCounts: what has no place is counted, and what is told not to belong is not there.
func TestLegendCounts(t *testing.T) {
	t.Parallel()
	c := newTest(t)
	var entries Entries
	for i := range 200 {
		entries.Add(i%2 == 0, fmt.Sprintf("number %d", i), Swatch(Blue))
	}
	list, rows := c.place(entries, 0, 400, 2)
	last := list[len(list)-1]
	if rows != 2 || last.sample != nil || last.label != fmt.Sprintf("+ %d more", len(entries)-(len(list)-1)) {
		t.Errorf("%d rows, last %+v of %d", rows, last, len(list))
	}
	for _, e := range list {
		if end := e.x + c.Width(e.label, Small); end > 400 {
			t.Errorf("%q ends at %v of 400", e.label, end)
		}
	}
}

// TestHeadingsMeasure: a legend that has no room beside its title stands under it, and a heading is measured as it is drawn.
func TestHeadingsMeasure(t *testing.T) {
	t.Parallel()
	c := newTest(t)
	h := Heading{Title: "A title of some length", Shorter: []string{"A title"}}
	h.Entries.Add(true, "an entry", Swatch(Blue))
	wide, narrow := c.Measure(h, Rect{X1: 400, Y1: 100}), c.Measure(h, Rect{X1: 120, Y1: 100})
	if wide.legendY != wide.at.Y || narrow.legendY >= narrow.at.Y || narrow.Below >= wide.Below {
		t.Errorf("wide %+v, narrow %+v", wide, narrow)
	}
	if got := c.Measure(h, Rect{X1: 40, Y1: 100}).title; got != "A title" {
		t.Errorf("title in little room: %q", got)
	}
}

// TestTable: each cell stands under its head, figures end at one place, and what may be cut gives way.
func TestTable(t *testing.T) {
	t.Parallel()
	type row struct {
		name string
		n    int
	}
	columns := []Column[row]{
		{Pen: func(row) Pen { return Pen{Width: 1, Color: Blue} }},
		{Head: "name", Yield: 1, Cell: func(r row) string { return r.name }},
		{Head: "count", Right: true, Cell: func(r row) string { return fmt.Sprint(r.n) }},
	}
	rows := []row{{"short", 7}, {strings.Repeat("a long name ", 100), 12345}}
	c := newTest(t)
	page := NewPage(c)
	Table(page, columns, rows, "and more")
	svg := drawn(t, c)
	for _, want := range []string{">name<", ">count<", ">short<", ">7<", ">12345<", "…<", ">and more<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("table does not have %q", want)
		}
	}
	sum := Length(0)
	for _, w := range widths(page, columns, rows) {
		sum += w
	}
	if sum > page.Left.W()+0.01 {
		t.Errorf("table is %v wide, page %v", sum, page.Left.W())
	}
}

// flat is a line at one level.
type flat int64

func (f flat) Columns() int               { return 100 }
func (f flat) Span(int) (low, high int64) { return int64(f), int64(f) }
func (f flat) Top() int64                 { return int64(f) }

// TestLabelClear: a label lies on no line where there is a place on none, and keeps away from another label.
func TestLabelClear(t *testing.T) {
	t.Parallel()
	c := newTest(t)
	a := Area{Rect: Rect{0, 0, 600, 300}, High: 300, Scale: Linear(0, 100)}
	for _, l := range []Labelling{
		{Area: a, Lines: []Obstacle{flat(100)}, Taken: -1},
		{Area: a, Lines: []Obstacle{flat(100), flat(112)}, Taken: -1},
		{Area: a, Lines: []Obstacle{flat(100), flat(150)}, Taken: 105},
		{Area: a, Lines: []Obstacle{flat(100), flat(150), flat(290)}, Taken: -1},
	} {
		pt, w := Point{X: 300, Y: 100}, Length(80)
		free := 0
		for _, p := range c.places(pt, w, l) {
			if !c.clear(p, w, l) {
				continue
			}
			free++
			for _, o := range l.Lines {
				if y := l.Y(o.Top()); y > p.Y-c.Pt(lineBelow) && y < p.Y+c.Pt(lineAbove) {
					t.Errorf("%+v: a label at %v lies on the line at %v", l.Lines, p.Y, y)
				}
			}
			if l.Taken >= 0 && max(p.Y-l.Taken, l.Taken-p.Y) < c.Pt(labelClear) {
				t.Errorf("a label at %v beside one at %v", p.Y, l.Taken)
			}
		}
		if free == 0 {
			t.Errorf("%v: no place is free", l.Lines)
		}
	}
	c.LabelClear("a label", "brief", Point{X: 300, Y: 100}, Labelling{Area: a, Lines: []Obstacle{flat(100)}, Taken: -1})
	if !strings.Contains(drawn(t, c), ">a label<") {
		t.Error("the label is not there")
	}
}

// TestLanes: a column is of the key that fills most of it, and shares add up to what is filled.
func TestLanes(t *testing.T) {
	t.Parallel()
	pieces := []Piece{{0, 0, 60}, {1, 60, 64}, {2, 64, 100}}
	var got []string
	Lane(pieces, Linear(0, 100), Rect{X1: 10}, 10, func(key int, r Rect) {
		got = append(got, fmt.Sprintf("%d: %.0f to %.0f", key, r.X0, r.X1))
	})
	if s := strings.Join(got, ", "); s != "0: 0 to 6, 2: 6 to 10" {
		t.Error(s)
	}
	sum := 0.0
	for _, column := range shares(pieces, Linear(0, 100), 7) {
		for _, s := range column {
			sum += s.F
		}
	}
	if sum < 6.999 || sum > 7.001 {
		t.Errorf("shares of 7 full columns add up to %g", sum)
	}
	c := newTest(t)
	seen := map[int]bool{}
	c.StackShares(pieces, Linear(0, 100), Rect{0, 0, 10, 10}, 2.5, func(key int) color.RGBA {
		seen[key] = true
		return Blue
	})
	if len(seen) != 3 {
		t.Errorf("%d of 3 keys are drawn", len(seen))
	}
}
