package plot

import (
	"nsysmem/render/plot/internal/canvas"
)

// captionShare is how much of the picture's height its caption may take; a little more rather than lose its end.
const captionShare = 0.2

// drawPicture draws everything: title, caption and legends over the panels.
func (s *scene) drawPicture(c *canvas.Canvas) {
	page := canvas.NewPage(c)
	page.Title(s.pictureTitle(), s.subtitle())
	page.Skip(4)
	room := page.Rows(captionShare)
	if s.track.Theory != nil {
		room++ // it was asked for
	}
	page.Lines(c.WrapAll(s.caption(s.newClock(c)), canvas.Normal, page.Left.W(), room))
	page.Skip(6)
	if s.memory != nil {
		head, _ := s.stackLegend()
		page.Legend(head, s.memory.mapEntries(s.stack), 2, 6)
		(&segmentsPanel{segmentMap: s.memory, stack: s.stack}).draw(c, page.Left)
		return
	}
	s.legends(page)
	s.drawParts(c, page.Left)
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

// drawParts shares the rest of the picture out: the timeline over the iterations and the enlarged one.
func (s *scene) drawParts(c *canvas.Canvas, r canvas.Rect) {
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
