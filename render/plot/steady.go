package plot

import (
	"fmt"
	"sort"

	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/render/scale"
)

// pickSteady chooses the iteration to enlarge: the steady one whose need is the median, the earlier of two in the middle.
func (v *view) pickSteady() {
	var steady []int
	for i, it := range v.its {
		if it.Steady() {
			steady = append(steady, i)
		}
	}
	if len(steady) > 0 {
		sort.SliceStable(steady, func(a, b int) bool { return v.its[steady[a]].Memory.Need < v.its[steady[b]].Memory.Need })
		v.big = steady[(len(steady)-1)/2]
		v.bigWhy = fmt.Sprintf("median need of %d steady", len(steady))
		if len(steady) == 1 {
			v.bigWhy = "the steady one"
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

// steadyPanel is the panel of the enlarged iteration before it is drawn.
type steadyPanel struct {
	head
	it     *align.Iteration
	spans  []*align.Span
	depth  int          // of the deepest phase
	rows   int          // how many depths are drawn
	device *align.Curve // nil where no curve was given
	a      plotArea
	peak   int64 // bytes; highest level in it
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
	s.title = fmt.Sprintf("Iteration %d enlarged (%s), %s", it.Index, v.bigWhy, scale.Duration(it.End-it.Start))
	s.a = plotArea{from: it.Start, to: max(it.End, it.Start+1)}
	s.a.scale = linear(s.a.from, s.a.to)

	for i := range pic.bigs {
		if pic.bigs[i].Kind == "device" {
			s.device = &pic.bigs[i]
		}
	}
	low, high := it.Memory.Start, it.Memory.Peak
	if s.device != nil {
		st := newStairs(*s.device, s.a.scale, max(int(width/pic.pixel), 1))
		low, high = min(low, st.low), max(high, st.high)
	}
	s.peak = high
	s.a.low, s.a.high = byteRange(low, high, true)
	if s.a.low > 0 {
		s.title += " (axis does not start at 0)"
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
	for _, s := range spans {
		if s.Depth == 1 {
			pic.fill(a.x(s.Start), a.y0, a.x(s.End), a.y1, mix(pic.palette.color(s.Path), white, 0.86))
		}
	}
	pic.yAxis(a)
	if device != nil {
		s := newStairs(*device, a.scale, cols)
		s.draw(pic.painter, a, ink, pic.pt(1.3), nil)
		if s.high > 0 {
			x := a.x0 + (a.x1-a.x0)/vg.Length(len(s.columns))*(vg.Length(s.topColumn())+0.5)
			y := a.y(s.high)
			pic.disc(vg.Point{X: x, Y: y}, pic.pt(3.2), white)
			pic.disc(vg.Point{X: x, Y: y}, pic.pt(2.4), ink)
			label := "peak " + scale.Bytes(it.Memory.Peak) + ", " + scale.SignedBytes(it.Memory.Need) + " over the start"
			if it.Memory.Need == 0 {
				label = "level at its start is its peak, " + scale.Bytes(it.Memory.Peak)
				if s.low == s.high {
					label = "flat at " + scale.Bytes(it.Memory.Peak)
				}
			}
			pic.callout(label, x, y, a)
		}
	} else {
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
	what := fmt.Sprintf("from the start of iteration %d", it.Index)
	if depth > rows {
		what += fmt.Sprintf("; %d of %d depths of phases drawn", rows, depth)
	}
	// The title counts from this iteration's start in any case.
	axis := newTimeAxis(a.from, a.to, it.Start, 0, int((a.x1-a.x0)/pic.pt(55)))
	pic.xAxis(a, axisY, axis, what)
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
		s := pic.fit(name, st, xb-xa-pic.pt(3))
		if s != name && len(s) < len("abcd…") {
			s = "" // two letters say nothing
		}
		if s != "" {
			pic.text(s, (xa+xb)/2, y0+pic.pt(3.3), st)
		}
	})
	pic.line(pic.pt(0.5), white, nil, vg.Point{X: a.x0, Y: y1}, vg.Point{X: a.x1, Y: y1})
}
