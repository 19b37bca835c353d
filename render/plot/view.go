package plot

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// A view is what part of a track a picture shows. It follows from the report and the options, before anything is drawn.
type view struct {
	timeline, iterations, steady bool // the panels that there are
	segments                     bool // a picture of its own

	from, to int64           // ns; the timeline's stretch
	fixed    bool            // the user chose it; otherwise it shrinks to where the data are
	chosen   bool            // by time, not by iterations
	columns  int             // pixel columns over the whole picture
	stack    string          // what the tensors are stacked by: "category", "phase", "kind"; empty for no stack
	level    align.LevelKind // "allocated" where the picture is about what tensors hold; empty for the device level
	o        Options

	its    []*align.Iteration // those shown, in time order
	big    int                // place in its of the enlarged one; -1 for none
	bigWhy string             // how it was chosen

	missing string             // iterations asked for that there are not, as text
	doubts  []findings.Warning // about what was asked for
}

// newView works out what a picture shows.
//
//  1. The level that it is about, and what tensors are stacked by.
//  2. The panels.
//  3. The iterations, then the stretch of time, which may leave some of them out.
//  4. The iteration that is enlarged.
func newView(rep *findings.Report, track *align.Track, o Options) (*view, error) {
	sheet, err := o.sheet()
	if err != nil {
		return nil, err
	}
	v := &view{big: -1, columns: sheet.Columns, o: o}
	if err := v.pickStack(rep, track); err != nil {
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
		return v, v.pickSegments(rep, track)
	default:
		return nil, fmt.Errorf("plot: unknown view %q: use timeline, iterations, steady, segments or all", o.View)
	}
	if len(track.Iterations) == 0 && !v.timeline {
		why := track.IterationsFrom.Why
		if why != "" {
			why = " (" + why + ")"
		}
		return nil, fmt.Errorf("plot: view %q of %q: no iterations were found%s: name them with --iteration, or use --view timeline",
			o.View, rep.Source.Path, why)
	}
	if err := v.pickIterations(rep, track, o.Iterations); err != nil {
		return nil, err
	}
	if err := v.pickTime(rep); err != nil {
		return nil, err
	}
	if v.steady {
		v.pickSteady()
	}
	return v, nil
}

// pickStack says how the tensors are stacked: as the user wants, else by category where there are any tensors.
func (v *view) pickStack(rep *findings.Report, track *align.Track) error {
	ten, by := track.Tensors, v.o.Stack
	switch by {
	case "":
		if ten != nil && len(ten.Blocks) > 0 {
			v.stack = "category"
		}
	case "none":
	case "kind":
		v.stack = "kind"
	case "category", "phase":
		if ten == nil {
			return fmt.Errorf("plot: stack by %s of %q: its tensors are not known: "+
				"give PyTorch's memory snapshot of the run with --snapshot, or use --stack kind", by, rep.Source.Path)
		}
		v.stack = by
	default:
		return fmt.Errorf("plot: unknown stack %q: use category, phase, kind or none", by)
	}
	if ten != nil && ten.From == tensor.BySnapshot && v.stacksTensors() {
		v.level = align.LevelAllocated
	}
	return nil
}

func (v *view) stacksTensors() bool { return v.stack == "category" || v.stack == "phase" }

// pickSegments prepares the view of the allocator's memory, which is of one moment.
func (v *view) pickSegments(rep *findings.Report, track *align.Track) error {
	v.segments = true
	if by := v.o.Stack; by == "kind" || by == "none" {
		return fmt.Errorf("plot: segments by %s: use --stack category or phase", by)
	}
	if err := checkMoment(rep, track, v.o); err != nil {
		return err
	}
	if v.stack == "" {
		v.stack = "category"
	}
	v.from, v.to, v.fixed = rep.Source.Start, max(rep.Source.End, rep.Source.Start+1), true
	return v.pickIterations(rep, track, nil)
}

// pickIterations takes those from want[0] to want[1]; nil for all.
func (v *view) pickIterations(rep *findings.Report, track *align.Track, want *[2]int) error {
	all := track.Iterations
	for i := range all {
		if it := &all[i]; want == nil || it.Index >= want[0] && it.Index <= want[1] {
			v.its = append(v.its, it)
		}
	}
	switch {
	case want == nil:
		return nil
	case len(v.its) > 0:
		if v.missing = missing(*want, v.its); v.missing != "" {
			v.doubts = append(v.doubts, findings.Warning{PID: track.PID, Code: "iterations_missing",
				Text: fmt.Sprintf("--iterations %d-%d: there is no %s; shown: %s", want[0], want[1], v.missing, list(indexes(v.its)))})
		}
		return nil
	case len(all) == 0:
		return fmt.Errorf("plot: iterations %d-%d of %q: no iterations were found: leave --iterations out", want[0], want[1], rep.Source.Path)
	}
	lo, hi := all[0].Index, all[0].Index
	for i := range all {
		lo, hi = min(lo, all[i].Index), max(hi, all[i].Index)
	}
	return fmt.Errorf("plot: iterations %d-%d of %q: the report has %d to %d", want[0], want[1], rep.Source.Path, lo, hi)
}

// pickTime takes the stretch that the user chose, that of the iterations chosen, or all of the report.
func (v *view) pickTime(rep *findings.Report) error {
	start, end := rep.Source.Start, max(rep.Source.End, rep.Source.Start+1)
	v.from, v.to = start, end
	if v.o.Iterations != nil {
		v.from, v.to, v.fixed = v.its[0].Start, v.its[len(v.its)-1].End, true
	}
	from, to := v.o.From, v.o.To
	if from == 0 && to == 0 {
		v.to = max(v.to, v.from+1)
		return nil
	}
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
			Text: fmt.Sprintf("the report runs from %s to %s: shown from %s to %s",
				wording.Seconds(start), wording.Seconds(end), wording.Seconds(from), wording.Seconds(to))})
	}
	v.from, v.to, v.fixed, v.chosen = from, to, true, true
	if v.o.Iterations == nil {
		return v.followTime(rep)
	}
	return nil
}

// followTime leaves out the iterations that lie outside the timeline: the panels below follow it.
func (v *view) followTime(rep *findings.Report) error {
	var its []*align.Iteration
	for _, it := range v.its {
		if it.Start < v.to && it.End > v.from {
			its = append(its, it)
		}
	}
	if v.its = its; len(its) > 0 {
		return nil
	}
	if !v.timeline {
		return fmt.Errorf("plot: time %s to %s of %q holds no iteration: use --view timeline",
			wording.Seconds(v.from), wording.Seconds(v.to), rep.Source.Path)
	}
	v.iterations, v.steady = false, false
	return nil
}

// partial says that the user chose a part of the run, so that what is in view and what the run has are two things.
func (v *view) partial() bool { return v.fixed && !v.segments }

// holds says that one of the iterations shown holds a time.
func (v *view) holds(t int64) bool {
	for _, it := range v.its {
		if it.Start <= t && t < it.End {
			return true
		}
	}
	return false
}

// use is the use of the level that the picture is about.
func (v *view) use(u *align.Use) *align.MemoryUse {
	if m := u.Level(v.level); m != nil {
		return m
	}
	return &u.Memory
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

// stretch is a window of time that needs curves.
type stretch struct {
	from, to int64
	points   int
	big      bool // of the enlarged iteration, not of the timeline
}

// mostPoints bounds the memory that curves may take; a curve of fewer events has every one of them.
const mostPoints = 1 << 18

// shrinks is how many times shorter than the report a timeline may come out that shrinks to its data later: it needs points
// for the time that it will show.
const shrinks = 16

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
		perNS := shrinks * float64(v.columns) / float64(v.to-v.from)
		finest := max(perNS, v.scale().Finest(v.columns))
		end := v.to + 1 // windows are half-open, and the last event counts
		if v.fixed || len(v.its) == 0 {
			add(v.from, end, false, finest)
		} else {
			a, b := v.its[0].Start, v.its[len(v.its)-1].End
			a, b = min(max(a, v.from), end), min(max(b, v.from), end)
			add(v.from, a, false, perNS)
			add(a, max(a, b), false, finest)
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
func (v *view) scale() canvas.Scale {
	if v.o.Linear || v.chosen {
		return canvas.Linear(v.from, v.to)
	}
	return scaleOf(v.from, v.to, v.its)
}

// scaleOf lays a stretch of time out so that its iterations can be told apart.
func scaleOf(from, to int64, its []*align.Iteration) canvas.Scale {
	list := make([]canvas.Stretch, len(its))
	for i, it := range its {
		list[i] = canvas.Stretch{From: it.Start, To: it.End, Usual: it.Steady()}
	}
	return canvas.NewScale(from, to, list)
}
