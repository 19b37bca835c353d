package plot

import (
	"cmp"
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// caption says what the eye should find, a paragraph a thought, the most important first.
func (s *scene) caption(k clock) []string {
	t := &captionText{s, k}
	if m := s.memory; m != nil {
		out := m.caption(&s.names, s.track.Tensors.Conf)
		if s.inferred() {
			out = append(out, t.foundText())
		}
		return out
	}
	out := append([]string{t.peakText(), t.holders(), t.theoryText(), t.growthText(), t.foundText()}, t.troubles()...)
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// peakText says how high the level comes that the picture is about.
func (t *captionText) peakText() string {
	const trace = 500 // a peak below one part in so many of the device's is not worth its name
	lv := t.track.Level(align.LevelDevice)
	if lv == nil || lv.Peak == 0 && lv.Allocs == 0 {
		return "No device memory was allocated in the recorded time; memory events were recorded."
	}
	if t.view.level != "" {
		return t.tensorPeak(lv)
	}
	s := t.peakHead(lv.PeakAt)
	if lv.Least() {
		s += "at least "
	}
	s += wording.Bytes(lv.Peak) + " of device allocations " + t.peakWhen(lv) + t.ofCard(lv.Peak) + "." + t.inViewText(align.LevelDevice, "")
	if lv.Partial {
		s += " The recording started when memory was live already, so that levels are lower bounds."
	}
	for _, kind := range []align.LevelKind{align.LevelManaged, align.LevelPinned} {
		if l := t.track.Level(kind); l != nil && l.Peak > lv.Peak/trace {
			s += fmt.Sprintf(" %s memory peaks at %s.", upper(string(kind)), wording.Bytes(l.Peak))
		}
	}
	return s
}

// foundText says how the iterations were found, or why none were.
func (t *captionText) foundText() string {
	f := t.track.IterationsFrom
	why := brief(f.Why, 160)
	n := cmp.Or(f.Count, len(t.track.Iterations))
	name := ""
	if f.Pattern != "" {
		name = " “" + short(f.Pattern) + "”"
	}
	var s string
	switch {
	case len(t.track.Iterations) == 0:
		s = "No iterations were found"
	case f.Inferred():
		s = fmt.Sprintf("Iterations: %d inferred from GPU work, confidence %.0f %%", n, f.Confidence*100)
	case why == "":
		s = fmt.Sprintf("Iterations: %d NVTX ranges%s", n, name)
	default:
		s = "Iterations"
	}
	if why != "" {
		s += ": " + why
	}
	if f.Domain != "" {
		s += " (NVTX domain " + short(f.Domain) + ")"
	}
	s = sentence(s)
	if len(f.Gaps) > 0 {
		s += " Numbers missing: " + list(f.Gaps) + "."
	}
	return s + t.shownText()
}

// shownText says which of the iterations are shown, and which of those asked for there are not.
func (t *captionText) shownText() string {
	v, its := t.view, list(indexes(t.view.its))
	switch {
	case v.missing != "":
		return fmt.Sprintf(" Shown: %s; there is no %s.", its, v.missing)
	case !v.partial() || len(v.its) == 0 || len(v.its) == len(t.track.Iterations):
		return ""
	}
	return " Shown: " + its + "."
}
