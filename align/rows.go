package align

import (
	"cmp"
	"slices"
)

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
	iter     int32 // place in procRows.iters; -1 outside
	depth    int32
	span     int32  // first span of the row; -1 for rowOther
	group    int32  // place in rows.groups
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
	index      int   // Iteration.Index
	row, other int32 // other is -1 where there are no phases
	last       int32
}

// procRows are the rows of one process.
type procRows struct {
	list  []row
	iters []iterSpan
	calls []call  // by start
	byEnd []int32 // places in calls, in the order in which they end
}

// sort puts the calls in the order in which they begin, and fills the one in which they end.
func (p *procRows) sort() {
	slices.SortStableFunc(p.calls, func(x, y call) int { return cmp.Compare(x.start, y.start) })
	p.byEnd = make([]int32, len(p.calls))
	for i := range p.byEnd {
		p.byEnd[i] = int32(i)
	}
	slices.SortStableFunc(p.byEnd, func(i, j int32) int { return cmp.Compare(p.calls[i].end, p.calls[j].end) })
}

// A group is a phase path or range name that details are summed by.
type group struct {
	path  string
	where Where
}

// rows are the rows of all processes, and which range belongs to which.
type rows struct {
	of     []int32     // by span: row of its process; -1 for none
	byProc []*procRows // by process.index
	groups []group     // the first is for what is in no row
	doubts []Warning

	inferred []*procRows // by process.index: inferred iterations and phases, where they are compared with annotated ones
}

// noRows are those of a process that was met too late to have ranges.
var noRows = &procRows{}

func (r *rows) proc(p *process) *procRows {
	if list := at(r.byProc, p); list != nil {
		return list
	}
	return noRows
}

// row is the row that a place belongs to; -1 for none.
func (r *rows) row(at place) int32 {
	if s := at.span(); s >= 0 {
		return r.of[s]
	}
	return -1
}

// where names the iteration and phase of a place of a process; outside of iterations the range.
func (r *rows) where(p *process, at place) (iter int, path string) {
	i := r.row(at)
	if i < 0 {
		return -1, ""
	}
	w := &r.proc(p).list[i]
	if w.kind == rowIteration {
		return int(w.iter), OtherPhase
	}
	return int(w.iter), w.path
}

// group is the group of a row of a process; 0 for none.
func (r *rows) group(p *process, row int32) int32 {
	if row < 0 {
		return 0
	}
	return r.proc(p).list[row].group
}

// makeGroups gives each row the group that details are summed by.
func (r *rows) makeGroups() {
	ids := make(map[group]int32)
	for _, p := range r.byProc {
		for i := range p.list {
			w := &p.list[i]
			g := group{OtherPhase, InIteration}
			switch w.kind {
			case rowRange:
				g = group{w.path, InRange}
			case rowPhase:
				g = group{w.path, InIteration}
			}
			id, ok := ids[g]
			if !ok {
				id = int32(len(r.groups))
				ids[g] = id
				r.groups = append(r.groups, g)
			}
			w.group = id
		}
	}
}
