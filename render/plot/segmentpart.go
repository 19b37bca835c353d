package plot

import (
	"fmt"
	"image/color"

	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// Looks of what is no tensor.
var (
	freeHatch    = color.RGBA{0xB8, 0xBC, 0xC2, 0xFF}
	pendingColor = color.RGBA{0xEE, 0x88, 0x66, 0xFF}
	largestColor = color.RGBA{0xC8, 0x00, 0x1E, 0xFF}

	segmentPen = canvas.Pen{Width: 0.8, Color: barColor}
	largestPen = canvas.Pen{Width: 1.8, Color: largestColor}
)

// A segmentsPanel is the map as it is drawn.
type segmentsPanel struct {
	*segmentMap
	stack *stack
}

// A poolScale is where one row of a pool lies: 0 bytes at x0.
type poolScale struct {
	x0      canvas.Length
	perByte float64
}

// xAt is where a byte of the row lies.
func (s poolScale) xAt(bytes int64) canvas.Length {
	return s.x0 + canvas.Length(float64(bytes)*s.perByte)
}

// A chunk is a block, or the part of it in a part of a segment, in bytes from the start of the row.
type chunk struct {
	canvas.Piece
	block *tensor.MapBlock
}

// chunks appends the blocks of a part, from byte at of the row on.
func (p *segmentsPanel) chunks(to []chunk, pt part, at int64) []chunk {
	for i := range pt.seg.Blocks {
		b := &pt.seg.Blocks[i]
		from := int64(b.Addr - pt.seg.Addr)
		if from+b.Size > pt.from && from < pt.to {
			to = append(to, chunk{canvas.Piece{Key: p.keyOf(b), Start: at + max(from, pt.from) - pt.from,
				End: at + min(from+b.Size, pt.to) - pt.from}, b})
		}
	}
	return to
}

// keyOf is the layer of a block; after the layers come free, pending, and live ones of which nothing is known.
func (p *segmentsPanel) keyOf(b *tensor.MapBlock) int {
	switch k, ok := p.stack.layerOf(b.Block); {
	case b.State == tensor.BlockFree:
		return len(p.stack.layers)
	case b.State == tensor.BlockPending:
		return len(p.stack.layers) + 1
	case ok:
		return k
	}
	return len(p.stack.layers) + 2
}

// keyLook is the ground of a key, and the name of its blocks.
func (p *segmentsPanel) keyLook(key int) layer {
	switch layers := p.stack.layers; {
	case key < len(layers):
		return layers[key]
	case key == len(layers):
		return layer{"free", canvas.White}
	case key == len(layers)+1:
		return layer{"pending", pendingColor}
	}
	return layer{"free", other}
}

// paint fills size bytes of blocks by pixel column: blocks that share one share its height.
func (p *segmentsPanel) paint(c *canvas.Canvas, list []chunk, size int64, r canvas.Rect) {
	free := len(p.stack.layers)
	pieces := make([]canvas.Piece, len(list))
	for i := range list {
		pieces[i] = list[i].Piece
	}
	whole := func(key int, r canvas.Rect) {
		c.Fill(p.keyLook(key).color, r)
		if key == free {
			c.Hatch(freeHatch, r)
		}
	}
	shared := func(key int, r canvas.Rect) {
		look := p.keyLook(key).color
		if key == free { // too narrow for hatching
			look = cacheGap
		}
		c.Fill(look, r)
	}
	c.FillShares(pieces, canvas.Linear(0, size), r, whole, shared)
}

// narrowRow draws a row of segments that are too narrow for borders as one.
func (p *segmentsPanel) narrowRow(c *canvas.Canvas, row shelf, s poolScale, y0, y1 canvas.Length) {
	var list []chunk
	size, mark := int64(0), int64(-1)
	for _, pt := range row.parts {
		list = p.chunks(list, pt, size)
		if off, ok := pt.holds(&p.largest); ok {
			mark = size + off
		}
		size += pt.to - pt.from
	}
	r := canvas.Rect{X0: s.x0, Y0: y0, X1: s.xAt(size), Y1: y1}
	p.paint(c, list, size, r)
	c.Outline(segmentPen, r)
	if mark >= 0 {
		r.X0 = s.xAt(mark)
		r.X1 = r.X0 + max(canvas.Length(float64(p.largest.Size)*s.perByte), c.Pt(1.5))
		c.Outline(largestPen, r)
	}
}

// thinnestPart is the width of a part, in pixels, below which it has no border.
const thinnestPart = 3

// drawPart draws a part of a segment between y0 and y1 from the start of its scale on; it returns 1 where it is too narrow for
// a border.
//
//  1. The colours of its blocks.
//  2. Borders and names of blocks that are wide enough, and the mark of the largest free block.
//  3. The segment's own size and place.
func (p *segmentsPanel) drawPart(c *canvas.Canvas, pt part, s poolScale, y0, y1 canvas.Length) (thin int) {
	r := canvas.Rect{X0: s.x0, Y0: y0, X1: s.xAt(pt.to - pt.from), Y1: y1}
	list := p.chunks(nil, pt, 0)
	p.paint(c, list, pt.to-pt.from, r)
	if r.W() < thinnestPart*c.Pixel {
		return 1
	}
	for _, ch := range list {
		p.drawBlock(c, ch, canvas.Rect{X0: s.xAt(ch.Start), Y0: y0, X1: s.xAt(ch.End), Y1: y1}, pt.from+ch.End < pt.to)
	}
	c.Outline(segmentPen, r)
	if off, ok := pt.holds(&p.largest); ok && off < pt.to && off+p.largest.Size > pt.from {
		c.Outline(largestPen, canvas.Rect{X0: max(s.xAt(off-pt.from), r.X0), Y0: y0, X1: min(s.xAt(off+p.largest.Size-pt.from), r.X1), Y1: y1})
	}
	p.partLabel(c, pt, r)
	return 0
}

// Of the blocks of a segment, in points of the layout.
const (
	narrowBlock = 2.5 // no border
	lowBlock    = 9   // no name
)

// drawBlock draws the border of a block towards the next, if there is one, and its name and size where they fit.
func (p *segmentsPanel) drawBlock(c *canvas.Canvas, ch chunk, r canvas.Rect, next bool) {
	if r.W() < c.Pt(narrowBlock) {
		return
	}
	free := ch.block.State == tensor.BlockFree
	if next {
		edge := canvas.White
		if free {
			edge = canvas.Edge
		}
		c.Vertical(canvas.Pen{Width: 0.6, Color: edge}, r.X1, r.Y0, r.Y1)
	}
	if r.H() < c.Pt(lowBlock) {
		return
	}
	look, size := p.keyLook(ch.Key), wording.Bytes(ch.block.Size)
	st, mid := canvas.Tiny.In(canvas.Readable(look.color)).Centred(), r.Mid()
	for _, s := range []string{look.name + " " + size, size} {
		w := c.Width(s, st)
		if w > r.W()-c.Pt(4) {
			continue
		}
		if free { // readable on the hatching
			c.Fill(canvas.White, canvas.Rect{X0: mid.X - w/2 - c.Pt(1.5), Y0: mid.Y - c.Pt(5), X1: mid.X + w/2 + c.Pt(1.5), Y1: mid.Y + c.Pt(5)})
		}
		c.Text(s, mid.X, mid.Y-c.Pt(3), st)
		return
	}
}

// partLabel says over a part how large its segment is and where it lies, as far as that fits.
func (p *segmentsPanel) partLabel(c *canvas.Canvas, pt part, r canvas.Rect) {
	st, size, stream := canvas.Tiny.In(canvas.Faint), wording.Bytes(pt.seg.Size), ""
	if p.streams > 1 {
		stream = fmt.Sprintf(", stream %#x", pt.seg.Stream)
	}
	labels := []string{fmt.Sprintf("%s at %#x%s", size, pt.seg.Addr, stream), size + stream, size}
	if pt.from > 0 {
		labels = []string{"… from " + wording.Bytes(pt.from) + " on"}
	}
	for _, s := range labels {
		if c.Width(s, st) <= r.W() {
			c.Text(s, r.X0, r.Y1+c.Pt(2.8), st)
			return
		}
	}
}
