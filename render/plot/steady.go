package plot

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// maxRows is how many depths of phases are drawn under an enlarged iteration.
const maxRows = 4

// Lengths of the panel, in points of the layout.
const (
	bandHeight  = 12.5 // of a row of phases
	steadyLeast = 75   // height of the levels, below which fewer depths are drawn
	steadyHead  = 60   // title and axis
	steadyEdge  = 65   // about what lies beside the levels
)

// steadyPanel is the panel of the enlarged iteration: its levels, its phases as named bands under them.
type steadyPanel struct {
	*scene
	head             canvas.Heading
	it               *align.Iteration
	scale            canvas.Scale
	spans            []*align.Span
	depth            int          // of the deepest phase
	rows             int          // how many depths are drawn
	device, reserved *align.Curve // nil where no curve was given
	cut              bool         // the device level lies above the panel
	low, high        int64        // bytes; of the axis
	peak             int64        // bytes; highest level in it
}

// newSteady prepares the panel for a width and a height.
func newSteady(s *scene, c *canvas.Canvas, width, height canvas.Length) *steadyPanel {
	it := s.view.its[s.view.big]
	p := &steadyPanel{scene: s, it: it, spans: s.spansOf(it), scale: canvas.Linear(it.Start, it.End)}
	p.device, p.reserved = curveOf(s.big, align.LevelDevice), curveOf(s.big, align.LevelReserved)
	for _, sp := range p.spans {
		p.depth = max(p.depth, sp.Depth)
	}
	p.rows = min(p.depth, maxRows)
	for p.rows > 1 && height-c.Pt(steadyHead+bandHeight*float64(p.rows)) < c.Pt(steadyLeast) { // a small picture shows fewer depths
		p.rows--
	}
	p.setTitle()
	p.rangeOf(c.Across(width))
	if s.stack != nil && !s.view.timeline { // else the timeline's legend has them
		reserved := p.reserved
		if s.view.level == "" {
			reserved = nil
		}
		l := p.linesOver(c.Columns, reserved)
		p.head.Entries = append(s.gapEntries(&l, max(l.highest(), 1)), s.lineEntries(&l)...)
	}
	p.head.Entries = append(p.head.Entries, p.nestedEntries(c, width)...)
	return p
}

// setTitle makes the titles: which iteration, why this one, and how long it took.
func (p *steadyPanel) setTitle() {
	name, took := upper(p.named(p.it)), wording.Duration(p.it.End-p.it.Start)
	if p.inferred() {
		name += " (inferred)"
	}
	p.head.Title = fmt.Sprintf("%s enlarged (%s), %s", name, p.view.bigWhy, took)
	p.head.Shorter = []string{fmt.Sprintf("%s enlarged, %s", name, took), fmt.Sprintf("%s, %s", name, took), name}
}

// A device level more than so many times what tensors hold is cut off, and how much of the panel is then theirs.
const (
	mostOver = 3
	leftOver = 2 // half of it
)

// rangeOf works out which levels the panel shows, for n columns. A cache many times what the tensors hold would leave them
// no room.
func (p *steadyPanel) rangeOf(n int) {
	use := p.view.use(&p.it.Use)
	low, high := use.Start, use.Peak
	if p.device != nil {
		s := newStairs(p.device, p.scale, n)
		low, high = min(low, s.low), max(high, s.high)
	}
	if p.view.level != "" && use.Peak > 0 && high > mostOver*use.Peak {
		p.head.Add(", device level "+wording.Bytes(high)+" above the panel", ", device level above the panel")
		high, p.cut = use.Peak+use.Peak/leftOver, true
	}
	p.peak = high
	p.low, p.high = canvas.ByteRange(low, high, p.stack == nil) // areas begin at 0
	if p.low > 0 {
		p.head.Add(" (axis does not start at 0)", " (axis not from 0)")
	}
}

// linesOver are the lines over the tensors, in n columns.
func (p *steadyPanel) linesOver(n int, reserved *align.Curve) levels {
	var curves []align.Curve
	for _, c := range []*align.Curve{p.device, reserved} {
		if c != nil {
			curves = append(curves, *c)
		}
	}
	return p.scene.levelLines(curves, p.scale, n, func(*stairs) bool { return true })
}

// nestedEntries names nested phases whose bands are too narrow for their names.
func (p *steadyPanel) nestedEntries(c *canvas.Canvas, width canvas.Length) (out canvas.Entries) {
	fits := map[string]bool{}
	for _, sp := range p.spans {
		w := (width - c.Pt(steadyEdge)) * canvas.Length(p.scale.Frac(sp.End)-p.scale.Frac(sp.Start))
		fits[sp.Path] = fits[sp.Path] || c.Width(clean(p.palette.lastName(sp.Path)), canvas.Small) <= w-c.Pt(3)
	}
	for _, sp := range p.spans {
		out.Add(sp.Depth >= 2 && sp.Depth <= p.rows && !fits[sp.Path], clean(p.palette.lastName(sp.Path)), canvas.Swatch(p.palette.color(sp.Path)))
		fits[sp.Path] = fits[sp.Path] || sp.Depth >= 2 && sp.Depth <= p.rows // named once
	}
	return out
}

func (p *steadyPanel) heading() canvas.Heading { return p.head }

// draw draws the panel in r.
//
//  1. The area: room for the rows of phases and the axis below, for the peak's label above.
//  2. The tensors with the levels over them; without tensors the device level, on a ground that the phases tint.
//  3. Failed allocations, frame, phases, axis.
func (p *steadyPanel) draw(c *canvas.Canvas, r canvas.Rect) {
	row := c.Pt(bandHeight)
	a := c.Area(r, canvas.Inset{Below: c.AxisRoom(), Lanes: row * canvas.Length(p.rows), Right: 6, Least: 15})
	a.Low, a.High, a.Scale = p.low, p.high, p.scale
	a.X0 += c.ByteAxisWidth(a)
	a.High = c.RoomOver(a, p.peak, 20)

	if p.stack != nil {
		p.drawTensors(c, a)
	} else {
		p.tint(c, a)
		c.ByteAxis(a)
	}
	switch {
	case p.stack != nil && p.view.level != "":
	case p.device != nil:
		p.deviceLevel(c, a)
	default:
		c.Note("no curve", a.Rect)
	}
	p.failures(c, a)
	c.Frame(a)

	for d := 1; d <= p.rows; d++ {
		y := a.Y0 - row*canvas.Length(d)
		p.phaseRow(c, a, d, canvas.Rect{X0: a.X0, Y0: y, X1: a.X1, Y1: y + row})
	}
	what := "from the start of " + p.named(p.it)
	if p.depth > p.rows {
		what += fmt.Sprintf("; %d of %d depths of phases drawn", p.rows, p.depth)
	}
	// The title counts from this iteration's start in any case.
	from, to := p.scale.Ends()
	c.TimeAxis(a, canvas.NewTimeAxis(from, to, p.it.Start, 0, int(a.W()/c.Pt(55))), what)
}

// tint tints the ground of the panel by phase, so that a step is seen to belong to one.
func (p *steadyPanel) tint(c *canvas.Canvas, a canvas.Area) {
	const white = 0.86 // of the tint
	for _, sp := range p.atDepth(1) {
		c.Fill(canvas.Mix(p.palette.color(sp.Path), canvas.White, white), canvas.Rect{X0: a.X(sp.Start), Y0: a.Y0, X1: a.X(sp.End), Y1: a.Y1})
	}
}

// atDepth are the phases of one depth.
func (p *steadyPanel) atDepth(depth int) []*align.Span {
	return slices.DeleteFunc(slices.Clone(p.spans), func(sp *align.Span) bool { return sp.Depth != depth })
}

// deviceLevel draws the device level and its peak.
func (p *steadyPanel) deviceLevel(c *canvas.Canvas, a canvas.Area) {
	s, width := newStairs(p.device, a.Scale, c.Across(a.W())), 1.3
	if p.stack != nil {
		width = edgeWidth
	}
	s.draw(c, a, lookOf(s.kind).pen.Wide(width))
	if s.high > 0 {
		at := s.topPoint(a)
		if by := p.it.PeakBy(s.kind); by.At != p.it.Memory.PeakAt && by.Phase != align.AtStart && by.Phase != "" {
			at.X = a.X(by.At)
		}
		c.Label(peakLabel(&p.it.Memory, s.flat()), at, a)
	}
}

// failures puts an x on the device level for each failed call.
func (p *steadyPanel) failures(c *canvas.Canvas, a canvas.Area) {
	from, to := p.scale.Ends()
	for i := range p.track.Failed {
		if f := &p.track.Failed[i]; f.Time >= from && f.Time < to && p.device != nil {
			level := newStairs(p.device, canvas.Linear(from, f.Time), 1).columns[0].last
			c.Cross(crossPen, canvas.Point{X: a.X(f.Time), Y: a.Y(level)}, c.Pt(3.2))
		}
	}
}

// peakLabel says how high a level comes within an iteration.
func peakLabel(m *align.MemoryUse, flat bool) string {
	switch {
	case flat:
		return "flat at " + wording.Bytes(m.Peak)
	case m.Need == 0:
		return "level at its start is its peak, " + wording.Bytes(m.Peak)
	}
	return "peak " + wording.Bytes(m.Peak) + ", " + wording.SignedBytes(m.Need) + " over the start"
}

// drawTensors draws the tensors of the iteration, with the levels over them; where the picture is about the device level, that
// is drawn as without a stack.
func (p *steadyPanel) drawTensors(c *canvas.Canvas, a canvas.Area) {
	n := c.Across(a.W())
	l := p.linesOver(n, p.reserved)
	if p.cut {
		l.device = nil
		if l.reserved != nil && l.reserved.low > a.High {
			l.reserved = nil
		}
	}
	stack := p.stack.toColumns(a.Scale, n)
	l.gaps(c, a)
	stack.draw(c, a)
	c.ByteAxis(a)
	p.bounds(c, a)
	if p.view.level == "" {
		return
	}
	for _, s := range []*stairs{l.device, l.reserved} {
		if s != nil {
			s.draw(c, a, lookOf(s.kind).pen)
		}
	}
	if use := p.view.use(&p.it.Use); stack.high > 0 {
		at := canvas.Point{X: a.Column(float64(stack.peak())+0.5, n), Y: a.Y(stack.high)}
		c.LabelClear("allocated: "+peakLabel(use, use.Need == 0 && stack.flat()), "allocated: "+wording.Bytes(use.Peak), at,
			canvas.Labelling{Area: a, Lines: l.obstacles(), Taken: -1})
	}
}

// bounds draws where phases begin and end, unless they are too many.
func (p *steadyPanel) bounds(c *canvas.Canvas, a canvas.Area) {
	const most = 16
	outer := p.atDepth(1)
	if len(outer) > most {
		return
	}
	for _, sp := range outer {
		for _, t := range [2]int64{sp.Start, sp.End} {
			c.Vertical(canvas.Pen{Width: 0.5, Color: canvas.Faint, Dashes: []float64{1, 2}}, a.X(t), a.Y0, a.Y1)
		}
	}
}

// phaseRow draws the phases of one depth in r, with their names where they fit.
func (p *steadyPanel) phaseRow(c *canvas.Canvas, a canvas.Area, depth int, r canvas.Rect) {
	var b band
	for _, sp := range p.atDepth(depth) {
		b.addPiece(bandLook{sp.Path, p.palette.color(sp.Path), false}, sp.Start, sp.End)
	}
	edge := canvas.Pen{Width: 0.5, Color: canvas.White}
	b.eachRun(a.Scale, r, c.Across(r.W()), func(_ int, l bandLook, r canvas.Rect) {
		c.Fill(l.color, r)
		if r.W() > c.Pt(3) {
			c.Vertical(edge, r.X1, r.Y0, r.Y1)
		}
		l.writeName(c, p.palette.lastName(l.name), r, 3, 3.3)
	})
	c.Horizontal(edge, r.Y1, r.X0, r.X1)
}
