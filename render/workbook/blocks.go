package workbook

import (
	"slices"

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

// libraryTables is the sheet on who asked for device memory; none where no call chains were recorded.
func libraryTables(rep *findings.Report) []*table {
	if !slices.ContainsFunc(rep.Tracks, func(t *align.Track) bool { return t.Libraries != nil }) {
		return nil
	}
	return []*table{table{sheet: "Memory by library", name: "Memory_by_library", tab: tabMemory, fixed: 3, none: "none in the recorded time"}.
		of(tables.LibraryGrid(rep.Report))}
}

// liveTable lists the blocks that are live at one time, largest first.
func liveTable(rep *findings.Report, sheet, name string, blocks func(*align.Track) []align.Block) *table {
	return table{sheet: sheet, name: name, tab: tabMemory, fixed: 2, none: missing(rep, rep.Collected.Memory, "device memory", "none")}.
		of(tables.RowGrid(rep.Report, tables.LiveBlocks.Columns(tables.Workbook), func(t *align.Track) []align.Block {
			return tables.StaticFolded(blocks(t))
		}))
}
