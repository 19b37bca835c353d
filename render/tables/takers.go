package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/render/phrase"
)

// Libraries has a row for each library that asked for memory, and one for the CUDA context.
var Libraries = define(slices.Concat(trackColumns[tensor.Library](), []Column[*Row[tensor.Library]]{
	{Key: "name", Head: "library", Text: func(r *Row[tensor.Library]) string { return phrase.Library(r.Item) }},
	optional(Column[*Row[tensor.Library]]{Key: "library", Text: func(r *Row[tensor.Library]) string {
		if r.Item.Static {
			return phrase.Library(r.Item)
		}
		return r.Item.Name
	}}),
	{Key: "blocks", Head: "blocks", Unit: Count, Int: func(r *Row[tensor.Library]) int64 { return int64(r.Item.Blocks) }},
	{Key: "bytes", Head: "taken", Unit: Bytes, Bar: true, Int: func(r *Row[tensor.Library]) int64 { return r.Item.Bytes }},
	{Key: "at_peak_bytes", Head: "at the peak", Unit: Bytes, Bar: true, Int: func(r *Row[tensor.Library]) int64 { return r.Item.AtPeak }},
	{Key: "live_bytes", Head: "live at the end", Unit: Bytes, Bar: true, Int: func(r *Row[tensor.Library]) int64 { return r.Item.Live },
		Known: func(r *Row[tensor.Library]) bool {
			l := r.Track.Level(align.LevelDevice)
			return l == nil || !l.Ended
		}},
}), Views{
	Terminal: "name:0/12, bytes:3, at_peak_bytes:1, live_bytes, blocks:2",
	Markdown: "name, blocks, bytes, at_peak_bytes, live_bytes",
	JSON:     "library, blocks, bytes, at_peak_bytes, live_bytes",
	Workbook: "pid, device, name, blocks, bytes, at_peak_bytes, live_bytes, bytes!, at_peak_bytes!, live_bytes!",
})[0]

// LibraryGrid is the table of the libraries that asked for device memory, of all tracks.
func LibraryGrid(rep *align.Report) Grid {
	return RowGrid(rep, Libraries.Columns(Workbook), func(t *align.Track) []tensor.Library { return t.Libraries })
}

// OutsideLibraryGrid is that of those that asked for memory outside PyTorch.
func OutsideLibraryGrid(rep *align.Report) Grid {
	return RowGrid(rep, Libraries.Columns(Workbook), func(t *align.Track) []tensor.Library {
		if t.Tensors == nil || t.Tensors.Outside == nil {
			return nil
		}
		return phrase.OutsideLibraries(t.Tensors.Outside)
	})
}

// A takerRow is the memory outside PyTorch's allocator that one call took in one phase.
type takerRow = Row[tensor.Taker]

func takerPlace(x *tensor.Taker) (int, string) { return x.Iteration, x.Phase }

// Takers has a row for each taker of memory outside PyTorch.
var Takers = define(slices.Concat(trackColumns[tensor.Taker](), placed(takerPlace), []Column[*takerRow]{
	optional(iterationName("iteration", takerPlace)),
	optional(Column[*takerRow]{Key: "library", Head: "library", Text: func(r *takerRow) string { return r.Item.Caller.Library }}),
	optional(Column[*takerRow]{Key: "function", Head: "function", Text: func(r *takerRow) string { return r.Item.Caller.Function }}),
	unknown(Column[*takerRow]{Key: "call", Head: "call", Text: func(r *takerRow) string { return r.Item.Call }}),
	{Key: "in", Head: "in", Text: func(r *takerRow) string { return phrase.TakerPlace(r.Track, r.Item) }},
	{Key: "blocks", Head: "blocks", Unit: Count, Int: func(r *takerRow) int64 { return int64(r.Item.Blocks) }},
	{Key: "bytes", Head: "taken", Unit: Bytes, Bar: true, Int: func(r *takerRow) int64 { return r.Item.Bytes }},
	{Key: "live_bytes", Head: "live at end", Unit: Bytes, Bar: true, Int: func(r *takerRow) int64 { return r.Item.Live }},
}), Views{
	Terminal: "library:2/8, function:3/16, call:0/10, in:1/16, bytes, live_bytes=live at the end, blocks:4",
	Markdown: "library, function, call, in, blocks, bytes, live_bytes=Live at the end",
	JSON:     "library, function, call, iteration_name=iteration, phase, blocks, bytes, live_bytes",
	Workbook: "pid, device, library, function, call, iteration, phase, from, blocks, bytes, live_bytes, bytes!, live_bytes!",
})[0]

// TakerGrid is the table of the takers of all tracks.
func TakerGrid(rep *align.Report) Grid {
	takers := make(map[*align.Track][]tensor.Taker)
	for _, t := range rep.Tracks {
		if t.Tensors != nil && t.Tensors.Outside != nil {
			takers[t] = phrase.OutsideTakers(t.Tensors.Outside)
		}
	}
	return RowGrid(rep, Takers.Columns(Workbook), func(t *align.Track) []tensor.Taker { return takers[t] })
}
