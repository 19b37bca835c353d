package align

// leadThread makes rows of the ranges of the thread that carries the iterations. Members are the iterations, in order.
func (b *rowBuilder) leadThread(ids, members []int32) {
	w := &walk{spans: b.spans, iter: -1}
	for _, id := range ids {
		s := &b.spans[id]
		w.closeUntil(s.start)
		if w.iter >= 0 && s.start >= w.iterEnd {
			b.finish(w.iter)
			w.iter = -1
		}
		switch {
		case len(members) > 0 && members[0] == id:
			b.beginIteration(w, id)
			members = members[1:]
		case w.iter >= 0:
			b.insideIteration(w, id)
		case len(members) > 0 && b.spans[members[0]].start >= s.start && b.spans[members[0]].end <= s.end:
			name := b.ranges.names[s.name]
			r := b.add(row{kind: rowRange, parent: w.wrap(), iter: -1, span: id, name: name, path: name})
			b.call(r, s.start, s.end)
			b.of[id] = r
			w.open = append(w.open, openRange{end: s.end, row: r, wrap: true})
		default:
			b.outsideIterations(w, id)
		}
	}
	if w.iter >= 0 {
		b.finish(w.iter)
	}
}

func (b *rowBuilder) beginIteration(w *walk, id int32) {
	if w.iter >= 0 {
		b.finish(w.iter)
	}
	s, p := &b.spans[id], b.out
	w.iter, w.iterEnd = int32(len(p.iters)), s.end
	r := b.add(row{kind: rowIteration, parent: w.wrap(), iter: w.iter, span: id, name: b.ranges.names[s.name]})
	p.iters = append(p.iters, iterSpan{span: id, row: r, other: -1, last: r})
	b.call(r, s.start, s.end)
	b.of[id] = r
	for k := range w.open {
		if w.open[k].wrap {
			p.list[w.open[k].row].contains++
		}
	}
	w.open = append(w.open, openRange{end: s.end, row: r})
}

func (b *rowBuilder) insideIteration(w *walk, id int32) {
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
	r := b.phase(parent, w.iter, id, s.start, end)
	b.of[id] = r
	w.open = append(w.open, openRange{end: end, row: r})
}

func (b *rowBuilder) outsideIterations(w *walk, id int32) {
	s := &b.spans[id]
	var r int32
	// An iteration that another one cut short takes no ranges any more.
	if h := w.holder(s.start, s.end); h != nil && !h.wrap && b.out.list[h.row].iter < 0 {
		r = h.row
	} else {
		r = b.outer(id, w.wrap())
	}
	b.of[id] = r
	w.open = append(w.open, openRange{end: s.end, row: r})
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
