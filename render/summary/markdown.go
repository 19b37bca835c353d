package summary

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/tables"
)

// WriteMarkdown writes the report as tables in GitHub's Markdown, such as for an issue or a pull request. Long lists of
// iterations are thinned as in WriteText. The error is the writer's.
func WriteMarkdown(w io.Writer, rep *findings.Report) error {
	m := &markdown{out: output{w: w}, c: rep.Collected}
	m.line("# " + md(rep.Source.Path))
	m.line("")
	if s := &rep.Source; s.NsysVersion != "" {
		m.line(md("Nsight Systems " + s.NsysVersion + ", " + wording.Duration(s.Duration()) + " recorded."))
	} else {
		m.line(md(wording.Duration(s.Duration()) + " recorded."))
	}
	for _, g := range Missing(rep.Collected) {
		m.line("")
		m.line("**Not collected: " + md(g.What) + ".** " + md(g.Cost+"; "+g.How) + ".")
	}
	for _, t := range rep.Tracks {
		m.track(rep, t)
	}
	for _, s := range Together(rep) {
		m.line("")
		m.line(md(s) + ".")
	}
	if len(rep.Findings) > 0 {
		m.head(2, "Findings")
		for i := range rep.Findings {
			f := &rep.Findings[i]
			s := "- **" + md(string(f.Severity)) + "**: " + md(f.Text)
			if f.Advice != "" {
				s += " → " + md(f.Advice)
			}
			m.line(s)
		}
	}
	if len(rep.Warnings) > 0 {
		m.head(2, "Warnings")
		for i := range rep.Warnings {
			m.line("- " + md(rep.Warnings[i].Text) + " (" + md(rep.Warnings[i].Code) + ")")
		}
	}
	return m.out.close()
}

type markdown struct {
	out output
	c   align.Collected
}

func (m *markdown) line(s string) {
	m.out.b = append(append(m.out.b, s...), '\n')
	m.out.spill()
}

func (m *markdown) head(level int, s string) {
	m.line("")
	m.line(strings.Repeat("#", level) + " " + s)
	m.line("")
}

// row writes a table row; header rows begin a table, with numeric columns flush right.
func (m *markdown) row(cells ...string) { m.line("| " + strings.Join(cells, " | ") + " |") }

func (m *markdown) begin(texts int, heads ...string) {
	m.row(heads...)
	rule := make([]string, len(heads))
	for i := range rule {
		if i < texts {
			rule[i] = "---"
		} else {
			rule[i] = "---:"
		}
	}
	m.row(rule...)
}

// markdownTable writes a table, with the line gaps[i] before row i.
func markdownTable[R any](m *markdown, cols []tables.Column[R], rows []R, gaps map[int]string) {
	line := make([]string, len(cols))
	for i := range cols {
		line[i] = cols[i].Head
	}
	m.row(line...)
	for i := range cols {
		line[i] = "---:"
		if cols[i].Unit.Left() {
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
			cell := cols[i].Cell(r)
			switch {
			case !cell.Known && cols[i].Blank:
				line[i] = ""
			case cell.Known && cols[i].Unit.Left():
				line[i] = md(cell.Read())
			default:
				line[i] = cell.Read()
			}
		}
		m.row(line...)
	}
}

func (m *markdown) bytes(v int64) string { return known(m.c.Memory, wording.Bytes(v)) }

func (m *markdown) track(rep *findings.Report, t *align.Track) {
	m.head(2, md(TrackName(t)))
	if m.c.Memory {
		m.begin(2, "Memory traced", "Peak in", "Peak", "End", "Allocs", "Frees", "Failed")
		for i := range t.Levels {
			l := &t.Levels[i]
			it, phase := PeakPlace(t, l)
			m.row(md(string(l.Kind)), md(placeText(it, phase)), wording.Bytes(l.Peak), wording.Bytes(l.End), countText(l.Allocs), countText(l.Frees),
				known(m.c.API, countText(l.FailedAllocs)))
		}
		if p := t.Pool; p != nil {
			m.row("pool size", "", wording.Bytes(p.PeakSize), wording.Bytes(p.EndSize), "", "", "")
			m.row("pool used", "", wording.Bytes(p.PeakUsed), wording.Bytes(p.EndUsed), "", "", "")
		}
		m.inferred(t)
		m.line("")
	}
	m.line("Iterations: " + md(IterationsFromText(t)))
	if len(t.Iterations) > 0 {
		m.head(3, "Iterations")
		show := thin(t.Iterations, textIterations)
		steps := make([]*tables.Step, len(show.rows))
		for n, i := range show.rows {
			steps[n] = tables.StepOf(rep.Report, t, &t.Iterations[i], nil)
		}
		markdownTable(m, tables.Iterations.Columns(tables.Markdown), steps, show.gaps())
		m.inferred(t)
	}
	if len(t.Phases) > 0 {
		m.head(3, "Phases over steady iterations")
		m.begin(1, "Phase", "Iterations", "Calls", "Net (median)", "Need (median)", "Need (max)", "Peak (max)", "Time (median)", "Kernels", "Kernel time")
		for i := range t.Phases {
			p := &t.Phases[i]
			name := md(p.Path)
			if p.Inferred {
				name += " (inferred)"
			}
			m.row(name, strconv.Itoa(p.Iterations), strconv.Itoa(p.Calls), known(m.c.Memory, wording.SignedBytes(p.Median.Memory.Net)),
				m.bytes(p.Median.Memory.Need), m.bytes(p.Max.Memory.Need), m.bytes(p.Max.Memory.Peak), wording.Duration(p.DurationNS),
				known(m.c.Kernels, countText(p.Median.GPU.Kernels)), known(m.c.Kernels, wording.Duration(p.Median.GPU.KernelNS)))
		}
	}
	m.tensors(rep, t)
	if len(t.Failed) > 0 {
		m.head(3, fmt.Sprintf("Failed allocations (%d)", len(t.Failed)))
		m.begin(3, "Call", "Returned", "In", "At", "Traced then")
		rows, left := failedRows(len(t.Failed))
		for n, i := range rows {
			if n > 0 && rows[n-1] != i-1 {
				m.row(fmt.Sprintf("… %s more", countText(int64(left))), "", "", "", "")
			}
			f := &t.Failed[i]
			m.row(md(f.Call), ReturnText(f.Return), md(failedPlace(t, f)), wording.Duration(f.Time-rep.Source.Start), known(m.c.Memory && f.Level >= 0, wording.Bytes(f.Level)))
		}
		m.inferred(t)
	}
	m.line("")
	m.line("Attribution: " + md(AttributionText(&m.c, t)))
}

// md is s as plain text of Markdown on one line: nothing in it marks up, ends a cell or is HTML.
func md(s string) string {
	s = clean(s)
	if !strings.ContainsAny(s, "\\`*_{}[]<>#|~&@") {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '<':
			b.WriteString("&lt;")
			continue
		case '>':
			b.WriteString("&gt;")
			continue
		case '&':
			b.WriteString("&amp;")
			continue
		case '@': // else a name such as "@someone" would call that person
			b.WriteString("&#64;")
			continue
		case '\\', '`', '*', '_', '{', '}', '[', ']', '#', '|', '~':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
