package canvas

import "slices"

// Note writes a sentence in the middle of an empty panel.
func (c *Canvas) Note(s string, r Rect) {
	st := Normal.In(Faint).Centred()
	c.Text(c.Fit(s, st, r.W()), r.Mid().X, r.Mid().Y, st)
}

// Lengths of labels, in points of the layout.
const (
	labelBeside = 7    // from what is labelled to a label beside it
	labelRise   = 5    // from what is labelled to the baseline
	labelHead   = 10   // that a label keeps from the upper edge of its area
	labelFree   = 12   // that a label leaves of its area's width
	labelUp     = 8.5  // from the baseline to the upper edge of a label's ground
	labelDown   = 2.5  // and to its lower edge
	labelSide   = 2    // and to either side
	labelClear  = 12   // between the baselines of two labels
	lineAbove   = 10.5 // that lines keep from the baseline of a label
	lineBelow   = 4.5
	dotRadius   = 2.5
	dotRim      = 3.3
)

// Dot marks a point.
func (c *Canvas) dot(pt Point) {
	c.Disc(White, pt, c.Pt(dotRim))
	c.Disc(Ink, pt, c.Pt(dotRadius))
}

// ground is white under a label of width w at pt, so that it can be read over lines.
func (c *Canvas) ground(pt Point, w Length, down float64) {
	side := c.Pt(labelSide)
	c.Fill(White, Rect{pt.X - side, pt.Y - c.Pt(down), pt.X + w + side, pt.Y + c.Pt(labelUp)})
}

// LabelY is the baseline of the label of a point of an area at y.
func (c *Canvas) LabelY(a Area, y Length) Length { return min(y+c.Pt(labelRise), a.Y1-c.Pt(labelHead)) }

// Label puts a dot on a point of an area, with a label beside it that is kept inside the area.
func (c *Canvas) Label(s string, pt Point, a Area) {
	c.dot(pt)
	s = c.Fit(s, Strong, a.W()-c.Pt(labelFree))
	w := c.Width(s, Strong)
	x := pt.X + c.Pt(labelBeside)
	if x+w > a.X1-c.Pt(3) {
		x = pt.X - c.Pt(labelBeside) - w
	}
	at := Point{X: min(max(x, a.X0+c.Pt(4)), a.X1-w-c.Pt(3)), Y: c.LabelY(a, pt.Y)}
	c.ground(at, w, labelDown)
	c.Text(s, at.X, at.Y, Strong)
}

// An Obstacle is a line of an area that a label must not hide. Its columns are those of the area, from left to right.
type Obstacle interface {
	Columns() int
	Span(column int) (low, high int64) // bytes
	Top() int64                        // bytes; the highest
}

// Labelling is what the labels of an area keep clear of.
type Labelling struct {
	Area
	Lines []Obstacle
	Taken Length // baseline of a label that is there already; below 0 for none
}

// LabelClear is Label, with the label where it hides none of the lines, if there is such a place: beside the dot, else over
// the lines above it, with a leader. Where the label is too long for that, the brief one is tried.
func (c *Canvas) LabelClear(label, brief string, pt Point, l Labelling) {
	if !c.tryLabel(label, pt, l) && !c.tryLabel(brief, pt, l) {
		c.Label(brief, pt, l.Area)
	}
}

// tryLabel is LabelClear for one label; it says whether it found a place.
func (c *Canvas) tryLabel(label string, pt Point, l Labelling) bool {
	label = c.Fit(label, Strong, l.W()-c.Pt(labelFree))
	w := c.Width(label, Strong)
	over := pt.Y + c.Pt(labelRise+1) // from here on a label stands over the dot, not beside it
	for _, at := range c.places(pt, w, l) {
		if at.X < pt.X && at.X+w > pt.X && at.Y < over || !c.clear(at, w, l) {
			continue
		}
		if at.Y > over {
			c.Line(Pen{Width: 0.7, Color: Ink}, pt, Point{X: min(max(pt.X, at.X), at.X+w), Y: at.Y + c.Pt(3)})
			c.ground(at, w, labelDown)
		}
		c.dot(pt)
		c.ground(at, w, 2)
		c.Text(label, at.X, at.Y, Strong)
		return true
	}
	return false
}

// under calls f for the columns of a line that lie between x0 and x1.
func (l Labelling) under(o Obstacle, x0, x1 Length, f func(low, high Length)) {
	n := Length(o.Columns())
	from, to := int((x0-l.X0)/l.W()*n), int((x1-l.X0)/l.W()*n)
	for i := max(from, 0); i <= min(to, o.Columns()-1); i++ {
		low, high := o.Span(i)
		f(l.Y(low), l.Y(high))
	}
}

// places are where a label of width w may stand, the best first.
//
//  1. Heights: that of the dot, then over each line.
//  2. At each height to the right of the dot, to its left, and over it.
//  3. There and a little farther off, just over what is highest along the label: a staircase has room beside it.
func (c *Canvas) places(pt Point, w Length, l Labelling) []Point {
	rise := c.Pt(labelRise)
	heights := []Length{pt.Y + rise}
	for _, o := range l.Lines {
		i := int((pt.X - l.X0) / l.W() * Length(o.Columns()))
		_, high := o.Span(min(max(i, 0), o.Columns()-1))
		if y := l.Y(high); y > pt.Y {
			heights = append(heights, y+rise)
		}
		heights = append(heights, max(l.Y(o.Top()), pt.Y)+rise)
	}
	slices.Sort(heights)
	right, left := pt.X+c.Pt(labelBeside), pt.X-c.Pt(labelBeside)-w
	over := max(l.X0+c.Pt(4), min(pt.X-w/2, l.X1-w-c.Pt(4)))
	var places []Point
	for _, y := range heights {
		for _, x := range []Length{right, left, over} {
			places = append(places, Point{X: x, Y: y})
		}
	}
	for _, x := range []Length{left, right, over, pt.X - c.Pt(17) - w, pt.X - c.Pt(37) - w, pt.X + c.Pt(27)} {
		y := pt.Y
		for _, o := range l.Lines {
			l.under(o, x-c.Pt(5), x+w+c.Pt(5), func(_, high Length) { y = max(y, high) })
		}
		places = append(places, Point{X: x, Y: y + rise})
	}
	return places
}

// clear says that a label of width w at pt lies within its area and hides no line and no other label.
func (c *Canvas) clear(pt Point, w Length, l Labelling) bool {
	apart := c.Pt(labelClear)
	if pt.X < l.X0+c.Pt(2) || pt.X+w > l.X1-c.Pt(2) || pt.Y+c.Pt(9) > l.Y1 ||
		l.Taken >= 0 && pt.Y > l.Taken-apart && pt.Y < l.Taken+apart {
		return false
	}
	free := true
	for _, o := range l.Lines {
		l.under(o, pt.X-c.Pt(4), pt.X+w+c.Pt(4), func(low, high Length) {
			free = free && (high <= pt.Y-c.Pt(lineBelow) || low >= pt.Y+c.Pt(lineAbove))
		})
	}
	return free
}
