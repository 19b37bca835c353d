package align

import (
	"context"
	"errors"

	"nsysmem/align/tensor"
	"nsysmem/nsysdb"
)

// A track is one process on one device while it is being read.
type track struct {
	proc     *process
	device   int64
	levels   map[LevelKind]*levelSweep
	byKind   [nsysdb.KindUnknown + 1]*levelSweep // those of levels that kinds of memory were seen to count for
	pool     poolSum
	gpu      gpuSum
	copies   copySum
	blocks   []rawBlock
	snapshot *tensor.Match // the device of a snapshot that belongs to the track; nil for none
}

// A rawBlock is a block by ids; names are looked up when the report is made.
type rawBlock struct {
	start, end       int64 // ns; Never where not in the report
	address, bytes   int64
	kind, stream     int64
	born, died       place
	bornCorr, diedBy int64
	bornN, diedN     int64 // which change of its level it was, from 1; bornN 0 where it was live before the report
	lost             bool
}

// memory sweeps the memory events of the whole report.
type memory struct {
	a       *analysis
	live    map[*process]*liveTable
	proc    *process // last one looked up
	procGID int64
	blocks  *liveTable   // of proc
	track   *track       // last one looked up
	corr    [][]*corrMap // this goroutine's views
	ends    map[*process][]int32
	unknown int64
	damaged int64
	same    sameTime
	pool    []memEvent // pool events not yet met, by time
	devices lastDevices
	rows    int64

	unreadable bool // a column is missing without which no event counts
}

// A liveBlock is an allocation that was not freed yet.
type liveBlock struct {
	track  *track
	level  *levelSweep
	start  int64
	bytes  int64
	kind   int64
	stream int64
	born   place
	corr   int64
	n      int64 // which change of its level it was
}

// readMemory sweeps the events in time order: as they lie in the table where that is the order, else sorted.
func (a *analysis) readMemory(ctx context.Context) error {
	if a.db.Missing(nsysdb.MemoryUsage) {
		return nil
	}
	err := a.sweepMemory(ctx, false)
	if errors.Is(err, errUnordered) {
		err = a.sweepMemory(ctx, true)
	}
	return err
}

func (a *analysis) sweepMemory(ctx context.Context, sorted bool) error {
	for _, t := range a.allTracks() {
		t.levels, t.byKind, t.pool, t.blocks = make(map[LevelKind]*levelSweep), [len(t.byKind)]*levelSweep{}, poolSum{}, nil
	}
	a.memoryTime = stretch{}
	m := &memory{a: a, live: make(map[*process]*liveTable), corr: a.corrViews(), ends: make(map[*process][]int32)}
	pool, err := poolEvents(ctx, a.db)
	if err != nil {
		return err
	}
	m.pool = pool
	scan := nsysdb.Scan{Table: nsysdb.MemoryUsage, Columns: memoryColumns, Sorted: sorted}
	if !a.keepBlocks {
		scan.Columns = memoryColumns[:len(memoryColumns)-1]
	}
	var done progress
	err = a.db.Scan(ctx, scan, func(b *nsysdb.Batch) error {
		done.add(a, "memory events", int64(b.Rows), a.db.Rows(nsysdb.MemoryUsage))
		return m.add(b)
	})
	if err != nil {
		return err
	}
	m.flush()
	m.finish()
	return nil
}

func (m *memory) add(b *nsysdb.Batch) error {
	c := b.Cols
	if !hasMemoryRows(c) {
		m.unreadable = true
		return nil
	}
	for i := 0; i < b.Rows; i++ {
		e := memoryRow(c, i)
		if e.time == nsysdb.Null {
			m.damaged++
			continue
		}
		m.a.memoryTime.add(e.time, e.time)
		if err := m.same.add(&e, m.flush); err != nil {
			return err
		}
		m.rows++
	}
	return nil
}

// flush takes in the events of one time stamp, in an order that does not depend on the rows' order in the table.
func (m *memory) flush() {
	m.same.order()
	for i := range m.same.events {
		m.event(&m.same.events[i])
	}
	m.same.events = m.same.events[:0]
}

func (m *memory) event(e *memEvent) {
	if m.proc == nil || m.procGID != e.gpid {
		m.procGID = e.gpid
		m.proc = m.a.process(nsysdb.Process(e.gpid))
		if m.live[m.proc] == nil {
			m.live[m.proc] = &liveTable{}
		}
		m.blocks = m.live[m.proc]
	}
	for len(m.pool) > 0 && m.pool[0].time <= e.time {
		m.poolEvent(&m.pool[0])
		m.pool = m.pool[1:]
	}
	if e.bytes < 0 || e.bytes == nsysdb.Null {
		m.damaged++
		return
	}
	if e.op == nsysdb.OpAlloc || e.op == nsysdb.OpFree {
		m.devices.name(e)
	}
	switch e.op {
	case nsysdb.OpAlloc:
		m.alloc(e)
	case nsysdb.OpFree:
		m.free(e)
	default:
		m.unknown++
	}
}

func (m *memory) alloc(e *memEvent) {
	if old := m.blocks.get(e.address); old != nil {
		old.level.change(e.time, -old.bytes)
		old.level.out.LostFrees++
		m.keep(old, e.address, e.time, placeOf(-1, wayNone), 0, true, old.level.changes)
	}
	t := m.trackOf(e.device)
	l := m.level(t, e.kind)
	at := m.place(e.corr)
	l.change(e.time, e.bytes)
	l.out.Allocs++
	l.out.AllocBytes += e.bytes
	n := l.row(m.a, at)
	n.allocs++
	n.allocBytes += e.bytes
	m.blocks.put(e.address, liveBlock{track: t, level: l, start: e.time, bytes: e.bytes, kind: e.kind, stream: e.stream, born: at, corr: e.corr, n: l.changes})
	t.pool.row(e)
	if e.kind == nsysdb.KindDeviceStatic {
		l.out.Static++
	}
	if e.context == vmmContext {
		l.vmm = true
	}
}

// trackOf is the process's track of a device.
func (m *memory) trackOf(device int64) *track {
	if m.track == nil || m.track.proc != m.proc || m.track.device != device {
		m.track = m.a.track(m.proc, device)
	}
	return m.track
}

// free ends a block. What its allocation said of device and kind counts; a free of a block whose allocation is not in
// the report tells that the block was there before, so that it lifts the level of all the time before.
func (m *memory) free(e *memEvent) {
	at := m.place(e.corr)
	b := m.blocks.get(e.address)
	if b == nil {
		t := m.trackOf(e.device)
		l := m.level(t, e.kind)
		l.out.Baseline += e.bytes
		l.out.UnmatchedFrees++
		b = &liveBlock{track: t, level: l, start: Never, bytes: e.bytes, kind: e.kind, stream: e.stream, born: placeOf(-1, wayNone)}
	} else {
		m.blocks.remove(e.address) // leaves b as it is until the next put
	}
	b.level.change(e.time, -b.bytes)
	b.level.out.Frees++
	b.level.out.FreeBytes += b.bytes
	n := b.level.row(m.a, at)
	n.frees++
	n.freeBytes += b.bytes
	m.keep(b, e.address, e.time, at, e.corr, false, b.level.changes)
	b.track.pool.row(e)
}

func (m *memory) keep(b *liveBlock, address, end int64, at place, corr int64, lost bool, diedN int64) {
	if m.a.keepBlocks {
		b.track.blocks = append(b.track.blocks, rawBlock{start: b.start, end: end, address: address, bytes: b.bytes,
			kind: b.kind, stream: b.stream, born: b.born, died: at, bornCorr: b.corr, diedBy: corr, lost: lost, bornN: b.n, diedN: diedN})
	}
}

// place is the place of the API call of an event.
func (m *memory) place(corr int64) place {
	at, ok := lookup(m.corr, m.proc, corr)
	if !ok {
		return placeOf(-1, wayNone)
	}
	return at
}

// level is the sweep that a kind of memory of a track counts for.
func (m *memory) level(t *track, kind int64) *levelSweep {
	known := uint64(kind) < uint64(len(t.byKind))
	if known && t.byKind[kind] != nil {
		return t.byKind[kind]
	}
	name := levelName(kind)
	l := t.levels[name]
	if l == nil {
		ends, ok := m.ends[t.proc]
		if !ok {
			ends = endOrder(t.proc.calls)
			m.ends[t.proc] = ends
		}
		l = newLevelSweep(name, t.proc, ends, m.start())
		t.levels[name] = l
	}
	if known {
		t.byKind[kind] = l
	}
	return l
}

// start is the time from which levels are told.
func (m *memory) start() int64 {
	first := m.a.memoryTime.first
	if m.a.timed {
		first = min(first, m.a.firstTime)
	}
	return first
}

// row is the count of the row that a place belongs to; the last count is for those without one.
func (l *levelSweep) row(a *analysis, at place) *rowCount {
	if s := at.span(); s >= 0 {
		if r := a.spans[s].row; r >= 0 {
			return &l.count[r]
		}
	}
	return &l.count[len(l.count)-1]
}

func (m *memory) finish() {
	for i := range m.pool {
		m.poolEvent(&m.pool[i])
	}
	for _, live := range m.live {
		live.all(func(address int64, b *liveBlock) {
			m.keep(b, address, Never, placeOf(-1, wayNone), 0, false, maxTime)
		})
	}
	a := m.a
	for _, t := range a.allTracks() {
		for _, l := range t.levels {
			l.finish()
		}
	}
	if m.unknown > 0 {
		a.warn(Warning{Code: UnknownEvents, Count: m.unknown})
	}
	if m.damaged > 0 {
		a.warn(Warning{Code: DamagedEvents, Count: m.damaged})
	}
	if m.unreadable {
		a.warn(Warning{Code: MemoryColumns})
	}
	a.memoryRows = m.rows
}

// countFailed counts the failed calls for their rows, once all tracks are known.
func (a *analysis) countFailed() {
	if !a.rep.Collected.Memory {
		return
	}
	for i := range a.failed {
		f := &a.failed[i]
		l := a.failedLevel(f)
		l.out.FailedAllocs++
		l.row(a, f.at).failed++
	}
}

// failedLevel is the level that a failed call would have raised. A call does not say its device: it counts for the
// process's first.
func (a *analysis) failedLevel(f *failedCall) *levelSweep {
	t := a.firstTrack(f.proc)
	kind := int64(nsysdb.KindDevice)
	switch f.class {
	case classAllocPinned:
		kind = nsysdb.KindPinned
	case classAllocManaged:
		kind = nsysdb.KindManaged
	}
	name := levelName(kind)
	if t.levels[name] == nil {
		t.levels[name] = newLevelSweep(name, t.proc, endOrder(t.proc.calls), a.firstTime)
		t.levels[name].finish()
	}
	return t.levels[name]
}
