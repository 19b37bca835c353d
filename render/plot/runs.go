package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// Runs is what a picture of many runs shows.
type Runs struct {
	Title    string
	Subtitle string
	Bars     []RunBar  // in the order in which they stand
	Lines    []RunLine // level per iteration
	Over     string    // what the ranges of Lines are over, such as "ranks"
}

// A RunBar is the peak of one run.
type RunBar struct {
	Label  string
	Peak   int64 // bytes
	End    int64 // bytes; level at the end
	Known  bool  // memory was collected
	Failed bool  // the run's report could not be read
}

// A RunLine is a level by iteration with its range.
type RunLine struct {
	Label  string
	Points []RunPoint // rising in Iteration
}

// A RunPoint is a level at one iteration.
type RunPoint struct {
	Iteration      int64
	Low, Mid, High int64 // bytes; Mid is the median, of an even number the lower middle one
	Runs           int   // levels that these are of; 0 where unknown
}

// middle names the middle line of levels that have a range, so that nobody looks for a mean where the lower of two is drawn.
func (r *Runs) middle() string {
	even, most := false, 0
	for _, l := range r.Lines {
		for _, p := range l.Points {
			most = max(most, p.Runs)
			even = even || p.High > p.Low && p.Runs%2 == 0 && p.Runs > 0
		}
	}
	switch {
	case !even:
		return "median"
	case most == 2:
		return "the lower of two"
	}
	return "median (of an even number the lower middle one)"
}

// WriteRuns draws many runs in a format, "png", "svg" or "pdf": a bar for the peak of each, and below them the level by
// iteration, as a line in a band from the lowest to the highest. Nothing is written to w unless the picture is complete.
// The picture depends on nothing but the arguments and, for characters that the built-in font lacks, the machine's fonts.
func WriteRuns(w io.Writer, format string, runs *Runs, o Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("plot: draw %s: %v", format, r)
		}
	}()
	l, err := newLayout(o)
	if err != nil {
		return err
	}
	f, err := newFonts(o.Font, !o.noScan)
	if err != nil {
		return err
	}
	p, err := newPainter(format, l, f)
	if err != nil {
		return err
	}
	pic := &picture{painter: p, o: o}
	pic.runs(runs)
	data, err := p.bytes()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("plot: write %s: %w", format, err)
	}
	return nil
}

func (pic *picture) runs(r *Runs) {
	m := pic.pt(12)
	x0, x1, y := m, pic.w-m, pic.h-m
	heading := style{size: large, bold: true, color: ink}
	y -= pic.pt(11)
	pic.text(pic.fit(r.Title, heading, x1-x0), x0, y, heading)
	sub := style{size: small, color: faint}
	y -= pic.pt(13)
	pic.text(pic.fit(r.Subtitle, sub, x1-x0), x0, y, sub)
	y -= pic.pt(8)
	middle := m + (y-m)*0.48
	pic.runBars(r.Bars, x0, middle+pic.pt(8), x1, y)
	pic.runLines(r, x0, m, x1, middle)
}

// runBars draws a bar for each run. Where there are more runs than columns that can be told apart, neighbours share one
// that shows the highest of them.
func (pic *picture) runBars(bars []RunBar, x0, y0, x1, y1 vg.Length) {
	var high int64
	failures, unknown, lower := false, false, false
	for _, b := range bars {
		high = max(high, b.Peak)
		failures = failures || b.Failed
		unknown = unknown || !b.Failed && !b.Known
		lower = lower || b.Known && b.End < b.Peak
	}
	columns := max(int((x1-x0-pic.pt(80))/pic.pt(3)), 1)
	per := (len(bars) + columns - 1) / columns
	title := "Peak of each run"
	if per > 1 {
		title += fmt.Sprintf(" (highest of each %d runs)", per)
	}
	entries := []entry{{"peak", pic.swatch(blue)}}
	if lower {
		entries = append(entries, entry{"live at the end", pic.lineSample(orange, 2, nil)})
	}
	if failures {
		entries = append(entries, entry{"report failed", func(x0, y0, x1, y1 vg.Length) {
			pic.cross(vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}, pic.pt(3), pic.pt(1.4), failed)
		}})
	}
	if unknown {
		entries = append(entries, entry{"memory not collected", func(x0, y0, x1, y1 vg.Length) {
			pic.disc(vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}, pic.pt(2), faint)
		}})
	}
	a := plotArea{x1: x1 - pic.pt(2), y1: pic.header(head{title: title, entries: entries}, x0, x1, y1, false)}
	a.low, a.high = byteRange(0, high, false)
	if len(bars) == 0 {
		a.x0, a.y0 = x0, y0
		pic.note("no run", a)
		return
	}

	// Labels are turned where they would not fit side by side; where even that is too narrow, only some are written.
	st := style{size: small, color: ink, align: 0.5}
	a.x0 = x0 + pic.yLabelWidth(a.low, a.high, (y1-y0)*0.7)
	n := (len(bars) + per - 1) / per
	slot := min((a.x1-a.x0)/vg.Length(n), pic.pt(90))
	widest := vg.Length(0)
	for _, b := range bars {
		widest = max(widest, pic.width(b.Label, st))
	}
	turned := widest > slot-pic.pt(4)
	room := pic.pt(14)
	if turned {
		room = min(widest, (y1-y0)*0.4, pic.pt(130)) + pic.pt(8)
	}
	a.y0 = y0 + room
	a.y1 = max(a.y1, a.y0+pic.pt(15))
	pic.yAxis(a)
	pic.outlineRect(a.x0, a.y0, a.x1, a.y1, pic.pt(0.7), frame)

	every := 1
	if turned {
		every = max(int(math.Ceil(float64(pic.pt(11)/slot))), 1)
	}
	left := (a.x0 + a.x1 - slot*vg.Length(n)) / 2
	half := min(slot*0.36, pic.pt(22))
	for i := range n {
		b := highest(bars[i*per : min((i+1)*per, len(bars))])
		x := left + slot*(vg.Length(i)+0.5)
		switch {
		case b.Failed:
			pic.cross(vg.Point{X: x, Y: a.y0 + pic.pt(7)}, min(pic.pt(4), half+pic.pt(1)), pic.pt(1.6), failed)
		case !b.Known:
			pic.disc(vg.Point{X: x, Y: a.y0 + pic.pt(5)}, min(pic.pt(2.2), half+pic.pt(1)), faint)
		default:
			pic.fill(x-half, a.y0, x+half, a.y(b.Peak), blue)
			if b.End < b.Peak {
				pic.line(pic.pt(2), orange, nil, vg.Point{X: x - half, Y: a.y(b.End)}, vg.Point{X: x + half, Y: a.y(b.End)})
			}
		}
		if i%every != 0 {
			continue
		}
		label := bars[i*per].Label
		if turned {
			label = pic.fit(label, st, room-pic.pt(8))
			pic.turned(label, x+pic.pt(3), a.y0-pic.pt(4)-pic.width(label, st)/2, st)
		} else {
			pic.text(pic.fit(label, st, slot-pic.pt(2)), x, a.y0-pic.pt(11), st)
		}
	}
}

// highest is the bar that stands for several.
func highest(bars []RunBar) RunBar {
	out := bars[0]
	for _, b := range bars[1:] {
		if b.Failed || !out.Failed && (!b.Known || out.Known && b.Peak <= out.Peak) {
			continue
		}
		out = b
	}
	return out
}

// runColours are those of the lines, with their dashes.
var runColours = []struct {
	c      color.RGBA
	dashes []float64
}{{blue, nil}, {vermillion, nil}, {green, nil}, {purple, nil}, {orange, []float64{6, 2}}, {sky, []float64{6, 2}}, {ink, []float64{2, 2}}, {faint, []float64{6, 2, 2, 2}}}

// MaxRunLines is how many lines can be told apart.
var MaxRunLines = len(runColours)

func (pic *picture) runLines(r *Runs, x0, y0, x1, y1 vg.Length) {
	var entries []entry
	low, high := int64(math.MaxInt64), int64(0)
	a := plotArea{x1: x1 - pic.pt(2), from: math.MaxInt64, to: math.MinInt64}
	band := false
	for i, l := range r.Lines {
		k := runColours[i%len(runColours)]
		entries = append(entries, entry{l.Label, pic.lineSample(k.c, 1.6, k.dashes)})
		for _, p := range l.Points {
			low, high = min(low, p.Low), max(high, p.High)
			a.from, a.to = min(a.from, p.Iteration), max(a.to, p.Iteration)
			band = band || p.High > p.Low
		}
	}
	title := "Highest level of each iteration"
	if band {
		title += ": " + r.middle() + ", and range over " + r.Over
	}
	a.y1 = pic.header(head{title: title, entries: entries}, x0, x1, y1, false)
	a.y0 = y0 + pic.pt(25)
	a.y1 = max(a.y1, a.y0+pic.pt(15))
	if high == 0 && a.to < a.from {
		a.x0 = x0
		pic.note("no iteration with a known level", a)
		return
	}
	a.low, a.high = byteRange(min(low, high), high, false)
	a.x0 = x0 + pic.yLabelWidth(a.low, a.high, a.y1-a.y0)
	pic.yAxis(a)
	pic.outlineRect(a.x0, a.y0, a.x1, a.y1, pic.pt(0.7), frame)

	// A single iteration stands in the middle, and none on the frame.
	first, last := a.from, a.to
	x := func(it int64) vg.Length {
		pad := min((a.x1-a.x0)/(2*vg.Length(last-first+1)), pic.pt(20))
		if last == first {
			return (a.x0 + a.x1) / 2
		}
		return a.x0 + pad + (a.x1-a.x0-2*pad)*vg.Length(float64(it-first)/float64(last-first))
	}
	st := style{size: small, color: ink, align: 0.5}
	step := int64(max(niceStep(float64(max(last-first, 1)), max(int((a.x1-a.x0)/pic.pt(40)), 2)), 1))
	for it := (first + step - 1) / step * step; it <= last; it += step {
		pic.line(pic.pt(0.7), frame, nil, vg.Point{X: x(it), Y: a.y0}, vg.Point{X: x(it), Y: a.y0 - pic.pt(3)})
		pic.text(strconv.FormatInt(it, 10), x(it), a.y0-pic.pt(11.5), st)
	}
	pic.text("iteration", (a.x0+a.x1)/2, a.y0-pic.pt(22.5), st)

	lines := make([][]RunPoint, len(r.Lines))
	for i, l := range r.Lines {
		lines[i] = thinRun(l.Points, first, last, max(int((a.x1-a.x0)/max(pic.pixel, 0.1)), 1))
		var top, bottom []vg.Point
		for _, p := range lines[i] {
			top, bottom = append(top, vg.Point{X: x(p.Iteration), Y: a.y(p.High)}), append(bottom, vg.Point{X: x(p.Iteration), Y: a.y(p.Low)})
		}
		if band {
			c := runColours[i%len(runColours)].c
			pic.polygon(color.NRGBA{c.R, c.G, c.B, 0x48}, append(top, reversed(bottom)...)) // one may lie over another
		}
	}
	for i, points := range lines {
		k := runColours[i%len(runColours)]
		var path []vg.Point
		for _, p := range points {
			path = append(path, vg.Point{X: x(p.Iteration), Y: a.y(p.Mid)})
		}
		pic.line(pic.pt(1.6), k.c, k.dashes, path...)
		if len(path) <= 60 {
			for _, pt := range path {
				pic.disc(pt, pic.pt(1.9), k.c)
			}
		}
	}
}

// thinRun keeps one point a column: the lowest, the highest, and the last middle of those in it.
func thinRun(points []RunPoint, first, last int64, columns int) []RunPoint {
	if len(points) <= columns {
		return points
	}
	var out []RunPoint
	at := int64(-1)
	for _, p := range points {
		column := int64(float64(p.Iteration-first) / float64(max(last-first, 1)) * float64(columns))
		if column != at {
			out, at = append(out, p), column
			continue
		}
		o := &out[len(out)-1]
		o.Low, o.Mid, o.High = min(o.Low, p.Low), p.Mid, max(o.High, p.High)
	}
	return out
}

// turned draws s upwards, centred on (x, y).
func (p *painter) turned(s string, x, y vg.Length, st style) {
	p.c.Push()
	p.c.Translate(vg.Point{X: x, Y: y})
	p.c.Rotate(math.Pi / 2)
	st.align = 0.5
	p.text(s, 0, 0, st)
	p.c.Pop()
}
