package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/render/phrase"
)

// A takerRow is the memory outside PyTorch's allocator that one call took in one phase.
type takerRow = Row[tensor.Taker]

func takerPlace(x *tensor.Taker) (int, string) { return x.Iteration, x.Phase }

// Takers has a row for each taker of memory outside PyTorch.
var Takers = define(slices.Concat(trackColumns[tensor.Taker](), placed(takerPlace), []Column[*takerRow]{
	optional(iterationName("iteration", takerPlace)),
	unknown(Column[*takerRow]{Key: "call", Head: "call", Text: func(r *takerRow) string { return r.Item.Call }}),
	{Key: "in", Head: "in", Text: func(r *takerRow) string { return phrase.TakerPlace(r.Track, r.Item) }},
	{Key: "blocks", Head: "blocks", Unit: Count, Int: func(r *takerRow) int64 { return int64(r.Item.Blocks) }},
	{Key: "bytes", Head: "taken", Unit: Bytes, Bar: true, Int: func(r *takerRow) int64 { return r.Item.Bytes }},
	{Key: "live_bytes", Head: "live at end", Unit: Bytes, Bar: true, Int: func(r *takerRow) int64 { return r.Item.Live }},
}), Views{
	Terminal: "call:0/10, in:1/16, bytes, live_bytes=live at the end, blocks:2",
	Markdown: "call, in, blocks, bytes, live_bytes=Live at the end",
	JSON:     "call, iteration_name=iteration, phase, blocks, bytes, live_bytes",
	Workbook: "pid, device, call, iteration, phase, from, blocks, bytes, live_bytes, bytes!, live_bytes!",
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
