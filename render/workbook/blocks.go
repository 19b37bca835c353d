package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/tables"
)

func allocationsTable(rep *findings.Report) *table {
	return table{sheet: "Allocations", name: "Allocations", tab: tabMemory, fixed: 3,
		none: missing(rep, rep.Collected.Memory, "device memory", "none in the recorded time")}.
		of(tables.RowGrid(rep.Report, tables.Allocations.Columns(tables.Workbook), func(t *align.Track) []align.Block {
			return tables.StaticFolded(t.Blocks)
		}))
}

// liveTable lists the blocks that are live at one time, largest first.
func liveTable(rep *findings.Report, sheet, name string, blocks func(*align.Track) []align.Block) *table {
	return table{sheet: sheet, name: name, tab: tabMemory, fixed: 2, none: missing(rep, rep.Collected.Memory, "device memory", "none")}.
		of(tables.RowGrid(rep.Report, tables.LiveBlocks.Columns(tables.Workbook), func(t *align.Track) []align.Block {
			return tables.StaticFolded(blocks(t))
		}))
}
