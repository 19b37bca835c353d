package plot

import (
	"fmt"
	"slices"
	"sort"

	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// pickSteady chooses the iteration to enlarge: of the steady ones that keep what most do, the one whose need is the median,
// and of those that need as much, the one whose time is; the earlier of two in the middle. One that keeps more than the
// others do is no example.
func (v *view) pickSteady() {
	var steady []int
	for i, it := range v.its {
		if it.Steady() {
			steady = append(steady, i)
		}
	}
	if len(steady) > 0 {
		need := func(i int) int64 { return v.use(&v.its[i].Use).Need }
		keep := func(i int) int64 { return v.use(&v.its[i].Use).Net }
		var nets []int64
		for _, i := range steady {
			nets = append(nets, keep(i))
		}
		usual := lowerMedian(nets)
		var alike []int
		for _, i := range steady {
			if d := keep(i) - usual; max(d, -d) <= v.use(&v.its[i].Use).Peak/trifle {
				alike = append(alike, i)
			}
		}
		sort.SliceStable(alike, func(a, b int) bool { return need(alike[a]) < need(alike[b]) })
		median := need(alike[(len(alike)-1)/2])
		alike = slices.DeleteFunc(alike, func(i int) bool { return need(i) != median })
		sort.SliceStable(alike, func(a, b int) bool {
			x, y := v.its[alike[a]], v.its[alike[b]]
			return x.End-x.Start < y.End-y.Start
		})
		v.big = alike[(len(alike)-1)/2]
		v.bigWhy = fmt.Sprintf("typical of %d steady", len(steady))
		if len(steady) == 1 {
			v.bigWhy = "the only steady one"
		}
		if len(v.its) == 1 {
			v.bigWhy = "the one shown"
		}
		return
	}
	for i := len(v.its) - 1; i >= 0; i-- {
		if !v.its[i].Truncated {
			v.big, v.bigWhy = i, "none is steady; the last whole one"
			return
		}
	}
	if n := len(v.its); n > 0 {
		v.big, v.bigWhy = n-1, "none is whole; the last"
	}
}

// maxRows is how many depths of phases are drawn under an enlarged iteration.
const maxRows = 4

// add appends to all titles of a head: what is said in full, briefly to the shorter ones.
func (h *head) add(full, brief string) {
	h.shorter = append([]string{h.title + brief}, h.shorter...)
	h.title += full
	for i := range h.shorter[1:] {
		h.shorter[i+1] += brief
	}
}

// steadyPanel is the panel of the enlarged iteration before it is drawn.
type steadyPanel struct {
	head
	it               *align.Iteration
	spans            []*align.Span
	depth            int          // of the deepest phase
	rows             int          // how many depths are drawn
	device, reserved *align.Curve // nil where no curve was given
	cut              bool         // the device level lies above the panel
	a                plotArea
	peak             int64 // bytes; highest level in it
}

// bandHeight is the height of a row of phases, in points of the layout.
const bandHeight = 12.5

// newSteady prepares the panel for a width and a height.
func (pic *picture) newSteady(width, height vg.Length) steadyPanel {
	v := pic.view
	it := v.its[v.big]
	s := steadyPanel{it: it, spans: pic.bands(it, v.places[v.big])}
	for _, sp := range s.spans {
		s.depth = max(s.depth, sp.Depth)
	}
	s.rows = min(s.depth, maxRows)
	for s.rows > 1 && height-pic.pt(60+bandHeight*float64(s.rows)) < pic.pt(75) { // a small picture shows fewer depths
		s.rows--
	}
	inferred := ""
	if pic.inferredNames() {
		inferred = " (inferred)"
	}
	took := wording.Duration(it.End - it.Start)
	name := upper(pic.named(it)) + inferred
	s.title = fmt.Sprintf("%s enlarged (%s), %s", name, v.bigWhy, took)
	s.shorter = []string{fmt.Sprintf("%s enlarged, %s", name, took), fmt.Sprintf("%s, %s", name, took), name}
	s.a = plotArea{from: it.Start, to: max(it.End, it.Start+1)}
	s.a.scale = linear(s.a.from, s.a.to)

	for i := range pic.bigs {
		switch pic.bigs[i].Kind {
		case "device":
			s.device = &pic.bigs[i]
		case "reserved":
			s.reserved = &pic.bigs[i]
		}
	}
	use := v.use(&it.Use)
	low, high := use.Start, use.Peak
	if s.device != nil {
		st := newStairs(*s.device, s.a.scale, max(int(width/pic.pixel), 1))
		low, high = min(low, st.low), max(high, st.high)
	}
	// A cache many times what the tensors hold would leave them no room.
	if over := 3 * use.Peak; v.level != "" && use.Peak > 0 && high > over {
		s.add(", device level "+wording.Bytes(high)+" above the panel", ", device level above the panel")
		high, s.cut = use.Peak+use.Peak/2, true
	}
	s.peak = high
	s.a.low, s.a.high = byteRange(low, high, pic.source == nil) // areas begin at 0
	if s.a.low > 0 {
		s.add(" (axis does not start at 0)", " (axis not from 0)")
	}

	if pic.source != nil && !v.timeline { // else the timeline's legend has them
		s.entries = pic.steadyLegend(s.device, s.reserved)
	}

	// Nested phases whose bands are too narrow for their names are named in the legend.
	seen := map[string]bool{}
	fits := map[string]bool{}
	st := style{size: small}
	for _, sp := range s.spans {
		w := (width - pic.pt(65)) * vg.Length(s.a.scale.frac(sp.End)-s.a.scale.frac(sp.Start))
		fits[sp.Path] = fits[sp.Path] || pic.width(clean(pic.lastName(sp.Path)), st) <= w-pic.pt(3)
	}
	for _, sp := range s.spans {
		if sp.Depth < 2 || sp.Depth > s.rows || seen[sp.Path] || fits[sp.Path] {
			continue
		}
		seen[sp.Path] = true
		s.entries = append(s.entries, entry{clean(pic.lastName(sp.Path)), pic.swatch(pic.palette.color(sp.Path))})
	}
	return s
}

// lastName is a phase's own name, without its parents'.
func (pic *picture) lastName(path string) string {
	if parent := pic.palette.parent(path); parent != "" {
		return path[len(parent)+1:]
	}
	return path
}

// steady draws one iteration enlarged, its phases as named bands under it.
func (pic *picture) steady(panel steadyPanel, x0, y0, x1, y1 vg.Length) {
	it, spans, depth, device, high, a := panel.it, panel.spans, panel.depth, panel.device, panel.peak, panel.a
	a.y1 = y1
	axisY := y0 + pic.pt(25)
	row, rows := pic.pt(bandHeight), panel.rows
	a.y0 = axisY + row*vg.Length(rows)
	a.y1 = max(a.y1, a.y0+pic.pt(15))
	a.x0, a.x1 = x0+pic.yLabelWidth(a.low, a.high, a.y1-a.y0), x1-pic.pt(6)
	cols := max(int((a.x1-a.x0)/pic.pixel), 1)
	// Room over the peak for its label.
	if h := float64(a.y1 - a.y0); high > a.low && h > 0 {
		a.high = a.low + int64(float64(high-a.low)*max(1.08, 1/(1-min(0.4, float64(pic.pt(20))/h))))
	}

	// Phases tint the ground of the panel, so that a step is seen to belong to one.
	if pic.source != nil {
		pic.steadyStack(panel, a, cols)
	} else {
		for _, s := range spans {
			if s.Depth == 1 {
				pic.fill(a.x(s.Start), a.y0, a.x(s.End), a.y1, mix(pic.palette.color(s.Path), white, 0.86))
			}
		}
		pic.yAxis(a)
	}
	switch {
	case pic.source != nil && pic.view.level != "":
	case device != nil:
		s := newStairs(*device, a.scale, cols)
		width := pic.pt(1.3)
		if pic.source != nil {
			width = pic.pt(0.8)
		}
		s.draw(pic.painter, a, ink, width, nil)
		if s.high > 0 {
			x := a.x0 + (a.x1-a.x0)/vg.Length(len(s.columns))*(vg.Length(s.topColumn())+0.5)
			pic.mark(peakLabel(&it.Memory, s.low == s.high), x, a.y(s.high), a)
		}
	default:
		pic.note("no curve", a)
	}
	for i := range pic.track.Failed {
		if f := &pic.track.Failed[i]; f.Time >= a.from && f.Time < a.to && device != nil {
			s := newStairs(*device, linear(a.from, f.Time), 1)
			last, _ := s.at(0)
			pic.cross(vg.Point{X: a.x(f.Time), Y: a.y(last)}, pic.pt(3.2), pic.pt(1.4), failed)
		}
	}
	pic.outlineRect(a.x0, axisY, a.x1, a.y1, pic.pt(0.7), frame)

	for d := 1; d <= rows; d++ {
		yb := a.y0 - row*vg.Length(d)
		pic.bandRow(spans, d, a, yb, yb+row, cols)
	}
	what := "from the start of " + pic.named(it)
	if depth > rows {
		what += fmt.Sprintf("; %d of %d depths of phases drawn", rows, depth)
	}
	// The title counts from this iteration's start in any case.
	axis := newTimeAxis(a.from, a.to, it.Start, 0, int((a.x1-a.x0)/pic.pt(55)))
	pic.xAxis(a, axisY, axis, what)
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

// steadyLegend names the lines and gaps over the tensors of an enlarged iteration that stands alone.
func (pic *picture) steadyLegend(device, reserved *align.Curve) []entry {
	it := pic.view.its[pic.view.big]
	whole := linear(it.Start, it.End)
	var lines []stairs
	deviceAt, reservedAt := -1, -1
	if device != nil {
		deviceAt = 0
		lines = append(lines, newStairs(*device, whole, pic.view.columns))
	}
	if reserved != nil && pic.view.level != "" {
		reservedAt = len(lines)
		lines = append(lines, newStairs(*reserved, whole, pic.view.columns))
	}
	entries := pic.gapLegend(lines, deviceAt, reservedAt, max(pic.highest(lines), 1))
	return append(entries, pic.timelineLegend(lines, func(stairs) bool { return false }, 0, nil)...)
}

// highest is the highest level of some lines.
func (pic *picture) highest(lines []stairs) int64 {
	top := int64(0)
	for _, s := range lines {
		top = max(top, s.high)
	}
	return top
}

// steadyStack draws the tensors of the enlarged iteration, with the levels over them.
func (pic *picture) steadyStack(panel steadyPanel, a plotArea, cols int) {
	var lines []stairs
	deviceAt, reservedAt := -1, -1
	if panel.device != nil {
		deviceAt = len(lines)
		lines = append(lines, newStairs(*panel.device, a.scale, cols))
	}
	if panel.reserved != nil {
		reservedAt = len(lines)
		lines = append(lines, newStairs(*panel.reserved, a.scale, cols))
	}
	if panel.cut {
		deviceAt = -1
		if reservedAt >= 0 && lines[reservedAt].low > a.high {
			reservedAt = -1
		}
	}
	stack := pic.source.stack(a.scale, cols)
	pic.gaps(lines, deviceAt, reservedAt, a)
	stack.draw(pic.painter, a)
	pic.yAxis(a)
	outer := 0
	for _, s := range panel.spans {
		if s.Depth == 1 {
			outer++
		}
	}
	for _, s := range panel.spans { // where phases begin and end
		if s.Depth == 1 && outer <= 16 {
			for _, t := range [2]int64{s.Start, s.End} {
				pic.line(pic.pt(0.5), faint, []float64{1, 2}, vg.Point{X: a.x(t), Y: a.y0}, vg.Point{X: a.x(t), Y: a.y1})
			}
		}
	}
	if pic.view.level == "" {
		return // the device level is drawn as without a stack
	}
	for _, i := range []int{deviceAt, reservedAt} {
		if i >= 0 {
			l := look(lines[i].kind)
			lines[i].draw(pic.painter, a, l.color, pic.pt(1.2), l.dashes)
		}
	}
	use := pic.view.use(&panel.it.Use)
	if stack.high > 0 {
		x := a.x0 + (a.x1-a.x0)/vg.Length(cols)*(vg.Length(stack.highest())+0.5)
		pic.markClear("allocated: "+peakLabel(use, use.Need == 0 && stack.flat()), "allocated: "+wording.Bytes(use.Peak), x, a.y(stack.high), lines, -1, a)
	}
}

// bands are the calls of the phases of an iteration, or its phases where the calls are not known.
func (pic *picture) bands(it *align.Iteration, place int) []*align.Span {
	if spans := pic.byIter[place]; len(spans) > 0 {
		return spans
	}
	var spans []*align.Span
	for i := range it.Phases {
		if ph := &it.Phases[i]; ph.Path != align.OtherPhase {
			spans = append(spans, &align.Span{Path: ph.Path, Depth: ph.Depth, Start: ph.Start, End: ph.End, Inferred: ph.Inferred})
		}
	}
	return spans
}

// bandRow draws the phases of one depth between y0 and y1, with their names where they fit.
func (pic *picture) bandRow(spans []*align.Span, depth int, a plotArea, y0, y1 vg.Length, cols int) {
	var paths []string
	keys := map[string]int{}
	var pieces []piece
	for _, s := range spans {
		if s.Depth != depth {
			continue
		}
		k, ok := keys[s.Path]
		if !ok {
			k = len(paths)
			keys[s.Path] = k
			paths = append(paths, s.Path)
		}
		pieces = append(pieces, piece{k, s.Start, s.End})
	}
	runs(lane(pieces, a.scale, cols), a.x0, a.x1, func(key int, xa, xb vg.Length) {
		path := paths[key]
		c := pic.palette.color(path)
		pic.fill(xa, y0, xb, y1, c)
		if xb-xa > pic.pt(3) {
			pic.line(pic.pt(0.5), white, nil, vg.Point{X: xb, Y: y0}, vg.Point{X: xb, Y: y1})
		}
		name := clean(pic.lastName(path))
		st := style{size: small, color: readable(c), align: 0.5}
		if s := pic.bandName(name, st, xb-xa-pic.pt(3)); s != "" {
			pic.text(s, (xa+xb)/2, y0+pic.pt(3.3), st)
		}
	})
	pic.line(pic.pt(0.5), white, nil, vg.Point{X: a.x0, Y: y1}, vg.Point{X: a.x1, Y: y1})
}
