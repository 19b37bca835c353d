package tables

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// A Holder is a part of the memory that is held at one time.
type Holder struct {
	Track   *align.Track
	From    int64  // ns; start of the report, from which people count
	When    string // "peak", or which request failed
	Holding *align.Holding
	By      string // way of telling: "frame", "phase of birth" or "category"
	Share   align.Share
}

func (h *Holder) track() *align.Track { return h.Track }

func (h *Holder) place() Place { return Place{h.Track, h.Holding.Iteration, h.Holding.Phase} }

// some says that anything is held, of which there are shares.
func (h *Holder) some() bool { return h.Holding.Bytes > 0 }

// Holders are the parts of a holding told in one way, the largest first. Where they are more than most, the last of most
// rows stands for the rest.
func Holders(h *align.Holding, g phrase.ShareGroup, most int) []*Holder {
	list := g.Shares
	if len(list) > most {
		list = Largest(list, most-1, fmt.Sprintf("(%s others)", wording.Count(len(list)-most+1)))
	}
	out := Shares(list)
	for _, r := range out {
		r.Holding, r.By = h, g.By
	}
	return out
}

// Shares are rows of shares alone.
func Shares(list []align.Share) []*Holder {
	out := make([]*Holder, len(list))
	for i, s := range list {
		out[i] = &Holder{Share: s}
	}
	return out
}

// Largest are the first n shares, and one of a name of its own for the rest where there is any.
func Largest(list []align.Share, n int, name string) []align.Share {
	if len(list) <= n {
		return list
	}
	rest := align.Share{Name: name}
	for _, s := range list[n:] {
		rest.Blocks += s.Blocks
		rest.Bytes += s.Bytes
	}
	return append(slices.Clone(list[:n]), rest)
}

// holders is the catalogue of who holds memory.
var holders = slices.Concat(
	trackColumns((*Holder).track),
	placeColumns((*Holder).place),
	[]Column[*Holder]{
		iterationName((*Holder).place),
		{Key: "time_ns", Unit: Time, Int: func(h *Holder) int64 { return h.Holding.Time }},
		{Key: "held_bytes", Unit: Bytes, Int: func(h *Holder) int64 { return h.Holding.Bytes }},
		{Key: "when", Head: "when", Text: func(h *Holder) string { return h.When }},
		{Key: "at_ns", Head: "at", Unit: Time, Int: func(h *Holder) int64 { return h.Holding.Time - h.From }},
		{Key: "by", Head: "by", Text: func(h *Holder) string { return h.By }},
		{Key: "name", Head: "name", Text: func(h *Holder) string { return h.Share.Name }},
		{Key: "blocks", Head: "blocks", Unit: Count, Int: func(h *Holder) int64 { return int64(h.Share.Blocks) }},
		{Key: "bytes", Head: "bytes", Unit: Bytes, Bar: true, Int: func(h *Holder) int64 { return h.Share.Bytes }},
		{Key: "share", Head: "share", Unit: Term, Text: func(h *Holder) string { return wording.Share(h.Share.Bytes, h.Holding.Bytes) }},
		{Key: "part", Head: "share", Unit: Part, Has: (*Holder).some,
			Real: func(h *Holder) float64 { return float64(h.Share.Bytes) / float64(h.Holding.Bytes) }},
		optional(Column[*Holder]{Key: "request_bytes", Head: "failed request", Unit: Bytes, Int: func(h *Holder) int64 { return h.Holding.Request }}),
	})

// HolderTable has a row for each part of what is held, Holdings one for all that is held at one time.
var (
	holderTables = define(holders, Views{
		Terminal: "name:0/18, bytes, share:2, blocks:1",
		Markdown: "by, name, blocks, bytes, share",
		JSON:     "name, blocks, bytes",
		Workbook: "pid, device, when, at_ns, iteration=In iteration, phase=In phase, from, by, name, blocks, bytes=Size, part, " +
			"bytes!==Bytes, request_bytes!",
	}, Views{
		JSON: "time_ns, iteration_name=iteration, phase, held_bytes=bytes, request_bytes",
	})
	HolderTable = &holderTables[0]
	Holdings    = &holderTables[1]
)

// HolderGrid is the table of who holds memory at the peak of each track, and at each request that could not be served.
func HolderGrid(rep *align.Report) Grid {
	var all []*Holder
	for _, t := range rep.Tracks {
		if t.Tensors == nil {
			continue
		}
		add := func(when string, h *align.Holding) {
			for _, g := range phrase.ShareGroups(h) {
				for _, s := range g.Shares {
					all = append(all, &Holder{t, rep.Source.Start, when, h, g.By, s})
				}
			}
		}
		add("peak", &t.Tensors.Peak)
		for i := range t.Tensors.Failures {
			add(failedRequest(i), &t.Tensors.Failures[i])
		}
	}
	return Rows(HolderTable.Columns(Workbook), all)
}

// failedRequest names a request that could not be served, by its place.
func failedRequest(i int) string { return fmt.Sprintf("failed request %d", i+1) }
