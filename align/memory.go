package align

import (
	"context"

	"nsysmem/nsysdb"
)

// A memorySweep is what memory events come to.
type memorySweep struct {
	tracked[memoryTrack]
	rows       int64 // events that can be read
	keepBlocks bool  // memoryTrack.blocks are filled
	doubts     []Warning
}

// A memoryTrack is the memory of one process on one device.
type memoryTrack struct {
	proc   *process
	levels map[LevelKind]*levelSweep
	byKind [nsysdb.KindUnknown + 1]*levelSweep // those of levels that kinds of memory were seen to count for
	pool   poolSum
	blocks []rawBlock // in no set order
	last   int64      // ns; of the last event; -maxTime for none
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

// readMemory sweeps the memory events in time order.
func readMemory(ctx context.Context, src *source, a *alignment, r *rows, at *places, keepBlocks bool) (*memorySweep, error) {
	if src.db.Missing(nsysdb.MemoryUsage) {
		return &memorySweep{keepBlocks: keepBlocks}, nil
	}
	return ordered(func(sorted bool) (*memorySweep, error) {
		m := &memorySweeper{memorySweep: memorySweep{keepBlocks: keepBlocks}, src: src, a: a, rows: r, places: at.reader(),
			live: make(map[*process]*liveTable[liveBlock])}
		return m.sweep(ctx, sorted)
	})
}

// A memorySweeper sweeps the memory events of the whole report.
type memorySweeper struct {
	memorySweep
	src     *source
	a       *alignment
	rows    *rows
	places  *places
	live    map[*process]*liveTable[liveBlock]
	pool    []memEvent // pool events not yet met, by time
	devices lastDevices
	damaged int64
	unknown int64

	// What was looked up last: the next event mostly is of the same process.
	proc    *process
	procGID int64
	blocks  *liveTable[liveBlock] // of proc
}

// A liveBlock is an allocation that was not freed yet.
type liveBlock struct {
	track  *memoryTrack
	level  *levelSweep
	start  int64
	bytes  int64
	kind   int64
	stream int64
	born   place
	corr   int64
	n      int64 // which change of its level it was
}

func (m *memorySweeper) sweep(ctx context.Context, sorted bool) (*memorySweep, error) {
	var err error
	if m.pool, err = poolEvents(ctx, m.src.db); err != nil {
		return nil, err
	}
	in := memoryReader{db: m.src.db, columns: memoryColumns, event: m.event,
		rows: m.src.progress("memory events", nsysdb.MemoryUsage).add}
	if !m.keepBlocks {
		in.columns = memoryColumns[:len(memoryColumns)-1] // streams are of blocks only
	}
	if err := in.scan(ctx, sorted); err != nil {
		return nil, err
	}
	for i := range m.pool {
		m.poolEvent(&m.pool[i])
	}
	for _, live := range m.live {
		live.all(func(address int64, b *liveBlock) {
			m.keep(b, address, Never, nowhere, 0, false, maxTime)
		})
	}
	for _, t := range m.tracks {
		for _, l := range t.levels {
			l.finish()
		}
	}
	m.memorySweep.rows = in.read
	m.damaged += in.damaged
	m.doubts = counted(Warning{Code: UnknownEvents, Count: m.unknown}, Warning{Code: DamagedEvents, Count: m.damaged})
	if db := m.src.db; db.Rows(nsysdb.MemoryUsage) > 0 && !db.Has(nsysdb.MemoryUsage, memoryColumns[:memoryNeeded]...) {
		m.doubts = append(m.doubts, Warning{Code: MemoryColumns})
	}
	return &m.memorySweep, nil
}

func (m *memorySweeper) event(e *memEvent) {
	m.time.add(e.time, e.time)
	if m.proc == nil || m.procGID != e.gpid {
		m.procGID = e.gpid
		m.proc = m.src.processes.of(e.gpid)
		m.blocks = entry(m.live, m.proc)
	}
	for len(m.pool) > 0 && m.pool[0].time <= e.time {
		m.poolEvent(&m.pool[0])
		m.pool = m.pool[1:]
	}
	if e.bytes < 0 { // Null too
		m.damaged++
		return
	}
	switch e.op {
	case nsysdb.OpAlloc:
		m.devices.name(e)
		m.alloc(e)
	case nsysdb.OpFree:
		m.devices.name(e)
		m.free(e)
	default:
		m.unknown++
	}
}

func (m *memorySweeper) poolEvent(e *memEvent) {
	m.trackOf(e).pool.set(e.address, e.poolSize, e.poolUsed)
}

// alloc begins a block. One that is still live at its address ends here: its free was lost.
func (m *memorySweeper) alloc(e *memEvent) {
	if old := m.blocks.get(e.address); old != nil {
		old.level.changeOf(old.kind, e.time, -old.bytes)
		old.level.out.LostFrees++
		m.keep(old, e.address, e.time, nowhere, 0, true, old.level.changes)
	}
	t := m.trackOf(e)
	t.last = e.time
	l := m.level(t, e.kind)
	at, _ := m.places.of(m.proc, e.corr)
	l.changeOf(e.kind, e.time, e.bytes)
	if e.kind == nsysdb.KindDeviceStatic {
		l.allocatedStatic(at, e.bytes)
	} else {
		l.allocated(at, e.bytes)
	}
	m.blocks.put(e.address, liveBlock{track: t, level: l, start: e.time, bytes: e.bytes, kind: e.kind, stream: e.stream, born: at, corr: e.corr, n: l.changes})
	t.pool.row(e)
	if e.context == vmmContext {
		l.vmm = true
	}
}

// free ends a block. What its allocation said of device and kind counts; a free of a block whose allocation is not in
// the report tells that the block was there before, so that it lifts the level of all the time before.
func (m *memorySweeper) free(e *memEvent) {
	at, _ := m.places.of(m.proc, e.corr)
	b := m.blocks.get(e.address)
	if b == nil {
		t := m.trackOf(e)
		l := m.level(t, e.kind)
		l.out.Baseline += e.bytes
		l.out.UnmatchedFrees++
		b = &liveBlock{track: t, level: l, start: Never, bytes: e.bytes, kind: e.kind, stream: e.stream, born: nowhere}
	} else {
		m.blocks.remove(e.address) // leaves b as it is until the next put
	}
	b.track.last = e.time
	if b.start == Never { // static memory of the baseline was never told from the rest
		b.level.change(e.time, -b.bytes)
	} else {
		b.level.changeOf(b.kind, e.time, -b.bytes)
	}
	b.level.freed(at, b.bytes)
	m.keep(b, e.address, e.time, at, e.corr, false, b.level.changes)
	b.track.pool.row(e)
}

func (m *memorySweeper) keep(b *liveBlock, address, end int64, at place, corr int64, lost bool, diedN int64) {
	if m.keepBlocks {
		b.track.blocks = append(b.track.blocks, rawBlock{start: b.start, end: end, address: address, bytes: b.bytes,
			kind: b.kind, stream: b.stream, born: b.born, died: at, bornCorr: b.corr, diedBy: corr, lost: lost, bornN: b.n, diedN: diedN})
	}
}

// trackOf is the track of an event.
func (m *memorySweeper) trackOf(e *memEvent) *memoryTrack {
	return m.of(m.src.processes, e.gpid, e.device, newMemoryTrack)
}

func newMemoryTrack(p *process) *memoryTrack {
	return &memoryTrack{proc: p, levels: make(map[LevelKind]*levelSweep), last: -maxTime}
}

// level is the sweep that a kind of memory of a track counts for.
func (m *memorySweeper) level(t *memoryTrack, kind int64) *levelSweep {
	known := uint64(kind) < uint64(len(t.byKind))
	if known && t.byKind[kind] != nil {
		return t.byKind[kind]
	}
	l := t.level(levelKind(kind), m.a, m.rows, m.a.time.with(m.time).first)
	if known {
		t.byKind[kind] = l
	}
	return l
}

// level is the sweep of a level, begun where there is none yet.
func (t *memoryTrack) level(kind LevelKind, a *alignment, r *rows, start int64) *levelSweep {
	l := t.levels[kind]
	if l == nil {
		var marks []int64
		if kind == LevelDevice {
			marks = at(a.calls.failedAt, t.proc)
		}
		l = newLevelSweep(kind, r, t.proc, marks, start)
		t.levels[kind] = l
	}
	return l
}
