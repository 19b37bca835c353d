package align

import (
	"cmp"
	"slices"

	"nsysmem/nsysdb"
)

// levelKind is the level that a kind of memory counts for. Levels of kinds are never mixed, but array and static memory
// lie on the device like any other.
func levelKind(kind int64) LevelKind {
	switch kind {
	case nsysdb.KindDevice, nsysdb.KindArray, nsysdb.KindDeviceStatic:
		return LevelDevice
	case nsysdb.KindManaged, nsysdb.KindManagedStatic:
		return LevelManaged
	case nsysdb.KindPinned:
		return LevelPinned
	case nsysdb.KindPageable:
		return LevelPageable
	case nsysdb.KindUnknown:
		return LevelUnknown
	}
	return LevelKind(nsysdb.MemKindName(kind))
}

// levelKinds are the kinds in the order in which they are shown; those without a name come after them.
var levelKinds = []LevelKind{LevelDevice, LevelAllocated, LevelReserved, LevelGraphs, LevelManaged, LevelPinned, LevelPageable, LevelUnknown}

// compareLevels puts levels in the order in which they are shown.
func compareLevels(x, y LevelKind) int {
	return cmp.Or(cmp.Compare(levelOrder(x), levelOrder(y)), cmp.Compare(x, y))
}

func levelOrder(k LevelKind) int {
	if i := slices.Index(levelKinds, k); i >= 0 {
		return i
	}
	return len(levelKinds)
}

// Known says that the kind has a name and a meaning; allocations of others count for no such level.
func (k LevelKind) Known() bool { return levelOrder(k) < levelOrder(LevelUnknown) }

// callUse is a level over one call. Until the end of the sweep its bytes are relative to the baseline.
type callUse struct {
	start, end, peak int64 // bytes
	peakAt           int64 // ns

	// The level without static memory: bytes, bytes, ns.
	ownStart, ownPeak, ownPeakAt int64
}

// rowCount is what is attributed to a row.
type rowCount struct{ allocs, allocBytes, frees, freeBytes, failed, static, staticBytes int64 }

// A levelSweep follows one level of a track through time and past the calls of the process's rows.
//
// Calls are met by start and by end. At one time stamp, calls begin and end before the events there: a call's start is
// the level just before it, its end the level just before its end stamp.
type levelSweep struct {
	rows    *procRows
	all     *rows
	use     []callUse  // by call
	count   []rowCount // by row; the last is for what is in none
	open    []int32    // calls that have begun and not ended
	nextB   int        // next call to begin
	nextE   int        // next in rows.byEnd to end
	due     int64      // time of the next begin or end
	level   int64      // bytes above the baseline
	static  int64      // bytes of level that are static memory of modules
	changes int64      // events so far
	marks   []int64    // times at which the level is wanted, rising
	markAt  []int64    // bytes; the level just before each of marks
	peakN   int64      // number of changes with which the peak was reached
	out     Level
	vmm     bool // has memory that was mapped rather than allocated

	beside *levelSweep // the same level past inferred rows, to be compared; nil for none
}

// newLevelSweep begins at a time with level 0. The level just before each of marks is kept.
func newLevelSweep(kind LevelKind, r *rows, proc *process, marks []int64, start int64) *levelSweep {
	s := newSweep(kind, r, r.proc(proc), marks, start)
	if p := at(r.inferred, proc); p != nil {
		s.beside = newSweep(kind, r, p, nil, start)
	}
	return s
}

func newSweep(kind LevelKind, r *rows, p *procRows, marks []int64, start int64) *levelSweep {
	s := &levelSweep{rows: p, all: r, use: make([]callUse, len(p.calls)), count: make([]rowCount, len(p.list)+1),
		marks: marks, out: Level{Kind: kind, PeakAt: start}}
	s.schedule()
	return s
}

// row is the count of the row that a place belongs to; the last count is for those without one.
func (s *levelSweep) row(at place) *rowCount {
	if r := s.all.row(at); r >= 0 {
		return &s.count[r]
	}
	return &s.count[len(s.count)-1]
}

// allocated and freed count an event for the row that it belongs to.
func (s *levelSweep) allocated(at place, bytes int64) {
	s.out.Allocs++
	s.out.AllocBytes += bytes
	n := s.row(at)
	n.allocs++
	n.allocBytes += bytes
}

// allocatedStatic is allocated for static memory of modules.
func (s *levelSweep) allocatedStatic(at place, bytes int64) {
	s.allocated(at, bytes)
	s.out.Static++
	s.out.StaticBytes += bytes
	n := s.row(at)
	n.static++
	n.staticBytes += bytes
}

func (s *levelSweep) freed(at place, bytes int64) {
	s.out.Frees++
	s.out.FreeBytes += bytes
	n := s.row(at)
	n.frees++
	n.freeBytes += bytes
}

// begin sets the level before the first event.
func (s *levelSweep) begin(level int64) {
	s.level, s.out.Peak = level, level
	if s.beside != nil {
		s.beside.begin(level)
	}
}

func (s *levelSweep) schedule() {
	s.due = maxTime
	if s.nextB < len(s.rows.calls) {
		s.due = s.rows.calls[s.nextB].start
	}
	if s.nextE < len(s.rows.byEnd) {
		s.due = min(s.due, s.rows.calls[s.rows.byEnd[s.nextE]].end)
	}
	if n := len(s.markAt); n < len(s.marks) {
		s.due = min(s.due, s.marks[n])
	}
}

// advance begins and ends the calls that do so at t or before.
func (s *levelSweep) advance(t int64) {
	for s.due <= t && s.due != maxTime {
		if n := len(s.markAt); n < len(s.marks) && s.marks[n] == s.due {
			s.markAt = append(s.markAt, s.level)
		} else if s.nextB < len(s.rows.calls) && s.rows.calls[s.nextB].start == s.due {
			i := int32(s.nextB)
			own := s.level - s.static
			s.use[i] = callUse{start: s.level, end: s.level, peak: s.level, peakAt: s.due, ownStart: own, ownPeak: own, ownPeakAt: s.due}
			s.open = append(s.open, i)
			s.nextB++
		} else {
			i := s.rows.byEnd[s.nextE]
			s.use[i].end = s.level
			if k := slices.Index(s.open, i); k >= 0 {
				s.open = slices.Delete(s.open, k, k+1)
			}
			s.nextE++
		}
		s.schedule()
	}
}

// change moves the level at a time.
func (s *levelSweep) change(t, bytes int64) {
	if s.beside != nil {
		s.beside.change(t, bytes)
	}
	if s.due <= t {
		s.advance(t)
	}
	s.level += bytes
	s.changes++
	if bytes <= 0 {
		return
	}
	if s.level > s.out.Peak {
		s.out.Peak, s.out.PeakAt, s.peakN = s.level, t, s.changes
	}
	own := s.level - s.static
	for _, i := range s.open {
		u := &s.use[i]
		if s.level > u.peak {
			u.peak, u.peakAt = s.level, t
		}
		if own > u.ownPeak {
			u.ownPeak, u.ownPeakAt = own, t
		}
	}
}

// changeOf is change for memory of a kind: static memory of modules is told from the rest.
func (s *levelSweep) changeOf(kind, t, bytes int64) {
	if kind == nsysdb.KindDeviceStatic {
		s.advance(t) // what begins by then begins with what there was
		s.static += bytes
	}
	s.change(t, bytes)
}

// finish ends the sweep: calls still open end with the last level, and everything is lifted by the baseline.
func (s *levelSweep) finish() {
	if s.beside != nil {
		s.beside.out.Baseline = s.out.Baseline
		s.beside.finish()
	}
	s.advance(maxTime - 1)
	for _, i := range s.open {
		s.use[i].end = s.level
	}
	base := s.out.Baseline
	for i := range s.use {
		u := &s.use[i]
		u.start, u.end, u.peak = u.start+base, u.end+base, u.peak+base
		u.ownStart, u.ownPeak = u.ownStart+base, u.ownPeak+base
	}
	for i := range s.markAt {
		s.markAt[i] += base
	}
	s.out.Peak += base
	s.out.End = s.level + base
	s.out.Partial = base > 0
}

// takeOwn puts the peaks without static memory into the uses of the rows.
func (s *levelSweep) takeOwn(uses []*Use) {
	own, seen := make([]OwnPeak, len(s.rows.list)), make([]bool, len(s.rows.list))
	for i := range own {
		uses[i].Own = &own[i]
	}
	for i := range s.rows.calls {
		r, u := s.rows.calls[i].row, &s.use[i]
		o := &own[r]
		if !seen[r] || u.ownPeak > o.Bytes {
			seen[r], o.Bytes, o.At = true, u.ownPeak, u.ownPeakAt
		}
		o.Need = max(o.Need, u.ownPeak-u.ownStart)
	}
}

// takeRows sums the calls of each row, into what out gives for it. Rows hold the events of the rows below them. What the
// sweep holds for calls and rows is given back: a report may have a million of them.
func (s *levelSweep) takeRows(out func(row int32) *MemoryUse) {
	rows := s.rows.list
	seen := make([]bool, len(rows))
	for i := range s.rows.calls {
		r, u := s.rows.calls[i].row, &s.use[i]
		m := out(r)
		if !seen[r] {
			seen[r] = true
			m.Start, m.Peak, m.PeakAt = u.start, u.peak, u.peakAt
		} else if u.peak > m.Peak {
			m.Peak, m.PeakAt = u.peak, u.peakAt
		}
		m.End = u.end
		m.Net += u.end - u.start
		m.Need = max(m.Need, u.peak-u.start)
	}
	for i := len(rows) - 1; i >= 0; i-- {
		c := &s.count[i]
		m := out(int32(i))
		m.Allocs, m.AllocBytes, m.Frees, m.FreeBytes, m.FailedAllocs = c.allocs, c.allocBytes, c.frees, c.freeBytes, c.failed
		m.StaticAllocs, m.StaticAllocBytes = c.static, c.staticBytes
		if up := rows[i].parent; up >= 0 {
			s.count[up].add(c)
		}
	}
	for i := range rows {
		if rows[i].kind == rowOther {
			s.rows.balance(int32(i), out)
		}
	}
	s.use, s.count = nil, nil
}

// balance makes the net of the row for the rest what top-level phases leave of the iteration's; where phases overlap,
// that differs from the sum over the gaps.
func (p *procRows) balance(other int32, out func(row int32) *MemoryUse) {
	it := &p.iters[p.list[other].iter]
	whole, o := out(it.row), out(other)
	net := whole.Net
	for r := it.row + 1; r <= it.last; r++ {
		if p.list[r].kind == rowPhase && p.list[r].depth == 1 {
			net -= out(r).Net
		}
	}
	if p.list[other].calls == 0 {
		o.Start, o.End, o.Peak, o.PeakAt = whole.End, whole.End, whole.End, 0
	}
	o.Net = net
}

func (c *rowCount) add(d *rowCount) {
	c.allocs += d.allocs
	c.allocBytes += d.allocBytes
	c.frees += d.frees
	c.freeBytes += d.freeBytes
	c.failed += d.failed
	c.static += d.static
	c.staticBytes += d.staticBytes
}
