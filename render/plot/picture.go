package plot

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// A panel is a part of a picture: a heading, which is measured so that neighbours begin at one height, and what is drawn
// below it.
type panel interface {
	heading() canvas.Heading
	draw(c *canvas.Canvas, below canvas.Rect)
}

// drawPanels draws panels side by side, each in its rectangle, all from one height below their headings.
func drawPanels(c *canvas.Canvas, panels []panel, places []canvas.Rect) {
	top := places[0].Y1
	heads := make([]canvas.Measured, len(panels))
	for i, p := range panels {
		heads[i] = c.Measure(p.heading(), places[i])
		top = min(top, heads[i].Below)
	}
	for _, h := range heads {
		c.Heading(h)
	}
	for i, p := range panels {
		places[i].Y1 = top
		p.draw(c, places[i])
	}
}

// captionShare is how much of the picture's height its caption may take; a little more rather than lose its end.
const captionShare = 0.2

// draw draws everything: title, caption and legends over the panels.
func (s *scene) draw(c *canvas.Canvas) {
	page := canvas.NewPage(c)
	page.Title(s.title(), s.subtitle())
	page.Skip(4)
	room := page.Rows(captionShare)
	if s.track.Theory != nil {
		room++ // it was asked for
	}
	page.Lines(c.WrapAll(s.caption(s.newClock(c)), canvas.Normal, page.Left.W(), room))
	page.Skip(6)
	if s.memory != nil {
		head, _ := s.stackLegend()
		page.Legend(head, s.memory.entries(s.stack), 2, 6)
		(&segmentsPanel{segmentMap: s.memory, stack: s.stack}).draw(c, page.Left)
		return
	}
	s.legends(page)
	s.panels(c, page.Left)
}

// legends writes what the colours of phases, and those of what is stacked, stand for.
func (s *scene) legends(page *canvas.Page) {
	v := s.view
	if entries := s.phaseLegend(page.Canvas); len(entries) > 0 {
		head := "Phases"
		if len(s.track.Iterations) == 0 {
			head = "Ranges"
		}
		if s.inferred() {
			head = "Phases (inferred)"
		}
		if s.bornIn() {
			head += ", of tensors where they were born"
			entries = s.addBirths(entries)
		}
		page.Legend(head+":", entries, 2, 6)
	}
	if s.stack != nil && v.stack != "phase" && (v.timeline || v.steady) {
		if head, entries := s.stackLegend(); len(entries) > 0 {
			page.Legend(head, entries, 2, 6)
		}
	}
}

// Of the panels: how much of the height those below the timeline get, more where a picture is so low (in points of the
// layout) that titles and axes take much of it; and what lies between panels.
const (
	lowerShare    = 0.46
	lowerShareLow = 0.49
	lowPicture    = 360
	besideGap     = 18
	aboveGap      = 4
)

// panels shares the rest of the picture out: the timeline over the iterations and the enlarged one.
func (s *scene) panels(c *canvas.Canvas, r canvas.Rect) {
	v := s.view
	if v.timeline {
		upper := r
		if v.iterations || v.steady {
			share := canvas.Length(lowerShare)
			if r.H() < c.Pt(lowPicture) {
				share = lowerShareLow
			}
			middle := r.Y0 + r.H()*share
			upper.Y0, r.Y1 = middle+c.Pt(aboveGap), middle-c.Pt(aboveGap)
		}
		drawPanels(c, []panel{newTimeline(s, c, upper.W())}, []canvas.Rect{upper})
	}
	left, right := r, r
	if v.iterations && v.steady {
		left.X1 = (r.X0 + r.X1 - c.Pt(besideGap)) / 2
		right.X0 = left.X1 + c.Pt(besideGap)
	}
	var panels []panel
	var places []canvas.Rect
	if v.iterations {
		panels, places = append(panels, newColumns(s, c, left.W())), append(places, left)
	}
	if v.steady {
		panels, places = append(panels, newSteady(s, c, right.W(), right.H())), append(places, right)
	}
	if len(panels) > 0 {
		drawPanels(c, panels, places)
	}
}

// title is the user's, or the report's name.
func (s *scene) title() string {
	what := "device memory by iteration and phase"
	switch {
	case s.view.o.Title != "":
		return clean(s.view.o.Title)
	case s.memory != nil:
		what = "segments and blocks of PyTorch's allocator at " + wording.Seconds(s.memory.at)
	case len(s.track.Iterations) == 0:
		what = "device memory over time"
	}
	return clean(base(s.rep.Source.Path)) + ": " + what
}

// subtitle says whose memory it is, and that it is what was traced rather than what the card holds.
func (s *scene) subtitle() string {
	t := s.track
	name := t.Process
	if name == "" {
		name = "process"
	}
	text := fmt.Sprintf("%s (pid %d) on device %d", base(name), t.PID, t.Device)
	if t.DeviceName != "" {
		text += ", " + t.DeviceName
	}
	text += s.among()
	if s.memory != nil {
		text += " · from PyTorch's memory snapshot; equal lengths are equal bytes within a pool"
	} else {
		text += " · allocations traced: what the program allocated, without the CUDA context and other processes"
	}
	if s.view.o.Title != "" {
		text = base(s.rep.Source.Path) + " · " + text
	}
	return clean(text)
}

// among says which of a report's processes, or of a process's devices, this is; empty where there is one.
func (s *scene) among() string {
	all := s.rep.Tracks
	place, pids := 0, map[int64]bool{}
	for i, other := range all {
		pids[other.PID] = true
		if other == s.track {
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

// phaseLegend has an entry for each top-level phase that is in view, and for ranges whose names are not on their lane.
func (s *scene) phaseLegend(c *canvas.Canvas) (entries canvas.Entries) {
	seen := s.phasesSeen()
	for _, phase := range s.palette.order {
		entries.Add(seen[phase], clean(phase), canvas.Swatch(s.palette.color(phase)))
	}
	if len(entries) == 1 && seen[align.OtherPhase] {
		return nil // no phases at all
	}
	outside := ""
	if len(entries) > 0 {
		outside = " (outside iterations)"
	}
	if s.bornIn() {
		return entries // ranges are among what tensors were born in
	}
	for _, l := range s.newLanes().unnamed(c) {
		entries.Add(true, clean(l.name)+outside, canvas.Swatch(l.color))
	}
	return entries
}

// phasesSeen are the phases whose colours are in the picture: on the lane, of which only a part may be in view, or in the
// enlarged iteration; among the columns of iterations, where phases have no mark but the peak that they set. What no phase
// covers is seen only where none set a peak.
func (s *scene) phasesSeen() map[string]bool {
	v, seen, rest := s.view, map[string]bool{}, false
	for n, it := range v.its {
		all := v.timeline || v.steady && n == v.big || s.bornIn()
		part := v.timeline && !v.iterations && !v.steady
		peak := v.iterations && v.use(&it.Use).Need > 0
		by := ""
		if peak {
			by = v.setter(it)
		}
		rest = rest || peak && by == align.OtherPhase
		for i := range it.Phases {
			ph := &it.Phases[i]
			if part && ph.Start < v.to && ph.End > v.from || !part && all || !all && peak && by == ph.Path {
				seen[ph.Path] = true
			}
		}
	}
	if !rest {
		delete(seen, align.OtherPhase)
	}
	return seen
}

// stackLegend has an entry for each layer with bytes in view, and its head.
func (s *scene) stackLegend() (head string, entries canvas.Entries) {
	v := s.view
	from, to := v.from, v.to
	if !v.timeline && v.big >= 0 {
		from, to = v.its[v.big].Start, v.its[v.big].End
	}
	seen := s.stack.seen(from, to)
	// What is too thin to be seen is not to be looked for.
	var drawn *stacked
	if to > from && s.memory == nil {
		drawn = s.stack.columns(canvas.Linear(from, to), v.columns)
	}
	for k, l := range s.stack.layers {
		label := l.name
		if drawn != nil && drawn.top[k] < drawn.high/tinyLayer {
			label += ", at most " + wording.Bytes(drawn.top[k])
		}
		entries.Add(seen[k], label, canvas.Swatch(l.color))
	}
	switch v.stack {
	case "phase":
		if s.inferred() {
			return "Tensors by phase of birth, inferred:", entries
		}
		return "Tensors by phase of birth:", entries
	case "kind":
		return "Device memory by kind:", entries
	}
	return "Tensors (categories inferred):", entries
}

// addBirths adds to the phases' legend what else tensors were born in: their colours are the same.
func (s *scene) addBirths(entries canvas.Entries) canvas.Entries {
	named := map[string]bool{}
	for _, e := range entries {
		named[e.Label] = true
	}
	_, born := s.stackLegend()
	for _, e := range born {
		entries.Add(!named[e.Label], e.Label, e.Sample)
	}
	return entries
}
