package tensor

import (
	"cmp"
	"slices"
)

// A Holding is who holds memory at one time.
type Holding struct {
	Time       int64 // ns
	Iteration  int   // -1 for none
	Phase      string
	Bytes      int64 // requested bytes of all live blocks
	Request    int64 // bytes that could not be served; 0 at a peak
	Cache      *Cache
	ByFrame    []Share
	ByPhase    []Share // phase of birth
	ByCategory []Share
	ByModule   []Share // NoModule alone where the program noted none
}

// A Share is a part of a Holding.
type Share struct {
	Name   string
	Blocks int
	Bytes  int64 // requested
}

// NoFrame is the name of the share of blocks that no line of the program asked for, as far as their stacks tell: a
// backward pass runs on a thread of its own, without Python.
const NoFrame = "(no Python frame)"

// hold sums the blocks that are live just after a time.
func hold(blocks []Block, at int64) Holding {
	h := Holding{Time: at}
	var frame, phase, cat, module Shares
	for i := range blocks {
		b := &blocks[i]
		if b.Start != Never && b.Start > at || b.End != Never && b.End <= at {
			continue
		}
		h.Bytes += b.Bytes
		frame.Add(cmp.Or(b.Frame, NoFrame), b.Bytes)
		born := cmp.Or(b.Phase, "(none)")
		if b.Start == Never {
			born = "(before recording)"
		}
		phase.Add(born, b.Bytes)
		cat.Add(b.Category, b.Bytes)
		module.Add(cmp.Or(b.Module, NoModule), b.Bytes)
	}
	h.ByFrame, h.ByPhase, h.ByCategory, h.ByModule = frame.List(), phase.List(), cat.List(), module.List()
	return h
}

// holdAt sums the blocks that are live just after an entry of the trace.
func (m *Memory) holdAt(tl Timeline, event int, at int64) Holding {
	live := m.Replay.LiveAt(event)
	blocks := make([]Block, len(live))
	for k, i := range live {
		// The trace says that it is live then; stamps alone, of which several may be equal, would not.
		blocks[k] = m.Blocks[i]
		blocks[k].End = Never
		if blocks[k].Start != Never {
			blocks[k].Start = min(blocks[k].Start, at)
		}
	}
	h := hold(blocks, at)
	h.Iteration, h.Phase = tl.Where(at)
	return h
}

// Shares sums blocks by a name. The zero value has no share yet.
type Shares struct{ ledger[string, Share] }

// Add adds a block to a name's share.
func (s *Shares) Add(name string, bytes int64) {
	x := s.at(name, Share{Name: name})
	x.Blocks++
	x.Bytes += bytes
}

// List gives the shares, the largest first.
func (s *Shares) List() []Share {
	slices.SortFunc(s.sums, func(x, y Share) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name))
	})
	return s.sums
}
