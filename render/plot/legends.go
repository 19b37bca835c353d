package plot

import (
	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

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
	v, seen := s.view, map[string]bool{}
	laneOnly := v.timeline && !v.iterations && !v.steady
	for n, it := range v.its {
		if v.iterations && v.use(&it.Use).Need > 0 {
			seen[v.setter(it)] = true
		}
		if !v.timeline && !(v.steady && n == v.big) && !s.bornIn() {
			continue
		}
		for _, ph := range phasesOf(it) {
			if !laneOnly || ph.Start < v.to && ph.End > v.from {
				seen[ph.Path] = true
			}
		}
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
		drawn = s.stack.toColumns(canvas.Linear(from, to), v.columns)
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
