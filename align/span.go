package align

import (
	"cmp"
	"regexp"
	"slices"
	"sort"
)

// maxTime is the end of ranges that were never closed, until the end of the report is known.
const maxTime = 1<<63 - 1

// A span is a range with its place. A report may have millions, so that it holds no pointers.
type span struct {
	start, end int64 // ns; end is maxTime while the range is open
	domain     int64
	name       int32 // index into ranges.names
	proc       int32 // process.index
	thread     int32 // index into ranges.threads
	open       bool  // never closed
	operator   bool  // a framework's operator or a library's own range: never an iteration
	library    bool  // of a library's own, which an operator's need not be; not operator where it may be an iteration: ownModule
	loose      bool  // a framework's or library's, and in no range of the program's own on its thread
	inferred   bool  // found in the GPU work, not annotated
	cut        bool  // inferred to be cut off
}

// holds says that another span lies whole in it.
func (s *span) holds(o *span) bool { return s.start <= o.start && o.end <= s.end }

// helperThread matches the names of threads whose work is not part of the phase that another thread is in: PyTorch's
// loader and pin-memory threads, and the watchers of its collectives (names as PyTorch 2.x sets them).
var helperThread = regexp.MustCompile(`(?i)^pt_data|^pt_nccl|pin_?mem|data_?load|prefetch|watchdo?g|heartb`)

// A thread is one thread that has ranges.
type thread struct {
	id     int32   // index into ranges.threads
	tid    int64   // globalTid
	helper bool    // loads data, watches collectives: its work is never a phase's of another thread
	ranges []int32 // spans, by start, the longer first on a tie
	segs   []seg   // innermost ranges over time
}

// A seg says which range is innermost from its time on.
type seg struct {
	from int64 // ns
	span int32 // -1 for none
}

// sortRanges puts spans in the order in which they open: by start, the longer first on a tie, so that the shorter counts
// as the inner one.
func sortRanges(ids []int32, spans []span) {
	slices.SortFunc(ids, func(i, j int32) int {
		a, b := &spans[i], &spans[j]
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(a.name, b.name), cmp.Compare(a.domain, b.domain), cmp.Compare(i, j))
	})
}

// cut makes segs of a thread's ranges: for each moment the innermost range, that is, of the open ones the one that started
// last, the shorter on a tie. Ranges that keep
// refuses are left out; nil keeps all.
//
//  1. Ranges are walked in opening order. Open ones lie on a stack in that order, so that the innermost is always the
//     topmost that has not ended.
//  2. Before each start, the ends up to there are met in time order: each lays bare the range below.
func cut(ids []int32, spans []span, keep func(id int32) bool) []seg {
	kept := make([]int32, 0, len(ids))
	ends := make([]int64, 0, len(ids))
	for _, id := range ids {
		if s := &spans[id]; s.end > s.start && (keep == nil || keep(id)) {
			kept, ends = append(kept, id), append(ends, s.end)
		}
	}
	slices.Sort(ends)
	c := cutter{spans: spans}
	for _, id := range kept {
		for start := spans[id].start; ends[0] <= start; ends = ends[1:] {
			c.put(ends[0], c.top(ends[0]))
		}
		c.stack = append(c.stack, id)
		c.put(spans[id].start, id)
	}
	for _, end := range ends {
		if end != maxTime {
			c.put(end, c.top(end))
		}
	}
	return c.segs
}

type cutter struct {
	spans []span
	stack []int32 // in opening order; may hold some that have ended, below the innermost
	segs  []seg
}

// top is the innermost range that is open after a time; -1 for none.
func (c *cutter) top(at int64) int32 {
	for n := len(c.stack); n > 0; n-- {
		if id := c.stack[n-1]; c.spans[id].end > at {
			return id
		}
		c.stack = c.stack[:n-1]
	}
	return -1
}

// put makes a range the innermost from a time on. Of several at one time the last one counts.
func (c *cutter) put(at int64, id int32) {
	n := len(c.segs)
	switch {
	case n > 0 && c.segs[n-1].span == id:
	case n > 0 && c.segs[n-1].from == at:
		c.segs[n-1].span = id
		if n > 1 && c.segs[n-2].span == id {
			c.segs = c.segs[:n-1]
		}
	default:
		c.segs = append(c.segs, seg{at, id})
	}
}

// A cursor looks up segs at times that mostly rise.
type cursor struct {
	segs []seg
	pos  int // seg that holds the last time asked for; -1 before the first
}

func newCursor(segs []seg) cursor { return cursor{segs: segs, pos: -1} }

// nearSegs is how many segs ahead a cursor walks; further ahead it searches.
const nearSegs = 8

// at is the innermost range at a time; -1 for none.
func (c *cursor) at(t int64) int32 {
	s := c.segs
	if len(s) == 0 {
		return -1
	}
	i := c.pos
	switch {
	case i >= 0 && s[i].from > t, i+nearSegs < len(s) && s[i+nearSegs].from <= t:
		i = sort.Search(len(s), func(k int) bool { return s[k].from > t }) - 1
	default:
		for i+1 < len(s) && s[i+1].from <= t {
			i++
		}
	}
	c.pos = i
	if i < 0 {
		return -1
	}
	return s[i].span
}
