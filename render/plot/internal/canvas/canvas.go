// Package canvas draws: areas, lines, texts, legends, axes, lanes and tables, as PNG, SVG or PDF. It knows nothing of what
// the pictures are of.
package canvas

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"sync"
	"time"

	pdf "codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Length is in points; y grows upwards.
type Length = vg.Length

// A Point is a place on a canvas.
type Point = vg.Point

// A Rect is a rectangle from its lower left to its upper right corner.
type Rect struct{ X0, Y0, X1, Y1 Length }

// W is the width of r.
func (r Rect) W() Length { return r.X1 - r.X0 }

// H is the height of r.
func (r Rect) H() Length { return r.Y1 - r.Y0 }

// Mid is the middle of r.
func (r Rect) Mid() Point { return Point{X: (r.X0 + r.X1) / 2, Y: (r.Y0 + r.Y1) / 2} }

// Column is where the i-th of n equal columns of r begins; half columns are in the middle of one.
func (r Rect) Column(i float64, n int) Length { return r.X0 + r.W()/Length(n)*Length(i) }

// A Pen is how a line looks. Lines are told apart by dashes too, for those who see no colour at all.
type Pen struct {
	Width  float64 // points of the layout
	Color  color.RGBA
	Dashes []float64 // points of the layout, drawn and left out by turns; nil for a full line
}

// Wide is p with a width.
func (p Pen) Wide(width float64) Pen {
	p.Width = width
	return p
}

// A Canvas is a picture that is being drawn, from one goroutine.
type Canvas struct {
	W, H    Length
	Pixel   Length // width of a pixel; of vector formats, of the column that keeps one low and one high
	Columns int    // pixel columns over the whole width

	out    vg.Canvas
	unit   float64 // what a point of the layout is in points: below 1 where the picture is too small for the layout
	format string
	fonts  *Fonts
}

// New makes a white canvas of a format: "png", "svg" or "pdf".
func New(format string, s Sheet, f *Fonts) (*Canvas, error) {
	c := &Canvas{W: s.w, H: s.h, Pixel: s.pixel, Columns: s.Columns, unit: s.unit, format: format, fonts: f}
	switch format {
	case "png":
		c.out = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(s.w, s.h), vgimg.UseDPI(s.dpi))}
	case "svg":
		c.out = vgsvg.New(s.w, s.h)
	case "pdf":
		fixPDF()
		c.out = vgpdf.New(s.w, s.h)
	default:
		return nil, fmt.Errorf("unknown format %q: use png, svg or pdf", format)
	}
	c.Fill(White, Rect{0, 0, s.w, s.h})
	return c, nil
}

// fixPDF makes PDF files depend on what is drawn alone: the library stamps them with the time and writes its maps in
// random order unless told otherwise.
var fixPDF = sync.OnceFunc(func() {
	pdf.SetDefaultCatalogSort(true)
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	pdf.SetDefaultCreationDate(epoch)
	pdf.SetDefaultModificationDate(epoch)
})

// Bytes is the finished picture.
func (c *Canvas) Bytes() ([]byte, error) {
	var buf bytes.Buffer
	if _, err := c.out.(io.WriterTo).WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.format, err)
	}
	out := buf.Bytes()
	if c.format == "svg" {
		// Machines without Liberation have a font of the same metrics under another name. Text from the report cannot
		// look like this: its quotes are escaped.
		out = bytes.ReplaceAll(out, []byte(`style="font-family:Liberation Sans;`),
			[]byte(`style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`))
	}
	return out, nil
}

// Pt is v points of the layout.
func (c *Canvas) Pt(v float64) Length { return Length(v * c.unit) }

// Points is a length in points of the layout.
func (c *Canvas) Points(l Length) float64 { return float64(l) / c.unit }

// Across is how many pixel columns a width has; at least 1.
func (c *Canvas) Across(w Length) int { return max(int(w/c.Pixel), 1) }

// Fill fills a rectangle; nothing where it is empty.
func (c *Canvas) Fill(col color.Color, r Rect) {
	if r.X1 <= r.X0 || r.Y1 <= r.Y0 {
		return
	}
	c.out.SetColor(col)
	c.out.Fill(vg.Rectangle{Min: Point{X: r.X0, Y: r.Y0}, Max: Point{X: r.X1, Y: r.Y1}}.Path())
}

// Polygon fills what points surround.
func (c *Canvas) Polygon(col color.Color, pts []Point) {
	if len(pts) < 3 {
		return
	}
	path := through(pts)
	path.Close()
	c.out.SetColor(col)
	c.out.Fill(path)
}

// through is the path from point to point.
func through(pts []Point) vg.Path {
	var path vg.Path
	path.Move(pts[0])
	for _, pt := range pts[1:] {
		path.Line(pt)
	}
	return path
}

// Line draws from point to point.
func (c *Canvas) Line(p Pen, pts ...Point) {
	if len(pts) > 1 {
		c.stroke(p, through(pts))
	}
}

// Horizontal draws a line at y from x0 to x1.
func (c *Canvas) Horizontal(p Pen, y, x0, x1 Length) {
	c.Line(p, Point{X: x0, Y: y}, Point{X: x1, Y: y})
}

// Vertical draws a line at x from y0 to y1.
func (c *Canvas) Vertical(p Pen, x, y0, y1 Length) { c.Line(p, Point{X: x, Y: y0}, Point{X: x, Y: y1}) }

// Outline draws the border of a rectangle.
func (c *Canvas) Outline(p Pen, r Rect) {
	c.Line(p, Point{X: r.X0, Y: r.Y0}, Point{X: r.X1, Y: r.Y0}, Point{X: r.X1, Y: r.Y1}, Point{X: r.X0, Y: r.Y1},
		Point{X: r.X0, Y: r.Y0})
}

// stroke draws a path with a pen. Dashes shrink with the layout, as all lengths do.
func (c *Canvas) stroke(p Pen, path vg.Path) {
	c.out.SetColor(p.Color)
	c.out.SetLineWidth(c.Pt(p.Width))
	dashes := make([]Length, len(p.Dashes))
	for i, d := range p.Dashes {
		dashes[i] = c.Pt(d)
	}
	c.out.SetLineDash(dashes, 0)
	c.out.Stroke(path)
}

// Of a hatching: between its lines, their width, and how many lines are drawn as one path. The rasterizer's time grows
// with the square of what one path crosses.
const (
	hatchStep  = 3.5
	hatchWidth = 0.7
	hatchMost  = 64
)

// Hatch draws diagonal lines in a rectangle, clipped by hand since canvases cannot clip. The lines hang on the canvas, not
// on the rectangle, so that neighbours join.
func (c *Canvas) Hatch(col color.RGBA, r Rect) {
	if r.X1 <= r.X0 || r.Y1 <= r.Y0 {
		return
	}
	step, pen := c.Pt(hatchStep), Pen{Width: hatchWidth, Color: col}
	var path vg.Path
	for k := math.Floor(float64((r.X0 - r.Y1) / step)); ; k++ {
		off := Length(k) * step // the line x = y + off
		if r.Y0+off > r.X1 {
			break
		}
		if xa, xb := max(r.X0, r.Y0+off), min(r.X1, r.Y1+off); xb > xa {
			path.Move(Point{X: xa, Y: xa - off})
			path.Line(Point{X: xb, Y: xb - off})
			if len(path) >= hatchMost {
				c.stroke(pen, path)
				path = nil
			}
		}
	}
	if len(path) > 0 {
		c.stroke(pen, path)
	}
}

// Cross draws an x around pt.
func (c *Canvas) Cross(p Pen, pt Point, r Length) {
	c.Line(p, Point{X: pt.X - r, Y: pt.Y - r}, Point{X: pt.X + r, Y: pt.Y + r})
	c.Line(p, Point{X: pt.X - r, Y: pt.Y + r}, Point{X: pt.X + r, Y: pt.Y - r})
}

// Disc fills a circle around pt.
func (c *Canvas) Disc(col color.Color, pt Point, r Length) {
	const k = 0.5523 // Bézier handles of a quarter circle; arcs come out differently on the three canvases
	var path vg.Path
	at := func(x, y float64) Point { return Point{X: pt.X + r*Length(x), Y: pt.Y + r*Length(y)} }
	path.Move(at(1, 0))
	path.CubeTo(at(1, k), at(k, 1), at(0, 1))
	path.CubeTo(at(-k, 1), at(-1, k), at(-1, 0))
	path.CubeTo(at(-1, -k), at(-k, -1), at(0, -1))
	path.CubeTo(at(k, -1), at(1, -k), at(1, 0))
	path.Close()
	c.out.SetColor(col)
	c.out.Fill(path)
}
