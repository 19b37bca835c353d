package plot

import (
	"fmt"
	"slices"

	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// mapEntries name the colours of the map.
func (m *segmentMap) mapEntries(s *stack) (out canvas.Entries) {
	for k, l := range s.layers {
		out.Add(m.layers[k], l.name, canvas.Swatch(l.color))
	}
	out.Add(m.pending > 0, "given back, a stream still uses it", canvas.Swatch(pendingColor))
	out.Add(m.free > 0, "free in the cache", func(c *canvas.Canvas, r canvas.Rect) {
		r.X0 += c.Pt(3)
		c.Hatch(freeHatch, r)
		c.Outline(canvas.Pen{Width: 0.4, Color: canvas.Faint}, r)
	})
	out.Add(m.free > 0, "largest free block", func(c *canvas.Canvas, r canvas.Rect) {
		r.X0 += c.Pt(3)
		c.Outline(canvas.Pen{Width: 1.4, Color: largestColor}, r)
	})
	return out
}

// A pool is the segments for large requests, or for small ones, laid out.
type pool struct {
	name    string
	segs    []*tensor.MapSegment
	rows    []shelf
	perByte float64       // points
	gap     canvas.Length // between segments; 0 where borders would be all there is to see
}

// Lengths of the map, in points of the layout.
const (
	poolHead   = 24 // of a pool's title
	poolTitle  = 13 // above its baseline
	poolBelow  = 6  // below its baseline
	partLabel  = 11 // above each row
	rowSpace   = 4  // below each row
	rowLeast   = 15
	rowMost    = 60
	segmentGap = 3
	segmentMin = 6 // a segment's width on average, below which segments have no borders
)

// Rows of the map.
const (
	mostRows   = 24
	smallEach  = 12 // of the small pool, all of whose segments are of 2 MiB, so many share a row
	smallShare = 5  // of all rows one part in so many is the small pool's at most
)

// draw draws the map in r, the large pool over the small one, each at a scale of its own.
//
//  1. Rows are shared out between the pools: the small pool's segments are all of 2 MiB, so it gets few.
//  2. Each pool's scale is the largest at which its segments fit into its rows.
//  3. Rows are as high as there is room for.
func (p *segmentsPanel) draw(c *canvas.Canvas, r canvas.Rect) {
	if len(p.segments) == 0 {
		c.Note("PyTorch held no segment at this time", r)
		return
	}
	pools := p.pools()
	avail := r.H() - c.Pt(poolHead)*canvas.Length(len(pools))
	request := p.failure != nil && p.failure.Request > 0
	rows := max(int(avail/c.Pt(partLabel+rowSpace+rowLeast)), 2)
	if request {
		rows = max(rows-1, 2)
	}
	layOut(c, pools, r.W(), min(rows, mostRows))
	n := 0
	for _, pl := range pools {
		n += len(pl.rows)
	}
	if request {
		n++
	}
	bar := max(min(avail/canvas.Length(n)-c.Pt(partLabel)-c.Pt(rowSpace), c.Pt(rowMost)), c.Pt(2))

	thin := 0
	for _, pl := range pools {
		thin += p.drawPool(c, pl, &r, bar)
		if pl.name == largePool && request {
			r.Y1 -= c.Pt(partLabel)
			p.requestBar(c, poolScale{r.X0, pl.perByte}, canvas.Rect{X0: r.X0, Y0: r.Y1 - bar, X1: r.X1, Y1: r.Y1})
			r.Y1 -= bar + c.Pt(rowSpace)
		}
	}
	if thin > 0 {
		st := canvas.Tiny.In(canvas.Faint).Right()
		note := counted(thin, "segment") + " too narrow for borders; blocks that share a pixel share its height"
		c.Text(c.Fit(note, st, r.W()), r.X1, r.Y0-c.Pt(4), st)
	}
}

const (
	largePool = "Large pool (requests over 1 MiB)"
	smallPool = "Small pool (requests up to 1 MiB)"
)

// pools are those that have segments, the large one first.
func (p *segmentsPanel) pools() []*pool {
	large, small := &pool{name: largePool}, &pool{name: smallPool}
	for i := range p.segments {
		s := &p.segments[i]
		pl := large
		if s.Small {
			pl = small
		}
		pl.segs = append(pl.segs, s)
	}
	return slices.DeleteFunc([]*pool{large, small}, func(pl *pool) bool { return len(pl.segs) == 0 })
}

// layOut shares so many rows of a width out between pools, and finds their scales.
func layOut(c *canvas.Canvas, pools []*pool, w canvas.Length, rows int) {
	small, most := 0, max(rows/smallShare, 1)
	if pl := pools[len(pools)-1]; pl.name == smallPool {
		small = min(max((len(pl.segs)+smallEach-1)/smallEach, 1), most)
		if pl.segs[0].Expandable {
			small = min(2, most)
		}
	}
	for _, pl := range pools {
		want := max(rows-small, 1)
		if pl.name == smallPool {
			want = small
		}
		pl.gap = c.Pt(segmentGap)
		if w*canvas.Length(want)/canvas.Length(len(pl.segs)) < c.Pt(segmentMin) {
			pl.gap = 0
		}
		pl.rows, pl.perByte = fitShelves(pl.segs, w, pl.gap, want)
	}
}

// drawPool draws a pool at the top of r, its rows as high as bar, and takes its height from r. It returns how many of its
// segments are too narrow for borders.
func (p *segmentsPanel) drawPool(c *canvas.Canvas, pl *pool, r *canvas.Rect, bar canvas.Length) (thin int) {
	size, free := int64(0), int64(0)
	for _, s := range pl.segs {
		size += s.Size
		for _, b := range s.Blocks {
			if b.State == tensor.BlockFree {
				free += b.Size
			}
		}
	}
	title := fmt.Sprintf("%s: %s, %s, %s free", pl.name, counted(len(pl.segs), "segment"), wording.Bytes(size), wording.Bytes(free))
	if pl.segs[0].Expandable {
		title += ", expandable"
	}
	r.Y1 -= c.Pt(poolTitle)
	title = c.Fit(title, canvas.Head, r.W()-c.Pt(150))
	c.Text(title, r.X0, r.Y1, canvas.Head)
	ruler(c, poolScale{r.X0 + c.Width(title, canvas.Head) + c.Pt(16), pl.perByte}, r.X1, r.Y1+c.Pt(3))
	r.Y1 -= c.Pt(poolBelow)
	for _, row := range pl.rows {
		r.Y1 -= c.Pt(partLabel)
		scale := poolScale{r.X0, pl.perByte}
		if pl.gap == 0 {
			p.narrowRow(c, row, scale, r.Y1-bar, r.Y1)
			thin += len(row.parts)
		} else {
			for _, pt := range row.parts {
				scale.x0 = r.X0 + pt.x
				thin += p.drawPart(c, pt, scale, r.Y1-bar, r.Y1)
			}
		}
		r.Y1 -= bar + c.Pt(rowSpace)
	}
	r.Y1 -= c.Pt(poolHead) - c.Pt(poolTitle+poolBelow)
	return thin
}

// ruler draws a scale from its start on: a round number of bytes that is about 80 points long. It is left out where it would
// end beyond x1.
func ruler(c *canvas.Canvas, s poolScale, x1, y canvas.Length) {
	const long, most = 80, 1 << 60 // points of the layout; bytes
	want := float64(c.Pt(long)) / s.perByte
	size := int64(1)
	for size < most && float64(size)*1.5 < want {
		size <<= 1
	}
	end, st, pen := s.xAt(size), canvas.Small.In(canvas.Faint), canvas.Pen{Width: 0.8, Color: canvas.Faint}
	label := wording.Bytes(size)
	if end+c.Width(label, st) > x1 {
		return
	}
	for _, x := range []canvas.Length{s.x0, end} {
		c.Vertical(pen, x, y-c.Pt(3), y+c.Pt(3))
	}
	c.Horizontal(pen, y, s.x0, end)
	c.Text(label, end+c.Pt(5), y-c.Pt(3), st)
}

// requestBar draws the request that failed in r, to the scale of the pool that it belongs to.
func (p *segmentsPanel) requestBar(c *canvas.Canvas, s poolScale, r canvas.Rect) {
	const white = 0.85 // of the bar's ground
	request := p.failure.Request
	label := "the request that failed, " + wording.Bytes(request) + ", at the same scale"
	box := r
	if box.X1 = s.xAt(request); box.X1 > r.X1 {
		label += fmt.Sprintf(": %.1f rows long, of which one is drawn", float64(box.W()/r.W()))
		box.X1 = r.X1
	}
	st := canvas.Strong.In(failed)
	c.Text(c.Fit(label, st, r.W()), r.X0, r.Y1+c.Pt(2.8), st)
	c.Fill(canvas.Mix(failed, canvas.White, white), box)
	c.Outline(canvas.Pen{Width: 1.2, Color: failed}, box)
}
