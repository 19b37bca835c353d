package plot

import (
	"fmt"
	"image/color"
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/render/plot/internal/canvas"
)

// bar is one column of the iterations panel: an iteration, or several that share the column.
type bar struct {
	first, last *align.Iteration
	n           int
	start, end  int64  // bytes
	low, high   int64  // bytes; of start and end levels
	peak, need  int64  // bytes; the highest
	by          string // phase that set the peak
	warmup, cut bool   // all of them are warm-ups, are truncated
	lost        bool   // all of them are unknown
}

// barsOf gives each iteration a column, or, where there are more than columns, each column its iterations' lowest and
// highest. None is left out.
func (v *view) barsOf(its []*align.Iteration, columns int) []bar {
	per := 1
	for (len(its)+per-1)/per > max(columns, 1) {
		per++
	}
	var out []bar
	for i := 0; i < len(its); i += per {
		group := its[i:min(i+per, len(its))]
		b := bar{first: group[0], last: group[len(group)-1], n: len(group), warmup: true, cut: true}
		if group = slices.DeleteFunc(slices.Clone(group), v.lost); len(group) == 0 {
			b.warmup, b.lost = false, true
			out = append(out, b)
			continue
		}
		first, last := v.use(&group[0].Use), v.use(&group[len(group)-1].Use)
		b.start, b.end = first.Start, last.End
		b.low, b.high, b.peak = first.Start, first.Start, first.Peak-1
		for _, it := range group {
			m := v.use(&it.Use)
			b.low, b.high = min(b.low, m.Start, m.End), max(b.high, m.Start, m.End)
			b.need = max(b.need, m.Need)
			if m.Peak > b.peak {
				b.peak, b.by = m.Peak, v.setter(it)
			}
			b.warmup, b.cut = b.warmup && it.Warmup, b.cut && it.Truncated
		}
		out = append(out, b)
	}
	return out
}

// barLook is how the bar's box looks.
func (b *bar) barLook() boxLook { return boxLook{b.end > b.start, b.warmup, b.cut} }

// odd says that a bar does not count as steady.
func (b *bar) odd() bool { return b.warmup || b.cut }

// columnsPanel is the panel of iterations: a column each, its bar from start to end level, its whisker up to the peak.
type columnsPanel struct {
	*scene
	head      canvas.Heading
	bars      []bar
	low, high int64 // bytes
}

// newColumns prepares the panel for a width.
func newColumns(s *scene, c *canvas.Canvas, width canvas.Length) *columnsPanel {
	const axis, narrowest = 60, 3 // points of the layout
	its := s.view.its
	p := &columnsPanel{scene: s, bars: s.view.barsOf(its, int((width-c.Pt(axis))/c.Pt(narrowest)))}
	low, high := s.view.use(&its[0].Use).Start, int64(0)
	for _, b := range p.bars {
		if !b.lost {
			low, high = min(low, b.low), max(high, b.high, b.peak)
		}
	}
	p.low, p.high = canvas.ByteRange(low, high, true)
	p.setHeading()
	p.head.Entries = p.barEntries()
	return p
}

// grouped says that iterations share columns.
func (p *columnsPanel) grouped() bool { return len(p.bars) < len(p.view.its) }

// setHeading makes the titles: what is drawn, of which iterations, and that the axis does not start at 0.
func (p *columnsPanel) setHeading() {
	level := "level"
	switch {
	case p.view.level != "":
		level = "allocated"
	case p.track.Tensors != nil && p.track.Tensors.From == tensor.BySnapshot:
		level = "device level"
	}
	p.head = canvas.Heading{Title: "Each iteration: " + level + " at start and end, and peak",
		Shorter: []string{"Each iteration: start, end and peak", "Each iteration"}}
	if p.grouped() {
		per := p.bars[0].n
		p.head = canvas.Heading{Title: fmt.Sprintf("Iterations, %d a column: %s, lowest to highest, and peak", per, level),
			Shorter: []string{fmt.Sprintf("Iterations, %d a column", per)}}
	}
	part, full, brief := "", "", ""
	if n, all := len(p.view.its), len(p.track.Iterations); all > n {
		part = fmt.Sprintf("%d of %d", n, all)
	}
	if p.low > 0 {
		full, brief = "axis does not start at 0", "axis not from 0"
	}
	switch {
	case part != "" && full != "":
		p.head.Add(" ("+part+"; "+full+")", " ("+part+"; "+brief+")")
	case part+full != "":
		p.head.Add(" ("+part+full+")", " ("+part+brief+")")
	}
}

// barEntries name what is in the panel. Warm-ups and truncated iterations have looks of their own.
func (p *columnsPanel) barEntries() (out canvas.Entries) {
	grouped := p.grouped()
	any := func(is func(b *bar) bool) bool {
		return slices.ContainsFunc(p.bars, func(b bar) bool { return is(&b) })
	}
	out.Add(!grouped && any(func(b *bar) bool { return !b.odd() && b.end > b.start }), "ends higher", boxLook{grow: true}.sample)
	out.Add(!grouped && any(func(b *bar) bool { return !b.odd() && b.end < b.start }), "ends lower", boxLook{}.sample)
	out.Add(!grouped && any(func(b *bar) bool { return b.low == b.high && !b.lost }), "ends as it starts", func(c *canvas.Canvas, r canvas.Rect) {
		c.Horizontal(canvas.Pen{Width: 2, Color: canvas.Ink}, r.Mid().Y, r.X0+c.Pt(3), r.X1)
	})
	out.Add(grouped, "start and end levels", boxLook{grow: true}.sample)
	by, warm := "", false // of the sample: a phase rather than none, of a steady iteration rather than of a warm-up
	for i := range p.bars {
		if b := &p.bars[i]; b.need > 0 && (by == "" || by == align.OtherPhase || warm && !b.warmup) {
			by, warm = b.by, b.warmup
		}
	}
	out.Add(by != "", "peak, in the colour of its phase", func(c *canvas.Canvas, r canvas.Rect) {
		pen, x := canvas.Pen{Width: 2, Color: p.palette.color(by)}, r.Mid().X
		c.Vertical(pen, x, r.Y0, r.Y1)
		c.Horizontal(pen, r.Y1, x-c.Pt(4), x+c.Pt(4))
	})
	out.Add(any(func(b *bar) bool { return b.warmup }), "warm-up", boxLook{grow: true, warm: true}.sample)
	out.Add(any(func(b *bar) bool { return b.cut && !b.lost }), "truncated", boxLook{grow: true, cut: true}.sample)
	out.Add(any(func(b *bar) bool { return b.lost }), "unknown", func(c *canvas.Canvas, r canvas.Rect) { c.Hatch(canvas.Faint, r) })
	return out
}

func (p *columnsPanel) heading() canvas.Heading { return p.head }

// Of the columns of iterations, in points of the layout or as shares of a column's width.
const (
	widestSlot = 60 // two iterations are not two walls
	barShare   = 0.34
	widestHalf = 14
)

// draw draws the panel in r.
//
//  1. The area and its byte axis.
//  2. A column per iteration. Few columns stand in the middle rather than growing to walls.
//  3. Numbers, each under the column that holds its iteration, and what they count.
func (p *columnsPanel) draw(c *canvas.Canvas, r canvas.Rect) {
	a := c.Area(r, canvas.Inset{Below: c.AxisRoom(), Right: 2, Least: 15})
	a.Low, a.High = p.low, p.high
	a.X0 += c.ByteAxisWidth(a)
	c.ByteAxis(a)
	c.Frame(a)

	n := canvas.Length(len(p.bars))
	slot := min(a.W()/n, c.Pt(widestSlot))
	left := (a.X0 + a.X1 - slot*n) / 2
	half := min(slot*barShare, c.Pt(widestHalf))
	if p.grouped() {
		half = slot / 2
	}
	for i := range p.bars {
		p.drawBar(c, a, &p.bars[i], left+slot*(canvas.Length(i)+0.5), half)
	}

	column := map[*align.Iteration]int{}
	for i, it := range p.view.its {
		column[it] = i / p.bars[0].n // all bars but the last are of as many
	}
	place := func(it *align.Iteration) (x0, x1 canvas.Length) {
		x := left + slot*canvas.Length(column[it])
		return x, x + slot
	}
	numbers(c, p.view.its, place, func(s string, x canvas.Length, _ *align.Iteration) {
		c.Mark(a, x)
		c.Count(a, s, x)
	})
	name := p.word
	if p.track.IterationsFrom.Inferred() {
		name += " (inferred from GPU work)"
	}
	c.AxisTitle(a, c.Fit(name, canvas.Small, a.W()))
}

// Of bars, in points of the layout or as shares.
const (
	thinnest  = 1.6  // a bar that is lower is drawn as a line
	oddTint   = 0.45 // how much of the colour of a warm-up's peak is white
	bandWhite = 0.55 // and of the band between levels and peaks
	seam      = 0.7  // half the height of the lines of a band
	whisker   = 2.4
	capShare  = 0.75 // of the bar's width that the end of a whisker has
)

// drawBar draws one column centred on x.
func (p *columnsPanel) drawBar(c *canvas.Canvas, a canvas.Area, b *bar, x, half canvas.Length) {
	if b.lost {
		c.Hatch(canvas.Faint, canvas.Rect{X0: x - half, Y0: a.Y0, X1: x + half, Y1: a.Y1})
		return
	}
	low, high, peak := a.Y(b.low), a.Y(b.high), a.Y(b.peak)
	colour := p.palette.color(b.by)
	if b.odd() {
		colour = canvas.Mix(colour, canvas.White, oddTint)
	}
	box := canvas.Rect{X0: x - half, Y0: low, X1: x + half, Y1: high}
	if b.n > 1 { // columns join to a band
		box.X1 += c.Pixel / 2 // over the seam
		part := func(look color.RGBA, y0, y1 canvas.Length) {
			c.Fill(look, canvas.Rect{X0: box.X0, Y0: y0, X1: box.X1, Y1: y1})
		}
		part(canvas.Mix(colour, canvas.White, bandWhite), low, peak)
		part(colour, peak-c.Pt(seam), peak+c.Pt(seam))
		part(barColor, low-c.Pt(seam), max(high, low+c.Pt(seam)))
		return
	}
	thin := box.H() < c.Pt(thinnest) // equal, or too close to be seen
	if thin {
		pen := canvas.Pen{Width: 2, Color: canvas.Ink}
		if b.odd() {
			pen.Color = canvas.Edge
		}
		c.Horizontal(pen, box.Mid().Y, box.X0, box.X1)
	} else {
		b.barLook().draw(c, box)
	}
	// The whisker lies over the bar: where an iteration only grows, its peak is its end, and the phase is still to be seen.
	if foot := a.Y(b.start); b.need > 0 && peak > foot {
		pen := canvas.Pen{Width: min(whisker, c.Points(half)), Color: colour}
		if !thin {
			c.Vertical(canvas.Pen{Width: pen.Width + 1.6, Color: canvas.White}, x, foot, peak)
		}
		c.Vertical(pen, x, foot, peak)
		pen.Width = min(pen.Width, 2)
		c.Horizontal(pen, peak, x-half*capShare, x+half*capShare)
	}
}

// Colours of bars.
var (
	barColor  = color.RGBA{0x55, 0x5B, 0x63, 0xFF} // of a steady iteration
	warmColor = color.RGBA{0xD9, 0xDC, 0xE0, 0xFF}
)

// A boxLook is how the bar of an iteration looks: full where it ends above its start, hollow where below; light for a
// warm-up, hatched where truncated.
type boxLook struct{ grow, warm, cut bool }

// draw draws a bar. One of two points has no border: it would be all there is to see.
func (l boxLook) draw(c *canvas.Canvas, r canvas.Rect) {
	fill, edge := barColor, barColor
	if l.warm {
		fill, edge = warmColor, canvas.Edge
	}
	if l.cut || !l.grow {
		fill = canvas.White
	}
	c.Fill(fill, r)
	if l.cut {
		c.Hatch(canvas.Faint, r)
	}
	if r.W() > c.Pt(2) {
		c.Outline(canvas.Pen{Width: 0.8, Color: edge}, r)
	}
}

// sample draws the look in a legend.
func (l boxLook) sample(c *canvas.Canvas, r canvas.Rect) {
	r.X0 += c.Pt(4)
	l.draw(c, r)
}
