package summary

import (
	"io"
	"strings"

	"nsysmem/internal/wording"
)

// Colours, as a terminal takes them.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// A printer writes lines of at most width terminal cells.
type printer struct {
	output
	width int
	color bool
}

func newPrinter(w io.Writer, width int, color bool) *printer {
	if width <= 0 {
		width = 80
	}
	return &printer{output: output{w: w}, width: max(width, minWidth), color: color}
}

func (p *printer) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return code + s + plain
}

func (p *printer) blank() { p.line("") }

func (p *printer) head(s string) {
	p.blank()
	p.para("", s, bold)
}

// para writes text behind a lead, wrapped, the following lines indented by the lead's width.
func (p *printer) para(lead, text string, paint ...string) {
	n := wording.Width(stripColor(lead))
	for i, l := range wording.Wrap(wording.Terminal(text), p.width-n) {
		if len(paint) > 0 {
			l = p.paint(paint[0], l)
		}
		if i == 0 {
			p.line(lead + l)
		} else {
			p.line(strings.Repeat(" ", min(n, p.width/2)) + l)
		}
	}
}

func stripColor(s string) string {
	for _, c := range []string{bold, dim, red, yellow, plain} {
		s = strings.ReplaceAll(s, c, "")
	}
	return s
}

func (p *printer) severity(s string) string {
	switch s {
	case "error":
		return p.paint(red, s)
	case "warn":
		return p.paint(yellow, "warning")
	case "":
		return "info"
	}
	return wording.Terminal(s)
}

// table writes a table, indented, with the line gap[i] before the row i.
func (p *printer) table(t *textTable, gaps map[int]string) {
	lines, dropped := t.lines(p.width - 2)
	for i, l := range lines {
		if g := gaps[i-t.heads]; g != "" && i >= t.heads {
			p.line("  " + p.paint(dim, wording.Cut(g, p.width-2)))
		}
		if i < t.heads {
			l = p.paint(bold, l)
		}
		p.line("  " + l)
	}
	if len(dropped) > 0 {
		p.para("  ", "(left out at this width: "+strings.Join(dropped, ", ")+")", dim)
	}
}
