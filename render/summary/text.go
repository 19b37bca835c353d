package summary

import (
	"fmt"
	"io"
	"strconv"
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

// WriteText writes the report for a terminal of so many columns (0 for 80): what it is, the levels, iterations, phases,
// failed allocations, how all that was found, findings and warnings. Tables lose their least important columns where the
// terminal is narrow, and say so. Names never bring control characters along. With color, escape sequences mark heads and
// severities. The error is the writer's.
func WriteText(w io.Writer, rep *findings.Report, width int, color bool) error {
	p := newPrinter(w, width, color)
	p.source(&rep.Source)
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
	return p.out.close()
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
		p.phases(c, t)
	}
	p.tensors(rep, t)
	if len(t.Ranges) > 0 {
		p.head("Ranges outside iterations")
		p.ranges(rep, t)
	}
	if len(t.Failed) > 0 {
		p.head(fmt.Sprintf("Failed allocations (%s)", wording.Count(len(t.Failed))))
		p.failed(rep, t)
	}
	p.blank()
	p.para("Attribution: ", phrase.Attribution(c, t))
}

func (p *printer) levels(rep *findings.Report, t *align.Track) {
	if !rep.Collected.Memory {
		p.para("  ", "device memory: n/a, not collected")
		return
	}
	tab := &textTable{}
	kind := tab.add(column{head: "memory traced", left: true})
	peak := tab.add(column{head: "peak"})
	at := tab.add(column{head: "at", rank: 4})
	in := tab.add(column{head: "in", left: true, rank: 2, min: 22})
	end := tab.add(column{head: "end", rank: 1})
	base := tab.add(column{head: "baseline", rank: 7})
	allocs := tab.add(column{head: "allocs", rank: 5})
	frees := tab.add(column{head: "frees", rank: 6})
	failed := tab.add(column{head: "failed", rank: 3})
	for i := range t.Levels {
		l := &t.Levels[i]
		low := ""
		if l.Partial {
			low = "≥ "
		}
		kind.cells = append(kind.cells, wording.Terminal(string(l.Kind)))
		peak.cells = append(peak.cells, low+wording.Bytes(l.Peak))
		at.cells = append(at.cells, wording.Duration(l.PeakAt-rep.Source.Start))
		it, phase := t.PeakPlace(l)
		in.cells = append(in.cells, phrase.Place(it, phase))
		end.cells = append(end.cells, low+wording.Bytes(l.End))
		base.cells = append(base.cells, wording.Bytes(l.Baseline))
		allocs.cells = append(allocs.cells, wording.Count(l.Allocs))
		frees.cells = append(frees.cells, wording.Count(l.Frees))
		failed.cells = append(failed.cells, known(rep.Collected.API, wording.Count(l.FailedAllocs)))
	}
	if t.Pool != nil {
		for _, r := range []struct {
			name      string
			peak, end int64
		}{{"pool size", t.Pool.PeakSize, t.Pool.EndSize}, {"pool used", t.Pool.PeakUsed, t.Pool.EndUsed}} {
			kind.cells = append(kind.cells, r.name)
			peak.cells = append(peak.cells, wording.Bytes(r.peak))
			end.cells = append(end.cells, wording.Bytes(r.end))
			for _, c := range []*column{at, in, base, allocs, frees, failed} {
				c.cells = append(c.cells, "")
			}
		}
	}
	p.table(tab, nil)
	p.inferred(t)
	for i := range t.Levels {
		if l := &t.Levels[i]; l.Partial {
			p.para("  ", fmt.Sprintf("%s is partial: the recording began in the middle (frees without their allocation: %s), levels are lower bounds",
				l.Kind, wording.Count(l.UnmatchedFrees)), dim)
		}
	}
}

// known is s, or n/a where the report does not hold what it is made of.
func known(ok bool, s string) string {
	if !ok {
		return "n/a"
	}
	return s
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
	steps := make([]*tables.Step, len(show.rows))
	for n, i := range show.rows {
		steps[n] = tables.StepOf(rep.Report, t, &t.Iterations[i], nil)
	}
	p.table(laidOut(tables.Iterations.Columns(tables.Terminal), steps), show.gaps())
	p.inferred(t)
	if show.left > 0 {
		p.para("  ", fmt.Sprintf("(%s of %s iterations are not shown: first, last, highest and truncated ones are; all are in --format csv and json)",
			wording.Count(show.left), wording.Count(len(t.Iterations))), dim)
	}
}

// graphColumn is the column for graph launches that are traced whole, whose kernels the report does not have. It stays
// empty, and so is left out, where there are none.
func graphColumn(tab *textTable) *column {
	return tab.add(column{head: "graphs", rank: 5})
}

func graphCell(t *align.Track, n int64) string {
	if t.Total.GPU.Graphs == 0 {
		return ""
	}
	return wording.Count(n)
}

func (p *printer) phases(c *align.Collected, t *align.Track) {
	tab := &textTable{}
	name := tab.add(column{head: "phase", left: true, min: 14})
	peak := tab.add(column{head: "peak max"})
	net := tab.add(column{head: "net", rank: 2})
	need := tab.add(column{head: "need", rank: 1})
	needMax := tab.add(column{head: "need max", rank: 3})
	dur := tab.add(column{head: "time", rank: 5})
	kernels := tab.add(column{head: "kernels", rank: 6})
	kernelNS := tab.add(column{head: "kernel time", rank: 4})
	graphs := graphColumn(tab)
	calls := tab.add(column{head: "calls", rank: 8})
	its := tab.add(column{head: "iterations", rank: 9})
	show := thinPhases(t.Phases, textPhases)
	inferred, annotated := false, false
	for _, i := range show.rows {
		inferred = inferred || t.Phases[i].Inferred
		annotated = annotated || !t.Phases[i].Inferred && t.Phases[i].Path != align.OtherPhase
	}
	// Where only some are inferred, a row that does not say so would mislead.
	rank := 7
	if inferred && annotated {
		rank = 1
	}
	from := tab.add(column{head: "from", left: true, rank: rank})
	for _, i := range show.rows {
		ph := &t.Phases[i]
		name.cells = append(name.cells, strings.Repeat("  ", min(max(ph.Depth-1, 0), 8))+wording.Terminal(ph.Name))
		peak.cells = append(peak.cells, known(c.Memory, wording.Bytes(ph.Max.Memory.Peak)))
		net.cells = append(net.cells, known(c.Memory, wording.SignedBytes(ph.Median.Memory.Net)))
		need.cells = append(need.cells, known(c.Memory, wording.Bytes(ph.Median.Memory.Need)))
		needMax.cells = append(needMax.cells, known(c.Memory, wording.Bytes(ph.Max.Memory.Need)))
		dur.cells = append(dur.cells, wording.Duration(ph.DurationNS))
		kernels.cells = append(kernels.cells, known(c.Kernels, wording.Count(ph.Median.GPU.Kernels)))
		kernelNS.cells = append(kernelNS.cells, known(c.Kernels, wording.Duration(ph.Median.GPU.KernelNS)))
		graphs.cells = append(graphs.cells, graphCell(t, ph.Median.GPU.Graphs))
		calls.cells = append(calls.cells, strconv.Itoa(ph.Calls))
		its.cells = append(its.cells, strconv.Itoa(ph.Iterations))
		switch {
		case ph.Inferred:
			from.cells = append(from.cells, "inferred")
		case inferred && ph.Path != align.OtherPhase:
			from.cells = append(from.cells, "nvtx")
		default:
			from.cells = append(from.cells, "")
		}
	}
	p.table(tab, nil)
	switch {
	case inferred && annotated:
		p.para("  ", "(phases marked inferred come from the GPU work, not from ranges of the program)", dim)
	case inferred:
		p.para("  ", "(all phases are inferred from the GPU work, not from ranges of the program)", dim)
	}
	if show.left > 0 {
		p.para("  ", fmt.Sprintf("(%s of %s phases with less need are not shown; all are in --format csv and json)",
			wording.Count(show.left), wording.Count(len(t.Phases))), dim)
	}
}

func (p *printer) ranges(rep *findings.Report, t *align.Track) {
	c := &rep.Collected
	tab := &textTable{}
	name := tab.add(column{head: "range", left: true, min: 12})
	at := tab.add(column{head: "at", rank: 5})
	dur := tab.add(column{head: "time", rank: 3})
	net := tab.add(column{head: "net", rank: 1})
	peak := tab.add(column{head: "peak"})
	need := tab.add(column{head: "need", rank: 2})
	kernels := tab.add(column{head: "kernels", rank: 6})
	kernelNS := tab.add(column{head: "kernel time", rank: 4})
	note := tab.add(column{head: "", left: true, rank: 7})
	for i := range t.Ranges[:min(len(t.Ranges), textRanges)] {
		r := &t.Ranges[i]
		name.cells = append(name.cells, wording.Terminal(r.Name))
		at.cells = append(at.cells, wording.Duration(r.Start-rep.Source.Start))
		dur.cells = append(dur.cells, wording.Duration(r.Duration))
		net.cells = append(net.cells, known(c.Memory, wording.SignedBytes(r.Memory.Net)))
		peak.cells = append(peak.cells, known(c.Memory, wording.Bytes(r.Memory.Peak)))
		need.cells = append(need.cells, known(c.Memory, wording.Bytes(r.Memory.Need)))
		kernels.cells = append(kernels.cells, known(c.Kernels, wording.Count(r.GPU.Kernels)))
		kernelNS.cells = append(kernelNS.cells, known(c.Kernels, wording.Duration(r.GPU.KernelNS)))
		s := ""
		if r.Open {
			s = "never closed"
		} else if r.Contains > 0 {
			s = fmt.Sprintf("holds %d iterations", r.Contains)
		} else if r.Calls > 1 {
			s = fmt.Sprintf("%s calls, time is their sum", wording.Count(r.Calls))
		}
		note.cells = append(note.cells, s)
	}
	p.table(tab, nil)
	if n := len(t.Ranges) - textRanges; n > 0 {
		p.para("  ", fmt.Sprintf("(%s more ranges are in --format json)", wording.Count(n)), dim)
	}
}

func (p *printer) failed(rep *findings.Report, t *align.Track) {
	tab := &textTable{}
	at := tab.add(column{head: "at"})
	call := tab.add(column{head: "call", left: true, rank: 1, min: 10})
	ret := tab.add(column{head: "returned", left: true, rank: 2})
	level := tab.add(column{head: "traced then"})
	in := tab.add(column{head: "in", left: true, min: 12})
	rows, left := failedRows(len(t.Failed))
	gaps := map[int]string{}
	for n, i := range rows {
		if n > 0 && rows[n-1] != i-1 {
			gaps[n] = fmt.Sprintf("… %s more, all are in --format json", wording.Count(left))
		}
		f := &t.Failed[i]
		at.cells = append(at.cells, wording.Duration(f.Time-rep.Source.Start))
		call.cells = append(call.cells, wording.Terminal(f.Call))
		ret.cells = append(ret.cells, phrase.Return(f.Return))
		level.cells = append(level.cells, known(rep.Collected.Memory && f.Level >= 0, wording.Bytes(f.Level)))
		in.cells = append(in.cells, phrase.FailedPlace(t, f))
	}
	p.table(tab, gaps)
	p.inferred(t)
}

// failedRows are the places of the failed allocations to show, of so many: the first tell how it began, the last what ended
// the run. left is how many are not shown between them.
func failedRows(n int) (rows []int, left int) {
	for i := range n {
		if n <= 2*textFailed+1 || i < textFailed || i >= n-textFailed {
			rows = append(rows, i)
		}
	}
	return rows, n - len(rows)
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
