package summary

import (
	"fmt"
	"io"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

const (
	textIterations = 40 // so many iterations are shown whole
	textPhases     = 40
	textFailed     = 4 // so many failed allocations from each end
	textRanges     = 12
	minWidth       = 40
)

// besideHead stands above what --infer always compares.
const besideHead = "Inferred phases beside the annotated ones (medians over the steady iterations)"

// WriteText writes the report for a terminal of so many columns (0 for 80): what it is, the levels, iterations, phases,
// failed allocations, how all that was found, findings and warnings. Tables lose their least important columns where the
// terminal is narrow, and say so. Names never bring control characters along. With color, escape sequences mark heads and
// severities. The error is the writer's.
func WriteText(w io.Writer, rep *findings.Report, width int, color bool) error {
	p := newPrinter(w, width, color)
	p.source(&rep.Source)
	if s := phrase.Snapshots(rep); s != "" {
		p.para("  ", s)
	}
	for _, g := range phrase.Missing(rep.Collected) {
		p.para(p.paint(yellow, "not collected: "), g.What+": "+g.Cost+"; "+g.How)
	}
	for _, t := range rep.Tracks {
		p.track(rep, t)
	}
	if len(rep.Tracks) == 0 {
		p.blank()
		p.para("", "No process with device memory or GPU work in this report.")
	}
	for _, s := range phrase.Together(rep) {
		p.blank()
		p.para("", s+".")
	}
	if len(rep.Findings) > 0 {
		p.head("Findings")
		p.findings(rep.Findings)
	}
	p.warnings(rep.Warnings)
	return p.close()
}

func (p *printer) source(s *align.Source) {
	p.para("", s.Path, bold)
	var parts []string
	add := func(format, v string) {
		if v != "" {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add("Nsight Systems %s", s.NsysVersion)
	add("export schema %s", s.SchemaVersion)
	add("%s", s.OS)
	add("driver %s", s.Driver)
	add("CUDA %s", s.CUDADriver)
	p.para("  ", strings.Join(parts, ", "))
	when := wording.Duration(s.Duration()) + " recorded"
	if d := phrase.Date(s.StartUTC); d != "" {
		when += ", clock 0 is " + d
	}
	p.para("  ", when)
}

func (p *printer) track(rep *findings.Report, t *align.Track) {
	c := &rep.Collected
	p.head(phrase.Track(t))
	p.levels(rep, t)
	p.iterationsFrom(rep, t)
	if len(t.Iterations) > 0 {
		p.head("Iterations")
		p.iterations(rep, t)
	}
	if len(t.Phases) > 0 {
		p.head("Phases (median and highest over the steady iterations)")
		p.phases(rep, t)
	}
	if x := t.Inferred; x != nil && len(x.Phases) > 0 {
		p.head(besideHead)
		p.table(laidOut(tables.PhaseMedians.Columns(tables.Terminal), tables.AllRows(rep.Report, t, x.Phases)), nil)
	}
	p.tensors(rep, t)
	if len(t.Ranges) > 0 {
		p.head("Ranges outside iterations")
		p.ranges(rep, t)
	}
	if showLibraries(t) {
		p.head("Device memory by the library that asked for it")
		p.table(laidOut(tables.Libraries.Columns(tables.Terminal), tables.AllRows(rep.Report, t, t.Libraries)), nil)
	}
	if len(t.Failed) > 0 {
		p.head(fmt.Sprintf("Failed allocations (%s)", wording.Count(len(t.Failed))))
		p.failed(rep, t)
	}
	p.blank()
	p.para("Attribution: ", phrase.Attribution(c, t))
}

// showLibraries says that people are told who asked for device memory: where call chains tell, and memory outside PyTorch is
// not told by library already.
func showLibraries(t *align.Track) bool {
	return len(t.Libraries) > 0 && (t.Tensors == nil || t.Tensors.Outside == nil)
}

func (p *printer) levels(rep *findings.Report, t *align.Track) {
	if !rep.Collected.Memory {
		p.para("  ", "device memory: n/a, not collected")
		return
	}
	p.table(laidOut(tables.Levels.Columns(tables.Terminal), tables.LevelRows(rep.Report, t)), nil)
	p.inferred(t)
	for i := range t.Levels {
		if l := &t.Levels[i]; l.Partial {
			p.para("  ", fmt.Sprintf("%s is partial: the recording began in the middle (frees without their allocation: %s), levels are lower bounds",
				l.Kind, wording.Count(l.UnmatchedFrees)), dim)
		}
	}
}

func (p *printer) iterationsFrom(rep *findings.Report, t *align.Track) {
	p.blank()
	p.para("Iterations: ", phrase.IterationsFrom(t))
	var others []string
	for i := range rep.Families {
		if f := &rep.Families[i]; f.PID == t.PID && !f.Chosen && !f.Operator {
			if len(others) == 3 {
				others = append(others, "…")
				break
			}
			others = append(others, fmt.Sprintf("%q × %d", f.Pattern, f.Count))
		}
	}
	if len(others) > 0 {
		p.para("  ", "other families of ranges: "+strings.Join(others, ", ")+" (choose with --iteration)", dim)
	}
}

func (p *printer) iterations(rep *findings.Report, t *align.Track) {
	show := thin(t.Iterations, textIterations)
	p.table(laidOut(tables.Iterations.Columns(tables.Terminal), stepsOf(rep, t, show)), show.gaps(""))
	p.inferred(t)
	if rep.Collected.Memory {
		p.ties(t, show, align.LevelDevice)
	}
	if left := len(t.Iterations) - len(show); left > 0 {
		p.para("  ", fmt.Sprintf("(%s of %s iterations are not shown: first, last, highest and truncated ones are; all are in --format csv and json)",
			wording.Count(left), wording.Count(len(t.Iterations))), dim)
	}
}

func (p *printer) phases(rep *findings.Report, t *align.Track) {
	show := thinPhases(t.Phases, textPhases)
	inferred, annotated := false, false
	for _, i := range show {
		inferred = inferred || t.Phases[i].Inferred
		annotated = annotated || !t.Phases[i].Inferred && t.Phases[i].Path != align.OtherPhase
	}
	tab := laidOut(tables.Phases.Columns(tables.Terminal), tables.RowsOf(rep.Report, t, t.Phases, show))
	if inferred && annotated { // a row that does not say which it is would mislead
		tab.cols[len(tab.cols)-1].rank = 1
	}
	p.table(tab, nil)
	p.para("  ", "("+phrase.Terms(&rep.Collected, t)+")", dim)
	switch {
	case inferred && annotated:
		p.para("  ", "(phases marked inferred come from the GPU work, not from ranges of the program)", dim)
	case inferred:
		p.para("  ", "(all phases are inferred from the GPU work, not from ranges of the program)", dim)
	}
	if left := len(t.Phases) - len(show); left > 0 {
		p.para("  ", fmt.Sprintf("(%s of %s phases with less need are not shown; all are in --format csv and json)",
			wording.Count(left), wording.Count(len(t.Phases))), dim)
	}
}

func (p *printer) ranges(rep *findings.Report, t *align.Track) {
	first := places(min(len(t.Ranges), textRanges))
	p.table(laidOut(tables.Ranges.Columns(tables.Terminal), tables.RowsOf(rep.Report, t, t.Ranges, first)), nil)
	if n := len(t.Ranges) - textRanges; n > 0 {
		p.para("  ", fmt.Sprintf("(%s more ranges are in --format json)", wording.Count(n)), dim)
	}
}

func (p *printer) failed(rep *findings.Report, t *align.Track) {
	show := thinFailed(len(t.Failed))
	rows := tables.RowsOf(rep.Report, t, t.Failed, show)
	p.table(laidOut(tables.Failures.Columns(tables.Terminal), rows), show.gaps(", all are in --format json"))
	p.inferred(t)
}

func (p *printer) findings(fs []findings.Finding) {
	for i := range fs {
		f := &fs[i]
		p.para("  "+p.severity(string(f.Severity))+": ", f.Text)
		if f.Advice != "" {
			p.para("    → ", f.Advice)
		}
	}
}

func (p *printer) warnings(ws []findings.Warning) {
	if len(ws) == 0 {
		return
	}
	p.head("Warnings")
	for i := range ws {
		p.para("  "+p.paint(yellow, "! "), ws[i].Text+" ["+ws[i].Code+"]")
	}
}
