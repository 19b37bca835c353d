package workbook

import (
	"math"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/phrase"
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
	levels, tensors, snapshot, theory := false, false, false, false
	for _, t := range rep.Tracks {
		levels = levels || t.HasTensorLevels()
		tensors = tensors || t.Tensors != nil
		snapshot = snapshot || t.Tensors != nil && t.Tensors.Outside != nil
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
	return out
}

// fromOf says for the iteration and the phase of a row whether ranges or the GPU work tell of them.
func fromOf(rep *findings.Report) func(t *align.Track, place int, path string) string {
	some := make(map[*align.Track]bool)
	for _, t := range rep.Tracks {
		some[t] = phrase.Inferred(t) != ""
	}
	return func(t *align.Track, place int, path string) string {
		switch {
		case place < 0 && path == "":
			return ""
		case some[t]:
			return from(phrase.From(t, place, path) == "inferred")
		}
		return from(false)
	}
}

// pathFrom is the same for rows that stand for a phase in all iterations.
func pathFrom(rep *findings.Report) func(t *align.Track, path, where string) string {
	type key struct {
		t    *align.Track
		path string
	}
	inferred := make(map[key]bool)
	for _, t := range rep.Tracks {
		if phrase.Inferred(t) == "" {
			continue
		}
		for i := range t.Iterations {
			inferred[key{t, ""}] = t.IterationsFrom.How == "kernels"
			for k := range t.Iterations[i].Phases {
				if p := &t.Iterations[i].Phases[k]; p.Inferred || t.IterationsFrom.How == "kernels" {
					inferred[key{t, p.Path}] = true
				}
			}
		}
	}
	return func(t *align.Track, path, where string) string {
		switch where {
		case "iteration":
			return from(inferred[key{t, path}])
		case "range":
			return from(false)
		}
		return ""
	}
}

// stream takes a stream: a small number, or the address of a handle.
func (r *row) stream(s uint64) {
	if s > math.MaxInt32 {
		r.address(s)
		return
	}
	r.int(int64(s))
}
