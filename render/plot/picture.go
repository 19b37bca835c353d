package plot

import (
	"fmt"
	"math"
	"path"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
)

// A picture is being drawn.
type picture struct {
	*painter
	rep     *findings.Report
	track   *align.Track
	view    *view
	palette *palette
	word    string // what the program calls an iteration
	o       Options

	time   []align.Curve   // curves of the timeline
	scale  timeScale       // of the timeline
	bigs   []align.Curve   // curves of the enlarged iteration
	byIter [][]*align.Span // spans of each place in Track.Iterations
	source *source         // what is stacked; nil for nothing
	memory *segmentMap     // of the segments view; nil else
}

// setCurves sorts the curves out to the panels, and shrinks the timeline to where the data are unless the user chose it.
func (pic *picture) setCurves(curves [][]align.Curve) error {
	v := pic.view
	stretches := v.stretches()
	if len(curves) > len(stretches) {
		return fmt.Errorf("plot: %d windows of curves given, %d asked for: call Windows with the same options", len(curves), len(stretches))
	}
	for i, set := range curves {
		if stretches[i].big {
			pic.bigs = set
			continue
		}
		pic.time = appendCurves(pic.time, set)
	}
	if v.timeline && !v.fixed {
		pic.shrink()
	}
	pic.scale = v.scale(pic.o)
	pic.source = pic.newSource()
	pic.byIter = make([][]*align.Span, len(pic.track.Iterations))
	for i := range pic.track.Spans {
		s := &pic.track.Spans[i]
		if s.Iteration >= 0 && s.Iteration < len(pic.byIter) {
			pic.byIter[s.Iteration] = append(pic.byIter[s.Iteration], s)
		}
	}
	return nil
}

// appendCurves joins the curves of a stretch of time to those of the stretch before.
func appendCurves(before, next []align.Curve) []align.Curve {
	for _, c := range next {
		found := false
		for i := range before {
			if before[i].Kind == c.Kind {
				before[i].Points = append(before[i].Points[:len(before[i].Points):len(before[i].Points)], c.Points...)
				before[i].To, found = c.To, true
			}
		}
		if !found {
			before = append(before[:len(before):len(before)], c)
		}
	}
	return before
}

// shrink cuts the idle time before and after everything of this track off the timeline.
func (pic *picture) shrink() {
	v := pic.view
	first, last := v.to, v.from
	see := func(a, b int64) {
		first, last = min(first, a), max(last, b)
	}
	for _, c := range pic.time {
		if n := len(c.Points); n > 0 {
			see(c.Points[0].Time, c.Points[n-1].Time)
		}
	}
	for i := range pic.track.Iterations {
		see(pic.track.Iterations[i].Start, pic.track.Iterations[i].End)
	}
	for i := range pic.track.Ranges {
		see(pic.track.Ranges[i].Start, pic.track.Ranges[i].End)
	}
	for i := range pic.track.Failed {
		see(pic.track.Failed[i].Time, pic.track.Failed[i].Time)
	}
	if first > last {
		return
	}
	pad := max((last-first)/100, 1)
	v.from, v.to = max(v.from, first-pad), min(v.to, last+pad)
	if v.to <= v.from {
		v.to = v.from + 1
	}
}

// draw draws everything: title, caption and legend of the phases over the panels.
func (pic *picture) draw() {
	v, m := pic.view, pic.pt(12)
	x0, x1 := m, pic.w-m
	y := pic.h - m

	title := style{size: large, bold: true, color: ink}
	y -= pic.pt(11)
	pic.text(pic.fit(pic.title(), title, x1-x0), x0, y, title)
	sub := style{size: small, color: faint}
	y -= pic.pt(13)
	pic.text(pic.fit(pic.subtitle(), sub, x1-x0), x0, y, sub)
	y -= pic.pt(4)

	// The caption may take a fifth of the picture, a little more rather than lose its end.
	said := style{size: normal, color: ink}
	room := max(int(float64(pic.h)*0.2/float64(pic.pt(13))), 1)
	if pic.track.Theory != nil {
		room++ // it was asked for
	}
	paragraphs := pic.caption()
	if pic.memory != nil {
		paragraphs = pic.memory.caption(pic)
	}
	for _, line := range pic.wrapAll(paragraphs, said, x1-x0, room) {
		y -= pic.pt(13)
		pic.text(line, x0, y, said)
	}
	y -= pic.pt(6)

	if pic.memory != nil {
		head, _ := pic.stackLegend()
		y = pic.headed(head, pic.segmentLegend(pic.memory), x0, x1, y)
		pic.segments(pic.memory, x0, m, x1, y)
		return
	}
	if entries := pic.phaseLegend(); len(entries) > 0 {
		head := "Phases:"
		if len(pic.track.Iterations) == 0 {
			head = "Ranges:"
		}
		if pic.inferredNames() {
			head = "Phases (inferred):"
		}
		if pic.source != nil && v.stack == "phase" {
			head, entries = pic.bornLegend(head, entries)
		}
		y = pic.headed(head, entries, x0, x1, y)
	}
	if pic.source != nil && v.stack != "phase" && (v.timeline || v.steady) {
		if head, entries := pic.stackLegend(); len(entries) > 0 {
			y = pic.headed(head, entries, x0, x1, y)
		}
	}
	pic.panels(x0, m, x1, y)
}

// headed writes a legend with its head in front, under y, and returns how far down it went.
func (pic *picture) headed(head string, entries []entry, x0, x1, y vg.Length) vg.Length {
	st := style{size: small, bold: true, color: ink}
	y -= pic.pt(10)
	pic.text(head, x0, y, st)
	rows := pic.legend(entries, x0+pic.width(head, st)+pic.pt(8), x1, y, 2, false)
	return y - pic.pt(13)*vg.Length(rows-1) - pic.pt(6)
}

// panels shares the rest of the picture out.
func (pic *picture) panels(x0, y0, x1, y1 vg.Length) {
	v := pic.view
	lower := v.iterations || v.steady
	if !lower {
		pic.timeline(x0, y0, x1, y1)
		return
	}
	mid := y1
	if v.timeline {
		lower := vg.Length(0.46)
		if y1-y0 < pic.pt(360) { // titles and axes take the same from a small picture
			lower = 0.49
		}
		mid = y0 + (y1-y0)*lower
		pic.timeline(x0, mid+pic.pt(4), x1, y1)
		mid -= pic.pt(4)
	}
	gap := pic.pt(18)
	switch {
	case v.iterations && v.steady:
		half := (x0 + x1 - gap) / 2
		left, right := pic.newIterations(half-x0), pic.newSteady(x1-half-gap, mid-y0)
		// Both begin at one height.
		top := min(pic.header(left.head, x0, half, mid, true), pic.header(right.head, half+gap, x1, mid, true))
		pic.header(left.head, x0, half, mid, false)
		pic.header(right.head, half+gap, x1, mid, false)
		pic.iterations(left, x0, y0, half, top)
		pic.steady(right, half+gap, y0, x1, top)
	case v.iterations:
		panel := pic.newIterations(x1 - x0)
		pic.iterations(panel, x0, y0, x1, pic.header(panel.head, x0, x1, mid, false))
	default:
		panel := pic.newSteady(x1-x0, mid-y0)
		pic.steady(panel, x0, y0, x1, pic.header(panel.head, x0, x1, mid, false))
	}
}

// title is the user's, or the report's name.
func (pic *picture) title() string {
	if pic.o.Title != "" {
		return clean(pic.o.Title)
	}
	what := ": device memory by iteration and phase"
	if pic.memory != nil {
		return clean(base(pic.rep.Source.Path)) + ": segments and blocks of PyTorch's allocator at " + wording.Seconds(pic.memory.at)
	}
	if len(pic.track.Iterations) == 0 {
		what = ": device memory over time"
	}
	return clean(base(pic.rep.Source.Path)) + what
}

// base is the last part of a path of this or another system.
func base(p string) string {
	return path.Base(strings.ReplaceAll(p, `\`, "/"))
}

// subtitle says whose memory it is, and that it is what was traced rather than what the card holds.
func (pic *picture) subtitle() string {
	t := pic.track
	name := t.Process
	if name == "" {
		name = "process"
	}
	s := fmt.Sprintf("%s (pid %d) on device %d", base(name), t.PID, t.Device)
	if t.DeviceName != "" {
		s += ", " + t.DeviceName
	}
	s += pic.among()
	if pic.memory != nil {
		s += " · from PyTorch's memory snapshot; equal lengths are equal bytes within a pool"
	} else {
		s += " · allocations traced: what the program allocated, without the CUDA context and other processes"
	}
	if pic.o.Title != "" {
		s = base(pic.rep.Source.Path) + " · " + s
	}
	return clean(s)
}

// among says which of a report's processes, or of a process's devices, this is; empty where there is one.
func (pic *picture) among() string {
	all := pic.rep.Tracks
	place, pids := 0, map[int64]bool{}
	for i, other := range all {
		pids[other.PID] = true
		if other == pic.track {
			place = i + 1
		}
	}
	switch {
	case len(all) < 2 || place == 0:
		return ""
	case len(pids) == len(all):
		return fmt.Sprintf(" (process %d of %d in this report)", place, len(all))
	case len(pids) == 1:
		return fmt.Sprintf(" (one of the process's %d devices)", len(all))
	}
	return fmt.Sprintf(" (picture %d of %d of this report: one for each device of a process)", place, len(all))
}

// phaseLegend has an entry for each top-level phase that is in view.
func (pic *picture) phaseLegend() []entry {
	v, seen := pic.view, map[string]bool{}
	for n, it := range v.its {
		for i := range it.Phases {
			ph := &it.Phases[i]
			switch {
			case v.timeline && !v.iterations && !v.steady: // the part of the lane that is in view
				seen[ph.Path] = seen[ph.Path] || ph.Start < v.to && ph.End > v.from
			case v.timeline || v.steady && n == v.big || pic.source != nil && v.stack == "phase":
				seen[ph.Path] = true
			case v.iterations: // phases have no mark but the peak that they set
				seen[ph.Path] = seen[ph.Path] || v.use(&it.Use).Need > 0 && v.setter(it) == ph.Path
			}
		}
	}
	if seen[align.OtherPhase] && !pic.otherDrawn() {
		delete(seen, align.OtherPhase)
	}
	var entries []entry
	for _, phase := range pic.palette.order {
		if seen[phase] {
			entries = append(entries, entry{clean(phase), pic.swatch(pic.palette.color(phase))})
		}
	}
	if len(entries) == 1 && seen[align.OtherPhase] {
		return nil // no phases at all
	}
	outside := ""
	if len(entries) > 0 {
		outside = " (outside iterations)"
	}
	if pic.source == nil || pic.view.stack != "phase" { // else they are among what tensors were born in
		for _, l := range pic.unnamed() {
			entries = append(entries, entry{clean(l.name) + outside, pic.swatch(l.color)})
		}
	}
	return entries
}

// otherDrawn says that something in the picture has the colour of what no phase covers: a peak that none of them set.
func (pic *picture) otherDrawn() bool {
	for _, it := range pic.view.its {
		if pic.view.iterations && pic.view.use(&it.Use).Need > 0 && pic.view.setter(it) == align.OtherPhase {
			return true
		}
	}
	return false
}

// level is the track's level of a kind; nil where it has no events.
func (pic *picture) level(kind align.LevelKind) *align.Level { return pic.track.Level(kind) }

// where says in which iteration and phase a time lies, the innermost phase that is known.
func (pic *picture) where(t int64) string {
	its := pic.track.Iterations
	i := sort.Search(len(its), func(i int) bool { return its[i].Start > t }) - 1
	if i < 0 || t >= its[i].End {
		name, start := "", int64(0)
		for k := range pic.track.Ranges {
			r := &pic.track.Ranges[k]
			if r.Calls <= 1 && r.Start <= t && t < r.End && (name == "" || r.Start >= start) {
				name, start = r.Name, r.Start
			}
		}
		if name != "" {
			return "in range " + short(name)
		}
		switch {
		case len(its) == 0:
			return ""
		case i < 0:
			return "before " + pic.named(&its[0])
		case i == len(its)-1:
			return "after " + pic.named(&its[i])
		}
		return fmt.Sprintf("between %s and %d", pic.named(&its[i]), its[i+1].Index)
	}
	s := "in " + pic.named(&its[i])
	deepest, depth := "", 0
	for _, sp := range pic.byIter[i] {
		if sp.Start <= t && t < sp.End && sp.Depth > depth {
			deepest, depth = sp.Path, sp.Depth
		}
	}
	if depth == 0 {
		for k := range its[i].Phases {
			ph := &its[i].Phases[k]
			if ph.Path != align.OtherPhase && ph.Start <= t && t < ph.End && ph.Depth > depth {
				deepest, depth = ph.Path, ph.Depth
			}
		}
	}
	if deepest != "" {
		s += ", phase " + short(deepest)
	}
	return s
}

// setter is the top-level phase that set an iteration's peak: "(other)" where none did.
func (v *view) setter(it *align.Iteration) string {
	best, whole := align.OtherPhase, v.use(&it.Use)
	for i := range it.Phases {
		ph := &it.Phases[i]
		m := v.use(&ph.Use)
		if ph.Depth != 1 || ph.Path == align.OtherPhase || m.Peak != whole.Peak {
			continue
		}
		if m.PeakAt == whole.PeakAt {
			return ph.Path
		}
		if best == align.OtherPhase {
			best = ph.Path
		}
	}
	return best
}

// short is a name fit for running text.
func short(name string) string {
	const most = 60
	name = clean(name)
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

// yAxis draws the frame, the grid and the marks of a panel's byte axis.
func (pic *picture) yAxis(a plotArea) {
	st := style{size: small, color: ink, align: 1}
	for _, t := range byteTicks(a.low, a.high, int((a.y1-a.y0)/pic.pt(26))) {
		y := a.y(int64(t.Value))
		pic.line(pic.pt(0.6), grid, nil, vg.Point{X: a.x0, Y: y}, vg.Point{X: a.x1, Y: y})
		pic.text(t.Label, a.x0-pic.pt(4), y-pic.pt(3.2), st)
	}
}

// yLabelWidth is the room that the marks of a byte axis need.
func (pic *picture) yLabelWidth(low, high int64, height vg.Length) vg.Length {
	w := pic.pt(24)
	for _, t := range byteTicks(low, high, int(height/pic.pt(26))) {
		w = max(w, pic.width(t.Label, style{size: small}))
	}
	return w + pic.pt(6)
}

// xAxis draws the marks and the title of a time axis whose line is at y.
func (pic *picture) xAxis(a plotArea, y vg.Length, axis timeAxis, title string) {
	st := style{size: small, color: ink, align: 0.5}
	last := vg.Length(-1e9)
	for _, t := range axis.ticks {
		x := a.x(tickAt(t))
		pic.line(pic.pt(0.7), frame, nil, vg.Point{X: x, Y: y}, vg.Point{X: x, Y: y - pic.pt(3)})
		half := pic.width(t.Label, st) / 2
		mid := min(max(x, a.x0+half-pic.pt(6)), a.x1-half+pic.pt(6))
		if mid-half < last+pic.pt(6) { // stretches of different scale meet
			continue
		}
		last = mid + half
		pic.text(t.Label, mid, y-pic.pt(11.5), st)
	}
	said, dotted, room := axis.title(title), "", a.x1-a.x0+pic.pt(8)
	if f := a.scale.squeeze(); axis.unit != "" && a.scale.squeezed {
		dotted = fmt.Sprintf("squeezed up to %s-fold, so that the iterations can be seen", fold(f))
		if sampled := pic.pt(30); pic.width(said+"; "+dotted, st)+sampled > room {
			dotted = "squeezed"
		}
		said += "; "
		// A piece of the axis as it is drawn there stands before what it means.
		sample := pic.pt(24)
		from := (a.x0 + a.x1 - pic.width(said+" "+dotted, st) - sample) / 2
		st.align = 0
		pic.text(said, from, y-pic.pt(22.5), st)
		from += pic.width(said, st)
		pic.dotted(from+pic.pt(4), from+sample, y-pic.pt(19.5))
		pic.text(" "+dotted, from+sample, y-pic.pt(22.5), st)
		return
	}
	pic.text(pic.fit(said, st, room), (a.x0+a.x1)/2, y-pic.pt(22.5), st)
}

// dotted draws the axis where time is squeezed.
func (pic *picture) dotted(x0, x1, y vg.Length) {
	pic.line(pic.pt(2), white, nil, vg.Point{X: x0, Y: y}, vg.Point{X: x1, Y: y})
	pic.line(pic.pt(1.8), ink, []float64{1.8, 2.2}, vg.Point{X: x0, Y: y}, vg.Point{X: x1, Y: y})
}

// fold writes a factor with two digits that count.
func fold(f float64) string {
	step := max(math.Pow(10, math.Floor(math.Log10(f))-1), 0.1)
	return strconv.FormatFloat(math.Round(f/step)*step, 'f', -1, 64)
}

// head is a panel's title and legend.
type head struct {
	title   string
	shorter []string // titles that say less, for panels that are too narrow, the longest first
	entries []entry
}

// fitting is the first of a head's titles that fits.
func (pic *picture) fitting(h head, st style, w vg.Length) string {
	for _, s := range append([]string{h.title}, h.shorter...) {
		if pic.width(s, st) <= w {
			return s
		}
	}
	if n := len(h.shorter); n > 0 {
		return pic.fit(h.shorter[n-1], st, w)
	}
	return pic.fit(h.title, st, w)
}

// header writes a head at the top of a panel, the legend beside the title, or under it where the panel is narrow, and
// returns where the panel's drawing may begin; with dry it draws nothing.
func (pic *picture) header(h head, x0, x1, y vg.Length, dry bool) vg.Length {
	st := style{size: normal, bold: true, color: ink}
	y -= pic.pt(10)
	title := pic.fitting(h, st, x1-x0)
	if !dry {
		pic.text(title, x0, y, st)
	}
	if len(h.entries) == 0 {
		return y - pic.pt(8)
	}
	beside := x0 + pic.width(title, st) + pic.pt(14)
	total := vg.Length(0)
	for _, e := range h.entries {
		total += pic.pt(14+4+12) + pic.width(e.label, legendText)
	}
	from := beside
	if beside+total > x1+pic.pt(12) && x1-beside <= pic.pt(350) {
		y -= pic.pt(13)
		from = x0
	}
	rows := pic.legend(h.entries, from, x1, y, 2, dry)
	return y - pic.pt(13)*vg.Length(rows-1) - pic.pt(8)
}

// note draws a sentence in the middle of an empty panel.
func (pic *picture) note(s string, a plotArea) {
	st := style{size: normal, color: faint, align: 0.5}
	pic.text(pic.fit(s, st, a.x1-a.x0), (a.x0+a.x1)/2, (a.y0+a.y1)/2, st)
}

// callout writes a label at (x, y), beside it or over it, on white, and keeps it inside the panel. It returns its box.
func (pic *picture) callout(s string, x, y vg.Length, a plotArea) {
	st := style{size: small, bold: true, color: ink}
	s = pic.fit(s, st, a.x1-a.x0-pic.pt(12))
	w := pic.width(s, st)
	lx := x + pic.pt(7)
	if lx+w > a.x1-pic.pt(3) {
		lx = x - pic.pt(7) - w
	}
	lx = min(max(lx, a.x0+pic.pt(4)), a.x1-w-pic.pt(3))
	ly := min(y+pic.pt(5), a.y1-pic.pt(10))
	pic.fill(lx-pic.pt(2), ly-pic.pt(2.5), lx+w+pic.pt(2), ly+pic.pt(8.5), white)
	pic.text(s, lx, ly, st)
}
