package align

import (
	"context"
	"errors"

	"nsysmem/nsysdb"
)

// Curves reads the levels of a report once more, for pictures: for each window one curve a level that has events, in
// the order of Track.Levels, then LevelPoolSize and LevelPoolUsed where there are pools. Every event of the window is a
// point, or, where there are more of them than Window.Points, each stretch of time that has events is one point with the
// lowest and highest level in it.
func Curves(ctx context.Context, db *nsysdb.DB, rep *Report, windows []Window) ([][]Curve, error) {
	d := &drawing{rep: rep, windows: make([]*drawnWindow, len(windows))}
	for i, w := range windows {
		d.windows[i] = &drawnWindow{Window: w, curves: make(map[LevelKind]*drawnCurve)}
	}
	if db.Has(nsysdb.MemoryUsage) {
		var err error
		if d.pools, err = poolEvents(ctx, db); err != nil {
			return nil, err
		}
		err = d.read(ctx, db, false)
		if errors.Is(err, errUnordered) {
			for _, w := range d.windows {
				w.curves = make(map[LevelKind]*drawnCurve)
			}
			err = d.read(ctx, db, true)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, w := range d.windows {
		d.tensors(w)
	}
	out := make([][]Curve, len(windows))
	for i, w := range d.windows {
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

type drawing struct {
	rep     *Report
	windows []*drawnWindow
	pools   []memEvent // pool events, by time
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

// A drawnBlock is a block that is live while curves are read.
type drawnBlock struct {
	bytes, device int64
	kind          LevelKind
}

type blockKey struct{ gpid, address int64 }

func (d *drawing) read(ctx context.Context, db *nsysdb.DB, sorted bool) error {
	live := make(map[blockKey]drawnBlock)
	pools := make(map[blockKey]map[int64][2]int64)
	poolEvents := d.pools
	var devices lastDevices
	var same sameTime
	step := func(gpid, device int64, kind LevelKind, t, change int64) {
		for _, w := range d.windows {
			if w.PID == nsysdb.PID(gpid) && w.Device == device {
				w.step(kind, t, change)
			}
		}
	}
	poolsUntil := func(t int64) {
		for ; len(poolEvents) > 0 && poolEvents[0].time <= t; poolEvents = poolEvents[1:] {
			e := poolEvents[0]
			e.pool = e.address
			d.pool(pools, &e, step)
		}
	}
	flush := func() {
		same.order()
		if len(same.events) > 0 {
			poolsUntil(same.events[0].time)
		}
		for i := range same.events {
			e := &same.events[i]
			if e.bytes < 0 || e.op != nsysdb.OpAlloc && e.op != nsysdb.OpFree { // Null too
				continue
			}
			devices.name(e)
			k := blockKey{nsysdb.Process(e.gpid), e.address}
			b, ok := live[k]
			switch {
			case e.op == nsysdb.OpAlloc:
				if ok {
					step(e.gpid, b.device, b.kind, e.time, -b.bytes)
				}
				b = drawnBlock{e.bytes, e.device, levelName(e.kind)}
				live[k] = b
				step(e.gpid, b.device, b.kind, e.time, b.bytes)
			case e.op == nsysdb.OpFree:
				if !ok {
					b = drawnBlock{e.bytes, e.device, levelName(e.kind)}
				}
				delete(live, k)
				step(e.gpid, b.device, b.kind, e.time, -b.bytes)
			}
			if e.ownPool() {
				d.pool(pools, e, step)
			}
		}
		same.events = same.events[:0]
	}
	err := db.Scan(ctx, nsysdb.Scan{Table: nsysdb.MemoryUsage, Columns: memoryColumns[:12], Sorted: sorted}, func(b *nsysdb.Batch) error {
		c := b.Cols
		if !hasMemoryRows(c) {
			return nil
		}
		for i := 0; i < b.Rows; i++ {
			e := memoryRow(c, i)
			if e.time == nsysdb.Null {
				continue
			}
			if err := same.add(&e, flush); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		flush()
		poolsUntil(maxTime)
	}
	return err
}

// pool follows the pools by what the memory events say of them.
func (d *drawing) pool(pools map[blockKey]map[int64][2]int64, e *memEvent, step func(gpid, device int64, kind LevelKind, t, change int64)) {
	k := blockKey{nsysdb.Process(e.gpid), e.device}
	if pools[k] == nil {
		pools[k] = make(map[int64][2]int64)
	}
	old := pools[k][e.pool]
	now := old
	if e.poolSize != nsysdb.Null {
		now[0] = e.poolSize
	}
	if e.poolUsed != nsysdb.Null {
		now[1] = e.poolUsed
	}
	pools[k][e.pool] = now
	step(e.gpid, e.device, LevelPoolSize, e.time, now[0]-old[0])
	step(e.gpid, e.device, LevelPoolUsed, e.time, now[1]-old[1])
}
