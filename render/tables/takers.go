package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/render/phrase"
)

// A Taker is the memory outside PyTorch's allocator that one call took in one phase.
type Taker struct {
	Track *align.Track
	*align.Taker
}

func (x *Taker) track() *align.Track { return x.Track }

func (x *Taker) place() Place { return Place{x.Track, x.Iteration, x.Phase} }

// TakersOf are some takers of a track.
func TakersOf(t *align.Track, list []align.Taker) []*Taker {
	out := make([]*Taker, len(list))
	for i := range list {
		out[i] = &Taker{t, &list[i]}
	}
	return out
}

// Takers has a row for each taker of memory outside PyTorch.
var Takers = &define(slices.Concat(
	trackColumns((*Taker).track),
	placeColumns((*Taker).place),
	[]Column[*Taker]{
		iterationName((*Taker).place),
		unknown(Column[*Taker]{Key: "call", Head: "call", Text: func(x *Taker) string { return x.Call }}),
		{Key: "in", Head: "in", Text: func(x *Taker) string { return phrase.TakerPlace(x.Track, x.Taker) }},
		{Key: "blocks", Head: "blocks", Unit: Count, Int: func(x *Taker) int64 { return int64(x.Blocks) }},
		{Key: "bytes", Head: "taken", Unit: Bytes, Bar: true, Int: func(x *Taker) int64 { return x.Bytes }},
		{Key: "live_bytes", Head: "live at end", Unit: Bytes, Bar: true, Int: func(x *Taker) int64 { return x.Live }},
	}), Views{
	Terminal: "call:0/10, in:1/16, bytes, live_bytes=live at the end, blocks:2",
	Markdown: "call, in, blocks, bytes, live_bytes=Live at the end",
	JSON:     "call, iteration_name=iteration, phase, blocks, bytes, live_bytes",
	Workbook: "pid, device, call, iteration, phase, from, blocks, bytes, live_bytes, bytes!, live_bytes!",
})[0]

// TakerGrid is the table of the takers of all tracks.
func TakerGrid(rep *align.Report) Grid {
	var all []*Taker
	for _, t := range rep.Tracks {
		if t.Tensors != nil && t.Tensors.Outside != nil {
			all = append(all, TakersOf(t, phrase.OutsideTakers(t.Tensors.Outside))...)
		}
	}
	return Rows(Takers.Columns(Workbook), all)
}
