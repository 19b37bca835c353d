package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
)

// settingLooks are those of the lines: the first is of the setting that the program ran with.
var settingLooks = []struct {
	c      color.RGBA
	dashes []float64
}{{ink, nil}, {blue, nil}, {vermillion, nil}, {green, nil}, {purple, []float64{7, 2}}, {orange, []float64{7, 2}},
	{sky, []float64{7, 2}}, {color.RGBA{0x66, 0x11, 0x00, 0xFF}, []float64{2, 2}}}

// WriteWhatIf draws what settings of the allocator would have reserved over time, a line a setting, over what tensors
// hold. Of many settings it shows those that differ most. Of o it takes size, font and title. Formats, warnings and
// errors are as Write has them.
func WriteWhatIf(w io.Writer, format string, wi *whatif.Comparison, o Options) (warnings []findings.Warning, err error) {
	defer func() {
		if r := recover(); r != nil {
			warnings, err = nil, fmt.Errorf("plot: draw %s: %v", format, r)
		}
	}()
	l, err := newLayout(o)
	if err != nil {
		return nil, err
	}
	f, err := newFonts(o.Font, !o.noScan)
	if err != nil {
		return nil, err
	}
	p, err := newPainter(format, l, f)
	if err != nil {
		return nil, err
	}
	pic := &settingsPicture{picture: picture{painter: p, o: o, view: &view{big: -1, o: o, columns: l.columns}}, wi: wi}
	pic.draw()
	data, err := p.bytes()
	if err != nil {
		return nil, err
	}
	if len(f.missing) > 0 {
		warnings = append(warnings, missingWarning(f.missing))
	}
	if _, err := w.Write(data); err != nil {
		return warnings, fmt.Errorf("plot: write %s: %w", format, err)
	}
	return warnings, nil
}

// A settingsPicture is being drawn.
type settingsPicture struct {
	picture
	wi      *whatif.Comparison
	entries bool // the axis counts entries of the trace, not time
}

// at is where an entry of the trace lies on the axis.
func (pic *settingsPicture) at(event int32) int64 {
	if pic.entries {
		return int64(max(event, 0))
	}
	return pic.wi.TimeOf(event)
}

func (pic *settingsPicture) draw() {
	wi, v := pic.wi, pic.view
	m := pic.pt(12)
	x0, x1, y := m, pic.w-m, pic.h-m

	// 1. What it is.
	title := style{size: large, bold: true, color: ink}
	name := pic.o.Title
	if name == "" {
		name = base(wi.Snapshot) + ": reserved memory under other allocator settings"
	}
	y -= pic.pt(11)
	pic.text(pic.fit(clean(name), title, x1-x0), x0, y, title)
	sub := style{size: small, color: faint}
	y -= pic.pt(13)
	pic.text(pic.fit(pic.about(), sub, x1-x0), x0, y, sub)
	y -= pic.pt(5)
	said := style{size: normal, color: ink}
	for _, line := range pic.wrap(pic.finding(), said, x1-x0, 2) {
		y -= pic.pt(13)
		pic.text(line, x0, y, said)
	}
	y -= pic.pt(8)

	// 2. The settings, a line each.
	rows := max(int(float64(pic.h)*0.3/float64(pic.pt(12.5)))-1, 1)
	shown := wi.Chosen(min(len(settingLooks), rows))
	y = pic.table(shown, x0, x1, y) - pic.pt(6)

	// 3. Time: iterations and phases where a report tells them.
	v.from, v.to = wi.From, max(wi.To, wi.From+1)
	// Without iterations that say which stretch of time matters, loading and compiling would fill most of the width.
	pic.entries = !wi.Timed || wi.Track == nil || len(wi.Track.Iterations) == 0
	if pic.entries {
		v.from, v.to = 0, int64(max(wi.Replay.Events, 1))
	}
	pic.scale = linear(v.from, v.to)
	var pieces []lanePiece
	if t := wi.Track; t != nil && !pic.entries {
		pic.track, pic.palette = t, newPalette(t)
		for i := range t.Iterations {
			if it := &t.Iterations[i]; it.End > v.from && it.Start < v.to {
				v.its, v.places = append(v.its, it), append(v.places, i)
			}
		}
		pic.byIter = make([][]*align.Span, len(t.Iterations))
		for i := range t.Spans {
			if s := &t.Spans[i]; s.Iteration >= 0 && s.Iteration < len(pic.byIter) {
				pic.byIter[s.Iteration] = append(pic.byIter[s.Iteration], s)
			}
		}
		pic.scale = newTimeScale(v.from, v.to, v.its)
		pieces = pic.lanePieces()
		if entries := pic.phaseLegend(); len(entries) > 0 {
			st := style{size: small, bold: true, color: ink}
			y -= pic.pt(10)
			pic.text("Phases:", x0, y, st)
			n := pic.legend(entries, x0+pic.width("Phases:", st)+pic.pt(8), x1, y, 1, false)
			y -= pic.pt(13)*vg.Length(n-1) + pic.pt(8)
		}
	}
	pic.lines(shown, pieces, x0, m, x1, y)
}

// about says whose requests they are.
func (pic *settingsPicture) about() string {
	wi := pic.wi
	s := fmt.Sprintf("device %d, %d allocations", wi.Device, wi.Allocations)
	if t := wi.Track; t != nil {
		s = fmt.Sprintf("%s (pid %d) on device %d, %s, %d allocations", base(t.Process), t.PID, t.Device, t.DeviceName, wi.Allocations)
	}
	s += " served again under each setting · PyTorch's cache alone, timing not modelled"
	if wi.HasOutside {
		s += " · " + wording.Bytes(wi.Outside) + " outside PyTorch not in the lines"
	}
	return clean(s)
}

// finding says what the reader should take along.
func (pic *settingsPicture) finding() string {
	wi := pic.wi
	base := &wi.Settings[wi.Base()]
	best := base
	for i := range wi.Settings {
		s := &wi.Settings[i]
		if s.Failed() < best.Failed() || s.Failed() == best.Failed() && s.SmallestCard < best.SmallestCard {
			best = s
		}
	}
	text := fmt.Sprintf("%s reserves %s at most, for %s of tensors.", settingLabel(base), wording.Bytes(base.PeakReserved), wording.Bytes(base.PeakAllocated))
	if best != base {
		text += fmt.Sprintf(" %s would have reserved %s, and runs on a card of %s rather than %s.", settingLabel(best),
			wording.Bytes(best.PeakReserved), wording.Bytes(best.SmallestCard), wording.Bytes(base.SmallestCard))
	} else if len(wi.Settings) > 1 {
		text += " No setting tried would run on a smaller card."
	}
	if wi.Capacity > 0 {
		n := 0
		for i := range wi.Settings {
			if wi.Settings[i].Failed() > 0 {
				n++
			}
		}
		text += fmt.Sprintf(" On a card of %s, %d of the %d settings stop.", wording.Bytes(wi.Capacity), n, len(wi.Settings))
	}
	return text
}

func settingLabel(s *whatif.Setting) string {
	if s.Conf == "" {
		return "The default"
	}
	return clean(s.Conf)
}

// table writes the settings shown with their figures and returns where it ends.
func (pic *settingsPicture) table(shown []int, x0, x1, y vg.Length) vg.Length {
	wi := pic.wi
	heads := []string{"", "setting", "peak reserved", "cache at tensor peak", "cudaMallocs", "smallest card"}
	if wi.Capacity > 0 {
		heads = append(heads, "on "+wording.Bytes(wi.Capacity))
	}
	cells := make([][]string, len(shown))
	for k, i := range shown {
		s := &wi.Settings[i]
		name := clean(s.Conf)
		if name == "" {
			name = "(default)"
		}
		if s.IsRecorded {
			name += ", recorded"
		}
		name = fmt.Sprintf("#%d %s", i+1, name) + pic.hidden(shown, k)
		cells[k] = []string{"", name, wording.Bytes(s.PeakReserved), wording.Bytes(s.CacheAtPeak), strconv.Itoa(s.CUDAMallocs), wording.Bytes(s.SmallestCard)}
		if wi.Capacity > 0 {
			cells[k] = append(cells[k], pic.outcome(s))
		}
	}
	bold, plain := style{size: small, bold: true, color: ink}, style{size: small, color: ink}
	widths := make([]vg.Length, len(heads))
	total := vg.Length(0)
	for c, h := range heads {
		widths[c] = pic.width(h, bold)
		for _, row := range cells {
			widths[c] = max(widths[c], pic.width(row[c], plain))
		}
		if c == 0 {
			widths[c] = pic.pt(24)
		}
		widths[c] += pic.pt(14)
		total += widths[c]
	}
	// What is too wide loses its longest texts.
	for _, c := range []int{len(heads) - 1, 1} {
		if over := total - (x1 - x0); over > 0 {
			cut := min(over, widths[c]-pic.pt(90))
			if cut > 0 {
				widths[c] -= cut
				total -= cut
			}
		}
	}
	row := func(r []string, st style) {
		x := x0
		for c, s := range r {
			if x+widths[c] <= x1+pic.pt(15) {
				if c >= 2 && c <= 5 { // figures end at one place
					right := st
					right.align = 1
					pic.text(s, x+widths[c]-pic.pt(14), y, right)
				} else {
					pic.text(pic.fit(s, st, widths[c]-pic.pt(10)), x, y, st)
				}
			}
			x += widths[c]
		}
	}
	y -= pic.pt(9)
	row(heads, bold)
	for k := range shown {
		y -= pic.pt(12.5)
		l := settingLooks[k%len(settingLooks)]
		mid := y + pic.pt(3)
		pic.line(pic.pt(1.8), l.c, l.dashes, vg.Point{X: x0, Y: mid}, vg.Point{X: x0 + pic.pt(24), Y: mid})
		row(cells[k], plain)
	}
	if left := len(wi.Settings) - len(shown); left > 0 {
		y -= pic.pt(12)
		pic.text(fmt.Sprintf("%d more settings are in the table, not drawn", left), x0+widths[0], y, style{size: small, color: faint})
	}
	return y
}

// outcome says whether a setting runs on the card.
func (pic *settingsPicture) outcome(s *whatif.Setting) string {
	if s.Limited == nil || s.Limited.Failed == 0 {
		return "runs through"
	}
	out := "stops"
	if len(s.Limited.Failures) > 0 {
		m := &s.Limited.Failures[0].Moment
		switch t := pic.wi.Track; {
		case t != nil && m.Iteration >= 0 && m.Iteration < len(t.Iterations):
			out += fmt.Sprintf(" in iteration %d", t.Iterations[m.Iteration].Index)
			if m.Phase != "" {
				out += ", " + short(m.Phase)
			}
		case m.Phase != "":
			out += " in " + short(m.Phase)
		case strings.HasPrefix(m.Frame, "after "):
			out += " " + short(m.Frame)
		case m.Frame != "":
			out += " in " + short(m.Frame)
		}
	}
	return out
}

// lines draws the panel.
func (pic *settingsPicture) lines(shown []int, pieces []lanePiece, x0, y0, x1, y1 vg.Length) {
	wi, v, ts := pic.wi, pic.view, pic.scale
	a := plotArea{from: v.from, to: v.to, scale: ts, x1: x1 - pic.pt(4)}
	entries := []entry{{"tensors (allocated)", pic.swatch(under)}}
	var top int64
	for _, i := range shown {
		top = max(top, wi.Settings[i].PeakReserved)
	}
	left := wi.Capacity - wi.Outside
	line := wi.Capacity > 0 && left < 2*top
	if line {
		top = max(top, left)
		entries = append(entries, entry{"a card of " + wording.Bytes(wi.Capacity), pic.lineSample(card, 1.2, []float64{6, 3})})
		entries = append(entries, entry{"where a setting stops on it: a request fails", func(x0, y0, x1, y1 vg.Length) {
			pic.cross(vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}, pic.pt(3), pic.pt(1.4), failed)
		}})
	}
	a.y1 = pic.header(head{title: "Reserved over time, on a card with room enough", entries: entries}, x0, x1, y1, false)
	row, strips := pic.pt(13), vg.Length(0)
	if len(v.its) > 0 {
		strips += row
	}
	if len(pieces) > 0 {
		strips += row
	}
	if strips > 0 {
		strips += pic.pt(3)
	}
	axisY := y0 + pic.pt(25)
	a.y0 = axisY + strips
	a.y1 = max(a.y1, a.y0+pic.pt(20))
	a.high = top + top/12
	margin := pic.yLabelWidth(0, a.high, a.y1-a.y0)
	if strips > 0 {
		margin = max(margin, pic.width("phase shares", style{size: small})+pic.pt(6))
	}
	a.x0 = x0 + margin
	cols := max(int((a.x1-a.x0)/pic.pixel), 1)

	newStairs(pic.allocated(), ts, cols).drawGround(pic.painter, a, under)
	pic.yAxis(a)
	pic.outlineRect(a.x0, axisY, a.x1, a.y1, pic.pt(0.7), frame)
	newStairs(pic.allocated(), ts, cols).draw(pic.painter, a, frame, pic.pt(0.6), nil)
	if line {
		y := a.y(left)
		pic.line(pic.pt(1.2), card, []float64{6, 3}, vg.Point{X: a.x0, Y: y}, vg.Point{X: a.x1, Y: y})
	}
	// The recorded one last, over the others.
	for k := len(shown) - 1; k >= 0; k-- {
		l := settingLooks[k%len(settingLooks)]
		width := 1.3
		if k == 0 {
			width = 1.7
		}
		newStairs(pic.reserved(&wi.Settings[shown[k]]), ts, cols).draw(pic.painter, a, l.c, pic.pt(width), l.dashes)
	}
	if line {
		pic.stops(shown, left, a)
	}
	if top == 0 {
		pic.note("nothing is reserved", a)
	}

	pic.line(pic.pt(0.7), frame, nil, vg.Point{X: a.x0, Y: a.y0}, vg.Point{X: a.x1, Y: a.y0})
	y := a.y0 - pic.pt(3)
	label := style{size: small, color: ink, align: 1}
	if len(v.its) > 0 {
		pic.strip(a, y-row, y)
		pic.text("iteration", a.x0-pic.pt(4), y-row+pic.pt(3.5), label)
		y -= row
	}
	if len(pieces) > 0 {
		pic.text(pic.phaseLane(pieces, a, y-row, y, cols), a.x0-pic.pt(4), y-row+pic.pt(3.5), label)
	}
	pic.timeAxis(a, axisY)
}

// stops marks where settings fail on the card of so many bytes, each on its own line: where that line meets the card in
// the step that the request takes, else at its level then. The numbers say which settings a mark is of.
func (pic *settingsPicture) stops(shown []int, left int64, a plotArea) {
	type mark struct {
		at   vg.Point
		text string
	}
	var marks []mark
	for _, i := range shown {
		s := &pic.wi.Settings[i]
		if s.Limited == nil || len(s.Limited.Failures) == 0 {
			continue
		}
		event := s.Limited.Failures[0].Moment.Event
		low, high := around(s, event)
		at := vg.Point{X: a.x(pic.at(event)), Y: a.y(min(max(left, low), high))}
		text := "#" + strconv.Itoa(i+1)
		if k := slices.IndexFunc(marks, func(m mark) bool { return near(m.at, at, pic.pt(3)) }); k >= 0 {
			marks[k].text += ", " + text
			continue
		}
		marks = append(marks, mark{at, text})
	}
	st := style{size: small, bold: true, color: failed}
	type span struct{ x0, x1, y vg.Length }
	var taken []span
	for _, m := range marks {
		pic.cross(m.at, pic.pt(3.6), pic.pt(1.5), failed)
		w := pic.width(m.text, st)
		x := m.at.X - pic.pt(6) - w
		if x < a.x0 {
			x = m.at.X + pic.pt(6)
		}
		y := m.at.Y + pic.pt(4)
		for range marks {
			if slices.ContainsFunc(taken, func(t span) bool { return x < t.x1 && t.x0 < x+w && max(y-t.y, t.y-y) < pic.pt(9) }) {
				y += pic.pt(9)
			}
		}
		taken = append(taken, span{x, x + w, y})
		pic.text(m.text, x, y, st)
	}
}

func near(a, b vg.Point, d vg.Length) bool {
	return max(a.X-b.X, b.X-a.X) < d && max(a.Y-b.Y, b.Y-a.Y) < d
}

// around are the lower and the higher of the levels just before an entry of the trace and just after it.
func around(s *whatif.Setting, event int32) (low, high int64) {
	c := s.Curve
	var before, after int64
	for i := range c {
		if c[i].Event < event {
			before = c[i].Reserved
		}
		if c[i].Event <= event {
			after = c[i].Reserved
		}
	}
	return min(before, after), max(before, after)
}

// hidden names the line, of those drawn over it, behind which the k-th line shown lies; empty for none.
func (pic *settingsPicture) hidden(shown []int, k int) string {
	var top int64
	for _, i := range shown {
		top = max(top, pic.wi.Settings[i].PeakReserved)
	}
	for _, j := range shown[:k] {
		a, b := &pic.wi.Settings[j], &pic.wi.Settings[shown[k]]
		switch d := apart(a, b); {
		case d == 0:
			return fmt.Sprintf(" (line as #%d)", j+1)
		case d <= top/hides:
			return fmt.Sprintf(" (line about as #%d)", j+1)
		}
	}
	return ""
}

// hides is the share of the panel's height, one part in so many, within which one line hides the other.
const hides = 200

// apart is the largest difference between the levels of two settings, in bytes.
func apart(s, t *whatif.Setting) int64 {
	a, b := s.Curve, t.Curve
	var x, y, most int64
	for len(a) > 0 || len(b) > 0 {
		event := int32(math.MaxInt32)
		if len(a) > 0 {
			event = a[0].Event
		}
		if len(b) > 0 {
			event = min(event, b[0].Event)
		}
		for ; len(a) > 0 && a[0].Event == event; a = a[1:] {
			x = a[0].Reserved
		}
		for ; len(b) > 0 && b[0].Event == event; b = b[1:] {
			y = b[0].Reserved
		}
		most = max(most, x-y, y-x)
	}
	return most
}

func (pic *settingsPicture) timeAxis(a plotArea, axisY vg.Length) {
	width, between := a.x1-a.x0, pic.pt(65)
	if pic.entries {
		step := int64(niceStep(float64(a.to), max(int(width/between), 1)))
		axis := timeAxis{}
		for t := int64(0); t <= a.to; t += step {
			axis.ticks = append(axis.ticks, plot.Tick{Value: float64(t), Label: strconv.FormatInt(t, 10)})
		}
		what := "entries of the trace"
		if pic.wi.Timed {
			what += ", " + wording.Duration(pic.wi.To-pic.wi.From) + " in all"
		}
		pic.xAxis(a, axisY, axis, what)
		return
	}
	what := "in the report"
	if pic.scale.squeezed {
		for _, g := range pic.scale.groups() {
			if g.squeezed {
				pic.dotted(a.x(g.from), a.x(g.to), axisY)
			}
		}
	}
	pic.xAxis(a, axisY, pic.scale.axis(0, width, between), what)
}

// reserved is the level of a setting as a curve.
func (pic *settingsPicture) reserved(s *whatif.Setting) align.Curve {
	c := align.Curve{Kind: "reserved", From: pic.view.from, To: pic.view.to}
	for _, p := range s.Curve {
		if p.Event < 0 {
			c.Before = p.Reserved
			continue
		}
		c.Points = append(c.Points, align.Point{Time: pic.at(p.Event), Low: p.Reserved, High: p.Reserved, Last: p.Reserved})
	}
	return c
}

// allocated is what tensors held in the recorded run.
func (pic *settingsPicture) allocated() align.Curve {
	r := pic.wi.Replay
	c := align.Curve{Kind: "allocated", From: pic.view.from, To: pic.view.to, Before: r.StartAllocated}
	last := int64(math.MinInt64)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Allocated != last {
			last = s.Allocated
			c.Points = append(c.Points, align.Point{Time: pic.at(s.Event), Low: last, High: last, Last: last})
		}
	}
	return c
}
