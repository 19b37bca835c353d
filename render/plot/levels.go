package plot

import (
	"cmp"
	"image/color"
	"strconv"

	"nsysmem/align"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// lineWidth is that of levels, in points of the layout.
const lineWidth = 1.2

// lineLook is how the line of a kind of level looks. Each has dashes of its own.
type lineLook struct {
	label string
	pen   canvas.Pen
}

var levelLooks = map[align.LevelKind]lineLook{
	align.LevelDevice:    {"device", canvas.Pen{Color: canvas.Ink}},
	align.LevelManaged:   {"managed", canvas.Pen{Color: color.RGBA{0xAA, 0x33, 0x77, 0xFF}, Dashes: []float64{7, 2}}},
	align.LevelPinned:    {"pinned host", canvas.Pen{Color: color.RGBA{0x00, 0x77, 0x5A, 0xFF}, Dashes: []float64{3, 2}}},
	align.LevelPageable:  {"pageable host", canvas.Pen{Color: color.RGBA{0x80, 0x80, 0x10, 0xFF}, Dashes: []float64{1.5, 2}}},
	align.LevelAllocated: {"allocated (tensors)", canvas.Pen{Color: color.RGBA{0x00, 0x72, 0xB2, 0xFF}, Dashes: []float64{4, 1.5}}},
	align.LevelReserved:  {"reserved by PyTorch", canvas.Pen{Color: color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, Dashes: []float64{8, 1.5}}},
	align.LevelPoolSize:  {"pool size", canvas.Pen{Color: color.RGBA{0xB0, 0x4A, 0x00, 0xFF}, Dashes: []float64{9, 2, 2, 2}}},
	align.LevelPoolUsed:  {"pool in use", canvas.Pen{Color: color.RGBA{0x20, 0x60, 0xC0, 0xFF}, Dashes: []float64{5, 2, 1.5, 2}}},
}

// lookOf is that of a kind of level. Kinds that a later export may bring are drawn too, faintly.
func lookOf(kind align.LevelKind) lineLook {
	l, ok := levelLooks[kind]
	if !ok {
		l = lineLook{clean(string(kind)), canvas.Pen{Color: canvas.Faint, Dashes: []float64{2, 1}}}
	}
	l.pen.Width = lineWidth
	return l
}

// Lines of one level across a panel.
var (
	cardPen   = canvas.Pen{Width: 1.2, Color: card, Dashes: []float64{6, 3}}
	theoryPen = canvas.Pen{Width: 1.2, Color: color.RGBA{0x11, 0x11, 0x11, 0xFF}, Dashes: []float64{1.2, 2.4}}
)

// What lies between the levels.
var (
	cacheGap   = color.RGBA{0xEC, 0xEE, 0xF0, 0xFF} // held by the allocator, by no tensor
	graphsGap  = color.RGBA{0xD9, 0xE4, 0xD3, 0xFF} // held for the replays of CUDA graphs, by no tensor
	outsideGap = color.RGBA{0xF2, 0xDE, 0xD2, 0xFF} // handed out by the driver, not to the allocator
)

// Parts of a panel's height, one in so many, below which something is not drawn, or not named.
const (
	tinyLine  = 500 // a line that would lie on the axis
	tinyGap   = 250
	tinyLayer = 300
	tinyLevel = 64 << 10 // bytes; a line on the axis of a stack that is not even named
)

// levels are the lines of a panel over time.
type levels struct {
	lines            []*stairs
	device, reserved *stairs // of lines; nil where they are not drawn as such
	held             *stairs // allocated and private pools, over a stack; nil where there is none. It is filled, and no line
	top              int64   // bytes; how high the panel goes, 0 where all lines are to be drawn
}

// levelLines brings those curves of a list that pick takes to n columns of a scale.
func (s *scene) levelLines(curves []align.Curve, scale canvas.Scale, n int, pick func(*stairs) bool) levels {
	var l levels
	for i := range curves {
		line := newStairs(&curves[i], scale, n)
		if line.kind == align.LevelHeld {
			if s.stack != nil && s.view.level != "" {
				l.held = line
			}
			continue
		}
		if !pick(line) {
			continue
		}
		l.lines = append(l.lines, line)
		switch {
		case line.kind == align.LevelDevice:
			l.device = line
		case line.kind == align.LevelReserved && s.stack != nil:
			l.reserved = line
		}
	}
	return l
}

// highest is the highest level of all lines.
func (l *levels) highest() int64 {
	top := int64(0)
	for _, s := range l.lines {
		top = max(top, s.high)
	}
	return top
}

// tiny says that a line would lie on the axis.
func (l *levels) tiny(s *stairs) bool { return s.kind != align.LevelDevice && s.high < l.top/tinyLine }

// obstacles are the lines that labels must not hide.
func (l *levels) obstacles() []canvas.Obstacle {
	out := make([]canvas.Obstacle, len(l.lines))
	for i, s := range l.lines {
		out[i] = s
	}
	return out
}

// gaps fills what lies between a stack and the levels over it; the stack is drawn over both.
func (l *levels) gaps(c *canvas.Canvas, a canvas.Area) {
	if l.device != nil {
		l.device.fillHigh(c, a, outsideGap)
	}
	if l.reserved != nil {
		l.reserved.fillHigh(c, a, cacheGap)
	}
	if l.held != nil {
		l.held.fillHigh(c, a, graphsGap)
	}
}

// gapEntries name the gaps that can be seen in a panel that goes up to top.
func (s *scene) gapEntries(l *levels, top int64) (out canvas.Entries) {
	seen := func(bytes int64) bool { return bytes > top/tinyGap }
	switch {
	case s.stack == nil:
	case s.view.level != "":
		out.Add(l.reserved != nil, "unused cache", canvas.Swatch(cacheGap))
		graphs := s.track.Level(align.LevelGraphs)
		out.Add(l.held != nil && graphs != nil && seen(graphs.Peak), "pools of CUDA graphs", canvas.Swatch(graphsGap))
		outside := s.track.Tensors.Outside
		out.Add(outside != nil && seen(outside.Peak), "outside PyTorch", canvas.Swatch(outsideGap))
	case l.device != nil && s.view.stack != "kind":
		gap := l.device.high - s.stack.toColumns(s.scale, l.device.Columns()).high
		out.Add(seen(gap), "static memory and arrays", canvas.Swatch(outsideGap))
	}
	return out
}

// lineEntries name the lines of a panel.
func (s *scene) lineEntries(l *levels) (out canvas.Entries) {
	for _, line := range l.lines {
		look := lookOf(line.kind)
		label, pen := look.label, look.pen
		if line.kind == align.LevelDevice {
			pen = pen.Wide(1.8)
			if s.view.level != "" {
				label = "device (all traced)"
			}
		}
		if lv := s.track.Level(line.kind); lv != nil && lv.Least() {
			label += " (partial: at least)"
		}
		if l.tiny(line) {
			label += ", at most " + wording.Bytes(line.high)
		}
		if line.dense() {
			label += ", lowest to highest"
		}
		out.Add(!l.tiny(line) || line.high >= tinyLevel || s.stack == nil, label, canvas.LineSample(pen))
	}
	return out
}

// Failed calls nearer than this share a cross, or a number, in points of the layout.
const (
	oneCross  = 1
	oneNumber = 4
)

// failedEntries name the crosses, and the numbers under them where there are any.
func (s *scene) failedEntries(c *canvas.Canvas, calls []*align.FailedAlloc) (out canvas.Entries) {
	if len(calls) == 0 {
		return nil
	}
	count := strconv.Itoa(len(calls))
	if all := len(s.track.Failed); all > len(calls) {
		count += " of " + strconv.Itoa(all)
	}
	out.Add(true, "failed "+failedCall(s.track.Failed)+" ("+count+")", crossSample(2))
	width := c.W - c.Pt(28) - c.Pt(50) // about that of the panel
	close := false
	for i := 1; i < len(calls); i++ {
		gap := s.scale.Frac(calls[i].Time) - s.scale.Frac(calls[i-1].Time)
		close = close || width*canvas.Length(gap) <= c.Pt(oneNumber)
	}
	out.Add(close, "so many close together", func(c *canvas.Canvas, r canvas.Rect) {
		c.Text("2×", r.Mid().X+c.Pt(2), r.Y0+c.Pt(0.5), canvas.Strong.In(failed).Centred())
	})
	return out
}

// failedCall names the calls that failed: one name where all have it.
func failedCall(calls []align.FailedAlloc) string {
	const several = "allocating calls"
	name := ""
	for i := range calls {
		if name != "" && calls[i].Call != name {
			return several
		}
		name = calls[i].Call
	}
	return clean(cmp.Or(name, several))
}
