package align

import "sort"

// A rowKind says what a row stands for.
type rowKind uint8

const (
	rowRange rowKind = iota // outermost range outside any iteration
	rowIteration
	rowPhase
	rowOther // what no top-level phase of an iteration covers
)

// A row is one line of the accounting of a process. Parents come before their children.
type row struct {
	kind     rowKind
	parent   int32 // -1 for none
	iter     int32 // place in process.iters; -1 outside
	depth    int32
	span     int32  // first span of the row; -1 for rowOther
	path     string // phases: names below the iteration joined by "/"; ranges: the name
	name     string
	calls    int
	contains int  // iterations inside a range
	merged   bool // stands for all ranges of an operator's name
}

// A call is one stretch of time of a row.
type call struct {
	row        int32
	start, end int64 // ns
}

// An iterSpan is an iteration: its range and its rows, which lie from row to last.
type iterSpan struct {
	span       int32
	index      int
	row, other int32 // other is -1 where there are no phases
	last       int32
}

// A rowBuilder makes the rows of a process.
//
//  1. On the thread that carries the iterations, ranges are walked in opening order with a stack of those that are open.
//     A range that holds iterations is a row of its own, above them.
//  2. A range that begins inside an iteration is a phase there; its parent is the innermost open range that holds it.
//     One that outlasts the iteration is clipped to it.
//  3. Any other range is a row if no other range than one that holds iterations is around it; else it counts for that one.
//  4. Each iteration that has phases gets a row for the rest, with the gaps between its top-level phases as calls.
type rowBuilder struct {
	a      *analysis
	p      *process
	paths  map[pathKey]string
	inIter map[string]int32 // rows of the iteration at hand, by path
	merged map[int32]int32  // rows of operators outside iterations, by name
	tops   []call           // calls of top-level phases of the iteration at hand
	cut    int64            // ranges clipped to their iteration
}

type pathKey struct {
	parent string
	name   int32
}

func (a *analysis) buildRows(p *process, members []int32) {
	b := &rowBuilder{a: a, p: p, paths: make(map[pathKey]string), inIter: make(map[string]int32), merged: make(map[int32]int32)}
	p.rows, p.calls, p.iters = nil, nil, nil
	for _, t := range p.threads {
		switch {
		case t == p.main && p.inferred:
			// Operators' ranges are no phases there: they count only outside iterations.
			own, ops := a.split(t)
			b.mainThread(own, members)
			b.otherThread(ops)
		case t == p.main:
			b.mainThread(t, members)
		default:
			b.otherThread(t)
		}
	}
	sort.SliceStable(p.calls, func(i, j int) bool { return p.calls[i].start < p.calls[j].start })
	if b.cut > 0 {
		a.warn(Warning{Code: ClippedRanges, Count: b.cut})
	}
}

// split parts a thread's ranges into the program's own, with inferred ones, and operators'.
func (a *analysis) split(t *thread) (own, ops *thread) {
	own, ops = &thread{tid: t.tid}, &thread{tid: t.tid}
	for _, id := range t.ranges {
		if a.spans[id].operator {
			ops.ranges = append(ops.ranges, id)
		} else {
			own.ranges = append(own.ranges, id)
		}
	}
	return own, ops
}

type openRange struct {
	span int32
	end  int64 // clipped
	row  int32
	wrap bool // holds iterations
}

func (b *rowBuilder) mainThread(t *thread, members []int32) {
	a, p := b.a, b.p
	var open []openRange
	next := 0 // next member
	iter := int32(-1)
	iterEnd := int64(0)
	for _, id := range t.ranges {
		s := &a.spans[id]
		for len(open) > 0 && open[len(open)-1].end <= s.start {
			open = open[:len(open)-1]
		}
		if iter >= 0 && s.start >= iterEnd {
			b.finish(iter)
			iter = -1
		}
		holder := func(end int64) *openRange {
			for k := len(open) - 1; k >= 0; k-- {
				if open[k].end >= end && open[k].end > s.start {
					return &open[k]
				}
			}
			return nil
		}
		switch {
		case next < len(members) && members[next] == id:
			if iter >= 0 {
				b.finish(iter)
			}
			iter, iterEnd = int32(len(p.iters)), s.end
			r := b.add(row{kind: rowIteration, parent: wrapRow(open), iter: iter, span: id, name: a.names[s.name]})
			p.iters = append(p.iters, iterSpan{span: id, row: r, other: -1, last: r})
			b.call(r, s.start, s.end)
			s.row = r
			for k := range open {
				if open[k].wrap {
					p.rows[open[k].row].contains++
				}
			}
			open = append(open, openRange{span: id, end: s.end, row: r})
			next++
		case iter >= 0:
			end := s.end
			if end > iterEnd {
				end = iterEnd
				if !s.open {
					b.cut++
				}
			}
			parent := p.iters[iter].row
			if h := holder(end); h != nil && p.rows[h.row].iter == iter {
				parent = h.row
			}
			s.row = b.phase(parent, iter, id, s.start, end)
			open = append(open, openRange{span: id, end: end, row: s.row})
		case next < len(members) && a.spans[members[next]].start >= s.start && a.spans[members[next]].end <= s.end:
			r := b.add(row{kind: rowRange, parent: wrapRow(open), iter: -1, span: id, name: a.names[s.name], path: a.names[s.name]})
			b.call(r, s.start, s.end)
			s.row = r
			open = append(open, openRange{span: id, end: s.end, row: r, wrap: true})
		default:
			// An iteration that another one cut short takes no ranges any more.
			if h := holder(s.end); h != nil && !h.wrap && p.rows[h.row].iter < 0 {
				s.row = h.row
			} else {
				s.row = b.outer(id, wrapRow(open))
			}
			open = append(open, openRange{span: id, end: s.end, row: s.row})
		}
	}
	if iter >= 0 {
		b.finish(iter)
	}
}

// wrapRow is the row of the innermost open range that holds iterations.
func wrapRow(open []openRange) int32 {
	for k := len(open) - 1; k >= 0; k-- {
		if open[k].wrap {
			return open[k].row
		}
	}
	return -1
}

func (b *rowBuilder) otherThread(t *thread) {
	a := b.a
	var open []openRange
	for _, id := range t.ranges {
		s := &a.spans[id]
		for len(open) > 0 && open[len(open)-1].end <= s.start {
			open = open[:len(open)-1]
		}
		s.row = -1
		for k := len(open) - 1; k >= 0; k-- {
			if open[k].end >= s.end && open[k].end > s.start {
				s.row = open[k].row
				break
			}
		}
		if s.row < 0 {
			s.row = b.outer(id, -1)
		}
		open = append(open, openRange{span: id, end: s.end, row: s.row})
	}
}

// outer makes the row of an outermost range; operators share one row a name, for they come by the thousand.
func (b *rowBuilder) outer(id, parent int32) int32 {
	s := &b.a.spans[id]
	r, ok := int32(0), false
	if s.operator {
		r, ok = b.merged[s.name]
	}
	if !ok {
		name := b.a.names[s.name]
		r = b.add(row{kind: rowRange, parent: parent, iter: -1, span: id, name: name, path: name, merged: s.operator})
		if s.operator {
			b.merged[s.name] = r
		}
	}
	b.call(r, s.start, s.end)
	return r
}

func (b *rowBuilder) phase(parent, iter, id int32, start, end int64) int32 {
	p, a := b.p, b.a
	s := &a.spans[id]
	up := &p.rows[parent]
	k := pathKey{up.path, s.name}
	path, ok := b.paths[k]
	if !ok {
		path = a.names[s.name]
		if up.path != "" {
			path = up.path + "/" + path
		}
		b.paths[k] = path
	}
	depth := up.depth + 1
	r, ok := b.inIter[path]
	if !ok {
		r = b.add(row{kind: rowPhase, parent: parent, iter: iter, depth: depth, span: id, path: path, name: a.names[s.name]})
		b.inIter[path] = r
		p.iters[iter].last = r
	}
	if depth == 1 {
		b.tops = append(b.tops, call{r, start, end})
	}
	b.call(r, start, end)
	return r
}

// finish gives the iteration its row for the rest.
func (b *rowBuilder) finish(iter int32) {
	p := b.p
	it := &p.iters[iter]
	s := &b.a.spans[it.span]
	if len(b.tops) > 0 {
		it.other = b.add(row{kind: rowOther, parent: it.row, iter: iter, depth: 1, span: -1, path: OtherPhase, name: OtherPhase})
		it.last = it.other
		s.row = it.other
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

func (b *rowBuilder) add(r row) int32 {
	b.p.rows = append(b.p.rows, r)
	return int32(len(b.p.rows) - 1)
}

func (b *rowBuilder) call(r int32, start, end int64) {
	b.p.calls = append(b.p.calls, call{r, start, end})
	b.p.rows[r].calls++
}
