package plot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/align/tensor"
)

// bar is one column of the iterations panel: an iteration, or several that share the column.
type bar struct {
	first, last      *align.Iteration
	n                int
	low, high        int64 // bytes; of start and end levels
	grow             bool  // ends above its start; for several, the last ends above the first's start
	peak             int64
	by               string // phase that set the peak
	warmup, cut      bool
	start, end, need int64
}

// bars gives each iteration a column, or, where there are more than columns, each column its iterations' lowest and
// highest. None is left out.
func (v *view) bars(its []*align.Iteration, columns int) []bar {
	per := 1
	for (len(its)+per-1)/per > max(columns, 1) {
		per++
	}
	var out []bar
	for i := 0; i < len(its); i += per {
		group := its[i:min(i+per, len(its))]
		b := bar{first: group[0], last: group[len(group)-1], n: len(group), warmup: true, cut: true}
		first := v.use(&group[0].Use)
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
		b.start, b.end = first.Start, v.use(&b.last.Use).End
		b.grow = b.end > b.start
		out = append(out, b)
	}
	return out
}

// iterationsPanel is the panel of columns before it is drawn.
type iterationsPanel struct {
	head
	bars      []bar
	per       int // iterations a column
	low, high int64
}

// newIterations prepares the panel for a width.
func (pic *picture) newIterations(width vg.Length) iterationsPanel {
	its := pic.view.its
	columns := int((width - pic.pt(60)) / pic.pt(3))
	bs := pic.view.bars(its, columns)

	low, high := pic.view.use(&its[0].Use).Start, int64(0)
	grows, shrinks, same, warm, cut, by := false, false, false, false, false, ""
	warmBy := false
	for _, b := range bs {
		low, high = min(low, b.low), max(high, b.high, b.peak)
		if !b.warmup && !b.cut { // these have looks of their own
			grows = grows || b.end > b.start
			shrinks = shrinks || b.end < b.start
		}
		same = same || b.low == b.high
		if b.need > 0 && (by == "" || by == align.OtherPhase || warmBy && !b.warmup) {
			by, warmBy = b.by, b.warmup
		}
		warm, cut = warm || b.warmup, cut || b.cut
	}
	h := head{title: "Each iteration: " + pic.levelName() + " at start and end, and peak", shorter: []string{"Each iteration: start, end and peak", "Each iteration"}}
	per := 1
	if len(bs) < len(its) {
		per = bs[0].n
		h = head{title: fmt.Sprintf("Iterations, %d a column: %s, lowest to highest, and peak", per, pic.levelName()), shorter: []string{fmt.Sprintf("Iterations, %d a column", per)}}
	}
	part, full, brief := "", "", ""
	if all := len(pic.track.Iterations); all > len(its) {
		part = fmt.Sprintf("%d of %d", len(its), all)
	}
	low, high = byteRange(low, high, true)
	if low > 0 {
		full, brief = "axis does not start at 0", "axis not from 0"
	}
	switch {
	case part != "" && full != "":
		h.add(" ("+part+"; "+full+")", " ("+part+"; "+brief+")")
	case part+full != "":
		h.add(" ("+part+full+")", " ("+part+brief+")")
	}

	var entries []entry
	sample := func(grow, warm, cut bool) func(x0, y0, x1, y1 vg.Length) {
		return func(x0, y0, x1, y1 vg.Length) { pic.barBox(x0+pic.pt(4), y0, x1, y1, grow, warm, cut) }
	}
	if per == 1 {
		if grows {
			entries = append(entries, entry{"ends higher", sample(true, false, false)})
		}
		if shrinks {
			entries = append(entries, entry{"ends lower", sample(false, false, false)})
		}
		if same {
			entries = append(entries, entry{"ends as it starts", func(x0, y0, x1, y1 vg.Length) {
				pic.line(pic.pt(2), ink, nil, vg.Point{X: x0 + pic.pt(3), Y: (y0 + y1) / 2}, vg.Point{X: x1, Y: (y0 + y1) / 2})
			}})
		}
	} else {
		entries = append(entries, entry{"start and end levels", sample(true, false, false)})
	}
	if by != "" {
		entries = append(entries, entry{"peak, in the colour of its phase", func(x0, y0, x1, y1 vg.Length) {
			c := pic.palette.color(by)
			x := (x0 + x1) / 2
			pic.line(pic.pt(2), c, nil, vg.Point{X: x, Y: y0}, vg.Point{X: x, Y: y1})
			pic.line(pic.pt(2), c, nil, vg.Point{X: x - pic.pt(4), Y: y1}, vg.Point{X: x + pic.pt(4), Y: y1})
		}})
	}
	if warm {
		entries = append(entries, entry{"warm-up", sample(true, true, false)})
	}
	if cut {
		entries = append(entries, entry{"truncated", sample(true, false, true)})
	}
	h.entries = entries
	return iterationsPanel{h, bs, per, low, high}
}

// levelName is the level that the picture is about.
func (pic *picture) levelName() string {
	switch {
	case pic.view.level != "":
		return "allocated"
	case pic.track.Tensors != nil && pic.track.Tensors.From == tensor.BySnapshot:
		return "device level"
	}
	return "level"
}

// iterations draws a column per iteration: its bar from start to end level, its whisker up to the peak.
func (pic *picture) iterations(panel iterationsPanel, x0, y0, x1, y1 vg.Length) {
	its, bs, per := pic.view.its, panel.bars, panel.per
	a := plotArea{low: panel.low, high: panel.high}
	a.y0 = y0 + pic.pt(25)
	a.y1 = max(y1, a.y0+pic.pt(15))
	a.x0, a.x1 = x0+pic.yLabelWidth(a.low, a.high, a.y1-a.y0), x1-pic.pt(2)
	pic.yAxis(a)
	pic.outlineRect(a.x0, a.y0, a.x1, a.y1, pic.pt(0.7), frame)

	slot := (a.x1 - a.x0) / vg.Length(len(bs))
	if most := pic.pt(60); slot > most { // two iterations are not two walls
		slot = most
	}
	left := (a.x0 + a.x1 - slot*vg.Length(len(bs))) / 2
	half := min(slot*0.34, pic.pt(14))
	if per > 1 {
		half = slot / 2
	}
	for i, b := range bs {
		x := left + slot*(vg.Length(i)+0.5)
		pic.bar(b, x, half, a)
	}

	// Numbers stand under the column that holds their iteration.
	place := map[*align.Iteration]int{}
	k := 0
	for _, it := range its {
		for k < len(bs)-1 && it != bs[k].first && bs[k].last.Start < it.Start {
			k++
		}
		place[it] = k
	}
	st := style{size: small, color: ink, align: 0.5}
	pic.numbers(func(it *align.Iteration) (vg.Length, vg.Length) {
		x := left + slot*vg.Length(place[it])
		return x, x + slot
	}, st, func(s string, x vg.Length, it *align.Iteration) {
		pic.line(pic.pt(0.7), frame, nil, vg.Point{X: x, Y: a.y0}, vg.Point{X: x, Y: a.y0 - pic.pt(3)})
		pic.text(s, x, a.y0-pic.pt(11.5), st)
	})
	name := pic.word
	if pic.track.IterationsFrom.Inferred() {
		name += " (inferred from GPU work)"
	}
	pic.text(pic.fit(name, st, a.x1-a.x0), (a.x0+a.x1)/2, a.y0-pic.pt(22.5), st)
}

// bar draws one column centred on x.
func (pic *picture) bar(b bar, x, half vg.Length, a plotArea) {
	yl, yh, yp := a.y(b.low), a.y(b.high), a.y(b.peak)
	c := pic.palette.color(b.by)
	if b.warmup || b.cut {
		c = mix(c, white, 0.45)
	}
	if b.n > 1 { // columns join to a band
		right := x + half + pic.pixel/2 // over the seam
		pic.fill(x-half, yl, right, yp, mix(c, white, 0.55))
		pic.fill(x-half, yp-pic.pt(0.7), right, yp+pic.pt(0.7), c)
		pic.fill(x-half, yl-pic.pt(0.7), right, max(yh, yl+pic.pt(0.7)), barColor)
		return
	}
	if yh-yl < pic.pt(1.6) { // equal, or too close to be seen
		mid := (yl + yh) / 2
		mark := ink
		if b.warmup || b.cut {
			mark = frame
		}
		pic.line(pic.pt(2), mark, nil, vg.Point{X: x - half, Y: mid}, vg.Point{X: x + half, Y: mid})
	} else {
		pic.barBox(x-half, yl, x+half, yh, b.grow, b.warmup, b.cut)
	}
	// The whisker lies over the bar: where an iteration only grows, its peak is its end, and the phase is still to be seen.
	if ys := a.y(b.start); b.need > 0 && yp > ys {
		wide := min(pic.pt(2.4), half)
		capHalf := half * 0.75
		if yh-yl >= pic.pt(1.6) {
			pic.line(wide+pic.pt(1.6), white, nil, vg.Point{X: x, Y: ys}, vg.Point{X: x, Y: yp})
		}
		pic.line(wide, c, nil, vg.Point{X: x, Y: ys}, vg.Point{X: x, Y: yp})
		pic.line(min(wide, pic.pt(2)), c, nil, vg.Point{X: x - capHalf, Y: yp}, vg.Point{X: x + capHalf, Y: yp})
	}
}

// barColor is the colour of a steady iteration's bar.
var barColor = color.RGBA{0x55, 0x5B, 0x63, 0xFF}

// barBox draws the bar of an iteration: full where it ends above its start, hollow where below; light for a warm-up,
// hatched where truncated.
func (pic *picture) barBox(x0, y0, x1, y1 vg.Length, grow, warm, cut bool) {
	c, edge := barColor, barColor
	if !grow {
		c = white
	}
	if warm {
		c = color.RGBA{0xD9, 0xDC, 0xE0, 0xFF}
		if !grow {
			c = white
		}
		edge = frame
	}
	if cut {
		c = white
	}
	pic.fill(x0, y0, x1, y1, c)
	if cut {
		pic.hatch(x0, y0, x1, y1, faint)
	}
	if x1-x0 > pic.pt(2) {
		pic.outlineRect(x0, y0, x1, y1, pic.pt(0.8), edge)
	}
}
