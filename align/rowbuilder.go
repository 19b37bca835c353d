package align

// makeRows makes the rows of all processes: iterations, their phases, and outermost ranges outside them.
func makeRows(src *source, a *alignment) *rows {
	out := &rows{of: make([]int32, len(a.ranges.spans)), groups: []group{{"", InNone}}}
	for i := range out.of {
		out.of[i] = -1
	}
	for _, p := range src.processes.all() {
		b := newRowBuilder(a.ranges, out.of)
		threads, lead := at(a.ranges.byProc, p), a.lead(p)
		if src.opts.Threads == ThreadsThrough {
			b.hold(threads, lead)
		}
		b.process(threads, iterationsOf(a.iterations, p), lead)
		b.release()
		out.byProc = append(out.byProc, b.out)
		out.doubts = append(out.doubts, counted(Warning{Code: ClippedRanges, Count: b.cut})...)
	}
	out.makeGroups()
	return out
}

// A rowBuilder makes the rows of a process.
//
//  1. On the thread that carries the iterations, ranges are walked in opening order with a stack of those that are open.
//     A range that holds iterations is a row of its own, above them.
//  2. A range that begins inside an iteration is a phase there; its parent is the innermost open range that holds it.
//     One that outlasts the iteration is clipped to it.
//  3. Any other range is a row if no other range than one that holds iterations is around it; else it counts for that one.
//  4. A framework's or library's range of another thread that gives way to a phase is a row below it.
//  5. Each iteration that has phases gets a row for the rest, with the gaps between its top-level phases as calls.
type rowBuilder struct {
	ranges *ranges
	spans  []span
	of     []int32 // rows.of
	out    *procRows
	paths  map[pathKey]string
	inIter map[string]int32  // rows of the iteration at hand, by path
	merged map[int32]int32   // rows of operators outside iterations, by name
	tops   []call            // calls of top-level phases of the iteration at hand
	held   map[int32][]int32 // by range of the lead: ranges of other threads that become its details
	cut    int64             // ranges clipped to their iteration
}

type pathKey struct {
	parent string
	name   int32
}

func newRowBuilder(r *ranges, of []int32) *rowBuilder {
	return &rowBuilder{ranges: r, spans: r.spans, of: of, out: &procRows{}, paths: make(map[pathKey]string),
		inIter: make(map[string]int32), merged: make(map[int32]int32)}
}

func (b *rowBuilder) process(threads []*thread, its iterations, lead lead) {
	for _, t := range threads {
		switch {
		case t != lead.thread:
			b.otherThread(t.ranges)
		case lead.inferred:
			// Operators' ranges are no phases there: they count only outside iterations.
			own, ops := b.split(t.ranges)
			b.leadThread(own, its.members)
			b.otherThread(ops)
		default:
			b.leadThread(t.ranges, its.members)
		}
	}
	for i := range b.out.iters {
		b.out.iters[i].index = its.numbers[i]
	}
	b.out.sort()
}

// split parts ranges into the program's own, with inferred ones, and operators'.
func (b *rowBuilder) split(ids []int32) (own, ops []int32) {
	for _, id := range ids {
		if b.spans[id].operator {
			ops = append(ops, id)
		} else {
			own = append(own, id)
		}
	}
	return own, ops
}

// otherThread makes rows of the outermost ranges of a thread.
func (b *rowBuilder) otherThread(ids []int32) {
	var w walk
	for _, id := range ids {
		if b.of[id] != -1 {
			continue // a detail of the lead, made or to be made
		}
		s := &b.spans[id]
		w.closeUntil(s.start)
		if h := w.holder(s.start, s.end); h != nil {
			b.of[id] = h.row
		} else {
			b.of[id] = b.outer(id, -1)
		}
		w.open = append(w.open, openRange{end: s.end, row: b.of[id]})
	}
}

// outer makes the row of an outermost range; operators share one row a name, for they come by the thousand.
func (b *rowBuilder) outer(id, parent int32) int32 {
	s := &b.spans[id]
	r, ok := int32(0), false
	if s.operator {
		r, ok = b.merged[s.name]
	}
	if !ok {
		r = b.rangeRow(id, parent, s.operator)
		if s.operator {
			b.merged[s.name] = r
		}
	}
	b.call(r, s.start, s.end)
	return r
}

// phase makes or finds the row of a range inside an iteration.
func (b *rowBuilder) phase(parent, iter, id int32, start, end int64) int32 {
	s, up := &b.spans[id], &b.out.list[parent]
	name := b.ranges.names[s.name]
	k := pathKey{up.path, s.name}
	path, ok := b.paths[k]
	if !ok {
		path = name
		if up.path != "" {
			path = up.path + "/" + path
		}
		b.paths[k] = path
	}
	depth := up.depth + 1
	r, ok := b.inIter[path]
	if !ok {
		r = b.add(row{kind: rowPhase, parent: parent, iter: iter, depth: depth, span: id, path: path, name: name})
		b.inIter[path] = r
		b.out.iters[iter].last = r
	}
	if depth == 1 {
		b.tops = append(b.tops, call{r, start, end})
	}
	b.call(r, start, end)
	return r
}

// rangeRow makes a row of a range outside iterations.
func (b *rowBuilder) rangeRow(id, parent int32, merged bool) int32 {
	name := b.ranges.name(id)
	return b.add(row{kind: rowRange, parent: parent, iter: -1, span: id, name: name, path: name, merged: merged})
}

func (b *rowBuilder) add(r row) int32 {
	b.out.list = append(b.out.list, r)
	return int32(len(b.out.list) - 1)
}

func (b *rowBuilder) call(r int32, start, end int64) {
	b.out.calls = append(b.out.calls, call{r, start, end})
	b.out.list[r].calls++
}
