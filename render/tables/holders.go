package tables

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// A Holder is a part of the memory that is held at one time.
type Holder struct {
	When    string // "peak", or which request failed
	Holding *tensor.Holding
	By      string // way of telling: "frame", "phase of birth" or "category"
	Share   tensor.Share
}

type holderRow = Row[Holder]

func holdingPlace(h *Holder) (int, string) { return h.Holding.Iteration, h.Holding.Phase }

// Holders are the rows of a holding of a track told in one way, the largest first. Where they are more than most, the last
// of most rows stands for the rest.
func Holders(rep *align.Report, t *align.Track, h *tensor.Holding, g phrase.ShareGroup, most int) []*Row[Holder] {
	list := g.Shares
	if len(list) > most {
		list = Largest(list, most-1, fmt.Sprintf("(%s others)", wording.Count(len(list)-most+1)))
	}
	return holders(rep, t, "", h, phrase.ShareGroup{By: g.By, Shares: list})
}

func holders(rep *align.Report, t *align.Track, when string, h *tensor.Holding, g phrase.ShareGroup) []*holderRow {
	out := make([]*holderRow, len(g.Shares))
	for i, s := range g.Shares {
		out[i] = &holderRow{Report: rep, Track: t, Item: &Holder{when, h, g.By, s}}
	}
	return out
}

// Largest are the first n shares, and one of a name of its own for the rest where there is any.
func Largest(list []tensor.Share, n int, name string) []tensor.Share {
	if len(list) <= n {
		return list
	}
	rest := tensor.Share{Name: name}
	for _, s := range list[n:] {
		rest.Blocks += s.Blocks
		rest.Bytes += s.Bytes
	}
	return append(slices.Clone(list[:n]), rest)
}

// holding is the catalogue of who holds memory.
var holding = slices.Concat(trackColumns[Holder](), placed(holdingPlace), []Column[*holderRow]{
	optional(iterationName("iteration", holdingPlace)),
	{Key: "when", Head: "when", Text: func(r *holderRow) string { return r.Item.When }},
	{Key: "time_ns", Unit: Time, Int: func(r *holderRow) int64 { return r.Item.Holding.Time }},
	{Key: "at_ns", Head: "at", Unit: Time, Int: func(r *holderRow) int64 { return r.after(r.Item.Holding.Time) }},
	{Key: "held_bytes", Unit: Bytes, Int: func(r *holderRow) int64 { return r.Item.Holding.Bytes }},
	optional(Column[*holderRow]{Key: "request_bytes", Head: "failed request", Unit: Bytes, Int: func(r *holderRow) int64 { return r.Item.Holding.Request }}),
	{Key: "by", Head: "by", Text: func(r *holderRow) string { return r.Item.By }},
	{Key: "name", Head: "name", Text: func(r *holderRow) string { return r.Item.Share.Name }},
	{Key: "blocks", Head: "blocks", Unit: Count, Int: func(r *holderRow) int64 { return int64(r.Item.Share.Blocks) }},
	{Key: "bytes", Head: "bytes", Unit: Bytes, Bar: true, Int: func(r *holderRow) int64 { return r.Item.Share.Bytes }},
	{Key: "share", Head: "share", Unit: Term, Text: func(r *holderRow) string { return wording.Share(r.Item.Share.Bytes, r.Item.Holding.Bytes) }},
	{Key: "percent", Head: "share", Unit: Percent, Has: func(r *holderRow) bool { return r.Item.Holding.Bytes > 0 },
		Real: func(r *holderRow) float64 { return float64(r.Item.Share.Bytes) / float64(r.Item.Holding.Bytes) * 100 }},
})

// HolderTable has a row for each part of what is held, Holdings one for all that is held at one time.
var (
	holderTables = define(holding, Views{
		Terminal: "name:0/18, bytes, share:2, blocks:1",
		Markdown: "by, name, blocks, bytes, share",
		JSON:     "name, blocks, bytes",
		Workbook: "pid, device, when, at_ns, iteration=In iteration, phase=In phase, from, by, name, blocks, bytes=Size, percent, " +
			"bytes!==Bytes, request_bytes!",
	}, Views{
		JSON: "time_ns, iteration_name=iteration, phase, held_bytes=bytes, request_bytes",
	})
	HolderTable = holderTables[0]
	Holdings    = holderTables[1]
)

// HoldingRow is the row of a holding as a whole.
func HoldingRow(rep *align.Report, t *align.Track, h *tensor.Holding) *Row[Holder] {
	return &holderRow{Report: rep, Track: t, Item: &Holder{Holding: h}}
}

// ShareRows are rows of shares by themselves.
func ShareRows(list []tensor.Share) []*Row[Holder] {
	return holders(nil, nil, "", nil, phrase.ShareGroup{Shares: list})
}

// HolderGrid is the table of who holds memory at the peak of each track, and at each request that could not be served.
func HolderGrid(rep *align.Report) Grid {
	return trackRows(rep, HolderTable.Columns(Workbook), func(t *align.Track) (rows []*holderRow) {
		if t.Tensors == nil {
			return nil
		}
		add := func(when string, h *tensor.Holding) {
			for _, g := range phrase.ShareGroups(h) {
				rows = append(rows, holders(rep, t, when, h, g)...)
			}
		}
		add("peak", &t.Tensors.Peak)
		for i := range t.Tensors.Failures {
			add(failedRequest(i), &t.Tensors.Failures[i])
		}
		return rows
	})
}

// failedRequest names a request that could not be served, by its place.
func failedRequest(i int) string { return fmt.Sprintf("failed request %d", i+1) }
