package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/tables"
)

// Colours of the tabs, by what a sheet is about.
const (
	tabSteps  = "1F4E79"
	tabMemory = "E08214"
	tabGPU    = "548235"
	tabDoubt  = "7F7F7F"
)

// iterationsSheet is the sheet that the Overview's chart shows.
const iterationsSheet = "Iterations"

func iterationsTable(rep *findings.Report) *table {
	return table{sheet: iterationsSheet, name: "Iterations", tab: tabSteps, fixed: 4, none: "none found"}.
		of(tables.IterationGrid(rep.Report, tables.Iterations.Columns(tables.Workbook)))
}

func phasesTable(rep *findings.Report) *table {
	return table{sheet: "Phases", name: "Phases", tab: tabSteps, fixed: 3, none: "none: no phases inside steady iterations"}.
		of(tables.RowGrid(rep.Report, tables.Phases.Columns(tables.Workbook), func(t *align.Track) []align.PhaseStat { return t.Phases }))
}

// matrixTable is a heat map of iterations by phases.
func matrixTable(rep *findings.Report) *table {
	t := table{sheet: "Iteration × Phase", name: "Iteration_Phase", tab: tabSteps, fixed: 4}
	g, phases := tables.Matrix(rep.Report)
	if phases == 0 || !rep.Collected.Memory {
		t.none = missing(rep, rep.Collected.Memory, "device memory", "none: no phases inside iterations")
		g.Rows = 0
	}
	return t.of(g)
}

// phaseRowsTable has a row for each phase of each iteration, with all that is known of it.
func phaseRowsTable(rep *findings.Report) *table {
	return table{sheet: "Phase rows", name: "Phase_rows", tab: tabSteps, fixed: 4, none: "none: no phases inside iterations"}.
		of(tables.PhaseGrid(rep.Report, tables.PhaseRows.Columns(tables.Workbook), nil))
}

// inferredTables is the sheet of inferred phases beside annotated ones, where these were compared.
func inferredTables(rep *findings.Report) []*table {
	for _, t := range rep.Tracks {
		if t.Inferred != nil && len(t.Inferred.Memory) > 0 {
			return []*table{table{sheet: "Inferred phases", name: "Inferred_phases", tab: tabSteps, fixed: 5, none: "none"}.
				of(tables.PhaseMemoryGrid(rep.Report))}
		}
	}
	return nil
}
