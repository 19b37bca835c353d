package phrase

import (
	"fmt"
	"strings"

	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
)

// Conf is a setting as it is shown; the empty one is PyTorch's defaults.
func Conf(conf string) string {
	if conf == "" {
		return "(default)"
	}
	return conf
}

// Setting is Conf with what is special about the setting.
func Setting(s *whatif.Setting) string {
	text := wording.Terminal(Conf(s.Conf))
	switch {
	case s.IsRecorded:
		return text + " [recorded]"
	case s.IsDefault && s.Conf != "":
		return text + " [default]"
	}
	return text
}

// ShortMoment names a place of the program in few words: iteration and phase where a report tells them, else time and line.
func ShortMoment(w *whatif.Comparison, m *whatif.Moment) string {
	if w.Track != nil && (m.Iteration >= 0 || m.Phase != "") {
		return Moment(w, &whatif.Moment{Iteration: m.Iteration, Phase: m.Phase})
	}
	return Moment(w, m)
}

// Moment names a place of the program: iteration and phase where a report tells them, the line of the program where a
// snapshot does, else the time.
func Moment(w *whatif.Comparison, m *whatif.Moment) string {
	s := ""
	if w.Track != nil {
		s = At(w.Track, m.Iteration, m.Phase)
	}
	if m.Frame != "" {
		if s != "" {
			s += " "
		}
		s += "(" + wording.Terminal(m.Frame) + ")"
	}
	if s == "" || w.Track == nil {
		s = strings.TrimSpace(when(w, m.Time) + " " + s)
	}
	return s
}

// NoLine begins the Frame of a moment at which no line of the program ran; the line that ran last follows.
const NoLine = "after "

// when is a time of the recorded run, such as "12.40 ms"; of a trace without times, a place in it, such as "entry 1,234".
func when(w *whatif.Comparison, at int64) string {
	if !w.Timed {
		return "entry " + wording.Count(at)
	}
	return wording.Duration(at)
}

// Failure says in a sentence where the run stops under a setting and why, with what was free just then; empty where it runs
// through.
func Failure(w *whatif.Comparison, s *whatif.Setting) string {
	if s.Limited == nil || len(s.Limited.Failures) == 0 {
		return ""
	}
	f := &s.Limited.Failures[0]
	text := "stops in " + Moment(w, &f.Moment)
	if w.Track == nil {
		text = "stops at " + Moment(w, &f.Moment)
		if line, ok := strings.CutPrefix(f.Frame, NoLine); ok {
			text = fmt.Sprintf("stops at %s (where no Python line runs, as in a backward pass; the last one to "+
				"ask for memory before is %s)", when(w, f.Time), wording.Terminal(line))
		}
	}
	text += ": asks for " + wording.Bytes(f.Request)
	if wording.Bytes(f.Rounded) != wording.Bytes(f.Request) {
		text += fmt.Sprintf(" (%s rounded)", wording.Bytes(f.Rounded))
	}
	switch {
	case f.FreeCache > f.Request:
		text += fmt.Sprintf(" while %s lie free in the cache, the largest piece %s",
			wording.Bytes(f.FreeCache), wording.Bytes(f.LargestFree))
	case f.FreeCache > 0:
		text += fmt.Sprintf(" with %s free in the cache", wording.Bytes(f.FreeCache))
	default:
		text += " with nothing free in the cache"
	}
	text += fmt.Sprintf("; %s of %s reserved, %s allocated", wording.Bytes(f.Reserved),
		wording.Bytes(s.Limited.Capacity), wording.Bytes(f.Allocated))
	if n := s.Limited.Failed; n > 1 {
		text += fmt.Sprintf(" (%s requests in all, were it to go on)", wording.Count(n))
	}
	return text
}
