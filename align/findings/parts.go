package findings

import (
	"fmt"
	"strings"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// Parts says what a rise of the device level is made of: Need, Cache, Graphs and Outside add up to it.
type Parts struct {
	From    int64 `json:"allocated_peak_from_bytes"` // bytes; highest allocated level before the rise
	To      int64 `json:"allocated_peak_to_bytes"`   // bytes; highest up to its end, not under From
	Need    int64 `json:"need_bytes"`                // bytes that tensors need more at their peak
	Cache   int64 `json:"cache_bytes"`               // bytes that the allocator took and tensors do not need; may be negative
	Graphs  int64 `json:"graph_pools_bytes"`         // bytes that lie free in private pools of CUDA graphs; negative where some were given back
	Outside int64 `json:"outside_bytes"`             // bytes taken outside PyTorch; negative where some were given back
}

// A split is a rise in its parts.
type split struct {
	Parts
	at *align.Iteration // where allocated was highest; nil where it was so before the rise
}

// partsOf splits a rise of the device level by the peaks of what tensors hold; nil without the levels of a snapshot.
//
//  1. Before the rise, tensors needed their highest peak in ranges and iterations before its first iteration.
//  2. Up to its end they need the highest peak of its iterations. The difference is need, as far as the device level's
//     rise has room for it: a trifle is no need.
//  3. What the device level gains and reserved does not is taken outside PyTorch, what private pools gain is for CUDA
//     graphs. The rest is cache.
func partsOf(t *align.Track, r *rise) *split {
	start, end := r.first.Level(align.LevelReserved), r.last.Level(align.LevelReserved)
	first := r.first.Level(align.LevelAllocated)
	if start == nil || end == nil || first == nil {
		return nil
	}
	p := &split{Parts: Parts{From: first.Start, To: first.Start}}
	for i := range t.Ranges {
		if u := t.Ranges[i].Level(align.LevelAllocated); u != nil && t.Ranges[i].End <= r.first.Start {
			p.From = max(p.From, u.Peak)
		}
	}
	for i := range t.Iterations {
		it := &t.Iterations[i]
		u := it.Level(align.LevelAllocated)
		switch {
		case u == nil || it.Start > r.last.Start:
		case it.Start < r.first.Start:
			p.From = max(p.From, u.Peak)
		case u.Peak > p.To:
			p.To, p.at = u.Peak, it
		}
	}
	p.To = max(p.To, p.From)
	p.Outside = (r.last.Memory.End - end.End) - (r.first.Memory.Start - start.Start)
	if a, b := r.first.Level(align.LevelGraphs), r.last.Level(align.LevelGraphs); a != nil && b != nil {
		p.Graphs = b.End - a.Start
	}
	p.Need = max(0, min(p.To-p.From, r.grown-p.Outside-p.Graphs))
	if p.Need <= p.From/trifle {
		p.Need = 0
	}
	p.Cache = r.grown - p.Outside - p.Graphs - p.Need
	return p
}

// text says what the rise is made of, as a sentence to follow another; empty where there is nothing to say.
func (p *split) text(r *rise) string {
	s := "; of the growth, "
	var parts []string
	switch {
	case p.Need > 0:
		s = fmt.Sprintf("; tensors need more from step to step: the peak of allocated rises from %s before %s to %s in %s, which explains ",
			wording.Bytes(p.From), r.first.Name, wording.Bytes(p.To), p.at.Name)
		if p.Need == r.grown {
			return s + "all of the growth"
		}
		parts = append(parts, wording.Bytes(p.Need)+" of the growth")
	case p.To == p.From:
		s = fmt.Sprintf("; the peak of allocated does not rise (%s): ", wording.Bytes(p.To))
	}
	if p.Cache > 0 {
		parts = append(parts, wording.Bytes(p.Cache)+" is cache that lies in pieces")
	}
	if tells(p.Graphs, r.grown) {
		parts = append(parts, wording.Bytes(p.Graphs)+" lies in private pools of CUDA graphs")
	}
	if tells(p.Outside, r.grown) {
		parts = append(parts, wording.Bytes(p.Outside)+" was taken outside PyTorch")
	}
	if len(parts) == 0 {
		return ""
	}
	return s + strings.Join(parts, ", ")
}
