package summary

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// WriteMarkdown writes the report as tables in GitHub's Markdown, such as for an issue or a pull request. Long lists of
// iterations are thinned as in WriteText. The error is the writer's.
func WriteMarkdown(w io.Writer, rep *findings.Report) error {
	m := &markdown{output{w: w}}
	m.line("# " + wording.Markdown(rep.Source.Path))
	m.line("")
	if s := &rep.Source; s.NsysVersion != "" {
		m.line(wording.Markdown("Nsight Systems " + s.NsysVersion + ", " + wording.Duration(s.Duration()) + " recorded."))
	} else {
		m.line(wording.Markdown(wording.Duration(s.Duration()) + " recorded."))
	}
	if s := phrase.Snapshots(rep); s != "" {
		m.para(wording.Markdown(wording.Capital(s)) + ".")
	}
	for _, g := range phrase.Missing(rep.Collected) {
		m.para("**Not collected: " + wording.Markdown(g.What) + ".** " + wording.Markdown(g.Cost+"; "+g.How) + ".")
	}
	for _, t := range rep.Tracks {
		m.track(rep, t)
	}
	for _, s := range phrase.Together(rep) {
		m.para(wording.Markdown(s) + ".")
	}
	if len(rep.Findings) > 0 {
		m.head(2, "Findings")
		for i := range rep.Findings {
			f := &rep.Findings[i]
			s := "- **" + wording.Markdown(string(f.Severity)) + "**: " + wording.Markdown(f.Text)
			if f.Advice != "" {
				s += " → " + wording.Markdown(f.Advice)
			}
			m.line(s)
		}
	}
	if len(rep.Warnings) > 0 {
		m.head(2, "Warnings")
		for i := range rep.Warnings {
			m.line("- " + wording.Markdown(rep.Warnings[i].Text) + " (" + wording.Markdown(rep.Warnings[i].Code) + ")")
		}
	}
	return m.close()
}

type markdown struct{ output }

// para writes a line behind an empty one.
func (m *markdown) para(s string) {
	m.line("")
	m.line(s)
}

func (m *markdown) head(level int, s string) {
	m.para(strings.Repeat("#", level) + " " + s)
	m.line("")
}

// row writes a row of a table.
func (m *markdown) row(cells ...string) { m.line("| " + strings.Join(cells, " | ") + " |") }

// markdownTable writes a table, with the line gaps[i] before row i.
func markdownTable[R any](m *markdown, cols []tables.Column[R], rows []R, gaps map[int]string) {
	cols = had(cols, rows)
	line := make([]string, len(cols))
	for i := range cols {
		line[i] = cols[i].Head
	}
	m.row(line...)
	// Texts that lead stand flush left; a note behind the figures keeps to their side.
	left := true
	for i := range cols {
		line[i] = "---:"
		if left = left && cols[i].Unit.Left(); left {
			line[i] = "---"
		}
	}
	m.row(line...)
	for n, r := range rows {
		if gaps[n] != "" {
			clear(line)
			line[0] = gaps[n]
			m.row(line...)
		}
		for i := range cols {
			line[i] = cols[i].Cell(r).Read()
			if cols[i].Unit.Left() {
				line[i] = wording.Markdown(line[i])
			}
		}
		m.row(line...)
	}
}

// had leaves out the columns that no row has, such as graph time where no graph was traced whole.
func had[R any](cols []tables.Column[R], rows []R) []tables.Column[R] {
	return slices.DeleteFunc(slices.Clone(cols), func(c tables.Column[R]) bool {
		return c.Has != nil && !slices.ContainsFunc(rows, c.Has)
	})
}

func (m *markdown) track(rep *findings.Report, t *align.Track) {
	m.head(2, wording.Markdown(phrase.Track(t)))
	if rep.Collected.Memory {
		markdownTable(m, tables.Levels.Columns(tables.Markdown), tables.LevelRows(rep.Report, t), nil)
		m.inferred(t)
		m.line("")
	}
	m.line("Iterations: " + wording.Markdown(phrase.IterationsFrom(t)))
	if len(t.Iterations) > 0 {
		m.head(3, "Iterations")
		show := thin(t.Iterations, textIterations)
		rows := stepsOf(rep, t, show)
		markdownTable(m, had(tables.Iterations.Columns(tables.Markdown), rows), rows, show.gaps(""))
		m.inferred(t)
	}
	if len(t.Phases) > 0 {
		m.head(3, "Phases over steady iterations")
		rows := tables.AllRows(rep.Report, t, t.Phases)
		markdownTable(m, had(tables.Phases.Columns(tables.Markdown), rows), rows, nil)
		m.para("*(" + wording.Markdown(phrase.Terms(&rep.Collected, t)) + ")*")
	}
	if x := t.Inferred; x != nil && len(x.Phases) > 0 {
		m.head(3, besideHead)
		markdownTable(m, tables.PhaseMedians.Columns(tables.Markdown), tables.AllRows(rep.Report, t, x.Phases), nil)
	}
	m.tensors(rep, t)
	if showLibraries(t) {
		m.head(3, "Device memory by the library that asked for it")
		markdownTable(m, tables.Libraries.Columns(tables.Markdown), tables.AllRows(rep.Report, t, t.Libraries), nil)
	}
	if len(t.Failed) > 0 {
		m.head(3, fmt.Sprintf("Failed allocations (%d)", len(t.Failed)))
		show := thinFailed(len(t.Failed))
		rows := tables.RowsOf(rep.Report, t, t.Failed, show)
		markdownTable(m, had(tables.Failures.Columns(tables.Markdown), rows), rows, show.gaps(""))
		m.inferred(t)
	}
	m.para("Attribution: " + wording.Markdown(phrase.Attribution(&rep.Collected, t)))
}
