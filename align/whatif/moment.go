package whatif

import (
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

// moment finds an entry of the trace in the program: by the block that it handed out or took back, else by the last one
// handed out before.
func (w *Comparison) moment(event int32) Moment {
	m := Moment{Event: event, Time: w.TimeOf(event), Iteration: -1}
	blocks := w.Replay.Blocks
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].BirthEvent > event }) - 1
	if i >= 0 && blocks[i].BirthEvent == event {
		return w.at(m, i, false)
	}
	if w.diedAt == nil {
		w.diedAt = make([]int32, 0, len(blocks))
		for k := range blocks {
			if blocks[k].DeathEvent >= 0 {
				w.diedAt = append(w.diedAt, int32(k))
			}
		}
		slices.SortFunc(w.diedAt, func(a, b int32) int { return int(blocks[a].DeathEvent) - int(blocks[b].DeathEvent) })
	}
	k := sort.Search(len(w.diedAt), func(k int) bool { return blocks[w.diedAt[k]].DeathEvent > event }) - 1
	if k >= 0 && (i < 0 || blocks[w.diedAt[k]].DeathEvent > blocks[i].BirthEvent) {
		return w.at(m, int(w.diedAt[k]), true)
	}
	if i >= 0 {
		return w.at(m, i, false)
	}
	return m
}

// lookBack is how many blocks before one without a Python frame are searched for one.
const lookBack = 10000

func (w *Comparison) at(m Moment, block int, died bool) Moment {
	b := &w.Replay.Blocks[block]
	stack := b.Stack
	if died {
		stack = b.FreeStack
	}
	m.Frame = tensor.Frame(w.Replay.Snapshot().Stack(stack))
	if m.Frame == "" && w.Track == nil {
		// A backward pass has no Python frames: what the program asked for last is near.
		for k := block - 1; k >= 0 && k > block-lookBack; k-- {
			if f := tensor.Frame(w.Replay.Snapshot().Stack(w.Replay.Blocks[k].Stack)); f != "" {
				m.Frame = "after " + f
				break
			}
		}
	}
	if w.Track != nil && block < len(w.Track.Tensors.Blocks) {
		t := &w.Track.Tensors.Blocks[block]
		m.Iteration, m.Phase = t.Iteration, t.Phase
		if died {
			m.Iteration, m.Phase = t.EndIteration, t.EndPhase
		}
	}
	return m
}

// overTime fills the highest level of each iteration, and which phases took memory from the driver.
func (w *Comparison) overTime(s *Setting) {
	grown := tensor.NewShares()
	before := int64(0)
	for _, c := range s.Curve {
		if c.Reserved > before && c.Event >= 0 {
			m := w.moment(c.Event)
			name := m.Phase
			if name == "" {
				name = m.Frame
			}
			grown.Add(name, c.Reserved-before)
		}
		before = c.Reserved
	}
	s.Growth = grown.List()
	if w.Track == nil || !w.Timed {
		return
	}
	its := w.Track.Iterations
	s.Iterations = make([]int64, len(its))
	k, level := 0, int64(0)
	for i := range its {
		for k < len(s.Curve) && w.TimeOf(s.Curve[k].Event) < its[i].Start {
			level = s.Curve[k].Reserved
			k++
		}
		high := level
		for n := k; n < len(s.Curve) && w.TimeOf(s.Curve[n].Event) < its[i].End; n++ {
			high = max(high, s.Curve[n].Reserved)
		}
		s.Iterations[i] = high
	}
}
