package align

// heldRow stands in rows.of for a range that waits to be made a detail of the range that holds it.
const heldRow = -2

// hold lists for each range of the lead the framework's and library's ranges of other threads that give way to it and lie
// whole in it, by thread and in opening order; each counts for the innermost range that holds it. The range in which the
// lead is when work is launched in such a range is the same one wherever it holds it, which joinedThread.place asks.
//
//  1. Of each thread the ranges that give way are walked in opening order, with the ranges of the lead that are open.
//  2. The innermost of these that lasts as long holds it. Where none does, it stays a row of its own.
func (b *rowBuilder) hold(threads []*thread, lead lead) {
	b.held = make(map[int32][]int32)
	if lead.thread == nil || lead.inferred {
		return // operators' ranges are no phases on an inferred lead either
	}
	ids := lead.thread.ranges
	for _, t := range threads {
		if t == lead.thread || t.helper {
			continue
		}
		next, open := 0, stack{spans: b.spans}
		for _, id := range t.ranges {
			s := &b.spans[id]
			if !s.loose || s.end <= s.start {
				continue
			}
			for ; next < len(ids) && b.spans[ids[next]].start <= s.start; next++ {
				open.at(b.spans[ids[next]].start)
				open.open = append(open.open, ids[next])
			}
			open.at(s.start)
			for k := len(open.open) - 1; k >= 0; k-- {
				if h := open.open[k]; b.spans[h].holds(s) {
					b.held[h] = append(b.held[h], id)
					b.of[id] = heldRow
					break
				}
			}
		}
	}
}

// details makes rows below the one of a phase, which ends at until, of the ranges of other threads that it holds.
func (b *rowBuilder) details(phase, iter int32, ids []int32, until int64) {
	var w walk
	for i, id := range ids {
		s := &b.spans[id]
		if i > 0 && s.thread != b.spans[ids[i-1]].thread {
			w = walk{}
		}
		if s.start >= until {
			b.of[id] = phase // the iteration, or the phase with it, was cut short
			continue
		}
		end := min(s.end, until)
		w.closeUntil(s.start)
		parent := phase
		if h := w.holder(s.start, end); h != nil {
			parent = h.row
		}
		b.of[id] = b.phase(parent, iter, id, s.start, end)
		w.open = append(w.open, openRange{end: end, row: b.of[id]})
	}
}

// release gives ranges that no phase took to the row of the range that holds them.
func (b *rowBuilder) release() {
	for h, ids := range b.held {
		for _, id := range ids {
			if b.of[id] == heldRow {
				b.of[id] = b.of[h]
			}
		}
	}
}
