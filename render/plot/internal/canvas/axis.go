package canvas

import (
	"fmt"
	"math"
	"strconv"

	"nsysmem/internal/wording"
)

// A Tick is a mark of an axis.
type Tick struct {
	At    int64 // bytes, ns or whatever the axis counts
	Label string
}

// mostTicks is how many marks a byte axis is asked for at most.
const mostTicks = 9

// byteTicks marks lo to hi at a power of two of bytes, at most n marks, each with its unit.
func byteTicks(lo, hi int64, n int) []Tick {
	span := uint64(hi - lo)
	if hi <= lo {
		span = 1
	}
	n = min(max(n, 2), mostTicks)
	step := uint64(1)
	for span/step >= uint64(n) {
		step <<= 1
	}
	// Quarters of a unit are the finest that read well beside whole ones: 0.125 GiB is dropped where 0.25 is fine enough.
	for unit := uint64(1) << 10; unit <= 1<<50; unit <<= 10 {
		if step == unit/8 && uint64(hi) >= unit && span/(unit/4) >= 3 {
			step = unit / 4
		}
	}
	unit, name := uint64(1), "B"
	for i, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if s := uint64(1) << (10 * (i + 1)); step >= s/8 && uint64(hi) >= s {
			unit, name = s, u
		}
	}
	var ticks []Tick
	first := (uint64(max(lo, 0)) + step - 1) / step
	for k := first; k*step <= uint64(hi) && len(ticks) <= n+1; k++ {
		label := "0"
		if k > 0 {
			label = strconv.FormatFloat(float64(k*step)/float64(unit), 'f', -1, 64) + " " + name
		}
		ticks = append(ticks, Tick{int64(k * step), label})
	}
	return ticks
}

// A TimeAxis is the axis of a stretch of time: its zero, its unit and its marks.
type TimeAxis struct {
	Zero  int64   // ns on the report's clock
	Unit  string  // "s", "ms", "µs" or "ns"; empty where no time is counted
	Step  float64 // ns between marks; the smallest where there are several
	after bool    // zero is neither the report's time 0 nor what the caller gave: long numbers were cut
	Ticks []Tick
}

// longNumbers is how many times its own length a stretch may lie from zero: beyond, its marks would be long numbers that
// differ in their last digits alone.
const longNumbers = 2000

// NewTimeAxis marks from to to (ns), counted from zero, with at most n marks, in the largest unit that the number farthest
// from zero fills, so that a time on the axis and the same time in a sentence read alike. For a part of an axis, farthest
// is that of the whole; 0 for that of from to to.
func NewTimeAxis(from, to, zero, farthest int64, n int) TimeAxis {
	a := TimeAxis{Zero: zero, Unit: "ns"}
	span := to - from
	if span > 0 && farthest == 0 && (from-zero)/span >= longNumbers {
		round := int64(math.Pow(10, math.Ceil(math.Log10(float64(span)))))
		a.Zero, a.after = from-from%round, true
	}
	if farthest == 0 {
		farthest = max(from-a.Zero, a.Zero-from, to-a.Zero)
	}
	size := int64(1)
	for _, u := range []struct {
		size int64
		name string
	}{{1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}} {
		if farthest >= u.size {
			size, a.Unit = u.size, u.name
		}
	}
	a.Step = NiceStep(float64(span), max(n, 1))
	decimals := 0
	for s := a.Step / float64(size); s < 0.9999 && decimals < 9; s *= 10 {
		decimals++
	}
	for k := int64(math.Ceil(float64(from-a.Zero) / a.Step)); len(a.Ticks) <= 2*n+4; k++ {
		v := float64(k) * a.Step
		if v > float64(to-a.Zero) {
			break
		}
		a.Ticks = append(a.Ticks, Tick{int64(v + float64(a.Zero)), strconv.FormatFloat(v/float64(size), 'f', decimals, 64)})
	}
	return a
}

// NiceStep is 1, 2 or 5 times a power of ten, so that span has at most n steps; at least 1.
func NiceStep(span float64, n int) float64 {
	raw := math.Max(span/float64(n), 1)
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= raw*0.999 {
			return m * base
		}
	}
	return 10 * base
}

// Title says what the axis counts.
func (a TimeAxis) Title(what string) string {
	if a.Unit == "" {
		return what
	}
	if a.after {
		digit := int64(1e6)
		for digit > 1 && a.Zero%digit != 0 {
			digit /= 10
		}
		what = "after " + wording.Clock(a.Zero, "s", digit)
	}
	return "time (" + a.Unit + ") " + what
}

// Clock writes a time t (ns) in the axis' unit, counted as it counts, a digit finer than its marks.
func (a TimeAxis) Clock(t int64) string {
	step := int64(1)
	if a.Step >= 10 {
		step = int64(math.Pow(10, math.Floor(math.Log10(a.Step)))) / 10
	}
	if a.after {
		return wording.Clock(t, "s", step)
	}
	return wording.Clock(t-a.Zero, a.Unit, step)
}

// ByteRange is the part of the byte axis that a panel shows for levels between lo and hi. It starts at 0 unless, with zoom,
// all that happens is in a narrow band far above; a band is never so narrow that noise looks like a mountain.
func ByteRange(lo, hi int64, zoom bool) (from, to int64) {
	const nothing, narrowest = 1 << 20, 50 // bytes of an empty axis; one part in so many of the highest level
	if hi <= 0 {
		return 0, nothing
	}
	span := hi - lo
	if !zoom || span == 0 || span > hi/2 {
		return 0, hi + hi/8
	}
	if least := hi / narrowest; span < least {
		mid := lo + span/2
		lo, hi = mid-least/2, mid+least/2
		span = least
	}
	return max(lo-span/8, 0), hi + span/6
}

// An Area is a rectangle of the picture with a scale on each side.
type Area struct {
	Rect
	Axis      Length // height of the line of its lower axis: lanes may lie between both
	Low, High int64  // bytes
	Scale     Scale
}

// An Inset is what a panel leaves around its area.
type Inset struct {
	Below Length  // for the marks and the title of the axis, or for labels
	Lanes Length  // between area and axis
	Right float64 // points of the layout
	Least float64 // points of the layout; the area is so high, though it may stand out of its panel
}

// AxisRoom is what the marks and the title of an axis need below it.
func (c *Canvas) AxisRoom() Length { return c.Pt(25) }

// Area is what is left of a panel in r.
func (c *Canvas) Area(r Rect, in Inset) Area {
	a := Area{Rect: r, Axis: r.Y0 + in.Below}
	a.Y0 = a.Axis + in.Lanes
	a.Y1 = max(r.Y1, a.Y0+c.Pt(in.Least))
	a.X1 -= c.Pt(in.Right)
	return a
}

// Frame draws the border of an area and its lanes.
func (c *Canvas) Frame(a Area) { c.Outline(FramePen, Rect{a.X0, a.Axis, a.X1, a.Y1}) }

// X is where a time t (ns) lies.
func (a Area) X(t int64) Length { return a.X0 + a.W()*Length(a.Scale.Frac(t)) }

// Y is where a level lies, in bytes; those beyond the area lie on its edge.
func (a Area) Y(bytes int64) Length {
	f := (float64(bytes) - float64(a.Low)) / math.Max(float64(a.High)-float64(a.Low), 1)
	return a.Y0 + a.H()*Length(min(max(f, 0), 1))
}

// Under is the polygon between a line from left to right and the lower edge of the area.
func (a Area) Under(line []Point) []Point {
	return append(line, Point{X: a.X1, Y: a.Y0}, Point{X: a.X0, Y: a.Y0})
}

// RoomOver is how high an area goes, in bytes, for a label of so many points of the layout to have room over a level.
func (c *Canvas) RoomOver(a Area, top int64, label float64) int64 {
	const least, most, highest = 1.08, 0.4, 9e18 // factor; share of the height; below the largest int64
	h := float64(a.H())
	if top <= a.Low || h <= 0 {
		return a.High
	}
	return a.Low + int64(min(float64(top-a.Low)*max(least, 1/(1-min(most, float64(c.Pt(label))/h))), highest))
}

// Lengths of axes, in points of the layout.
const (
	byteMark  = 26 // height that a mark of a byte axis has to itself
	labelGap  = 4  // between a label and the axis to its right
	markLong  = 3
	markLabel = 11.5 // below the axis
	axisTitle = 22.5 // below the axis
)

// ByteAxisWidth is the room that the marks of an area's byte axis need.
func (c *Canvas) ByteAxisWidth(a Area) Length {
	const least, gap = 24, 6
	w := c.Pt(least)
	for _, t := range byteTicks(a.Low, a.High, int(a.H()/c.Pt(byteMark))) {
		w = max(w, c.Width(t.Label, Small))
	}
	return w + c.Pt(gap)
}

// ByteAxis draws the grid and the marks of an area's byte axis.
func (c *Canvas) ByteAxis(a Area) {
	for _, t := range byteTicks(a.Low, a.High, int(a.H()/c.Pt(byteMark))) {
		y := a.Y(t.At)
		c.Horizontal(Pen{Width: 0.6, Color: grid}, y, a.X0, a.X1)
		c.Text(t.Label, a.X0-c.Pt(labelGap), y-c.Pt(3.2), Small.Right())
	}
}

// FramePen draws frames and the marks of axes.
var FramePen = Pen{Width: 0.7, Color: Edge}

// Mark draws a mark of an area's axis at x.
func (c *Canvas) Mark(a Area, x Length) { c.Vertical(FramePen, x, a.Axis, a.Axis-c.Pt(markLong)) }

// Count writes a number under a mark of an area's axis at x.
func (c *Canvas) Count(a Area, s string, x Length) {
	c.Text(s, x, a.Axis-c.Pt(markLabel), Small.Centred())
}

// AxisTitle writes the title of an area's axis.
func (c *Canvas) AxisTitle(a Area, s string) {
	c.Text(s, a.Mid().X, a.Axis-c.Pt(axisTitle), Small.Centred())
}

// TimeAxis draws the marks and the title of an area's time axis, and where on it time is squeezed.
func (c *Canvas) TimeAxis(a Area, axis TimeAxis, title string) {
	const over, between = 6, 6 // how far a label may stand out; between labels, in points of the layout
	for _, g := range a.Scale.groups() {
		if g.squeezed {
			c.dotted(a.X(g.from), a.X(g.to), a.Axis)
		}
	}
	last := Length(-1e9)
	for _, t := range axis.Ticks {
		x := a.X(t.At)
		c.Mark(a, x)
		half := c.Width(t.Label, Small) / 2
		mid := min(max(x, a.X0+half-c.Pt(over)), a.X1-half+c.Pt(over))
		if mid-half < last+c.Pt(between) { // stretches of different scale meet
			continue
		}
		last = mid + half
		c.Count(a, t.Label, mid)
	}
	said, room := axis.Title(title), a.W()+c.Pt(8)
	if axis.Unit == "" || !a.Scale.Squeezed {
		c.AxisTitle(a, c.Fit(said, Small, room))
		return
	}
	// A piece of the axis as it is drawn there stands before what it means.
	dotted := fmt.Sprintf("squeezed up to %s-fold, so that the iterations can be seen", fold(a.Scale.squeeze()))
	if c.Width(said+"; "+dotted, Small)+c.Pt(30) > room {
		dotted = "squeezed"
	}
	said += "; "
	sample, y := c.Pt(24), a.Axis-c.Pt(axisTitle)
	from := (a.X0 + a.X1 - c.Width(said+" "+dotted, Small) - sample) / 2
	c.Text(said, from, y, Small)
	from += c.Width(said, Small)
	c.dotted(from+c.Pt(4), from+sample, y+c.Pt(3))
	c.Text(" "+dotted, from+sample, y, Small)
}

// dotted draws the axis where time is squeezed.
func (c *Canvas) dotted(x0, x1, y Length) {
	c.Horizontal(Pen{Width: 2, Color: White}, y, x0, x1)
	c.Horizontal(Pen{Width: 1.8, Color: Ink, Dashes: []float64{1.8, 2.2}}, y, x0, x1)
}

// fold writes a factor with two digits that count.
func fold(f float64) string {
	step := max(math.Pow(10, math.Floor(math.Log10(f))-1), 0.1)
	return strconv.FormatFloat(math.Round(f/step)*step, 'f', -1, 64)
}
