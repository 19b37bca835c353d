package whatif

import (
	"cmp"
	"slices"
	"sort"

	"nsysmem/align/tensor"
)

// time is a snapshot's time on the report's clock, or since the trace began.
func (w *Comparison) time(at int64) int64 {
	if w.Track != nil {
		return w.Track.Tensors.ReportTime(at)
	}
	return at - w.Replay.From
}

// TimeOf is the time of an entry of the trace, ns, as Comparison.From; of -1, that of the first one.
func (w *Comparison) TimeOf(event int32) int64 {
	if !w.Timed {
		return int64(max(event, 0))
	}
	return w.time(w.Replay.TimeOf(event))
}

// moment finds an entry of the trace in the program.
//
//  1. An entry that handed out a block or took one back is where that happened.
//  2. Any other, such as a segment that was taken, is where the last entry before it was that did so.
func (w *Comparison) moment(event int32) Moment {
	m := Moment{Event: event, Time: w.TimeOf(event), Iteration: -1}
	blocks, died := w.Replay.Blocks, w.deaths()
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].BirthEvent > event }) - 1
	k := sort.Search(len(died), func(k int) bool { return blocks[died[k]].DeathEvent > event }) - 1
	switch {
	case k >= 0 && (i < 0 || blocks[died[k]].DeathEvent > blocks[i].BirthEvent):
		w.place(&m, int(died[k]), true)
	case i >= 0:
		w.place(&m, i, false)
	}
	return m
}

// deaths are the blocks that were taken back, as places in Replay.Blocks, in the order of those entries.
func (w *Comparison) deaths() []int32 {
	if w.diedAt == nil {
		blocks := w.Replay.Blocks
		w.diedAt = make([]int32, 0, len(blocks))
		for k := range blocks {
			if blocks[k].DeathEvent >= 0 {
				w.diedAt = append(w.diedAt, int32(k))
			}
		}
		slices.SortFunc(w.diedAt, func(a, b int32) int { return cmp.Compare(blocks[a].DeathEvent, blocks[b].DeathEvent) })
	}
	return w.diedAt
}

// lookBack is how many blocks before one without a Python frame are searched for one. A backward pass of a large model
// hands out some thousands.
const lookBack = 10000

// place says where a block was handed out, or taken back.
func (w *Comparison) place(m *Moment, block int, died bool) {
	b, snap := &w.Replay.Blocks[block], w.Replay.Snapshot()
	stack := b.Stack
	if died {
		stack = b.FreeStack
	}
	m.Frame = tensor.Frame(snap.Stack(stack))
	if w.Track == nil {
		// A backward pass has no Python frames: what the program asked for last is near. With a report, the phase says it.
		for k := block - 1; m.Frame == "" && k >= 0 && k > block-lookBack; k-- {
			if f := tensor.Frame(snap.Stack(w.Replay.Blocks[k].Stack)); f != "" {
				m.Frame = "after " + f
			}
		}
		return
	}
	if block < len(w.Track.Tensors.Blocks) {
		t := &w.Track.Tensors.Blocks[block]
		m.Iteration, m.Phase = t.Iteration, t.Phase
		if died {
			m.Iteration, m.Phase = t.EndIteration, t.EndPhase
		}
	}
}

// growth sums the bytes that a setting takes from the driver by phase, or by line of the program where there is no
// phase.
func (w *Comparison) growth(s *Setting) []tensor.Share {
	var grown tensor.Shares
	before := int64(0)
	for _, c := range s.Curve {
		if c.Reserved > before && c.Event >= 0 { // what is there before the trace was taken nowhere
			m := w.moment(c.Event)
			grown.Add(cmp.Or(m.Phase, m.Frame), c.Reserved-before)
		}
		before = c.Reserved
	}
	return grown.List()
}

// iterations gives the highest level of a setting within each iteration, in bytes; nil without a report or times.
func (w *Comparison) iterations(s *Setting) []int64 {
	if w.Track == nil || !w.Timed {
		return nil
	}
	its := w.Track.Iterations
	out := make([]int64, len(its))
	k, level := 0, int64(0)
	for i := range its {
		for ; k < len(s.Curve) && w.TimeOf(s.Curve[k].Event) < its[i].Start; k++ {
			level = s.Curve[k].Reserved
		}
		out[i] = level // what is held as it begins counts
		for n := k; n < len(s.Curve) && w.TimeOf(s.Curve[n].Event) < its[i].End; n++ {
			out[i] = max(out[i], s.Curve[n].Reserved)
		}
	}
	return out
}
