package plot

import (
	"strconv"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// A timeline is the panel of the levels over time, with the iterations and phases as lanes under them.
type timelinePanel struct {
	*scene
	levels
	lanes    *lanes
	head     canvas.Heading
	capacity int64 // bytes; of the card, 0 where it is not drawn
	theory   int64 // bytes; of parameters, gradients and optimizer state, 0 where it is not drawn
	failed   []*align.FailedAlloc
}

// newTimeline prepares the panel for a width.
func newTimeline(s *scene, c *canvas.Canvas, width canvas.Length) *timelinePanel {
	t := &timelinePanel{scene: s, lanes: s.newLanes(), failed: s.failedInView()}
	t.levels = t.pickLines(c, width)
	if total := s.track.DeviceTotal; t.device != nil && total > 0 && t.device.high >= total/2 {
		t.capacity = total
	}
	t.top = max(t.highest(), t.capacity)
	t.theory = s.theoryLevel(t.top)

	entries := append(s.gapEntries(&t.levels, t.top), s.lineEntries(&t.levels)...)
	entries.Add(t.capacity > 0, "capacity of the card, "+wording.Bytes(t.capacity), canvas.LineSample(cardPen))
	entries = append(entries, s.failedEntries(c, t.failed)...)
	entries.Add(t.theory > 0, "theory, parameter to gradient: "+wording.Bytes(t.theory), canvas.LineSample(theoryPen))
	t.head = canvas.Heading{Title: s.timelineTitle(), Entries: entries}
	return t
}

// pickLines are those of the levels, without the one that is the top of the stack, and without empty ones.
func (t *timelinePanel) pickLines(c *canvas.Canvas, width canvas.Length) levels {
	return t.scene.levelLines(t.time, t.scale, c.Across(width), func(s *stairs) bool {
		return !(t.stack != nil && s.kind == t.view.level) && (s.kind == align.LevelDevice || s.high > 0)
	})
}

// atWidth is the panel with its lines at the width that they turn out to have.
func (t *timelinePanel) atWidth(c *canvas.Canvas, width canvas.Length) *timelinePanel {
	out := *t
	out.levels = t.pickLines(c, width)
	out.top = t.top
	return &out
}

// timelineTitle says what the timeline shows, and how its bytes are counted.
func (s *scene) timelineTitle() string {
	switch {
	case s.stack == nil || s.view.stack == "kind":
		return "Level over time"
	case s.view.level != "":
		return "Level over time: tensors as PyTorch counts them"
	}
	return "Level over time: tensors, each the driver's own block"
}

func (t *timelinePanel) heading() canvas.Heading { return t.head }

// draw draws the panel in r.
//
//  1. The area: room for axis and lanes below, for the peak's label above, for names to the left.
//  2. Ground: the area under the device level, or the stack below the gaps; grid, bounds of the iterations.
//  3. Lines, then marks: failed allocations, the peak.
//  4. Lanes and axis.
func (t *timelinePanel) draw(c *canvas.Canvas, r canvas.Rect) {
	a := c.Area(r, canvas.Inset{Below: c.AxisRoom(), Lanes: t.lanes.roomBelow(c), Right: 4, Least: 20})
	a.Scale = t.scale
	_, a.High = canvas.ByteRange(0, t.top, false)
	a.High = c.RoomOver(a, t.top, 22)
	margin := c.ByteAxisWidth(a)
	name := t.word
	if t.crowded(c, a.W()-margin) {
		name = sharesName
	}
	margin = max(margin, t.lanes.nameRoom(c, name))
	a.X0 += margin
	t = t.atWidth(c, a.W())

	var stack *stacked
	if t.stack != nil {
		stack = t.stack.toColumns(t.scale, c.Across(a.W()))
		t.gaps(c, a)
		stack.draw(c, a)
	} else if t.device != nil {
		t.device.fillLow(c, a, under)
	}
	c.ByteAxis(a)
	t.bounds(c, a)
	c.Frame(a)

	t.drawLines(c, a, stack)
	if stack == nil {
		t.drawUnknown(c, a)
	}
	if len(t.time) == 0 || t.top == 0 {
		c.Note("no bytes are traced as live in this time", a.Rect)
	}
	t.failedMarks(c, a)
	switch {
	case stack != nil && t.view.level != "":
		t.stackMark(c, a, stack)
	case t.device != nil:
		t.peakMark(c, a)
	}

	t.lanes.draw(c, a, margin)
	t.bottomAxis(c, a)
}

// bounds draws where iterations begin and end, unless they are too many to be seen.
func (t *timelinePanel) bounds(c *canvas.Canvas, a canvas.Area) {
	const narrow, between = 7, 0.7 // points of the layout: of an iteration, between two lines
	its := t.view.its
	if len(its) == 0 || float64(a.W())/float64(len(its)) < float64(c.Pt(narrow)) {
		return
	}
	from, to := a.Scale.Ends()
	last := canvas.Length(-1)
	for _, it := range its {
		for _, at := range [2]int64{it.Start, it.End} {
			if x := a.X(at); at >= from && at <= to && x-last > c.Pt(between) {
				c.Vertical(canvas.Pen{Width: 0.5, Color: stripB}, x, a.Y0, a.Y1)
				last = x
			}
		}
	}
}

// drawLines draws the levels, the device level last, over the others; but where nothing lies outside PyTorch, reserved and
// device level are one line, and both are to be seen.
func (t *timelinePanel) drawLines(c *canvas.Canvas, a canvas.Area, stack *stacked) {
	if t.capacity > 0 {
		c.Horizontal(cardPen, a.Y(t.capacity), a.X0, a.X1)
	}
	if t.theory > 0 {
		c.Horizontal(theoryPen, a.Y(t.theory), a.X0, a.X1)
	}
	for _, s := range t.levels.lines {
		if s == t.device || s == t.reserved || t.tiny(s) {
			continue
		}
		if stack != nil && !s.dense() { // to be seen on dark layers too
			s.draw(c, a, canvas.Pen{Width: 2.6, Color: canvas.White})
		}
		s.draw(c, a, lookOf(s.kind).pen)
	}
	if t.device != nil {
		pen := lookOf(t.device.kind).pen
		if stack != nil && t.view.level == "" {
			pen = pen.Wide(edgeWidth)
		}
		t.device.draw(c, a, pen)
	}
	if t.reserved != nil {
		t.reserved.draw(c, a, lookOf(t.reserved.kind).pen)
	}
}

// drawUnknown covers the levels from when on they are unknown: a line there would say that they are flat.
func (t *timelinePanel) drawUnknown(c *canvas.Canvas, a canvas.Area) {
	lv := t.track.Level(align.LevelDevice)
	if lv == nil || !lv.Ended || !t.view.inside(lv.EndedAt) {
		return
	}
	r := canvas.Rect{X0: max(a.X(lv.EndedAt), a.X0), Y0: a.Y0, X1: a.X1, Y1: a.Y1}
	c.Fill(canvas.White, r)
	c.Hatch(canvas.Faint, r)
	c.Frame(a)
	const pad = 4 // points of the layout around the words
	words, st := "unknown: the trace ended", canvas.Normal.Centred()
	half, mid := c.Width(words, st)/2+c.Pt(pad), r.Mid()
	if 2*half < r.W() {
		c.Fill(canvas.White, canvas.Rect{X0: mid.X - half, Y0: mid.Y - c.Pt(pad), X1: mid.X + half, Y1: mid.Y + c.Pt(10)})
		c.Text(words, mid.X, mid.Y, st)
	}
}

// edgeWidth is that of the device level where it is the edge of a stack, in points of the layout.
const edgeWidth = 0.8

// bottomAxis draws the axis and says what it counts from.
func (t *timelinePanel) bottomAxis(c *canvas.Canvas, a canvas.Area) {
	zero, what := t.zero(), "in the report"
	if t.view.o.SinceFirst {
		what = "since the first event in view, at " + wording.Seconds(zero)
	}
	if t.inferred() {
		what += "; iterations and phases are inferred from GPU work"
	}
	c.TimeAxis(a, t.scale.Axis(zero, a.W(), c.Pt(axisMark)), what)
}

// A crossGroup is crosses that share one number.
type crossGroup struct {
	n           int
	first, last canvas.Length
	low         canvas.Length // of the lowest
}

// failedMarks puts an x on the device level for each failed call, and under calls that follow each other closely how many
// they are.
func (t *timelinePanel) failedMarks(c *canvas.Canvas, a canvas.Area) {
	counts := &crossCounts{canvas: c, area: a, right: -1e9}
	var g crossGroup
	for _, f := range t.failed {
		x, y := a.X(f.Time), a.Y0
		if t.device != nil {
			_, high := t.device.Span(a.Scale.Column(f.Time, t.device.Columns()))
			y = a.Y(high)
		}
		if g.n > 0 && x-g.last > c.Pt(oneNumber) {
			counts.writeCount(g)
			g = crossGroup{}
		}
		if g.n == 0 {
			g.first, g.low = x, y
		}
		if g.n == 0 || x-g.last > c.Pt(oneCross) {
			c.Cross(crossPen, canvas.Point{X: x, Y: y}, c.Pt(3.2))
		}
		g.last, g.low = x, min(g.low, y)
		g.n++
	}
	counts.writeCount(g)
}

// crossCounts writes the numbers under crosses so that none hides the one before.
type crossCounts struct {
	canvas       *canvas.Canvas
	area         canvas.Area
	right, below canvas.Length // of the number written last: its right edge, its baseline
}

// writeCount writes how many crosses a group has, under the lowest, or over it where there is no room.
func (k *crossCounts) writeCount(g crossGroup) {
	const line = 9.5 // from one number to the next under it, in points of the layout
	if g.n < 2 {
		return
	}
	c, a, st := k.canvas, k.area, canvas.Strong.In(failed).Centred()
	s := strconv.Itoa(g.n) + "×"
	floor := a.Y0 + c.Pt(2)
	x, y := (g.first+g.last)/2, g.low-c.Pt(14)
	if y < floor {
		y = g.low + c.Pt(7)
	}
	w := c.Width(s, st) / 2
	x = min(max(x, a.X0+w), a.X1-w)
	if d := y - k.below; x-w < k.right+c.Pt(3) && d < c.Pt(9) && d > -c.Pt(9) {
		if y = k.below - c.Pt(line); y < floor {
			y = k.below + c.Pt(line)
		}
	}
	k.right, k.below = x+w, y
	c.Fill(under, canvas.Rect{X0: x - w - c.Pt(1), Y0: y - c.Pt(1), X1: x + w + c.Pt(1), Y1: y + c.Pt(7.5)})
	c.Text(s, x, y, st)
}

// peakMark marks the highest device level in view with its value and place.
func (t *timelinePanel) peakMark(c *canvas.Canvas, a canvas.Area) {
	s := t.device
	if s.high <= 0 {
		return
	}
	label, at := t.topLabel(align.LevelDevice, s.high, a, s.topPoint(a))
	if s.flat() && t.view.partial() {
		label = "flat at " + wording.Bytes(s.high)
	}
	if t.view.level != "" {
		label = "device level: " + label
	}
	c.Label(label, at, a)
}

// topLabel names the highest level of a kind in view, its value and its place, and says where that lies on the picture; at,
// where the time of it is not known.
func (s *scene) topLabel(kind align.LevelKind, high int64, a canvas.Area, at canvas.Point) (string, canvas.Point) {
	lv, h := s.track.Level(kind), s.inView(kind)
	label := "peak "
	switch {
	case !h.known || h.bytes != high:
		return "highest in view " + wording.Bytes(high), at
	case lv == nil || lv.Peak != high || lv.PeakAt != h.at:
		label = "highest in view "
	case lv.Least():
		label = "peak at least "
	}
	label += wording.Bytes(high)
	w, mark := s.peakPlace(kind, h.bytes, h.at)
	if w != "" {
		label += " " + w
	}
	at.X = a.X(mark)
	return label, at
}

// stackMark marks the highest level of the tensors in view, and the device level's.
func (t *timelinePanel) stackMark(c *canvas.Canvas, a canvas.Area, s *stacked) {
	const clear = 16 // points of the layout
	at := canvas.Point{X: a.Column(float64(s.peak())+0.5, len(s.cols)), Y: a.Y(s.high)}
	labels := canvas.Labelling{Area: a, Lines: t.obstacles(), Taken: -1}
	if t.device != nil && t.device.high > 0 {
		t.peakMark(c, a)
		top := a.Y(t.device.high)
		labels.Taken = c.LabelY(a, top)
		if top-at.Y < c.Pt(clear) {
			return // the labels would lie on each other; the caption has both
		}
	}
	if s.high > 0 {
		label, at := t.topLabel(t.view.level, s.high, a, at)
		c.LabelClear("allocated: "+label, "allocated: "+wording.Bytes(s.high), at, labels)
	}
}

// theoryLevel is what parameters, gradients and optimizer state come to by arithmetic; 0 where it is not asked for, or would
// lie on the axis of a panel up to top.
func (s *scene) theoryLevel(top int64) int64 {
	const least = 50 // one part of the panel in so many
	th := s.track.Theory
	if th == nil || s.stack == nil || s.view.stack == "kind" {
		return 0
	}
	if sum := th.Parameter + th.Gradient + th.State; sum > top/least && sum <= top {
		return sum
	}
	return 0
}
