package plot

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"nsysmem/align"
	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// settingPens are those of the lines: the first is of the setting that the program ran with.
var settingPens = []canvas.Pen{
	{Color: canvas.Ink}, {Color: canvas.Blue}, {Color: canvas.Vermillion}, {Color: canvas.Green},
	{Color: canvas.Purple, Dashes: []float64{7, 2}}, {Color: canvas.Orange, Dashes: []float64{7, 2}},
	{Color: canvas.Sky, Dashes: []float64{7, 2}}, {Color: color.RGBA{0x66, 0x11, 0x00, 0xFF}, Dashes: []float64{2, 2}},
}

// settingPen is that of the k-th setting shown, in a width.
func settingPen(k int, width float64) canvas.Pen { return settingPens[k%len(settingPens)].Wide(width) }

// settingsPanel is the panel of what settings would have reserved over time, with the lanes of iterations and phases where
// a report tells them.
type settingsPanel struct {
	wi      *whatif.Comparison
	shown   []int // places of settings
	entries bool  // the axis counts entries of the trace, not time
	lanes   *lanes
	scale   canvas.Scale
	top     int64 // bytes; how high the panel goes
	left    int64 // bytes; what the card has for PyTorch
	card    bool  // left is drawn
}

// newSettings prepares the panel. Without iterations that say which stretch of time matters, loading and compiling would
// fill most of the width of a time axis: then the axis counts entries.
func newSettings(wi *whatif.Comparison, shown []int) *settingsPanel {
	p := &settingsPanel{wi: wi, shown: shown, left: wi.Capacity - wi.Outside}
	p.entries = !wi.Timed || wi.Track == nil || len(wi.Track.Iterations) == 0
	v := &view{big: -1}
	if p.entries {
		v.to = int64(max(wi.Replay.Events, 1))
		p.scale = canvas.Linear(v.from, v.to)
		p.lanes = &lanes{scene: &scene{view: v}}
	} else {
		v.from, v.to = wi.From, max(wi.To, wi.From+1)
		for i := range wi.Track.Iterations {
			if it := &wi.Track.Iterations[i]; it.End > v.from && it.Start < v.to {
				v.its = append(v.its, it)
			}
		}
		p.scale = scaleOf(v.from, v.to, v.its)
		s := &scene{names: newNames(wi.Track), view: v, palette: newPalette(wi.Track)}
		s.word = usualWord
		p.lanes = s.newLanes()
	}
	for _, i := range shown {
		p.top = max(p.top, wi.Settings[i].PeakReserved)
	}
	if p.card = wi.Capacity > 0 && p.left < 2*p.top; p.card {
		p.top = max(p.top, p.left)
	}
	return p
}

// heading leaves the lines to the table above: there each has its figures beside it.
func (p *settingsPanel) heading() canvas.Heading {
	h := canvas.Heading{Title: "Reserved over time, on a card with room enough"}
	h.Entries.Add(true, "tensors (allocated)", canvas.Swatch(under))
	h.Entries.Add(p.card, "a card of "+wording.Bytes(p.wi.Capacity), canvas.LineSample(cardPen))
	h.Entries.Add(p.card, "where a setting stops on it: a request fails", crossSample(0))
	return h
}

// draw draws the panel in r: what tensors held, the settings' lines over it, and where they stop; then lanes and axis.
func (p *settingsPanel) draw(c *canvas.Canvas, r canvas.Rect) {
	a := c.Area(r, canvas.Inset{Below: c.AxisRoom(), Lanes: p.lanes.roomBelow(c), Right: 4, Least: 20})
	a.Scale, a.High = p.scale, p.top+p.top/12
	margin := max(c.ByteAxisWidth(a), p.lanes.nameRoom(c, sharesName))
	a.X0 += margin
	n := c.Across(a.W())

	allocated := newStairs(p.heldCurve(), p.scale, n)
	allocated.fillLow(c, a, under)
	c.ByteAxis(a)
	c.Frame(a)
	allocated.draw(c, a, canvas.Pen{Width: 0.6, Color: canvas.Edge})
	if p.card {
		c.Horizontal(cardPen, a.Y(p.left), a.X0, a.X1)
	}
	for k, i := range slices.Backward(p.shown) { // the recorded one last, over the others
		width := 1.3
		if k == 0 {
			width = 1.7
		}
		newStairs(p.reservedCurve(&p.wi.Settings[i]), p.scale, n).draw(c, a, settingPen(k, width))
	}
	if p.card {
		p.stops(c, a)
	}
	if p.top == 0 {
		c.Note("nothing is reserved", a.Rect)
	}
	p.lanes.draw(c, a, margin)
	p.panelAxis(c, a)
}

// panelAxis draws the axis, of time or of entries.
func (p *settingsPanel) panelAxis(c *canvas.Canvas, a canvas.Area) {
	if !p.entries {
		c.TimeAxis(a, p.scale.Axis(0, a.W(), c.Pt(axisMark)), "in the report")
		return
	}
	_, to := p.scale.Ends()
	step := int64(canvas.NiceStep(float64(to), max(int(a.W()/c.Pt(axisMark)), 1)))
	var axis canvas.TimeAxis
	for n := int64(0); n <= to; n += step {
		axis.Ticks = append(axis.Ticks, canvas.Tick{At: n, Label: strconv.FormatInt(n, 10)})
	}
	what := "entries of the trace"
	if p.wi.Timed {
		what += ", " + wording.Duration(p.wi.To-p.wi.From) + " in all"
	}
	c.TimeAxis(a, axis, what)
}

// placeOf is where an entry of the trace lies on the axis.
func (p *settingsPanel) placeOf(event int32) int64 {
	if p.entries {
		return int64(max(event, 0))
	}
	return p.wi.TimeOf(event)
}

// reservedCurve is the level of a setting as a curve.
func (p *settingsPanel) reservedCurve(s *whatif.Setting) *align.Curve {
	c := &align.Curve{Kind: align.LevelReserved}
	for _, pt := range s.Curve {
		if pt.Event < 0 {
			c.Before = pt.Reserved
			continue
		}
		c.Points = append(c.Points, align.Point{Time: p.placeOf(pt.Event), Low: pt.Reserved, High: pt.Reserved, Last: pt.Reserved})
	}
	return c
}

// heldCurve is what tensors held in the recorded run.
func (p *settingsPanel) heldCurve() *align.Curve {
	r := p.wi.Replay
	c := &align.Curve{Kind: align.LevelAllocated, Before: r.StartAllocated}
	last := int64(math.MinInt64)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Allocated != last {
			last = s.Allocated
			c.Points = append(c.Points, align.Point{Time: p.placeOf(s.Event), Low: last, High: last, Last: last})
		}
	}
	return c
}

// A stop is where settings fail, and which.
type stop struct {
	at   canvas.Point
	text string
}

// stops marks where settings fail on the card, each on its own line: where that line meets the card in the step that the
// request takes, else at its level then. The numbers say which settings a mark is of.
func (p *settingsPanel) stops(c *canvas.Canvas, a canvas.Area) {
	const one, apart = 3, 9 // points of the layout within which two are one mark; between the numbers of two
	var list []stop
	for _, i := range p.shown {
		s := &p.wi.Settings[i]
		if s.Limited == nil || len(s.Limited.Failures) == 0 {
			continue
		}
		event := s.Limited.Failures[0].Moment.Event
		low, high := around(s, event)
		at := canvas.Point{X: a.X(p.placeOf(event)), Y: a.Y(min(max(p.left, low), high))}
		text := "#" + strconv.Itoa(i+1)
		if k := slices.IndexFunc(list, func(m stop) bool { return nearBoth(m.at, at, c.Pt(one)) }); k >= 0 {
			list[k].text += ", " + text
			continue
		}
		list = append(list, stop{at, text})
	}
	pen, st := canvas.Pen{Width: 1.5, Color: failed}, canvas.Strong.In(failed)
	var taken []canvas.Rect // lines of text: both edges of each are its baseline
	for _, m := range list {
		c.Cross(pen, m.at, c.Pt(3.6))
		w := c.Width(m.text, st)
		x, y := m.at.X-c.Pt(6)-w, m.at.Y+c.Pt(4)
		if x < a.X0 {
			x = m.at.X + c.Pt(6)
		}
		for range list {
			if slices.ContainsFunc(taken, func(t canvas.Rect) bool { return x < t.X1 && t.X0 < x+w && max(y-t.Y0, t.Y0-y) < c.Pt(apart) }) {
				y += c.Pt(apart)
			}
		}
		taken = append(taken, canvas.Rect{X0: x, Y0: y, X1: x + w, Y1: y})
		c.Text(m.text, x, y, st)
	}
}

// nearBoth says that two points are less than d apart both ways.
func nearBoth(a, b canvas.Point, d canvas.Length) bool {
	return max(a.X-b.X, b.X-a.X) < d && max(a.Y-b.Y, b.Y-a.Y) < d
}

// around are the lower and the higher of the levels just before an entry of the trace and just after it.
func around(s *whatif.Setting, event int32) (low, high int64) {
	var before, after int64
	for _, p := range s.Curve {
		if p.Event < event {
			before = p.Reserved
		}
		if p.Event <= event {
			after = p.Reserved
		}
	}
	return min(before, after), max(before, after)
}
