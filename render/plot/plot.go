// Package plot draws a track of a findings.Report: its device level over time, a column per iteration, and one steady
// iteration enlarged, as PNG, SVG or PDF.
//
// A caller asks Windows which curves a picture needs, gets them from align.Curves, and hands them to Write.
package plot

import (
	"fmt"
	"io"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
)

// Options say what a picture shows and how. The zero value is the whole picture at its usual size.
type Options struct {
	View       string  // "timeline", "iterations", "steady" or "all"; empty for all; or "segments", a map of the allocator's memory
	From       int64   // ns on the report's clock; start of the timeline, and 0 with To 0 for where the track's data start
	To         int64   // ns; end of the timeline
	Iterations *[2]int // first and last number (align.Iteration.Index) shown, both included; nil for all
	Linear     bool    // keep one time scale where the iterations would be too narrow on it
	Stack      string  // "category", "phase", "kind" or "none"; empty for category where tensors are known
	At         string  // of the segments view: "peak" (of what tensors hold), "reserved" (peak), "oom" or "time"; empty for peak
	AtTime     int64   // ns on the report's clock, for At "time"
	SinceFirst bool    // count the timeline's axis from the first event in view, not from the report's time 0

	Size  Size   // of the whole picture; the zero value is 1600 by 1000 pixels
	DPI   int    // pixels per inch, which sets how large text is beside the picture; 0 for 100
	Font  string // font file for characters that the built-in font lacks; empty to look among the installed ones
	Title string // in place of the report's name; empty for that

	noScan bool // tests: as on a machine without fonts
}

// Write draws a picture of track, one of rep.Tracks, in a format, "png", "svg" or "pdf". curves are those of the windows
// that Windows names for the same options, in its order; a missing one is drawn as an empty panel. Nothing is written to w
// unless the picture is complete. The warnings are about the picture alone, such as characters that no font has.
//
// The picture depends on nothing but the arguments and, for characters that the built-in font lacks, the fonts of the
// machine.
func Write(w io.Writer, format string, rep *findings.Report, track *align.Track, curves [][]align.Curve, o Options) (warnings []findings.Warning, err error) {
	// The libraries below say by panic what they cannot draw. A broken picture must not take the program with it.
	defer func() {
		if r := recover(); r != nil {
			warnings, err = nil, fmt.Errorf("plot: draw %s: %v", format, r)
		}
	}()
	if !rep.Collected.Memory {
		return nil, fmt.Errorf("plot: read %q: no memory events: profile with --cuda-memory-usage=true", rep.Source.Path)
	}
	l, err := newLayout(o)
	if err != nil {
		return nil, err
	}
	view, err := newView(rep, track, o, l)
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
	pic := &picture{painter: p, rep: rep, track: track, view: view, palette: newPalette(track), word: wordOf(track), o: o}
	if err := pic.setCurves(curves); err != nil {
		return nil, err
	}
	if view.segments {
		pic.memory = pic.newSegments()
	}
	pic.draw()
	data, err := p.bytes()
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, view.doubts...)
	if len(f.missing) > 0 {
		warnings = append(warnings, missingWarning(f.missing))
	}
	if _, err := w.Write(data); err != nil {
		return warnings, fmt.Errorf("plot: write %s: %w", format, err)
	}
	return warnings, nil
}

// missingWarning names characters that were drawn as boxes.
func missingWarning(missing []rune) findings.Warning {
	const most = 8
	list := ""
	for i, r := range missing {
		if i == most {
			list += fmt.Sprintf(" and %d more", len(missing)-most)
			break
		}
		if i > 0 {
			list += ", "
		}
		list += fmt.Sprintf("%c (U+%04X)", r, r)
	}
	return findings.Warning{
		Code: "no_font",
		Text: "no font has " + list + ": boxes are drawn in their place; install a font that has them or name its file with --font",
	}
}

// Windows are the stretches of track for which a picture with these options wants curves, in the order in which Write
// takes them: the timeline's, then the enlarged iteration's, as far as the view has them.
func Windows(rep *findings.Report, track *align.Track, o Options) ([]align.Window, error) {
	l, err := newLayout(o)
	if err != nil {
		return nil, err
	}
	v, err := newView(rep, track, o, l)
	if err != nil {
		return nil, err
	}
	var windows []align.Window
	for _, s := range v.stretches() {
		windows = append(windows, align.Window{
			PID: track.PID, Device: track.Device, From: s.from, To: s.to, Points: s.points,
		})
	}
	return windows, nil
}

// A view is what part of a track a picture shows.
type view struct {
	timeline, iterations, steady bool
	segments                     bool // a picture of its own

	from, to int64           // ns; the timeline's stretch
	fixed    bool            // the user chose it; otherwise it shrinks to where the data are
	chosen   bool            // by time, not by iterations
	columns  int             // pixel columns over the whole picture
	stack    string          // what the tensors are stacked by: "category", "phase", "kind"; empty for no stack
	level    align.LevelKind // "allocated" where the picture is about what tensors hold; empty for the device level
	o        Options

	its    []*align.Iteration // those shown, in time order
	places []int              // their places in Track.Iterations
	big    int                // place in its of the enlarged one; -1 for none
	bigWhy string             // how it was chosen

	missing string             // iterations asked for that there are not, as text
	doubts  []findings.Warning // about what was asked for
}

// stretch is a window of time that needs curves.
type stretch struct {
	from, to int64
	points   int
	big      bool // of the enlarged iteration, not of the timeline
}

// mostPoints bounds the memory that curves may take; a curve of fewer events has every one of them.
const mostPoints = 1 << 18

// stretches are the windows of time that need curves. The iterations are one of their own: they may be drawn at a much
// larger scale than what lies around them.
func (v *view) stretches() []stretch {
	var s []stretch
	add := func(from, to int64, big bool, perNS float64) {
		if to > from {
			// Two points a pixel column keep its lowest and highest level in place.
			n := min(max(2*perNS*float64(to-from), float64(v.columns)), mostPoints)
			s = append(s, stretch{from, to, int(n), big})
		}
	}
	if v.timeline {
		// A timeline that shrinks to its data later needs points for the time that it will show.
		perNS := 16 * float64(v.columns) / float64(v.to-v.from)
		end := v.to + 1 // windows are half-open, and the last event counts
		if v.fixed || len(v.its) == 0 {
			add(v.from, end, false, max(perNS, v.scale(v.o).finest(v.columns)))
		} else {
			a, b := v.its[0].Start, v.its[len(v.its)-1].End
			a, b = min(max(a, v.from), end), min(max(b, v.from), end)
			add(v.from, a, false, perNS)
			add(a, max(a, b), false, max(perNS, v.scale(v.o).finest(v.columns)))
			add(max(a, b), end, false, perNS)
		}
	}
	if v.steady && v.big >= 0 {
		it := v.its[v.big]
		end := max(it.End, it.Start+1)
		add(it.Start, end, true, float64(v.columns)/float64(end-it.Start))
	}
	return s
}

// scale lays the timeline out.
func (v *view) scale(o Options) timeScale {
	if o.Linear || v.chosen {
		return linear(v.from, v.to)
	}
	return newTimeScale(v.from, v.to, v.its)
}

func newView(rep *findings.Report, track *align.Track, o Options, l layout) (*view, error) {
	v := &view{big: -1, columns: l.columns, o: o}
	if err := v.pickStack(rep, track, o); err != nil {
		return nil, err
	}
	switch o.View {
	case "", "all":
		v.timeline, v.iterations, v.steady = true, len(track.Iterations) > 0, len(track.Iterations) > 0
	case "timeline":
		v.timeline = true
	case "iterations":
		v.iterations = true
	case "steady":
		v.steady = true
	case "segments":
		return v, v.pickSegments(rep, track, o)
	default:
		return nil, fmt.Errorf("plot: unknown view %q: use timeline, iterations, steady, segments or all", o.View)
	}
	if len(track.Iterations) == 0 && !v.timeline {
		why := track.IterationsFrom.Why
		if why != "" {
			why = " (" + why + ")"
		}
		return nil, fmt.Errorf("plot: view %q of %q: no iterations were found%s: name them with --iteration, or use --view timeline", o.View, rep.Source.Path, why)
	}
	if err := v.pickIterations(rep, track, o); err != nil {
		return nil, err
	}
	if err := v.pickTime(rep, o); err != nil {
		return nil, err
	}
	if v.steady {
		v.pickSteady()
	}
	return v, nil
}

// pickSegments prepares the view of the allocator's memory, which is of one moment.
func (v *view) pickSegments(rep *findings.Report, track *align.Track, o Options) error {
	v.segments = true
	if o.Stack == "kind" || o.Stack == "none" {
		return fmt.Errorf("plot: segments by %s: use --stack category or phase", o.Stack)
	}
	if err := checkMoment(rep, track, o); err != nil {
		return err
	}
	if v.stack == "" {
		v.stack = "category"
	}
	v.from, v.to, v.fixed = rep.Source.Start, max(rep.Source.End, rep.Source.Start+1), true
	return v.pickIterations(rep, track, Options{})
}

func (v *view) pickIterations(rep *findings.Report, track *align.Track, o Options) error {
	for i := range track.Iterations {
		it := &track.Iterations[i]
		if o.Iterations != nil && (it.Index < o.Iterations[0] || it.Index > o.Iterations[1]) {
			continue
		}
		v.its = append(v.its, it)
		v.places = append(v.places, i)
	}
	if o.Iterations == nil {
		return nil
	}
	if len(v.its) > 0 {
		if v.missing = missing(*o.Iterations, v.its); v.missing != "" {
			v.doubts = append(v.doubts, findings.Warning{PID: track.PID, Code: "iterations_missing",
				Text: fmt.Sprintf("--iterations %d-%d: there is no %s; shown: %s", o.Iterations[0], o.Iterations[1], v.missing, list(indexes(v.its)))})
		}
		return nil
	}
	if len(track.Iterations) == 0 {
		return fmt.Errorf("plot: iterations %d-%d of %q: no iterations were found: leave --iterations out", o.Iterations[0], o.Iterations[1], rep.Source.Path)
	}
	lo, hi := track.Iterations[0].Index, track.Iterations[0].Index
	for i := range track.Iterations {
		lo, hi = min(lo, track.Iterations[i].Index), max(hi, track.Iterations[i].Index)
	}
	return fmt.Errorf("plot: iterations %d-%d of %q: the report has %d to %d", o.Iterations[0], o.Iterations[1], rep.Source.Path, lo, hi)
}

func (v *view) pickTime(rep *findings.Report, o Options) error {
	start, end := rep.Source.Start, rep.Source.End
	if end <= start {
		end = start + 1
	}
	v.from, v.to = start, end
	if o.Iterations != nil {
		v.from, v.to, v.fixed = v.its[0].Start, v.its[len(v.its)-1].End, true
	}
	if o.From == 0 && o.To == 0 {
		v.to = max(v.to, v.from+1)
		return nil
	}
	from, to := o.From, o.To
	if to == 0 {
		to = v.to
	}
	if from == 0 {
		from = v.from
	}
	if to <= from || to <= start || from >= end {
		return fmt.Errorf("plot: time %s to %s of %q holds nothing: the report runs from %s to %s",
			wording.Seconds(from), wording.Seconds(to), rep.Source.Path, wording.Seconds(start), wording.Seconds(end))
	}
	// Of the time before and after the recording nothing is known, not even that the level stays.
	if from < start || to > end {
		from, to = max(from, start), min(to, end)
		v.doubts = append(v.doubts, findings.Warning{Code: "time_clipped",
			Text: fmt.Sprintf("the report runs from %s to %s: shown from %s to %s", wording.Seconds(start), wording.Seconds(end), wording.Seconds(from), wording.Seconds(to))})
	}
	v.from, v.to, v.fixed, v.chosen = from, to, true, true
	if o.Iterations != nil {
		return nil
	}
	// The panels below follow the timeline.
	its, places := v.its[:0:0], v.places[:0:0]
	for i, it := range v.its {
		if it.Start < to && it.End > from {
			its, places = append(its, it), append(places, v.places[i])
		}
	}
	v.its, v.places = its, places
	if len(its) == 0 {
		if !v.timeline {
			return fmt.Errorf("plot: time %s to %s of %q holds no iteration: use --view timeline", wording.Seconds(from), wording.Seconds(to), rep.Source.Path)
		}
		v.iterations, v.steady = false, false
	}
	return nil
}
