package workbook

import (
	"sort"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// Colours of the tabs, by what a sheet is about.
const (
	tabSteps  = "1F4E79"
	tabMemory = "E08214"
	tabGPU    = "548235"
	tabDoubt  = "7F7F7F"
)

var trackColumns = []column{{head: "Process", as: asID}, {head: "Device", as: asID}}

func columns(cols ...column) []column {
	return append(append([]column(nil), trackColumns...), cols...)
}

// Columns of the Iterations sheet that the Overview's chart shows.
const (
	columnIteration = 2
	columnStart     = 7
	columnEnd       = 8
	columnPeak      = 10
)

func iterationsTable(rep *findings.Report) *table {
	return table{sheet: "Iterations", name: "Iterations", tab: tabSteps, fixed: 4, none: "none found"}.
		of(tables.IterationGrid(rep.Report, tables.Iterations.Columns(tables.Workbook)))
}

// level takes start, end, net, peak and need of a level in MiB.
func (r *row) level(known bool, m *align.MemoryUse) {
	for _, v := range []int64{m.Start, m.End, m.Net, m.Peak, m.Need} {
		r.mib(known, v)
	}
}

// exact takes the same in whole bytes.
func (r *row) exact(known bool, m *align.MemoryUse) {
	for _, v := range []int64{m.Start, m.End, m.Net, m.Peak, m.Need} {
		r.intIf(known, v)
	}
}

func from(inferred bool) string {
	if inferred {
		return "inferred"
	}
	return "NVTX"
}

func phasesTable(rep *findings.Report) *table {
	return table{sheet: "Phases", name: "Phases", tab: tabSteps, fixed: 3, none: "none: no phases inside steady iterations"}.
		of(tables.RowGrid(rep.Report, tables.Phases.Columns(tables.Workbook), func(t *align.Track) []align.PhaseStat { return t.Phases }))
}

// matrixPhases is how many phases the heat maps show, those with the highest need; every one is on the sheet Phase rows.
const matrixPhases = 100

// matrixTable has a row for each iteration and three columns for each phase: its peak, net and need as heat maps.
func matrixTable(rep *findings.Report) *table {
	paths := matrixPaths(rep)
	place := make(map[string]int, len(paths))
	cols := columns(column{head: "Iteration", as: asID}, column{head: "Name"}, column{head: "Flags"}, column{head: "From"})
	lead := len(cols)
	for i, p := range paths {
		place[p] = i
		cols = append(cols, column{head: "Peak (MiB) " + p, as: asMiB})
	}
	for _, p := range paths {
		cols = append(cols, column{head: "Net (MiB) " + p, as: asChange})
	}
	for _, p := range paths {
		cols = append(cols, column{head: "Need (MiB) " + p, as: asMiB})
	}
	k := len(paths)
	t := &table{sheet: "Iteration × Phase", name: "Iteration_Phase", tab: tabSteps, cols: cols, fixed: 4}
	if k == 0 || !rep.Collected.Memory {
		t.none = missing(rep, rep.Collected.Memory, "device memory", "none: no phases inside iterations")
		return t
	}
	t.scales = []scale{{first: lead, last: lead + k - 1}, {first: lead + k, last: lead + 2*k - 1, change: true}, {first: lead + 2*k, last: lead + 3*k - 1}}
	n, at := flatten(rep, func(t *align.Track) int { return len(t.Iterations) })
	t.n = n
	t.fill = func(i int, r *row) {
		tr, j := at(i)
		it := &tr.Iterations[j]
		r.track(tr)
		r.int(int64(it.Index))
		r.text(it.Name)
		r.text(phrase.Flags(it))
		r.text(from(phrase.Inferred(tr) != ""))
		for range 3 * k {
			r.none()
		}
		for p := range it.Phases {
			ph := &it.Phases[p]
			if at, ok := place[ph.Path]; ok {
				r.cells[lead+at] = float64(ph.Memory.Peak) / (1 << 20)
				r.cells[lead+k+at] = float64(ph.Memory.Net) / (1 << 20)
				r.cells[lead+2*k+at] = float64(ph.Memory.Need) / (1 << 20)
			}
		}
	}
	return t
}

// matrixPaths lists the phases of all iterations in order of first appearance, "(other)" last, and where they are too
// many those with the highest need.
func matrixPaths(rep *findings.Report) []string {
	type seen struct {
		place int
		need  int64
	}
	phases := map[string]*seen{}
	var paths []string
	for _, t := range rep.Tracks {
		for i := range t.Iterations {
			for j := range t.Iterations[i].Phases {
				p := &t.Iterations[i].Phases[j]
				s := phases[p.Path]
				if s == nil {
					s = &seen{place: len(paths)}
					phases[p.Path] = s
					paths = append(paths, p.Path)
				}
				s.need = max(s.need, p.Memory.Need)
			}
		}
	}
	if len(paths) > matrixPhases {
		sort.SliceStable(paths, func(i, j int) bool { return phases[paths[i]].need > phases[paths[j]].need })
		paths = paths[:matrixPhases]
	}
	sort.SliceStable(paths, func(i, j int) bool {
		if (paths[i] == align.OtherPhase) != (paths[j] == align.OtherPhase) {
			return paths[j] == align.OtherPhase
		}
		return phases[paths[i]].place < phases[paths[j]].place
	})
	return paths
}

// phaseRowsTable has a row for each phase of each iteration, with all that is known of it.
func phaseRowsTable(rep *findings.Report) *table {
	all := func(*align.Track) bool { return true }
	return table{sheet: "Phase rows", name: "Phase_rows", tab: tabSteps, fixed: 4, none: "none: no phases inside iterations"}.
		of(tables.PhaseGrid(rep.Report, tables.PhaseRows.Columns(tables.Workbook), all))
}
