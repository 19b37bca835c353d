package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/tables"
)

func kernelsTable(rep *findings.Report) *table {
	return table{sheet: "Kernels by phase", name: "Kernels_by_phase", tab: tabGPU, fixed: 3,
		none: missing(rep, rep.Collected.Kernels, "GPU kernels", "none traced one by one")}.
		of(tables.RowGrid(rep.Report, tables.Kernels.Columns(tables.Workbook), func(t *align.Track) []align.KernelStat { return t.Kernels }))
}

func copiesTable(rep *findings.Report) *table {
	return table{sheet: "Copies by phase", name: "Copies_by_phase", tab: tabGPU, fixed: 3,
		none: missing(rep, rep.Collected.Copies, "copies and memsets", "none in the recorded time")}.
		of(tables.RowGrid(rep.Report, tables.Copies.Columns(tables.Workbook), func(t *align.Track) []align.CopyStat { return t.Copies }))
}

func callsTable(rep *findings.Report) *table {
	return table{sheet: "CUDA API by phase", name: "CUDA_API_by_phase", tab: tabGPU, fixed: 3,
		none: missing(rep, rep.Collected.API, "CUDA API calls", "none in the recorded time")}.
		of(tables.RowGrid(rep.Report, tables.Calls.Columns(tables.Workbook), func(t *align.Track) []align.CallStat { return t.Calls }))
}
