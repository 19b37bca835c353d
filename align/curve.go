package align

import (
	"context"

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
		d.tensors(w)
		out[i] = w.finish(d.levels(w))
	}
	return out, nil
}

// tensors draws the levels of a snapshot.
func (d *drawing) tensors(w *drawnWindow) {
	for _, t := range d.rep.Tracks {
		if t.PID != w.PID || t.Device != w.Device || t.Tensors == nil || t.Tensors.Replay == nil {
			continue
		}
		r := t.Tensors.Replay
		alloc, resv := r.StartAllocated, r.StartReserved
		w.step(LevelAllocated, Never, alloc)
		w.step(LevelReserved, Never, resv)
		for i := range r.Steps {
			s := &r.Steps[i]
			at := t.Tensors.ReportTime(s.Time)
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
}

// A drawing is the curves of some windows while events come.
type drawing struct {
	rep     *Report
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

func newDrawing(rep *Report, windows []Window) *drawing {
	d := &drawing{rep: rep, live: make(map[blockKey]drawnBlock), pools: make(map[poolKey]poolUse)}
	for _, w := range windows {
		d.windows = append(d.windows, &drawnWindow{Window: w, curves: make(map[LevelKind]*drawnCurve)})
	}
	return d
}

type drawnWindow struct {
	Window
	curves map[LevelKind]*drawnCurve
}

// A drawnCurve is a curve while events come. Levels are relative to the baseline.
type drawnCurve struct {
	level  int64
	before int64
	points []Point
	width  int64 // ns that a point stands for; 0 while each event is a point
}

// levels are the levels of a window's track, with their baselines.
func (d *drawing) levels(w *drawnWindow) []Level {
	for _, t := range d.rep.Tracks {
		if t.PID == w.PID && t.Device == w.Device {
			out := append([]Level(nil), t.Levels...)
			if t.Pool != nil {
				out = append(out, Level{Kind: LevelPoolSize}, Level{Kind: LevelPoolUsed})
			}
			return out
		}
	}
	return nil
}

func (w *drawnWindow) finish(levels []Level) []Curve {
	var out []Curve
	for _, l := range levels {
		c := w.curves[l.Kind]
		if c == nil {
			c = &drawnCurve{}
		}
		base := l.Baseline
		curve := Curve{Kind: l.Kind, From: w.From, To: w.To, Before: c.before + base, Points: c.points}
		for i := range curve.Points {
			p := &curve.Points[i]
			p.Low, p.High, p.Last = p.Low+base, p.High+base, p.Last+base
		}
		out = append(out, curve)
	}
	return out
}

// step moves a curve of the window to a level.
func (w *drawnWindow) step(kind LevelKind, t, change int64) {
	c := w.curves[kind]
	if c == nil {
		c = &drawnCurve{}
		w.curves[kind] = c
	}
	c.level += change
	if t < w.From {
		c.before = c.level
		return
	}
	if t >= w.To {
		return
	}
	if n := len(c.points); n > 0 {
		last := &c.points[n-1]
		if c.width > 0 && (t-w.From)/c.width == (last.Time-w.From)/c.width {
			last.Low, last.High, last.Last = min(last.Low, c.level), max(last.High, c.level), c.level
			return
		}
	}
	c.points = append(c.points, Point{t, c.level, c.level, c.level})
	if w.Points > 0 && len(c.points) > w.Points {
		c.thin(w)
	}
}

// thin merges points so that there are at most as many as the window wants, however many events still come.
func (c *drawnCurve) thin(w *drawnWindow) {
	c.width = max((w.To-w.From)/int64(w.Points)+1, c.width)
	k := 0
	for i := 1; i < len(c.points); i++ {
		p, q := &c.points[k], &c.points[i]
		if (p.Time-w.From)/c.width == (q.Time-w.From)/c.width {
			p.Low, p.High, p.Last = min(p.Low, q.Low), max(p.High, q.High), q.Last
			continue
		}
		k++
		c.points[k] = *q
	}
	c.points = c.points[:k+1]
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
