package align

import (
	"context"
	"slices"

	"nsysmem/align/tensor"
	"nsysmem/nsysdb"
)

// Curves reads the levels of a report once more, for pictures: for each window one curve a level that has events, in
// the order of Track.Levels, then LevelPoolSize and LevelPoolUsed where there are pools. Every event of the window is a
// point, or, where there are more of them than Window.Points, each stretch of time that has events is one point with the
// lowest and highest level in it.
func Curves(ctx context.Context, db *nsysdb.DB, rep *Report, windows []Window) ([][]Curve, error) {
	d, err := newDrawing(rep, windows), error(nil)
	if db.Has(nsysdb.MemoryUsage) {
		d, err = ordered(func(sorted bool) (*drawing, error) { return draw(ctx, db, rep, windows, sorted) })
	}
	if err != nil {
		return nil, err
	}
	out := make([][]Curve, len(windows))
	for i, w := range d.windows {
		for _, c := range w.curves {
			out[i] = append(out[i], c.Curve)
		}
	}
	return out, nil
}

// tensors draws the levels of a snapshot.
func (w *drawnWindow) tensors(m *tensor.Memory) {
	alloc, resv := m.Replay.StartAllocated, m.Replay.StartReserved
	w.step(LevelAllocated, Never, alloc)
	w.step(LevelReserved, Never, resv)
	private, held := m.Replay.PrivateFree(), alloc
	if len(private) > 0 {
		held += private[0].Free
		w.step(LevelHeld, Never, held)
	}
	for i := range m.Replay.Steps {
		s := &m.Replay.Steps[i]
		at := m.ReportTime(s.Time)
		for len(private) > 1 && private[1].Event <= s.Event {
			private = private[1:]
		}
		if len(private) > 0 && s.Allocated+private[0].Free != held {
			w.step(LevelHeld, at, s.Allocated+private[0].Free-held)
			held = s.Allocated + private[0].Free
		}
		if s.Allocated != alloc {
			w.step(LevelAllocated, at, s.Allocated-alloc)
			alloc = s.Allocated
		}
		if s.Reserved != resv {
			w.step(LevelReserved, at, s.Reserved-resv)
			resv = s.Reserved
		}
	}
}

// A drawing is the curves of some windows while events come.
type drawing struct {
	windows []*drawnWindow
	devices lastDevices
	live    map[blockKey]drawnBlock
	pools   map[poolKey]poolUse
	events  []memEvent // pool events not yet met, by time
}

type (
	blockKey struct{ gpid, address int64 }
	poolKey  struct{ gpid, device, address int64 }
)

// A drawnBlock is a block that is live while curves are read.
type drawnBlock struct {
	bytes, device int64
	kind          LevelKind
}

// newDrawing draws what the report itself holds: baselines, and the levels of snapshots.
func newDrawing(rep *Report, windows []Window) *drawing {
	d := &drawing{live: make(map[blockKey]drawnBlock), pools: make(map[poolKey]poolUse)}
	for _, window := range windows {
		w := &drawnWindow{Window: window}
		d.windows = append(d.windows, w)
		i := slices.IndexFunc(rep.Tracks, func(t *Track) bool { return t.PID == w.PID && t.Device == w.Device })
		if i < 0 {
			continue
		}
		t := rep.Tracks[i]
		for _, l := range t.Levels {
			if l.Kind == LevelGraphs {
				w.begin(LevelHeld, 0)
				continue
			}
			w.begin(l.Kind, l.Baseline)
		}
		if t.Pool != nil {
			w.begin(LevelPoolSize, 0)
			w.begin(LevelPoolUsed, 0)
		}
		if t.Tensors != nil && t.Tensors.Replay != nil {
			w.tensors(t.Tensors)
		}
	}
	return d
}

type drawnWindow struct {
	Window
	curves []*drawnCurve // of the levels of its track
}

// A drawnCurve is a curve while events come.
type drawnCurve struct {
	Curve
	level int64
	width int64 // ns that a point stands for; 0 while each event is a point
}

// begin makes a curve that lies at a level before the first event.
func (w *drawnWindow) begin(kind LevelKind, level int64) {
	w.curves = append(w.curves, &drawnCurve{level: level, Curve: Curve{Kind: kind, From: w.From, To: w.To, Before: level}})
}

// step moves a curve of the window to a level.
func (w *drawnWindow) step(kind LevelKind, t, change int64) {
	i := slices.IndexFunc(w.curves, func(c *drawnCurve) bool { return c.Kind == kind })
	if i < 0 {
		return
	}
	c := w.curves[i]
	c.level += change
	if t < w.From {
		c.Before = c.level
		return
	}
	if t >= w.To {
		return
	}
	if n := len(c.Points); n > 0 {
		last := &c.Points[n-1]
		if c.width > 0 && (t-w.From)/c.width == (last.Time-w.From)/c.width {
			last.Low, last.High, last.Last = min(last.Low, c.level), max(last.High, c.level), c.level
			return
		}
	}
	c.Points = append(c.Points, Point{t, c.level, c.level, c.level})
	if w.Points > 0 && len(c.Points) > w.Points {
		c.thin(w)
	}
}

// thin merges points so that there are at most as many as the window wants, however many events still come.
func (c *drawnCurve) thin(w *drawnWindow) {
	c.width = max((w.To-w.From)/int64(w.Points)+1, c.width)
	k := 0
	for i := 1; i < len(c.Points); i++ {
		p, q := &c.Points[k], &c.Points[i]
		if (p.Time-w.From)/c.width == (q.Time-w.From)/c.width {
			p.Low, p.High, p.Last = min(p.Low, q.Low), max(p.High, q.High), q.Last
			continue
		}
		k++
		c.Points[k] = *q
	}
	c.Points = c.Points[:k+1]
}

// draw reads the driver's events into curves.
func draw(ctx context.Context, db *nsysdb.DB, rep *Report, windows []Window, sorted bool) (*drawing, error) {
	d := newDrawing(rep, windows)
	var err error
	if d.events, err = poolEvents(ctx, db); err != nil {
		return nil, err
	}
	in := memoryReader{db: db, columns: memoryColumns[:memoryDrawn], event: d.event}
	if err := in.scan(ctx, sorted); err != nil {
		return nil, err
	}
	d.poolsUntil(maxTime)
	return d, nil
}

// event takes in a memory event, after the pool events up to its time.
func (d *drawing) event(e *memEvent) {
	d.poolsUntil(e.time)
	if e.bytes < 0 || e.op != nsysdb.OpAlloc && e.op != nsysdb.OpFree { // Null too
		return
	}
	d.devices.name(e)
	k := blockKey{nsysdb.Process(e.gpid), e.address}
	b, ok := d.live[k]
	delete(d.live, k)
	if ok { // its free, or one that was lost
		d.step(e.gpid, b.device, b.kind, e.time, -b.bytes)
	}
	switch {
	case e.op == nsysdb.OpAlloc:
		d.live[k] = drawnBlock{e.bytes, e.device, levelKind(e.kind)}
		d.step(e.gpid, e.device, levelKind(e.kind), e.time, e.bytes)
	case !ok:
		d.step(e.gpid, e.device, levelKind(e.kind), e.time, -e.bytes)
	}
	if e.ownPool() {
		d.pool(e, e.pool)
	}
}

func (d *drawing) poolsUntil(t int64) {
	for ; len(d.events) > 0 && d.events[0].time <= t; d.events = d.events[1:] {
		d.pool(&d.events[0], d.events[0].address)
	}
}

// pool follows a pool by what an event says of it.
func (d *drawing) pool(e *memEvent, pool int64) {
	k := poolKey{nsysdb.Process(e.gpid), e.device, pool}
	old := d.pools[k]
	now := old.after(e.poolSize, e.poolUsed)
	d.pools[k] = now
	d.step(e.gpid, e.device, LevelPoolSize, e.time, now.size-old.size)
	d.step(e.gpid, e.device, LevelPoolUsed, e.time, now.used-old.used)
}

// step changes a level in the windows of its track.
func (d *drawing) step(gpid, device int64, kind LevelKind, t, change int64) {
	for _, w := range d.windows {
		if w.PID == nsysdb.PID(gpid) && w.Device == device {
			w.step(kind, t, change)
		}
	}
}
