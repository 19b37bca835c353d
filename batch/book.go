package batch

import (
	"fmt"
	"strings"

	"nsysmem/align"
	"nsysmem/internal/wording"
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
	maxMatrix    = 500       // runs side by side; the time that a sheet takes grows with the square of its columns
)

// Columns that charts show.
const (
	columnTrack     = 0
	columnRunPeak   = 9
	columnRunEnd    = 11
	columnIteration = 1
	columnLow       = 3 // and median and highest beside it
)

// book makes the workbook. err is set where a record could not be read while it was written.
func (c *comparison) book(err *error) *workbook.Book {
	b := &workbook.Book{Title: "Device memory of many runs", Facts: c.facts(),
		Tables: []workbook.Table{c.runsTable(), c.iterationsTable(err)}}
	b.Tables = append(append(b.Tables, c.matrixTables()...), c.phasesTable(), c.spreadTable(), c.spreadPhasesTable(), c.failuresTable())
	for _, h := range c.runs {
		b.Created = max(b.Created, h.Source.StartUTC)
	}
	if len(c.refs) > 0 {
		b.Charts = append(b.Charts, workbook.Chart{Title: "Device peak of each run", Table: sheetRuns, Categories: columnTrack,
			Values: []int{columnRunPeak, columnRunEnd}, From: 0, To: len(c.refs), YTitle: "MiB"})
	}
	row := 0
	for i := range c.groups {
		g := &c.groups[i]
		if n := len(g.rows); n > 0 && len(b.Charts) < 8 {
			what := "range over " + c.over()
			b.Charts = append(b.Charts, workbook.Chart{Title: "Highest level of each iteration, " + what + ": " + g.name, Table: sheetSpread, Lines: true,
				Categories: columnIteration, Values: []int{columnLow + 2, columnLow + 1, columnLow}, From: row, To: row + n, XTitle: "iteration", YTitle: "MiB"})
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

// ranked columns say whose row it is.
var whoColumns = []workbook.Column{{Head: "Run"}, {Head: "Rank", As: workbook.ID}}

func with(cols ...workbook.Column) []workbook.Column {
	return append(append([]workbook.Column(nil), whoColumns...), cols...)
}

func (c *comparison) who(i int, r workbook.Row) (*recordHead, *track) {
	h, t := c.track(&c.refs[i])
	r.Text(c.refs[i].label)
	r.Int(t.Rank >= 0, t.Rank)
	return h, t
}

func (c *comparison) runsTable() workbook.Table {
	const mib, count, id, ms = workbook.MiB, workbook.Count, workbook.ID, workbook.Time
	return workbook.Table{Sheet: sheetRuns, Name: "Runs", Tab: tabRuns, Rows: len(c.refs), Fixed: 1, None: "no report is done",
		Columns: with(workbook.Column{Head: "Process", As: id}, workbook.Column{Head: "Process name"},
			workbook.Column{Head: "Device (as the process sees it)", As: id}, workbook.Column{Head: "Device name"}, workbook.Column{Head: "Device UUID"},
			workbook.Column{Head: "Iterations", As: count}, workbook.Column{Head: "Found by"},
			workbook.Column{Head: "Peak (MiB)", As: mib, Bar: true}, workbook.Column{Head: "Peak in"}, workbook.Column{Head: "End (MiB)", As: mib},
			workbook.Column{Head: "Baseline (MiB)", As: mib}, workbook.Column{Head: "Allocs", As: count}, workbook.Column{Head: "Allocated (MiB)", As: mib},
			workbook.Column{Head: "Frees", As: count}, workbook.Column{Head: "Freed (MiB)", As: mib}, workbook.Column{Head: "Failed allocs", As: count},
			workbook.Column{Head: "Kernels", As: count}, workbook.Column{Head: "Kernel time (ms)", As: ms}, workbook.Column{Head: "GPU busy (ms)", As: ms},
			workbook.Column{Head: "To device (MiB)", As: mib}, workbook.Column{Head: "To host (MiB)", As: mib}, workbook.Column{Head: "On device (MiB)", As: mib},
			workbook.Column{Head: "API alloc time (ms)", As: ms}, workbook.Column{Head: "API free time (ms)", As: ms}, workbook.Column{Head: "API sync time (ms)", As: ms},
			workbook.Column{Head: "Managed peak (MiB)", As: mib}, workbook.Column{Head: "Pinned peak (MiB)", As: mib}, workbook.Column{Head: "Pools, largest (MiB)", As: mib},
			workbook.Column{Head: "Recorded (ms)", As: ms},
			workbook.Column{Head: "Peak (bytes)", As: count}, workbook.Column{Head: "End (bytes)", As: count}, workbook.Column{Head: "Allocated (bytes)", As: count},
			workbook.Column{Head: "Freed (bytes)", As: count}, workbook.Column{Head: "Kernel time (ns)", As: count},
			workbook.Column{Head: "Device memory (MiB)", As: mib}, workbook.Column{Head: "Nsight Systems"}, workbook.Column{Head: "Findings", As: count},
			workbook.Column{Head: "Warnings", As: count}, workbook.Column{Head: "Report"}),
		Fill: func(i int, r workbook.Row) {
			h, t := c.who(i, r)
			has, u := &h.Collected, &t.Total
			r.Int(true, t.PID)
			r.Text(t.Process)
			r.Int(true, t.Device)
			r.Text(t.DeviceName)
			r.Text(t.DeviceUUID)
			r.Int(true, int64(t.Iterations))
			r.Text(string(t.IterationsFrom.How))
			l := t.device()
			mem := has.Memory && l != nil
			if l == nil {
				l = &noLevel
			}
			r.Bytes(mem, l.Peak)
			r.Text(peakIn(t, mem))
			r.Bytes(mem, l.End)
			r.Bytes(mem, l.Baseline)
			r.Int(mem, l.Allocs)
			r.Bytes(mem, l.AllocBytes)
			r.Int(mem, l.Frees)
			r.Bytes(mem, l.FreeBytes)
			r.Int(mem && has.API, l.FailedAllocs)
			r.Int(has.Kernels, u.GPU.Kernels)
			r.NS(has.Kernels, u.GPU.KernelNS)
			r.NS(has.Kernels, u.GPU.BusyNS)
			r.Bytes(has.Copies, u.GPU.H2D)
			r.Bytes(has.Copies, u.GPU.D2H)
			r.Bytes(has.Copies, u.GPU.D2D)
			r.NS(has.API, u.API.AllocNS)
			r.NS(has.API, u.API.FreeNS)
			r.NS(has.API, u.API.SyncNS)
			for _, kind := range []align.LevelKind{align.LevelManaged, align.LevelPinned} {
				if k := align.LevelOf(t.Levels, kind); k != nil {
					r.Bytes(true, k.Peak)
				} else {
					r.None()
				}
			}
			if t.Pool != nil {
				r.Bytes(true, t.Pool.PeakSize)
			} else {
				r.None()
			}
			r.NS(true, h.Source.Duration())
			r.Int(mem, l.Peak)
			r.Int(mem, l.End)
			r.Int(mem, l.AllocBytes)
			r.Int(mem, l.FreeBytes)
			r.Int(has.Kernels, u.GPU.KernelNS)
			r.Bytes(t.DeviceTotal > 0, t.DeviceTotal)
			r.Text(h.Source.NsysVersion)
			r.Int(true, int64(len(h.Findings)))
			r.Int(true, int64(len(h.Warnings)))
			r.Text(h.Path)
		}}
}

func peakIn(t *track, known bool) string {
	switch {
	case !known:
		return ""
	case t.PeakIteration == "":
		return "outside iterations"
	case t.PeakPhase == "":
		return t.PeakIteration
	}
	return t.PeakIteration + ", " + t.PeakPhase
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

func (c *comparison) iterationsTable(failed *error) workbook.Table {
	const mib, count, id, ms = workbook.MiB, workbook.Count, workbook.ID, workbook.Time
	rows := 0
	for i := range c.refs {
		rows += c.refs[i].n
	}
	last := 0
	return workbook.Table{Sheet: sheetIterations, Name: "Iterations", Tab: tabRuns, Rows: min(rows, maxSheetRows), Fixed: 3, None: "no iteration was found",
		Columns: with(workbook.Column{Head: "Iteration", As: id}, workbook.Column{Head: "Name"}, workbook.Column{Head: "Flags"},
			workbook.Column{Head: "Peak phase"}, workbook.Column{Head: "Start (MiB)", As: mib}, workbook.Column{Head: "End (MiB)", As: mib},
			workbook.Column{Head: "Net (MiB)", As: workbook.Change}, workbook.Column{Head: "Peak (MiB)", As: mib, Bar: true}, workbook.Column{Head: "Need (MiB)", As: mib, Bar: true},
			workbook.Column{Head: "Time (ms)", As: ms}, workbook.Column{Head: "Allocs", As: count}, workbook.Column{Head: "Frees", As: count},
			workbook.Column{Head: "Failed allocs", As: count}, workbook.Column{Head: "Kernels", As: count}, workbook.Column{Head: "Kernel time (ms)", As: ms},
			workbook.Column{Head: "GPU busy (ms)", As: ms}, workbook.Column{Head: "API alloc time (ms)", As: ms}, workbook.Column{Head: "API sync time (ms)", As: ms},
			workbook.Column{Head: "Peak (bytes)", As: count}, workbook.Column{Head: "Net (bytes)", As: count}),
		Fill: func(i int, r workbook.Row) {
			last = c.at(i, last)
			its, err := c.iterations(&c.refs[last])
			if err != nil {
				if *failed == nil {
					*failed = err
				}
				return
			}
			h, _ := c.who(last, r)
			has, it := &h.Collected, &its[i-c.refs[last].first]
			r.Int(true, int64(it.Index))
			r.Text(it.Name)
			r.Text(flags(it))
			r.Text(it.PeakPhase)
			r.Bytes(has.Memory, it.Memory.Start)
			r.Bytes(has.Memory, it.Memory.End)
			r.Bytes(has.Memory, it.Memory.Net)
			r.Bytes(has.Memory, it.Memory.Peak)
			r.Bytes(has.Memory, it.Memory.Need)
			r.NS(true, it.End-it.Start)
			r.Int(has.Memory, it.Memory.Allocs)
			r.Int(has.Memory, it.Memory.Frees)
			r.Int(has.Memory && has.API, it.Memory.FailedAllocs)
			r.Int(has.Kernels, it.GPU.Kernels)
			r.NS(has.Kernels, it.GPU.KernelNS)
			r.NS(has.Kernels, it.GPU.BusyNS)
			r.NS(has.API, it.API.AllocNS)
			r.NS(has.API, it.API.SyncNS)
			r.Int(has.Memory, it.Memory.Peak)
			r.Int(has.Memory, it.Memory.Net)
		}}
}

func flags(it *iteration) string {
	var f []string
	if it.Warmup {
		f = append(f, "warm-up")
	}
	if it.Truncated {
		f = append(f, "truncated")
	}
	return strings.Join(f, ", ")
}

// matrixTables have a row for each phase and a column for each run, so that one phase of all runs stands in one row. Many
// runs go on in further sheets.
func (c *comparison) matrixTables() []workbook.Table {
	var tables []workbook.Table
	for from := 0; from == 0 || from < len(c.refs); from += maxMatrix {
		refs := c.refs[from:min(from+maxMatrix, len(c.refs))]
		t := workbook.Table{Sheet: sheetMatrix, Name: "Phases_runs", Tab: tabPhases, Rows: len(c.phases), Fixed: 1, None: "no phase was found",
			Columns: []workbook.Column{{Head: "Phase: highest peak (MiB)"}}}
		if from > 0 {
			suffix := fmt.Sprint(from/maxMatrix + 1)
			t.Sheet, t.Name = t.Sheet+" ("+suffix+")", t.Name+"_"+suffix
		}
		for i := range refs {
			t.Columns = append(t.Columns, workbook.Column{Head: refs[i].label, As: workbook.MiB, Shade: true})
		}
		t.Fill = func(i int, r workbook.Row) {
			p := &c.phases[i]
			r.Text(p.path)
			for k := range refs {
				f, ok := p.figures[from+k]
				r.Bytes(ok && c.runs[refs[k].run].Collected.Memory, f.peak)
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// phasesTable has a row for each phase and run that has it, one phase under the other.
func (c *comparison) phasesTable() workbook.Table {
	const mib, count, ms = workbook.MiB, workbook.Count, workbook.Time
	type place struct{ phase, ref int32 }
	var rows []place
	for i := range c.phases {
		for k := range c.refs {
			if _, ok := c.phases[i].figures[k]; ok && len(rows) < maxSheetRows {
				rows = append(rows, place{int32(i), int32(k)})
			}
		}
	}
	return workbook.Table{Sheet: sheetPhases, Name: "Phases", Tab: tabPhases, Rows: len(rows), Fixed: 2, None: "no phase was found",
		Columns: []workbook.Column{{Head: "Phase"}, {Head: "Run"}, {Head: "Rank", As: workbook.ID}, {Head: "Depth", As: workbook.ID}, {Head: "From"},
			{Head: "Steady iterations", As: count}, {Head: "Calls (median)", As: count},
			{Head: "Peak (MiB, max)", As: mib, Bar: true}, {Head: "Need (MiB, max)", As: mib, Bar: true}, {Head: "Need (MiB, median)", As: mib},
			{Head: "Net (MiB, median)", As: workbook.Change}, {Head: "Time (ms, median)", As: ms}, {Head: "Kernels (median)", As: count},
			{Head: "Kernel time (ms, median)", As: ms}, {Head: "Copied (MiB, median)", As: mib}, {Head: "API alloc time (ms, median)", As: ms},
			{Head: "API sync time (ms, median)", As: ms}, {Head: "Peak (bytes, max)", As: count}},
		Fill: func(i int, r workbook.Row) {
			p := &c.phases[rows[i].phase]
			f := p.figures[int(rows[i].ref)]
			r.Text(p.path)
			h, _ := c.who(int(rows[i].ref), r)
			has := &h.Collected
			r.Int(true, int64(p.depth))
			if f.inferred {
				r.Text("inferred")
			} else {
				r.Text("nvtx")
			}
			r.Int(true, f.iterations)
			r.Int(true, f.calls)
			r.Bytes(has.Memory, f.peak)
			r.Bytes(has.Memory, f.need)
			r.Bytes(has.Memory, f.needMedian)
			r.Bytes(has.Memory, f.netMedian)
			r.NS(true, f.duration)
			r.Int(has.Kernels, f.kernels)
			r.NS(has.Kernels, f.kernelNS)
			r.Bytes(has.Copies, f.copied)
			r.NS(has.API, f.allocNS)
			r.NS(has.API, f.syncNS)
			r.Int(has.Memory, f.peak)
		}}
}

// spreadColumns are the columns of one figure.
func spreadColumns(what, unit string, as workbook.Format, who string) []workbook.Column {
	return []workbook.Column{{Head: what + ", least (" + unit + ")", As: as}, {Head: what + ", median (" + unit + ")", As: as},
		{Head: what + ", greatest (" + unit + ")", As: as}, {Head: what + ": greatest in " + who}}
}

func (c *comparison) fillSpread(r workbook.Row, s *spread, put func(bool, int64)) {
	put(s.n > 0, s.low)
	put(s.n > 0, s.mid)
	put(s.n > 0, s.top)
	if s.n > 1 && s.top > s.low {
		r.Text(c.refs[s.who].label)
	} else {
		r.None()
	}
}

func (c *comparison) spreadTable() workbook.Table {
	const mib, ms = workbook.MiB, workbook.Time
	cols := []workbook.Column{{Head: "Job"}, {Head: "Iteration", As: workbook.ID}, {Head: "Runs with it", As: workbook.Count}}
	for _, f := range []struct {
		what, unit string
		as         workbook.Format
	}{{"Peak", "MiB", mib}, {"Need", "MiB", mib}, {"End", "MiB", mib}, {"Kernel time", "ms", ms}, {"Time", "ms", ms}} {
		cols = append(cols, spreadColumns(f.what, f.unit, f.as, "run")...)
	}
	cols = append(cols, workbook.Column{Head: "Peak, range (bytes)", As: workbook.Count, Bar: true})
	type place struct{ group, row int32 }
	var rows []place
	for i := range c.groups {
		for k := range c.groups[i].rows {
			if len(rows) < maxSheetRows {
				rows = append(rows, place{int32(i), int32(k)})
			}
		}
	}
	return workbook.Table{Sheet: sheetSpread, Name: "Spread", Tab: tabSpread, Columns: cols, Rows: len(rows), Fixed: 2, None: "no iteration was found",
		Fill: func(i int, r workbook.Row) {
			g := &c.groups[rows[i].group]
			row := &g.rows[rows[i].row]
			r.Text(g.name)
			r.Int(true, int64(row.key.index))
			r.Int(true, int64(row.n))
			for k := range row.have {
				put := r.Bytes
				if k == ofKernels || k == ofTime {
					put = r.NS
				}
				c.fillSpread(r, &row.have[k], put)
			}
			p := &row.have[ofPeak]
			r.Int(p.n > 0, p.top-p.low)
		}}
}

func (c *comparison) spreadPhasesTable() workbook.Table {
	const mib, ms = workbook.MiB, workbook.Time
	cols := []workbook.Column{{Head: "Job"}, {Head: "Phase"}, {Head: "Runs with it", As: workbook.Count}}
	for _, f := range []struct {
		what, unit string
		as         workbook.Format
	}{{"Peak", "MiB", mib}, {"Need", "MiB", mib}, {"Kernel time, median", "ms", ms}, {"Time, median", "ms", ms}} {
		cols = append(cols, spreadColumns(f.what, f.unit, f.as, "run")...)
	}
	type row struct {
		group, phase int
		n            int
		have         [4]spread
	}
	var rows []row
	for gi := range c.groups {
		for pi := range c.phases {
			var values [4][]value
			n := 0
			for _, m := range c.groups[gi].members {
				f, ok := c.phases[pi].figures[m]
				if !ok {
					continue
				}
				n++
				has := &c.runs[c.refs[m].run].Collected
				for k, v := range []struct {
					known bool
					v     int64
				}{{has.Memory, f.peak}, {has.Memory, f.need}, {has.Kernels, f.kernelNS}, {true, f.duration}} {
					if v.known {
						values[k] = append(values[k], value{v.v, int32(m)})
					}
				}
			}
			if n == 0 || len(rows) >= maxSheetRows {
				continue
			}
			out := row{group: gi, phase: pi, n: n}
			for k := range values {
				out.have[k] = newSpread(values[k])
			}
			rows = append(rows, out)
		}
	}
	return workbook.Table{Sheet: sheetSpreadOf, Name: "Spread_of_phases", Tab: tabSpread, Columns: cols, Rows: len(rows), Fixed: 2, None: "no phase was found",
		Fill: func(i int, r workbook.Row) {
			row := &rows[i]
			r.Text(c.groups[row.group].name)
			r.Text(c.phases[row.phase].path)
			r.Int(true, int64(row.n))
			for k := range row.have {
				put := r.Bytes
				if k >= 2 {
					put = r.NS
				}
				c.fillSpread(r, &row.have[k], put)
			}
		}}
}

func (c *comparison) failuresTable() workbook.Table {
	return workbook.Table{Sheet: sheetFailures, Name: "Failures", Tab: tabDoubt, Rows: len(c.failed) + len(c.missing), Fixed: 1, None: "none",
		Columns: []workbook.Column{{Head: "Run"}, {Head: "Report"}, {Head: "What"}, {Head: "Reason", As: workbook.Long}},
		Fill: func(i int, r workbook.Row) {
			if i < len(c.failed) {
				f := &c.failed[i]
				r.Text(f.Name)
				r.Text(f.Path)
				r.Text("failed")
				r.Text(f.Reason)
				return
			}
			in := &c.missing[i-len(c.failed)]
			r.Text(in.Name)
			r.Text(in.Path)
			r.Text("missing")
			r.Text("no share has done it yet with these settings: run the same batch again, it does only what is missing")
		}}
}
