package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/tables"
)

const tabTensors = "7030A0"

// Sheets that charts show.
const (
	levelsSheet     = "Tensor levels"
	categoriesSheet = "Categories"
)

// tensorTables are the sheets on tensors, as far as a track has what they need: levels, cache and outside memory come from
// a snapshot, blocks and categories also from a driver whose blocks are the tensors, and theory needs neither.
func tensorTables(rep *findings.Report) []*table {
	levels, tensors, snapshot, libraries, theory := false, false, false, false, false
	for _, t := range rep.Tracks {
		levels = levels || t.HasTensorLevels()
		tensors = tensors || t.Tensors != nil
		snapshot = snapshot || t.Tensors != nil && t.Tensors.Outside != nil
		libraries = libraries || t.Tensors != nil && t.Tensors.Outside != nil && t.Tensors.Outside.Libraries != nil
		theory = theory || t.Theory != nil
	}
	var out []*table
	add := func(some bool, t table, grid func(*align.Report) tables.Grid) {
		if some {
			t.tab = tabTensors
			out = append(out, t.of(grid(rep.Report)))
		}
	}
	add(levels, table{sheet: levelsSheet, name: "Tensor_levels", fixed: 4, none: "none found"}, tables.TensorLevelGrid)
	add(levels, table{sheet: "Tensor phases", name: "Tensor_phases", fixed: 3, none: "none: no phases inside steady iterations"}, tables.TensorPhaseGrid)
	add(levels, table{sheet: "Tensor phase rows", name: "Tensor_phase_rows", fixed: 4, none: "none: no phases inside iterations"}, tables.TensorPhaseRowGrid)
	add(tensors || theory, table{sheet: categoriesSheet, name: "Categories", fixed: 3, none: "none"}, tables.CategoryGrid)
	add(tensors, table{sheet: "Who holds it", name: "Who_holds_it", fixed: 3, none: "none"}, tables.HolderGrid)
	add(tensors, table{sheet: "Tensors", name: "Tensors", fixed: 3, none: "none"}, tables.TensorGrid)
	add(snapshot, table{sheet: "Fragmentation", name: "Fragmentation", fixed: 3, none: "none: no segment was added while it was recorded"}, tables.CacheGrid)
	add(snapshot, table{sheet: "Outside PyTorch", name: "Outside_PyTorch", fixed: 3, none: "none: all device memory is in PyTorch's segments"}, tables.TakerGrid)
	add(libraries, table{sheet: "Outside by library", name: "Outside_by_library", fixed: 3, none: "none: all device memory is in PyTorch's segments"}, tables.OutsideLibraryGrid)
	return out
}
