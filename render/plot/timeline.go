package plot

import (
	"image/color"
	"sort"
	"strconv"

	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// lineLook is how the line of a kind of level looks. Each has dashes of its own.
type lineLook struct {
	label  string
	color  color.RGBA
	dashes []float64
}

var looks = map[align.LevelKind]lineLook{
	align.LevelDevice:    {"device", ink, nil},
	align.LevelManaged:   {"managed", color.RGBA{0xAA, 0x33, 0x77, 0xFF}, []float64{7, 2}},
	align.LevelPinned:    {"pinned host", color.RGBA{0x00, 0x77, 0x5A, 0xFF}, []float64{3, 2}},
	align.LevelPageable:  {"pageable host", color.RGBA{0x80, 0x80, 0x10, 0xFF}, []float64{1.5, 2}},
	align.LevelAllocated: {"allocated (tensors)", color.RGBA{0x00, 0x72, 0xB2, 0xFF}, []float64{4, 1.5}},
	align.LevelReserved:  {"reserved by PyTorch", color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, []float64{8, 1.5}},
	align.LevelPoolSize:  {"pool size", color.RGBA{0xB0, 0x4A, 0x00, 0xFF}, []float64{9, 2, 2, 2}},
	align.LevelPoolUsed:  {"pool in use", color.RGBA{0x20, 0x60, 0xC0, 0xFF}, []float64{5, 2, 1.5, 2}},
}

func look(kind align.LevelKind) lineLook {
	if l, ok := looks[kind]; ok {
		return l
	}
	return lineLook{clean(string(kind)), faint, []float64{2, 1}}
}

// axisMark is the width that a mark of the timeline's axis has to itself, in points of the layout.
const axisMark = 65

// timeline draws the levels over time, with the iterations and phases as lanes under them.
func (pic *picture) timeline(x0, y0, x1, y1 vg.Length) {
	v := pic.view
	cols := max(int((x1-x0)/pic.pixel), 1)
	ts := pic.scale

	// 1. Which lines there are, and how high the panel goes.
	var lines []stairs
	deviceAt, reservedAt := -1, -1
	top := int64(0)
	for _, c := range pic.time {
		if pic.source != nil && c.Kind == pic.view.level {
			continue // the top of the stack
		}
		s := newStairs(c, ts, cols)
		if c.Kind == "device" {
			deviceAt = len(lines)
		} else if s.high == 0 {
			continue
		}
		if c.Kind == "reserved" && pic.source != nil {
			reservedAt = len(lines)
		}
		top = max(top, s.high)
		lines = append(lines, s)
	}
	tiny := func(s stairs) bool { return s.kind != "device" && s.high < top/500 } // would lie on the axis
	capacity := pic.track.DeviceTotal
	if deviceAt < 0 || capacity <= 0 || lines[deviceAt].high < capacity/2 {
		capacity = 0
	}
	top = max(top, capacity)

	// 2. The legend, and the room that is left.
	var inView []*align.FailedAlloc
	for i := range pic.track.Failed {
		if f := &pic.track.Failed[i]; f.Time >= v.from && f.Time <= v.to {
			inView = append(inView, f)
		}
	}
	entries := append(pic.gapLegend(lines, deviceAt, reservedAt, top), pic.timelineLegend(lines, tiny, capacity, inView)...)
	theory := pic.theoryLevel(top)
	if theory > 0 {
		entries = append(entries, entry{pic.theoryLabel(), pic.lineSample(theoryLine, 1.2, theoryDashes)})
	}
	a := plotArea{from: v.from, to: v.to, scale: ts}
	a.y1 = pic.header(head{title: pic.timelineTitle(), entries: entries}, x0, x1, y1, false)

	strips := vg.Length(0)
	row := pic.pt(13)
	hasIts, pieces := len(v.its) > 0, pic.lanePieces()
	if hasIts {
		strips += row
	}
	if len(pieces) > 0 {
		strips += row
	}
	if strips > 0 {
		strips += pic.pt(3) // so that the mark at 0 and the name of the lane stand apart
	}
	axisY := y0 + pic.pt(25)
	a.y0 = axisY + strips
	if a.y1 < a.y0+pic.pt(20) {
		a.y1 = a.y0 + pic.pt(20)
	}
	// Room over the peak for its label.
	_, a.high = byteRange(0, top, false)
	if h := float64(a.y1 - a.y0); top > 0 && h > 0 {
		a.high = int64(min(float64(top)*max(1.08, 1/(1-min(0.4, float64(pic.pt(22))/h))), 9e18))
	}
	a.x0, a.x1 = x0, x1-pic.pt(4)
	margin := pic.yLabelWidth(0, a.high, a.y1-a.y0)
	if strips > 0 {
		name := pic.word
		if pic.crowded(a.x1 - a.x0 - margin) {
			name = "phase shares"
		}
		margin = max(margin, pic.width(name, style{size: small})+pic.pt(6))
	}
	a.x0 = x0 + margin
	cols = max(int((a.x1-a.x0)/pic.pixel), 1)
	for i := range lines { // now that the width is known
		for _, c := range pic.time {
			if c.Kind == lines[i].kind {
				lines[i] = newStairs(c, ts, cols)
			}
		}
	}

	// 3. Ground: area under the device level, or the stack below the gaps; grid, bounds of the iterations.
	var stack *stacked
	if pic.source != nil {
		stack = pic.source.stack(ts, cols)
		pic.gaps(lines, deviceAt, reservedAt, a)
		stack.draw(pic.painter, a)
	} else if deviceAt >= 0 {
		lines[deviceAt].drawGround(pic.painter, a, under)
	}
	pic.yAxis(a)
	few := len(v.its) > 0 && float64(a.x1-a.x0)/float64(len(v.its)) >= float64(pic.pt(7))
	if few {
		last := vg.Length(-1)
		for _, it := range v.its {
			for _, t := range [2]int64{it.Start, it.End} {
				if x := a.x(t); t >= a.from && t <= a.to && x-last > pic.pt(0.7) {
					pic.line(pic.pt(0.5), stripB, nil, vg.Point{X: x, Y: a.y0}, vg.Point{X: x, Y: a.y1})
					last = x
				}
			}
		}
	}
	pic.outlineRect(a.x0, axisY, a.x1, a.y1, pic.pt(0.7), frame)

	// 4. Lines, device level last, over the others.
	if capacity > 0 {
		y := a.y(capacity)
		pic.line(pic.pt(1.2), card, []float64{6, 3}, vg.Point{X: a.x0, Y: y}, vg.Point{X: a.x1, Y: y})
	}
	if theory > 0 {
		y := a.y(theory)
		pic.line(pic.pt(1.2), theoryLine, theoryDashes, vg.Point{X: a.x0, Y: y}, vg.Point{X: a.x1, Y: y})
	}
	for i, s := range lines {
		if i != deviceAt && i != reservedAt && !tiny(s) {
			l := look(s.kind)
			if stack != nil && !s.dense() { // to be seen on dark layers too
				s.draw(pic.painter, a, white, pic.pt(2.6), nil)
			}
			s.draw(pic.painter, a, l.color, pic.pt(1.2), l.dashes)
		}
	}
	if deviceAt >= 0 {
		width := pic.pt(1.2)
		if stack != nil && v.level == "" {
			width = pic.pt(0.8) // the edge of the stack
		}
		lines[deviceAt].draw(pic.painter, a, ink, width, nil)
	}
	if reservedAt >= 0 { // where nothing lies outside PyTorch, both are one line, and both are to be seen
		l := look("reserved")
		lines[reservedAt].draw(pic.painter, a, l.color, pic.pt(1.2), l.dashes)
	}
	if len(pic.time) == 0 || top == 0 {
		pic.note("no bytes are traced as live in this time", a)
	}

	// 5. Marks: failed allocations, the peak.
	pic.failedMarks(inView, lines, deviceAt, a, cols)
	switch {
	case stack != nil && v.level != "":
		pic.stackMark(stack, lines, deviceAt, a)
	case deviceAt >= 0:
		pic.peakMark(lines[deviceAt], a)
	}

	// 6. Lanes and axis.
	pic.line(pic.pt(0.7), frame, nil, vg.Point{X: a.x0, Y: a.y0}, vg.Point{X: a.x1, Y: a.y0})
	y := a.y0 - pic.pt(3)
	label := style{size: small, color: ink, align: 1}
	if hasIts {
		pic.strip(a, y-row, y)
		pic.text(pic.fit(pic.word, label, margin-pic.pt(5)), a.x0-pic.pt(4), y-row+pic.pt(3.5), label)
		y -= row
	}
	if len(pieces) > 0 {
		name := pic.phaseLane(pieces, a, y-row, y, cols)
		pic.text(name, a.x0-pic.pt(4), y-row+pic.pt(3.5), label)
	}
	zero, what := pic.zero(), "in the report"
	if pic.o.SinceFirst {
		what = "since the first event in view, at " + wording.Seconds(zero)
	}
	if pic.inferredNames() {
		what += "; iterations and phases are inferred from GPU work"
	}
	axis := ts.axis(zero, a.x1-a.x0, pic.pt(axisMark))
	if ts.squeezed {
		for _, g := range ts.groups() {
			if g.squeezed {
				pic.dotted(a.x(g.from), a.x(g.to), axisY)
			}
		}
	}
	pic.xAxis(a, axisY, axis, what)
}

// firstEvent is the time of the first memory event in view; the left edge where there is none.
func (pic *picture) firstEvent() int64 {
	first := pic.view.to
	for _, c := range pic.time {
		for _, pt := range c.Points {
			if pt.Time >= pic.view.from {
				first = min(first, pt.Time)
				break
			}
		}
	}
	if first == pic.view.to {
		return pic.view.from
	}
	return first
}

func (pic *picture) timelineLegend(lines []stairs, tiny func(stairs) bool, capacity int64, inView []*align.FailedAlloc) []entry {
	var entries []entry
	for _, s := range lines {
		l := look(s.kind)
		label := l.label
		if s.kind == "device" && pic.view.level != "" {
			label = "device (all traced)"
		}
		if lv := pic.level(s.kind); lv != nil && lv.Partial {
			label += " (partial: at least)"
		}
		if tiny(s) && s.high < 64<<10 && pic.source != nil {
			continue
		}
		if tiny(s) {
			label += ", at most " + wording.Bytes(s.high)
		}
		if s.dense() {
			label += ", lowest to highest"
		}
		width := 1.2
		if s.kind == "device" {
			width = 1.8
		}
		entries = append(entries, entry{label, pic.lineSample(l.color, width, l.dashes)})
	}
	if capacity > 0 {
		entries = append(entries, entry{"capacity of the card, " + wording.Bytes(capacity), pic.lineSample(card, 1.2, []float64{6, 3})})
	}
	if len(inView) > 0 {
		count := strconv.Itoa(len(inView))
		if all := len(pic.track.Failed); all > len(inView) {
			count += " of " + strconv.Itoa(all)
		}
		name, many := "failed "+failedCall(pic.track.Failed), false
		// What a number beside a cross means is said where there is one.
		if n, x0, x1 := 0, pic.pt(50), pic.w-pic.pt(28); len(inView) > 1 {
			last := vg.Length(-1e9)
			for _, f := range inView {
				x := x0 + (x1-x0)*vg.Length(pic.scale.frac(f.Time))
				if n++; x-last > pic.pt(4) {
					n = 1
				}
				if last = x; n == 2 {
					many = true
					break
				}
			}
		}
		entries = append(entries, entry{name + " (" + count + ")", func(x0, y0, x1, y1 vg.Length) {
			pic.cross(vg.Point{X: (x0+x1)/2 + pic.pt(2), Y: (y0 + y1) / 2}, pic.pt(3), pic.pt(1.4), failed)
		}})
		if many {
			entries = append(entries, entry{"so many close together", func(x0, y0, x1, y1 vg.Length) {
				pic.text("2×", (x0+x1)/2+pic.pt(2), y0+pic.pt(0.5), style{size: small, bold: true, color: failed, align: 0.5})
			}})
		}
	}
	return entries
}

// failedCall names the calls that failed: one name where all have it.
func failedCall(calls []align.FailedAlloc) string {
	name := ""
	for i := range calls {
		if name != "" && calls[i].Call != name {
			return "allocating calls"
		}
		name = calls[i].Call
	}
	if name == "" {
		return "allocating calls"
	}
	return clean(name)
}

// failedMarks puts an x on the device level for each failed call, and under calls that follow each other closely how many
// they are.
func (pic *picture) failedMarks(calls []*align.FailedAlloc, lines []stairs, deviceAt int, a plotArea, cols int) {
	st := style{size: small, bold: true, color: failed, align: 0.5}
	var from, last, low vg.Length
	n := 0
	right, below := vg.Length(-1e9), vg.Length(0) // of the number written last
	flush := func() {
		if n > 1 {
			s := strconv.Itoa(n) + "×"
			x, y := (from+last)/2, low-pic.pt(14)
			if y < a.y0+pic.pt(2) {
				y = low + pic.pt(7)
			}
			w := pic.width(s, st) / 2
			x = min(max(x, a.x0+w), a.x1-w)
			if d := y - below; x-w < right+pic.pt(3) && d < pic.pt(9) && d > -pic.pt(9) {
				if y = below - pic.pt(9.5); y < a.y0+pic.pt(2) {
					y = below + pic.pt(9.5)
				}
			}
			right, below = x+w, y
			pic.fill(x-w-pic.pt(1), y-pic.pt(1), x+w+pic.pt(1), y+pic.pt(7.5), under)
			pic.text(s, x, y, st)
		}
		n = 0
	}
	for _, f := range calls {
		x, y := a.x(f.Time), a.y0
		if deviceAt >= 0 {
			i := min(int(a.scale.frac(f.Time)*float64(cols)), cols-1)
			_, level := lines[deviceAt].at(i)
			y = a.y(level)
		}
		if n > 0 && x-last > pic.pt(4) {
			flush()
		}
		if n == 0 {
			from, low = x, y
		}
		if n == 0 || x-last > pic.pt(1) {
			pic.cross(vg.Point{X: x, Y: y}, pic.pt(3.2), pic.pt(1.4), failed)
		}
		last, low = x, min(low, y)
		n++
	}
	flush()
}

// peakMark marks the highest device level in view with its value and place.
func (pic *picture) peakMark(s stairs, a plotArea) {
	if s.high <= 0 {
		return
	}
	label, x := pic.topLabel("device", s.high, a)
	if s.low == s.high && pic.view.partial() {
		label = "flat at " + wording.Bytes(s.high)
	}
	if x < 0 {
		x = a.x0 + (a.x1-a.x0)/vg.Length(len(s.columns))*(vg.Length(s.topColumn())+0.5)
	}
	if pic.view.level != "" {
		label = "device level: " + label
	}
	pic.mark(label, x, a.y(s.high), a)
}

// topLabel names the highest level of a kind in view, its value and its place, and says where that lies on the picture;
// below 0 where it is not known.
func (pic *picture) topLabel(kind align.LevelKind, high int64, a plotArea) (label string, x vg.Length) {
	lv := pic.level(kind)
	most, at, ok := pic.inView(kind)
	switch {
	case !ok || most != high:
		return "highest in view " + wording.Bytes(high), -1
	case lv == nil || lv.Peak != high || lv.PeakAt != at:
		label = "highest in view "
	case lv.Partial:
		label = "peak at least "
	default:
		label = "peak "
	}
	label += wording.Bytes(high)
	if w := pic.where(at); w != "" {
		label += " " + w
	}
	return label, a.x(at)
}

// strip draws the numbered iterations between y0 and y1.
func (pic *picture) strip(a plotArea, y0, y1 vg.Length) {
	v := pic.view
	narrow := float64(a.x1-a.x0)/float64(len(v.its)) < float64(pic.pt(3))
	if narrow {
		pic.fill(a.x(v.its[0].Start), y0, a.x(v.its[len(v.its)-1].End), y1, stripA)
	}
	for i, it := range v.its {
		if narrow {
			break
		}
		xa, xb := a.x(it.Start), a.x(it.End)
		switch {
		case it.Truncated:
			pic.fill(xa, y0, xb, y1, white)
			pic.hatch(xa, y0, xb, y1, faint)
		case it.Warmup:
			pic.fill(xa, y0, xb, y1, white)
		case v.places[i]%2 == 0:
			pic.fill(xa, y0, xb, y1, stripA)
		default:
			pic.fill(xa, y0, xb, y1, stripB)
		}
		if it.Truncated || it.Warmup {
			pic.outlineRect(xa, y0, xb, y1, pic.pt(0.5), frame)
		}
	}
	st := style{size: small, color: ink, align: 0.5}
	pic.numbers(func(it *align.Iteration) (vg.Length, vg.Length) {
		return max(a.x(it.Start), a.x0), min(a.x(it.End), a.x1)
	}, st, func(s string, x vg.Length, it *align.Iteration) {
		if it.Truncated && !narrow { // readable on the hatching
			w := pic.width(s, st)/2 + pic.pt(1.5)
			pic.fill(x-w, y0+pic.pt(1), x+w, y1-pic.pt(1), white)
		}
		pic.text(s, x, y0+pic.pt(3.5), st)
	})
}

// numbers calls write for as many of the iterations as have room for their number: all, else every 2nd, 5th, 10th, ….
func (pic *picture) numbers(place func(*align.Iteration) (x0, x1 vg.Length), st style, write func(string, vg.Length, *align.Iteration)) {
	its := pic.view.its
	gap := pic.pt(5)
	for base := 1; base > 0 && base <= 1e9; base *= 10 {
		for _, m := range [...]int{1, 2, 5} {
			step := base * m
			last, fits, shown := vg.Length(-1e9), true, 0
			for _, it := range its {
				if it.Index%step != 0 {
					continue
				}
				xa, xb := place(it)
				half := pic.width(strconv.Itoa(it.Index), st) / 2
				if mid := (xa + xb) / 2; mid-half < last+gap {
					fits = false
					break
				} else {
					last = mid + half
				}
				shown++
			}
			if !fits {
				continue
			}
			if shown == 0 { // no number is a multiple; the first will do
				xa, xb := place(its[0])
				write(strconv.Itoa(its[0].Index), (xa+xb)/2, its[0])
				return
			}
			for _, it := range its {
				if it.Index%step == 0 {
					xa, xb := place(it)
					write(strconv.Itoa(it.Index), (xa+xb)/2, it)
				}
			}
			return
		}
	}
}

// lanePiece is a part of the phase lane before it is brought to pixels.
type lanePiece struct {
	piece
	name  string
	color color.RGBA
	named bool // whether its name is written on it
}

// lanePieces are the top-level phases in view, and the outermost ranges outside iterations.
func (pic *picture) lanePieces() []lanePiece {
	var out []lanePiece
	keys := map[string]int{}
	key := func(kind, name string) int {
		k, ok := keys[kind+name]
		if !ok {
			k = len(keys)
			keys[kind+name] = k
		}
		return k
	}
	from, to := pic.view.from, pic.view.to
	// Ranges first: where one holds the iterations, their phases lie over it.
	for i := range pic.track.Ranges {
		r := &pic.track.Ranges[i]
		// Operators have one row for all their calls: its time is not that of a call.
		if r.Contains > 0 || r.Calls > 1 || r.End <= from || r.Start >= to {
			continue
		}
		out = append(out, lanePiece{piece{key("r", r.Name), r.Start, r.End}, r.Name, pic.palette.ranges[r.Name], true})
	}
	phase := func(path string, start, end int64) {
		if end > from && start < to {
			out = append(out, lanePiece{piece{key("p", path), start, end}, path, pic.palette.color(path), false})
		}
	}
	for n, it := range pic.view.its {
		if spans := pic.byIter[pic.view.places[n]]; len(spans) > 0 {
			for _, s := range spans {
				if s.Depth == 1 {
					phase(s.Path, s.Start, s.End)
				}
			}
			continue
		}
		for i := range it.Phases {
			if ph := &it.Phases[i]; ph.Depth == 1 && ph.Path != align.OtherPhase {
				phase(ph.Path, ph.Start, ph.End)
			}
		}
	}
	return out
}

// phaseLane draws the lane of phases between y0 and y1 and returns what the lane is to be called.
func (pic *picture) phaseLane(pieces []lanePiece, a plotArea, y0, y1 vg.Length, cols int) string {
	plain := make([]piece, len(pieces))
	looks := map[int]*lanePiece{}
	for i := range pieces {
		plain[i] = pieces[i].piece
		if looks[pieces[i].key] == nil {
			looks[pieces[i].key] = &pieces[i]
		}
	}
	iterations := len(pic.track.Iterations) > 0
	if pic.crowded(a.x1 - a.x0) {
		pic.phaseShares(plain, looks, a, y0, y1)
		return "phase shares"
	}
	runs(lane(plain, a.scale, cols), a.x0, a.x1, func(key int, xa, xb vg.Length) {
		l := looks[key]
		pic.fill(xa, y0, xb, y1, l.color)
		if l.named || !iterations {
			st := style{size: small, color: readable(l.color), align: 0.5}
			if s := pic.bandName(l.name, st, xb-xa-pic.pt(4)); s != "" {
				pic.text(s, (xa+xb)/2, y0+pic.pt(4.5), st) // clear of the axis, underscores too
			}
		}
	})
	if iterations {
		return "phase"
	}
	return "range"
}

// bandName is a name cut to a width; empty where fewer than four letters would be left, which say nothing.
func (pic *picture) bandName(name string, st style, w vg.Length) string {
	name = clean(name)
	if s := pic.fit(name, st, w); s == name || len([]rune(s)) >= len("abcd")+1 {
		return s
	}
	return ""
}

// unnamed are the ranges on the lane of phases that have no room there for their names, with their colours: those outside
// iterations, and where there are none, all that can be seen.
func (pic *picture) unnamed() []lanePiece {
	pieces := pic.lanePieces()
	width := pic.w - pic.pt(85)
	cols := max(int(width/pic.pixel), 1)
	if !pic.view.timeline || pic.crowded(width) {
		return nil
	}
	plain := make([]piece, len(pieces))
	looks := map[int]*lanePiece{}
	for i := range pieces {
		plain[i] = pieces[i].piece
		if looks[pieces[i].key] == nil {
			looks[pieces[i].key] = &pieces[i]
		}
	}
	seen, named := map[int]bool{}, map[int]bool{}
	var order []int
	runs(lane(plain, pic.scale, cols), 0, width, func(key int, xa, xb vg.Length) {
		if !seen[key] && looks[key].named {
			order = append(order, key)
		}
		seen[key] = true
		named[key] = named[key] || pic.bandName(looks[key].name, style{size: small}, xb-xa-pic.pt(4)) != ""
	})
	var out []lanePiece
	for _, key := range order {
		if !named[key] || len(pic.track.Iterations) == 0 {
			out = append(out, *looks[key])
		}
	}
	return out
}

// crowded says that iterations are too narrow on a timeline of width w for their phases to be told apart.
func (pic *picture) crowded(w vg.Length) bool {
	n := len(pic.view.its)
	return n > 0 && w/vg.Length(n) < pic.pt(4)
}

// phaseShares stacks the phases of each column by how much of it they fill. Where an iteration is narrower than a column,
// the longest phase would hide all others.
func (pic *picture) phaseShares(pieces []piece, looks map[int]*lanePiece, a plotArea, y0, y1 vg.Length) {
	n := max(int((a.x1-a.x0)/pic.pt(2.5)), 1)
	dx := (a.x1 - a.x0) / vg.Length(n)
	for i, column := range shares(pieces, a.scale, n) {
		sort.Slice(column, func(a, b int) bool { return column[a].key < column[b].key })
		sum := 0.0
		for _, s := range column {
			sum += s.f
		}
		y, x := y1, a.x0+dx*vg.Length(i)
		for _, s := range column {
			h := (y1 - y0) * vg.Length(s.f/max(sum, 1))
			pic.fill(x, y-h, x+dx+pic.pixel/2, y, looks[s.key].color)
			y -= h
		}
	}
}
