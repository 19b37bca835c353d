package plot

import (
	"fmt"
	"image/color"
	"sort"
	"strings"

	"gonum.org/v1/plot/vg"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// A segmentMap is the allocator's segments and blocks at one time, with their sums.
type segmentMap struct {
	at       int64 // ns
	what     string
	segments []tensor.MapSegment
	failure  *tensor.Holding // the request that failed then; nil for none

	reserved, live, pending, free, stuck int64 // bytes; stuck are free ones that cannot go back to the driver
	expandable, fixed                    bool  // there are segments of this sort
	blocks, freeBlocks                   int
	largest                              tensor.MapBlock // the largest free block
	streams                              int
	layers                               []bool // of pic.source, those in the map
}

// checkMoment says why there is no map at the moment that the user asks for; nil where there is one.
func checkMoment(rep *findings.Report, track *align.Track, o Options) error {
	ten, path := track.Tensors, rep.Source.Path
	if ten == nil || ten.Replay == nil {
		return fmt.Errorf("plot: segments of %q: they are not known: give PyTorch's memory snapshot of the run with --snapshot", path)
	}
	first, last := ten.ReportTime(ten.Replay.From), ten.ReportTime(ten.Replay.To)
	switch o.At {
	case "", "peak", "reserved":
	case "oom":
		if len(ten.Failures) == 0 {
			return fmt.Errorf("plot: failed requests of %q: the snapshot has none: use --at peak (%s), --at reserved, or a time from %s to %s",
				path, wording.Seconds(ten.Peak.Time), wording.Seconds(first), wording.Seconds(last))
		}
	case "time":
		// Times are written to the millisecond, and what is written must be taken.
		if o.AtTime < first-msec || o.AtTime > last+msec {
			return fmt.Errorf("plot: segments of %q at %s: the snapshot's trace runs from %s to %s: use a time within, or --at peak (%s)",
				path, wording.Seconds(o.AtTime), wording.Seconds(first), wording.Seconds(last), wording.Seconds(ten.Peak.Time))
		}
	default:
		return fmt.Errorf("plot: segments at %q: use peak, reserved, oom or a time", o.At)
	}
	return nil
}

// msec is a millisecond in ns.
const msec = 1_000_000

// newSegments is the map at the moment that the user asks for, which checkMoment found to be there.
func (pic *picture) newSegments() *segmentMap {
	ten := pic.track.Tensors
	m := &segmentMap{}
	switch pic.o.At {
	case "", "peak":
		m.segments, m.at = ten.MapAtPeak(false)
		m.what = "at the peak of what tensors hold"
	case "reserved":
		m.segments, m.at = ten.MapAtPeak(true)
		m.what = "when PyTorch reserved the most"
	case "oom":
		m.segments, m.failure = ten.MapAtFailure(0), &ten.Failures[0]
		m.at, m.what = m.failure.Time, "just before the request that failed"
		if n := len(ten.Failures); n > 1 {
			m.what = fmt.Sprintf("just before the first of %d requests that failed", n)
		}
	case "time":
		m.at = min(max(pic.o.AtTime, ten.ReportTime(ten.Replay.From)), ten.ReportTime(ten.Replay.To))
		m.segments = ten.MapAt(m.at)
	}
	m.count(pic.source)
	sort.SliceStable(m.segments, func(a, b int) bool {
		x, y := &m.segments[a], &m.segments[b]
		if x.Size != y.Size {
			return x.Size > y.Size
		}
		return x.Addr < y.Addr
	})
	return m
}

func (m *segmentMap) count(src *source) {
	m.layers = make([]bool, len(src.layers))
	streams := map[uint64]bool{}
	for i := range m.segments {
		s := &m.segments[i]
		streams[s.Stream] = true
		m.reserved += s.Size
		m.expandable, m.fixed = m.expandable || s.Expandable, m.fixed || !s.Expandable
		free, live, whole := int64(0), false, int64(0)
		for _, b := range s.Blocks {
			switch b.State {
			case tensor.BlockFree:
				free += b.Size
				whole += wholePages(s, &b)
				m.freeBlocks++
				if b.Size > m.largest.Size {
					m.largest = b
				}
			case tensor.BlockPending:
				m.pending += b.Size
				m.blocks++
				live = true
			case tensor.BlockLive:
				m.live += b.Size
				m.blocks++
				live = true
				if b.Block >= 0 && b.Block < len(src.keys) {
					m.layers[src.keys[b.Block]] = true
				}
			}
		}
		m.free += free
		if live {
			m.stuck += free - whole
		}
	}
	m.streams = len(streams)
}

// Pages of expandable segments, which the allocator maps and gives back one by one, in bytes: those of its small pool and
// of its large one (c10/cuda/CUDACachingAllocator, kSmallBuffer and kLargeBuffer).
const (
	smallPage = 2 << 20
	largePage = 20 << 20
)

// wholePages are the bytes of a free block that go back to the driver though its segment is in use: of an expandable
// segment, the pages that lie in the block as a whole; of another, none.
func wholePages(s *tensor.MapSegment, b *tensor.MapBlock) int64 {
	if !s.Expandable {
		return 0
	}
	page := int64(largePage)
	if s.Small {
		page = smallPage
	}
	from := int64(b.Addr - s.Addr) // a mapped stretch begins with a page
	first, end := (from+page-1)/page*page, (from+b.Size)/page*page
	return max(end-first, 0)
}

// stuckText says which of the free bytes the driver cannot get back.
func (m *segmentMap) stuckText() string {
	switch {
	case m.free == 0:
		return ""
	case !m.expandable && m.stuck > 0:
		return fmt.Sprintf(" Of the free bytes, %s lie beside live blocks, so that they cannot go back to the driver.", wording.Bytes(m.stuck))
	case m.stuck == 0:
		return ""
	}
	s := fmt.Sprintf(" Of the free bytes, %s share a page with live blocks and cannot go back to the driver", wording.Bytes(m.stuck))
	if m.fixed {
		s = fmt.Sprintf(" Of the free bytes, %s share a segment, or a page of an expandable one, with live blocks and cannot go back to the driver", wording.Bytes(m.stuck))
	}
	if rest := m.free - m.stuck; rest > 0 {
		s += fmt.Sprintf("; %s are whole pages, which can", wording.Bytes(rest))
	}
	return s + " (expandable segments: pages of 20 MiB, in the small pool of 2 MiB)."
}

// caption says when this is, what there is, and how far free memory is from being of use.
func (m *segmentMap) caption(pic *picture) []string {
	s := wording.Seconds(m.at)
	if w := pic.where(m.at); w != "" {
		s += ", " + w
	}
	if m.what != "" {
		s = strings.ToUpper(m.what[:1]) + m.what[1:] + ": " + s
	} else {
		s = "At " + s
	}
	out := []string{sentence(s)}
	s = fmt.Sprintf("Reserved: %s in %s; allocated: %s in %s; free in the cache: %s", wording.Bytes(m.reserved), counted(len(m.segments), "segment"),
		wording.Bytes(m.live), counted(m.blocks, "block"), wording.Bytes(m.free))
	if m.reserved > 0 && m.free > 0 {
		s += fmt.Sprintf(" (%s) in %s", percent(m.free, m.reserved), counted(m.freeBlocks, "block"))
	}
	if m.pending > 0 {
		s += fmt.Sprintf("; %s given back but still in use by a stream", wording.Bytes(m.pending))
	}
	s += "."
	if m.free > 0 {
		s += fmt.Sprintf(" Largest free block: %s.", wording.Bytes(m.largest.Size))
		s += m.stuckText()
	}
	out = append(out, s)
	if f := m.failure; f != nil {
		s = fmt.Sprintf("Failed: a request for %s", wording.Bytes(f.Request))
		if c := f.Cache; c != nil {
			s += fmt.Sprintf("; the largest free block of its stream and pool has %s, the cache %s in all", wording.Bytes(c.LargestFree), wording.Bytes(c.Free))
			if c.DeviceFree > 0 {
				s += fmt.Sprintf(", and the card had %s left", wording.Bytes(c.DeviceFree))
			}
		}
		out = append(out, s+".")
	}
	if c := pic.track.Tensors.Conf; c != "" {
		out = append(out, "Allocator settings: "+short2(c, 200)+".")
	}
	if pic.inferredNames() {
		out = append(out, pic.foundText())
	}
	return out
}

func counted(n int, name string) string { return wording.Count(n) + " " + wording.Noun(n, name) }

// Looks of what is no tensor.
var (
	freeHatch    = color.RGBA{0xB8, 0xBC, 0xC2, 0xFF}
	pendingColor = color.RGBA{0xEE, 0x88, 0x66, 0xFF}
	largestColor = color.RGBA{0xC8, 0x00, 0x1E, 0xFF}
)

// segmentLegend names the colours of the map.
func (pic *picture) segmentLegend(m *segmentMap) []entry {
	var out []entry
	for k, l := range pic.source.layers {
		if m.layers[k] {
			out = append(out, entry{l.name, pic.swatch(l.color)})
		}
	}
	if m.pending > 0 {
		out = append(out, entry{"given back, a stream still uses it", pic.swatch(pendingColor)})
	}
	if m.free > 0 {
		out = append(out, entry{"free in the cache", func(x0, y0, x1, y1 vg.Length) {
			pic.hatch(x0+pic.pt(3), y0, x1, y1, freeHatch)
			pic.outlineRect(x0+pic.pt(3), y0, x1, y1, pic.pt(0.4), faint)
		}}, entry{"largest free block", func(x0, y0, x1, y1 vg.Length) {
			pic.outlineRect(x0+pic.pt(3), y0, x1, y1, pic.pt(1.4), largestColor)
		}})
	}
	return out
}

// A shelf is one row of a map: parts of segments from left to right.
type shelf struct{ parts []part }

// A part is a segment, or, of one longer than a row, a stretch of it.
type part struct {
	seg      *tensor.MapSegment
	from, to int64     // bytes from the segment's start
	x        vg.Length // from the left edge of the map
}

// shelves lays segments out in rows of w, at perByte a byte, with gap between them: each in the first row that has room,
// one that is longer than a row over several.
func shelves(segs []*tensor.MapSegment, perByte float64, w, gap vg.Length) []shelf {
	var rows []shelf
	var used []vg.Length
	row := func() int {
		rows, used = append(rows, shelf{}), append(used, 0)
		return len(rows) - 1
	}
	open := 0 // rows before it are as good as full
	for _, s := range segs {
		need := vg.Length(float64(s.Size) * perByte)
		if need > w {
			full := int64(float64(w) / perByte)
			for from := int64(0); from < s.Size; from += max(full, 1) {
				k := row()
				to := min(from+max(full, 1), s.Size)
				rows[k].parts = append(rows[k].parts, part{s, from, to, 0})
				used[k] = vg.Length(float64(to-from)*perByte) + gap
			}
			continue
		}
		k := -1
		for i := open; i < len(rows); i++ {
			if used[i]+need <= w+0.01 {
				k = i
				break
			}
			if i == open && w-used[i] < w/1000 {
				open++
			}
		}
		if k < 0 {
			k = row()
		}
		rows[k].parts = append(rows[k].parts, part{s, 0, s.Size, used[k]})
		used[k] += need + gap
	}
	return rows
}

// fitShelves finds the largest scale at which segments fit into n rows of w.
func fitShelves(segs []*tensor.MapSegment, w, gap vg.Length, n int) ([]shelf, float64) {
	total, longest := int64(0), int64(1)
	for _, s := range segs {
		total += s.Size
		longest = max(longest, s.Size)
	}
	row := max(float64(total)/float64(n), 1) // bytes
	if l := float64(longest); l > row && l < 3*row {
		row = l // a segment in one piece reads better
	}
	for {
		rows := shelves(segs, float64(w)/row, w, gap)
		if len(rows) <= n || row > 1e19 {
			return rows, float64(w) / row
		}
		row *= 1.04
	}
}

// segments draws the map between the corners, the large pool over the small one, each at a scale of its own.
//
//  1. Rows are shared out between the pools: the small pool's segments are all of 2 MiB, so it gets few.
//  2. Each pool's scale is the largest at which its segments fit into its rows.
//  3. Rows are as high as there is room for.
func (pic *picture) segments(m *segmentMap, x0, y0, x1, y1 vg.Length) {
	var pools [2][]*tensor.MapSegment
	for i := range m.segments {
		s := &m.segments[i]
		k := 0
		if s.Small {
			k = 1
		}
		pools[k] = append(pools[k], s)
	}
	w := x1 - x0
	if len(m.segments) == 0 {
		pic.note("PyTorch held no segment at this time", plotArea{x0: x0, y0: y0, x1: x1, y1: y1})
		return
	}
	head, label, space := pic.pt(24), pic.pt(11), pic.pt(4)
	avail := y1 - y0
	for _, p := range pools {
		if len(p) > 0 {
			avail -= head
		}
	}
	request := m.failure != nil && m.failure.Request > 0
	rows := max(int(avail/(label+space+pic.pt(15))), 2)
	if request {
		rows = max(rows-1, 2)
	}
	rows = min(rows, 24)
	small := 0
	if len(pools[1]) > 0 {
		small = min(max((len(pools[1])+11)/12, 1), max(rows/5, 1))
		if pools[1][0].Expandable {
			small = min(2, max(rows/5, 1))
		}
	}
	gaps := [2]vg.Length{pic.pt(3), pic.pt(3)}
	for k, want := range []int{max(rows-small, 1), small} {
		if n := len(pools[k]); n > 0 && w*vg.Length(want)/vg.Length(n) < pic.pt(6) {
			gaps[k] = 0 // borders would be all there is to see
		}
	}
	var laid [2][]shelf
	var perByte [2]float64
	n := 0
	for k, want := range []int{max(rows-small, 1), small} {
		if len(pools[k]) > 0 {
			laid[k], perByte[k] = fitShelves(pools[k], w, gaps[k], want)
			n += len(laid[k])
		}
	}
	if request {
		n++
	}
	bar := max(min(avail/vg.Length(n)-label-space, pic.pt(60)), pic.pt(2))

	y := y1
	thin := 0
	for k, name := range []string{"Large pool (requests over 1 MiB)", "Small pool (requests up to 1 MiB)"} {
		if len(pools[k]) == 0 {
			continue
		}
		size, free := int64(0), int64(0)
		for _, s := range pools[k] {
			size += s.Size
			for _, b := range s.Blocks {
				if b.State == tensor.BlockFree {
					free += b.Size
				}
			}
		}
		y -= pic.pt(13)
		title := style{size: normal, bold: true, color: ink}
		s := fmt.Sprintf("%s: %s, %s, %s free", name, counted(len(pools[k]), "segment"), wording.Bytes(size), wording.Bytes(free))
		if pools[k][0].Expandable {
			s += ", expandable"
		}
		s = pic.fit(s, title, w-pic.pt(150))
		pic.text(s, x0, y, title)
		pic.ruler(perByte[k], x0+pic.width(s, title)+pic.pt(16), x1, y+pic.pt(3))
		y -= pic.pt(6)
		for _, row := range laid[k] {
			y -= label
			if gaps[k] == 0 {
				pic.narrowRow(m, row, perByte[k], x0, y-bar, y)
				thin += len(row.parts)
			} else {
				for _, p := range row.parts {
					thin += pic.part(m, p, perByte[k], x0+p.x, y-bar, y)
				}
			}
			y -= bar + space
		}
		y -= head - pic.pt(19)
		if k == 0 && request {
			pic.requestBar(m.failure.Request, perByte[k], x0, x1, y, bar, label)
			y -= label + bar + space
		}
	}
	if thin > 0 {
		st := style{size: small9, color: faint, align: 1}
		pic.text(pic.fit(fmt.Sprintf("%s too narrow for borders; blocks that share a pixel share its height", counted(thin, "segment")), st, w), x1, y0-pic.pt(4), st)
	}
}

// small9 is the size of notes in a map.
const small9 = 8.5

// ruler draws a scale: a round number of bytes that is about 80 points long.
func (pic *picture) ruler(perByte float64, x0, x1, y vg.Length) {
	want := float64(pic.pt(80)) / perByte
	size := int64(1)
	for size < 1<<60 && float64(size)*1.5 < want {
		size <<= 1
	}
	l := vg.Length(float64(size) * perByte)
	st := style{size: small, color: faint}
	label := wording.Bytes(size)
	if x0+l+pic.width(label, st) > x1 {
		return
	}
	for _, x := range []vg.Length{x0, x0 + l} {
		pic.line(pic.pt(0.8), faint, nil, vg.Point{X: x, Y: y - pic.pt(3)}, vg.Point{X: x, Y: y + pic.pt(3)})
	}
	pic.line(pic.pt(0.8), faint, nil, vg.Point{X: x0, Y: y}, vg.Point{X: x0 + l, Y: y})
	pic.text(label, x0+l+pic.pt(5), y-pic.pt(3), st)
}

// requestBar draws the request that failed, to the scale of the pool that it belongs to.
func (pic *picture) requestBar(request int64, perByte float64, x0, x1, y, bar, label vg.Length) {
	y -= label
	l := vg.Length(float64(request) * perByte)
	s := "the request that failed, " + wording.Bytes(request) + ", at the same scale"
	if l > x1-x0 {
		s += fmt.Sprintf(": %.1f rows long, of which one is drawn", float64(l/(x1-x0)))
		l = x1 - x0
	}
	st := style{size: small, bold: true, color: failed}
	pic.text(pic.fit(s, st, x1-x0), x0, y+pic.pt(2.8), st)
	pic.fill(x0, y-bar, x0+l, y, mix(failed, white, 0.85))
	pic.outlineRect(x0, y-bar, x0+l, y, pic.pt(1.2), failed)
}

// A chunk is a block, or the part of it in a part of a segment, in bytes from the start of the row.
type chunk struct {
	piece
	block *tensor.MapBlock
}

// chunks appends the blocks of a part, from byte at of the row on.
func (pic *picture) chunks(to []chunk, p part, at int64) []chunk {
	for i := range p.seg.Blocks {
		b := &p.seg.Blocks[i]
		from := int64(b.Addr - p.seg.Addr)
		if from+b.Size > p.from && from < p.to {
			to = append(to, chunk{piece{pic.blockKey(b), at + max(from, p.from) - p.from, at + min(from+b.Size, p.to) - p.from}, b})
		}
	}
	return to
}

// blockKey is the layer of a block; after the layers come free, pending, and live ones of which nothing is known.
func (pic *picture) blockKey(b *tensor.MapBlock) int {
	src := pic.source
	switch {
	case b.State == tensor.BlockFree:
		return len(src.layers)
	case b.State == tensor.BlockPending:
		return len(src.layers) + 1
	case b.Block >= 0 && b.Block < len(src.keys):
		return int(src.keys[b.Block])
	}
	return len(src.layers) + 2
}

// blockColor is the ground of a key of blockKey.
func (pic *picture) blockColor(key int) color.RGBA {
	switch layers := pic.source.layers; {
	case key < len(layers):
		return layers[key].color
	case key == len(layers):
		return white
	case key == len(layers)+1:
		return pendingColor
	}
	return other
}

// paintBlocks fills size bytes of blocks by pixel column: blocks that share one share its height.
func (pic *picture) paintBlocks(list []chunk, size int64, x0, y0, x1, y1 vg.Length) {
	free := len(pic.source.layers)
	pieces := make([]piece, len(list))
	for i := range list {
		pieces[i] = list[i].piece
	}
	n := max(int((x1-x0)/pic.pixel), 1)
	dx := (x1 - x0) / vg.Length(n)
	whole := make([]int, n)
	for i, column := range shares(pieces, linear(0, size), n) {
		whole[i] = -1
		if len(column) == 1 {
			whole[i] = column[0].key
			continue
		}
		sort.Slice(column, func(a, b int) bool { return column[a].key < column[b].key })
		sum := 0.0
		for _, s := range column {
			sum += s.f
		}
		y, x := y0, x0+dx*vg.Length(i)
		for _, s := range column {
			c := pic.blockColor(s.key)
			if s.key == free { // too narrow for hatching
				c = cacheGap
			}
			h := (y1 - y0) * vg.Length(s.f/max(sum, 1e-9))
			pic.fill(x, y, x+dx, y+h, c)
			y += h
		}
	}
	runs(whole, x0, x1, func(key int, a, b vg.Length) {
		pic.fill(a, y0, b, y1, pic.blockColor(key))
		if key == free {
			pic.hatch(a, y0, b, y1, freeHatch)
		}
	})
}

// narrowRow draws a row of segments that are too narrow for borders as one.
func (pic *picture) narrowRow(m *segmentMap, row shelf, perByte float64, x0, y0, y1 vg.Length) {
	var list []chunk
	size := int64(0)
	mark := vg.Length(-1)
	for _, p := range row.parts {
		list = pic.chunks(list, p, size)
		if off := m.largest.Addr - p.seg.Addr; m.largest.Size > 0 && m.largest.Addr >= p.seg.Addr && off < uint64(p.seg.Size) {
			mark = x0 + vg.Length(float64(size+int64(off))*perByte)
		}
		size += p.to - p.from
	}
	x1 := x0 + vg.Length(float64(size)*perByte)
	pic.paintBlocks(list, size, x0, y0, x1, y1)
	pic.outlineRect(x0, y0, x1, y1, pic.pt(0.8), barColor)
	if mark >= 0 {
		pic.outlineRect(mark, y0, mark+max(vg.Length(float64(m.largest.Size)*perByte), pic.pt(1.5)), y1, pic.pt(1.8), largestColor)
	}
}

// part draws a part of a segment between y0 and y1 from x0 on; it returns 1 where it is too narrow for a border.
func (pic *picture) part(m *segmentMap, p part, perByte float64, x0, y0, y1 vg.Length) (thin int) {
	x1 := x0 + vg.Length(float64(p.to-p.from)*perByte)
	src := pic.source
	freeKey, pendingKey := len(src.layers), len(src.layers)+1

	// 1. Colours.
	list := pic.chunks(nil, p, 0)
	pic.paintBlocks(list, p.to-p.from, x0, y0, x1, y1)
	if x1-x0 < 3*pic.pixel {
		return 1
	}

	// 2. Borders and names of blocks that are wide enough.
	at := func(off int64) vg.Length { return x0 + vg.Length(float64(off)*perByte) } // off from the part's start
	for _, ch := range list {
		b, a, e := ch.block, at(ch.start), at(ch.end)
		if e-a < pic.pt(2.5) {
			continue
		}
		c := pic.blockColor(ch.key)
		edge := white
		if b.State == tensor.BlockFree {
			edge = frame
		}
		if p.from+ch.end < p.to {
			pic.line(pic.pt(0.6), edge, nil, vg.Point{X: e, Y: y0}, vg.Point{X: e, Y: y1})
		}
		if y1-y0 < pic.pt(9) {
			continue
		}
		name := "free"
		switch {
		case ch.key < freeKey:
			name = src.layers[ch.key].name
		case ch.key == pendingKey:
			name = "pending"
		}
		st := style{size: small9, color: readable(c), align: 0.5}
		room, mid := e-a-pic.pt(4), (a+e)/2
		for _, s := range []string{name + " " + wording.Bytes(b.Size), wording.Bytes(b.Size)} {
			if sw := pic.width(s, st); sw <= room {
				if b.State == tensor.BlockFree { // readable on the hatching
					pic.fill(mid-sw/2-pic.pt(1.5), (y0+y1)/2-pic.pt(5), mid+sw/2+pic.pt(1.5), (y0+y1)/2+pic.pt(5), white)
				}
				pic.text(s, mid, (y0+y1)/2-pic.pt(3), st)
				break
			}
		}
	}
	pic.outlineRect(x0, y0, x1, y1, pic.pt(0.8), barColor)
	if l := m.largest; l.Size > 0 && l.Addr >= p.seg.Addr && l.Addr < p.seg.Addr+uint64(p.seg.Size) {
		from := int64(l.Addr - p.seg.Addr)
		if from < p.to && from+l.Size > p.from {
			pic.outlineRect(max(at(from-p.from), x0), y0, min(at(from+l.Size-p.from), x1), y1, pic.pt(1.8), largestColor)
		}
	}

	// 3. The segment's own size and place.
	st := style{size: small9, color: faint}
	size := wording.Bytes(p.seg.Size)
	if p.from > 0 {
		size = "… from " + wording.Bytes(p.from) + " on"
		if pic.width(size, st) <= x1-x0 {
			pic.text(size, x0, y1+pic.pt(2.8), st)
		}
		return 0
	}
	stream := ""
	if m.streams > 1 {
		stream = fmt.Sprintf(", stream %#x", p.seg.Stream)
	}
	for _, s := range []string{fmt.Sprintf("%s at %#x%s", size, p.seg.Addr, stream), size + stream, size} {
		if pic.width(s, st) <= x1-x0 {
			pic.text(s, x0, y1+pic.pt(2.8), st)
			break
		}
	}
	return 0
}
