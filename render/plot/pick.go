package plot

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

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
		if v.missing = missingText(*want, v.its); v.missing != "" {
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
