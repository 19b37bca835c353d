package summary

import (
	"io"
	"slices"
	"strconv"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/tables"
)

// WriteCSV writes one row for each iteration and each of its phases, in time order, with a header (RFC 4180, LF line
// ends). Figures are whole bytes and nanoseconds with all their digits, flags are 1 and 0, and what is unknown is empty.
// The row of an iteration has depth 0 and no path. A text that a spreadsheet would run as a formula gets a ' in front;
// numbers never do. The error is the writer's.
func WriteCSV(w io.Writer, rep *findings.Report) error {
	t := &csvTable{output: output{w: w}}
	cols := tables.Iterations.Columns(tables.CSV)
	for _, kind := range otherLevels(rep) {
		cols = append(slices.Clip(cols), tables.LevelColumns(kind, levelKey(kind)+"_")...)
	}
	if slices.ContainsFunc(rep.Tracks, (*align.Track).HasTensorLevels) {
		cols = append(slices.Clip(cols), tables.GapColumns()...)
	}
	csvHeads(t, cols)
	step := tables.StepOf(rep.Report, nil, nil, nil)
	for _, tr := range rep.Tracks {
		step.Track = tr
		for i := range tr.Iterations {
			step.Iteration, step.Phase = &tr.Iterations[i], nil
			csvRow(t, cols, step)
			for j := range tr.Iterations[i].Phases {
				step.Phase = &tr.Iterations[i].Phases[j]
				csvRow(t, cols, step)
			}
		}
	}
	return t.close()
}

// csvHeads writes the header.
func csvHeads[R any](t *csvTable, cols []tables.Column[R]) {
	for i := range cols {
		t.text(cols[i].Head)
	}
	t.end()
}

// csvRow writes a row. It allocates nothing: a report may have a million of them.
func csvRow[R any](t *csvTable, cols []tables.Column[R], r R) {
	for i := range cols {
		switch c := &cols[i]; {
		case !c.Knows(r):
			t.empty()
		case c.Unit == tables.Origin:
			t.text(tables.Origins[c.Int(r)])
		case c.Int != nil:
			t.int(c.Int(r))
		case c.Real != nil:
			t.real(c.Real(r))
		default:
			t.text(c.Text(r))
		}
	}
	t.end()
	t.spill()
}

// otherLevels lists the levels beside the device level that any row has, in alphabetical order.
func otherLevels(rep *findings.Report) []align.LevelKind {
	var names []align.LevelKind
	add := func(u *align.Use) {
		for i := range u.Other {
			if !slices.Contains(names, u.Other[i].Level) {
				names = append(names, u.Other[i].Level)
			}
		}
	}
	for _, tr := range rep.Tracks {
		for i := range tr.Iterations {
			add(&tr.Iterations[i].Use)
			for j := range tr.Iterations[i].Phases {
				add(&tr.Iterations[i].Phases[j].Use)
			}
		}
	}
	slices.Sort(names)
	return names
}

type csvTable struct {
	output
	begun bool // the row has a cell
}

func (t *csvTable) empty() {
	if t.begun {
		t.b = append(t.b, ',')
	}
	t.begun = true
}

func (t *csvTable) int(v int64) {
	t.empty()
	t.b = strconv.AppendInt(t.b, v, 10)
}

func (t *csvTable) real(v float64) {
	t.empty()
	t.b = strconv.AppendFloat(t.b, v, 'f', -1, 64)
}

// text writes a name, or a head.
func (t *csvTable) text(s string) {
	t.empty()
	t.b = wording.AppendCSV(t.b, s)
}

func (t *csvTable) end() {
	t.b = append(t.b, '\n')
	t.begun = false
}
