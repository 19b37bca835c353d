package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/tables"
)

func allocationsTable(rep *findings.Report) *table {
	return table{sheet: "Allocations", name: "Allocations", tab: tabMemory, fixed: 3,
		none: missing(rep, rep.Collected.Memory, "device memory", "none in the recorded time")}.
		of(tables.RowGrid(rep.Report, tables.Allocations.Columns(tables.Workbook), folded(rep, func(t *align.Track) []align.Block { return t.Blocks })))
}

// liveTable lists the blocks that are live at one time, largest first.
func liveTable(rep *findings.Report, sheet, name string, blocks func(*align.Track) []align.Block) *table {
	return table{sheet: sheet, name: name, tab: tabMemory, fixed: 2, none: missing(rep, rep.Collected.Memory, "device memory", "none")}.
		of(tables.RowGrid(rep.Report, tables.LiveBlocks.Columns(tables.Workbook), folded(rep, blocks)))
}

// folded gives the blocks of each track with its static memory folded. They are folded once, for a grid asks for them by row.
func folded(rep *findings.Report, blocks func(*align.Track) []align.Block) func(*align.Track) []align.Block {
	of := make(map[*align.Track][]align.Block, len(rep.Tracks))
	for _, t := range rep.Tracks {
		of[t] = tables.StaticFolded(blocks(t))
	}
	return func(t *align.Track) []align.Block { return of[t] }
}
