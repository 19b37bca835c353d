package batch

import (
	"fmt"
	"strings"

	"nsysmem/internal/wording"
	"nsysmem/render/tables"
	"nsysmem/render/workbook"
)

// Sheets of the workbook.
const (
	sheetRuns       = "Runs"
	sheetIterations = "Iterations"
	sheetMatrix     = "Phases × runs"
	sheetPhases     = "Phases"
	sheetSpread     = "Spread over ranks"
	sheetSpreadOf   = "Spread of phases"
	sheetFailures   = "Failures"
)

const (
	tabRuns   = "1F4E79"
	tabPhases = "E08214"
	tabSpread = "548235"
	tabDoubt  = "7F7F7F"
)

// Limits of a sheet. Iterations beyond one sheet stand in the data set alone.
const (
	maxSheetRows = 1<<20 - 1 // below the head
	maxCharts    = 8
	maxMatrix    = 500 // runs side by side; the time that a sheet takes grows with the square of its columns
)

// book makes the workbook. err is set where a record could not be read while it was written.
func (c *comparison) book(err *error) *workbook.Book {
	runs, spread := c.runsTable(), c.spreadTable()
	b := &workbook.Book{Title: "Device memory of many runs", Facts: c.facts(), Tables: []workbook.Table{runs, c.iterationsTable(err)}}
	b.Tables = append(append(b.Tables, c.matrixTables()...), c.phasesTable(), spread, c.spreadPhasesTable(), c.failuresTable())
	for _, h := range c.runs {
		b.Created = max(b.Created, h.Source.StartUTC)
	}
	if len(c.refs) > 0 {
		b.Charts = append(b.Charts, workbook.Chart{Title: "Device peak of each run", Table: &runs, Categories: "run",
			Values: []string{"peak_bytes", "end_bytes"}, From: 0, To: len(c.refs), YTitle: "MiB"})
	}
	row := 0
	for i := range c.groups {
		g := &c.groups[i]
		if n := len(g.rows); n > 0 && len(b.Charts) < maxCharts {
			what := "range over " + c.over()
			b.Charts = append(b.Charts, workbook.Chart{Title: "Highest level of each iteration, " + what + ": " + g.name, Table: &spread, Lines: true,
				Categories: "iteration", Values: []string{"peak.top", "peak.mid", "peak.low"}, From: row, To: row + n, XTitle: "iteration", YTitle: "MiB"})
		}
		row += len(g.rows)
	}
	return b
}

func (c *comparison) over() string {
	if c.ranked {
		return "ranks"
	}
	return "runs"
}

// facts are the lines of the overview.
func (c *comparison) facts() []workbook.Fact {
	count := fmt.Sprintf("%d: %d done, %d failed", c.reports, len(c.runs), len(c.failed))
	if len(c.missing) > 0 {
		count += fmt.Sprintf(", %d missing", len(c.missing))
	}
	facts := []workbook.Fact{{Key: "Reports", Text: count}}
	if len(c.failed) > 0 {
		facts = append(facts, workbook.Fact{Key: "Failed", Text: listed(len(c.failed), func(i int) string { return c.failed[i].Name }) + " (reasons on the sheet " + sheetFailures + ")"})
	}
	if len(c.missing) > 0 {
		facts = append(facts, workbook.Fact{Key: "Missing", Text: listed(len(c.missing), func(i int) string { return c.missing[i].Name }) + ": nothing below counts them"})
	}
	high, least, iterations := -1, -1, 0
	for i := range c.refs {
		iterations += c.refs[i].n
		h, t := c.track(&c.refs[i])
		l := t.device()
		if l == nil || !h.Collected.Memory {
			continue
		}
		if high < 0 || l.Peak > c.peak(high) {
			high = i
		}
		if least < 0 || l.Peak < c.peak(least) {
			least = i
		}
	}
	if high >= 0 {
		text := fmt.Sprintf("%s in %s", wording.Bytes(c.peak(high)), c.refs[high].label)
		if least != high {
			text += fmt.Sprintf("; lowest %s in %s", wording.Bytes(c.peak(least)), c.refs[least].label)
		}
		facts = append(facts, workbook.Fact{Key: "Highest peak", Text: text})
	}
	facts = append(facts, workbook.Fact{Key: "Iterations", Text: fmt.Sprintf("%d; runs are compared by the number of the iteration, never by the clock", iterations)})
	if iterations > maxSheetRows {
		facts = append(facts, workbook.Fact{Text: fmt.Sprintf("the sheet %s holds the first %d; all stand in the data set, data/iterations", sheetIterations, maxSheetRows)})
	}
	if c.ranked {
		facts = append(facts, workbook.Fact{Key: "Ranks", Text: fmt.Sprintf("%d jobs, told apart by their paths with the rank as #: %s", len(c.groups), listed(len(c.groups), func(i int) string { return c.groups[i].name }))})
	} else {
		facts = append(facts, workbook.Fact{Key: "Ranks", Text: "none known (--rank-pattern says where they stand in a path): spreads are over all runs"})
	}
	return append(facts, workbook.Fact{Key: "Sizes", Text: "MiB with the exact bytes under the decimals shown; levels are allocations that the recordings saw, not what the driver reports as used. An empty cell is unknown or not collected, never 0."})
}

// listed names up to a dozen of n things.
func listed(n int, name func(int) string) string {
	const most = 12
	var names []string
	for i := range min(n, most) {
		names = append(names, name(i))
	}
	text := strings.Join(names, ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

func (c *comparison) peak(i int) int64 {
	_, t := c.track(&c.refs[i])
	return t.device().Peak
}

// run is the row of a track.
func (c *comparison) run(i int) *tables.Run {
	h, t := c.track(&c.refs[i])
	return t.run(h, c.refs[i].label)
}

func (c *comparison) runsTable() workbook.Table {
	return workbook.Table{Sheet: sheetRuns, Name: "Runs", Tab: tabRuns, Fixed: 1, None: "no report is done",
		Grid: tables.Over(tables.Runs.Columns(tables.BatchWorkbook), len(c.refs), c.run)}
}

// at finds the track that holds row i of all iterations; last is where the caller was before.
func (c *comparison) at(i, last int) int {
	if i < c.refs[last].first {
		last = 0
	}
	for i >= c.refs[last].first+c.refs[last].n {
		last++
	}
	return last
}

// iterationsTable has the iterations of all runs. failed is set where a record could not be read; its rows are empty.
func (c *comparison) iterationsTable(failed *error) workbook.Table {
	n := 0
	for i := range c.refs {
		n += c.refs[i].n
	}
	last := 0
	row := tables.Owned[*tables.Step]{}
	at := func(i int) tables.Owned[*tables.Step] {
		last = c.at(i, last)
		its, err := c.iterations(&c.refs[last])
		if err != nil {
			if *failed == nil {
				*failed = err
			}
			its = make([]iteration, c.refs[last].n)
		}
		if row.Run == nil || row.Run.Label != c.refs[last].label {
			row.Run = c.run(last)
		}
		row.Row = its[i-c.refs[last].first].step(row.Run)
		return row
	}
	return workbook.Table{Sheet: sheetIterations, Name: "Iterations", Tab: tabRuns, Fixed: 3, None: "no iteration was found",
		Grid: tables.Over(tables.OwnedBy(tables.BatchWorkbook, tables.Iterations.Columns(tables.BatchWorkbook)), min(n, maxSheetRows), at)}
}

// matrixTables have a row for each phase and a column for each run, so that one phase of all runs stands in one row. Many
// runs go on in further sheets.
func (c *comparison) matrixTables() []workbook.Table {
	var sheets []workbook.Table
	for from := 0; from == 0 || from < len(c.refs); from += maxMatrix {
		refs := c.refs[from:min(from+maxMatrix, len(c.refs))]
		cols := []tables.Column[*phase]{{Key: "phase", Head: "Phase: highest peak (MiB)", Text: func(p *phase) string { return p.path }}}
		for i := range refs {
			cols = append(cols, tables.Column[*phase]{Key: refs[i].label, Head: refs[i].label, Unit: tables.Bytes, Shade: "peak",
				Int: func(p *phase) int64 { return p.figures[from+i].Peak },
				Known: func(p *phase) bool {
					_, ok := p.figures[from+i]
					return ok && c.runs[refs[i].run].Collected.Memory
				}})
		}
		t := workbook.Table{Sheet: sheetMatrix, Name: "Phases_runs", Tab: tabPhases, Fixed: 1, None: "no phase was found",
			Grid: tables.Over(cols, len(c.phases), func(i int) *phase { return &c.phases[i] })}
		if from > 0 {
			suffix := fmt.Sprint(from/maxMatrix + 1)
			t.Sheet, t.Name = t.Sheet+" ("+suffix+")", t.Name+"_"+suffix
		}
		sheets = append(sheets, t)
	}
	return sheets
}

// phasesTable has a row for each phase and run that has it, one phase under the other.
func (c *comparison) phasesTable() workbook.Table {
	type place struct{ phase, ref int32 }
	var rows []place
	for i := range c.phases {
		for k := range c.refs {
			if _, ok := c.phases[i].figures[k]; ok && len(rows) < maxSheetRows {
				rows = append(rows, place{int32(i), int32(k)})
			}
		}
	}
	return workbook.Table{Sheet: sheetPhases, Name: "Phases", Tab: tabPhases, Fixed: 2, None: "no phase was found",
		Grid: tables.Over(tables.RunPhases.Columns(tables.BatchWorkbook), len(rows), func(i int) tables.Owned[*tables.RunPhase] {
			return tables.Owned[*tables.RunPhase]{Run: c.run(int(rows[i].ref)), Row: c.phases[rows[i].phase].figures[int(rows[i].ref)]}
		})}
}

func (c *comparison) spreadTable() workbook.Table {
	type place struct{ group, row int32 }
	var rows []place
	for i := range c.groups {
		for k := range c.groups[i].rows {
			if len(rows) < maxSheetRows {
				rows = append(rows, place{int32(i), int32(k)})
			}
		}
	}
	out := &tables.SpreadRow{}
	return workbook.Table{Sheet: sheetSpread, Name: "Spread", Tab: tabSpread, Fixed: 2, None: "no iteration was found",
		Grid: tables.Over(tables.IterationSpreads.Columns(tables.BatchWorkbook), len(rows), func(i int) *tables.SpreadRow {
			g := &c.groups[rows[i].group]
			row := &g.rows[rows[i].row]
			*out = tables.SpreadRow{Job: g.name, Iteration: row.key.index, N: row.n}
			for k := range row.have {
				out.Of[k] = c.shown(&row.have[k])
			}
			return out
		})}
}

// shown is a spread with the name of the run that has the greatest, where the runs differ.
func (c *comparison) shown(s *spread) tables.Spread {
	out := tables.Spread{N: s.n, Low: s.low, Mid: s.mid, Top: s.top}
	if s.n > 1 && s.top > s.low {
		out.Who = c.refs[s.who].label
	}
	return out
}

// spreadPhasesTable has a row for each phase of each job.
func (c *comparison) spreadPhasesTable() workbook.Table {
	var rows []tables.SpreadRow
	for gi := range c.groups {
		for pi := range c.phases {
			if row := c.spreadPhase(&c.groups[gi], &c.phases[pi]); row.N > 0 && len(rows) < maxSheetRows {
				rows = append(rows, row)
			}
		}
	}
	return workbook.Table{Sheet: sheetSpreadOf, Name: "Spread_of_phases", Tab: tabSpread, Fixed: 2, None: "no phase was found",
		Grid: tables.Over(tables.PhaseSpreads.Columns(tables.BatchWorkbook), len(rows), func(i int) *tables.SpreadRow { return &rows[i] })}
}

// spreadPhase is a phase over the members of a job that have it.
func (c *comparison) spreadPhase(g *group, p *phase) tables.SpreadRow {
	row := tables.SpreadRow{Job: g.name, Phase: p.path}
	var values [tables.Spreads][]value
	for _, m := range g.members {
		f, ok := p.figures[m]
		if !ok {
			continue
		}
		row.N++
		add := func(figure int, known bool, v int64) {
			if known {
				values[figure] = append(values[figure], value{v, int32(m)})
			}
		}
		has := &c.runs[c.refs[m].run].Collected
		add(tables.PeakSpread, has.Memory, f.Peak)
		add(tables.NeedSpread, has.Memory, f.Need)
		add(tables.KernelSpread, has.Kernels, f.KernelNS)
		add(tables.TimeSpread, true, f.Duration)
	}
	for k := range values {
		s := newSpread(values[k])
		row.Of[k] = c.shown(&s)
	}
	return row
}

func (c *comparison) failuresTable() workbook.Table {
	const missing = "no share has done it yet with these settings: run the same batch again, it does only what is missing"
	var rows []tables.Failed
	for _, f := range c.failed {
		rows = append(rows, tables.Failed{Run: f.Name, Report: f.Path, What: "failed", Reason: f.Reason})
	}
	for _, in := range c.missing {
		rows = append(rows, tables.Failed{Run: in.Name, Report: in.Path, What: "missing", Reason: missing})
	}
	return workbook.Table{Sheet: sheetFailures, Name: "Failures", Tab: tabDoubt, Fixed: 1, None: "none",
		Grid: tables.Over(tables.FailedReports.Columns(tables.BatchWorkbook), len(rows), func(i int) tables.Failed { return rows[i] })}
}
