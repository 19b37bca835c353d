package align

// leadThread makes rows of the ranges of the thread that carries the iterations. Members are the iterations, in order.
func (b *rowBuilder) leadThread(ids, members []int32) {
	w := &walk{iter: -1}
	for _, id := range ids {
		s := &b.spans[id]
		w.closeUntil(s.start)
		if w.iter >= 0 && s.start >= w.iterEnd {
			b.finish(w.iter)
			w.iter = -1
		}
		o := openRange{end: s.end}
		switch {
		case len(members) > 0 && members[0] == id:
			o.row = b.beginIteration(w, id)
			members = members[1:]
		case w.iter >= 0:
			o = b.insideIteration(w, id)
		case len(members) > 0 && b.spans[members[0]].start >= s.start && b.spans[members[0]].end <= s.end:
			o.row, o.wrap = b.rangeRow(id, w.wrap(), false), true
			b.call(o.row, s.start, s.end)
		default:
			o.row = b.outsideIterations(w, id)
		}
		b.of[id] = o.row
		w.open = append(w.open, o)
	}
	if w.iter >= 0 {
		b.finish(w.iter)
	}
}

func (b *rowBuilder) beginIteration(w *walk, id int32) int32 {
	if w.iter >= 0 {
		b.finish(w.iter)
	}
	s, p := &b.spans[id], b.out
	w.iter, w.iterEnd = int32(len(p.iters)), s.end
	r := b.add(row{kind: rowIteration, parent: w.wrap(), iter: w.iter, span: id, name: b.ranges.names[s.name]})
	p.iters = append(p.iters, iterSpan{span: id, row: r, other: -1, last: r})
	b.call(r, s.start, s.end)
	for k := range w.open {
		if w.open[k].wrap {
			p.list[w.open[k].row].contains++
		}
	}
	return r
}

func (b *rowBuilder) insideIteration(w *walk, id int32) openRange {
	s := &b.spans[id]
	end := s.end
	if end > w.iterEnd {
		end = w.iterEnd
		if !s.open {
			b.cut++
		}
	}
	parent := b.out.iters[w.iter].row
	if h := w.holder(s.start, end); h != nil && b.out.list[h.row].iter == w.iter {
		parent = h.row
	}
	row := b.phase(parent, w.iter, id, s.start, end)
	b.details(row, w.iter, b.held[id], end)
	return openRange{end: end, row: row}
}

func (b *rowBuilder) outsideIterations(w *walk, id int32) int32 {
	s := &b.spans[id]
	// An iteration that another one cut short takes no ranges any more.
	if h := w.holder(s.start, s.end); h != nil && !h.wrap && b.out.list[h.row].iter < 0 {
		return h.row
	}
	return b.outer(id, w.wrap())
}

// finish gives the iteration its row for the rest.
func (b *rowBuilder) finish(iter int32) {
	it := &b.out.iters[iter]
	s := &b.spans[it.span]
	if len(b.tops) > 0 {
		it.other = b.add(row{kind: rowOther, parent: it.row, iter: iter, depth: 1, span: -1, path: OtherPhase, name: OtherPhase})
		it.last = it.other
		b.of[it.span] = it.other
		at := s.start
		for _, c := range b.tops { // by start, as they were opened
			if c.start > at {
				b.call(it.other, at, c.start)
			}
			at = max(at, c.end)
		}
		if at < s.end {
			b.call(it.other, at, s.end)
		}
	}
	b.tops = b.tops[:0]
	clear(b.inIter)
}
