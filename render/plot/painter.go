package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"

	pdf "codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	xfont "golang.org/x/image/font"
)

// Text sizes in points before scaling.
const (
	small  = 9.5
	normal = 10.5
	large  = 13
)

// A painter draws on one canvas. Lengths are points, y grows upwards.
type painter struct {
	c      vg.Canvas
	w, h   vg.Length
	unit   float64   // what a point of the layout is in points: below 1 where the picture is too small for the layout
	pixel  vg.Length // width of a pixel; of vector formats, of the column that keeps one low and one high
	format string
	fonts  *fonts
}

// newPainter makes the canvas of a format: "png", "svg" or "pdf".
func newPainter(format string, l layout, f *fonts) (*painter, error) {
	p := &painter{w: l.w, h: l.h, unit: l.unit, pixel: l.pixel, format: format, fonts: f}
	switch format {
	case "png":
		p.c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(l.w, l.h), vgimg.UseDPI(l.dpi))}
	case "svg":
		p.c = vgsvg.New(l.w, l.h)
	case "pdf":
		fixPDF()
		p.c = vgpdf.New(l.w, l.h)
	default:
		return nil, fmt.Errorf("plot: unknown format %q: use png, svg or pdf", format)
	}
	p.fill(0, 0, l.w, l.h, white)
	return p, nil
}

// fixPDF makes PDF files depend on what is drawn alone: the library stamps them with the time and writes its maps in
// random order unless told otherwise.
var fixPDF = sync.OnceFunc(func() {
	pdf.SetDefaultCatalogSort(true)
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	pdf.SetDefaultCreationDate(epoch)
	pdf.SetDefaultModificationDate(epoch)
})

// bytes is the finished picture.
func (p *painter) bytes() ([]byte, error) {
	var buf bytes.Buffer
	if _, err := p.c.(io.WriterTo).WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("plot: encode %s: %w", p.format, err)
	}
	out := buf.Bytes()
	if p.format == "svg" {
		// Machines without Liberation have a font of the same metrics under another name. Text from the report cannot
		// look like this: its quotes are escaped.
		out = bytes.ReplaceAll(out, []byte(`style="font-family:Liberation Sans;`),
			[]byte(`style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`))
	}
	return out, nil
}

// pt is v points of the layout.
func (p *painter) pt(v float64) vg.Length { return vg.Length(v * p.unit) }

func (p *painter) fill(x0, y0, x1, y1 vg.Length, c color.Color) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	p.c.SetColor(c)
	p.c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

func (p *painter) polygon(c color.Color, pts []vg.Point) {
	if len(pts) < 3 {
		return
	}
	var path vg.Path
	path.Move(pts[0])
	for _, pt := range pts[1:] {
		path.Line(pt)
	}
	path.Close()
	p.c.SetColor(c)
	p.c.Fill(path)
}

func (p *painter) outlineRect(x0, y0, x1, y1, width vg.Length, c color.Color) {
	p.line(width, c, nil, vg.Point{X: x0, Y: y0}, vg.Point{X: x1, Y: y0}, vg.Point{X: x1, Y: y1}, vg.Point{X: x0, Y: y1}, vg.Point{X: x0, Y: y0})
}

func (p *painter) line(width vg.Length, c color.Color, dashes []float64, pts ...vg.Point) {
	if len(pts) < 2 {
		return
	}
	var path vg.Path
	path.Move(pts[0])
	for _, pt := range pts[1:] {
		path.Line(pt)
	}
	p.stroke(path, width, c, dashes)
}

func (p *painter) stroke(path vg.Path, width vg.Length, c color.Color, dashes []float64) {
	p.c.SetColor(c)
	p.c.SetLineWidth(width)
	ds := make([]vg.Length, len(dashes))
	for i, d := range dashes {
		ds[i] = p.pt(d)
	}
	p.c.SetLineDash(ds, 0)
	p.c.Stroke(path)
}

// hatch draws diagonal lines in a rectangle, clipped by hand since canvases cannot clip.
func (p *painter) hatch(x0, y0, x1, y1 vg.Length, c color.Color) {
	step := p.pt(3.5)
	h := y1 - y0
	if x1 <= x0 || h <= 0 {
		return
	}
	// The lines hang on the canvas, not on the rectangle, so that neighbours join.
	var path vg.Path
	for k := math.Floor(float64((x0 - y1) / step)); ; k++ {
		off := vg.Length(k) * step // the line x = y + off
		xa, xb := max(x0, y0+off), min(x1, y1+off)
		if y0+off > x1 {
			break
		}
		if xb > xa {
			path.Move(vg.Point{X: xa, Y: xa - off})
			path.Line(vg.Point{X: xb, Y: xb - off})
			if len(path) >= 64 { // the rasterizer's time grows with the square of what one path crosses
				p.stroke(path, p.pt(0.7), c, nil)
				path = nil
			}
		}
	}
	if len(path) > 0 {
		p.stroke(path, p.pt(0.7), c, nil)
	}
}

// cross draws an x around pt.
func (p *painter) cross(pt vg.Point, r vg.Length, width vg.Length, c color.Color) {
	p.line(width, c, nil, vg.Point{X: pt.X - r, Y: pt.Y - r}, vg.Point{X: pt.X + r, Y: pt.Y + r})
	p.line(width, c, nil, vg.Point{X: pt.X - r, Y: pt.Y + r}, vg.Point{X: pt.X + r, Y: pt.Y - r})
}

func (p *painter) disc(pt vg.Point, r vg.Length, c color.Color) {
	const k = 0.5523 // Bézier handles of a quarter circle; arcs come out differently on the three canvases
	var path vg.Path
	at := func(x, y float64) vg.Point {
		return vg.Point{X: pt.X + r*vg.Length(x), Y: pt.Y + r*vg.Length(y)}
	}
	path.Move(at(1, 0))
	path.CubeTo(at(1, k), at(k, 1), at(0, 1))
	path.CubeTo(at(-k, 1), at(-1, k), at(-1, 0))
	path.CubeTo(at(-1, -k), at(-k, -1), at(0, -1))
	path.CubeTo(at(k, -1), at(1, -k), at(1, 0))
	path.Close()
	p.c.SetColor(c)
	p.c.Fill(path)
}

// A style says how a text looks.
type style struct {
	size  float64 // points of the layout
	bold  bool
	color color.Color
	align float64 // 0 starts at the point, 0.5 is centred on it, 1 ends at it
}

func (s style) face() int {
	if s.bold {
		return 1
	}
	return 0
}

func (p *painter) width(s string, st style) vg.Length {
	return p.fonts.width(s, p.pt(st.size), st.face())
}

// text draws s with its baseline at (x, y).
//
// In SVG and PDF, characters of the built-in font stay text, which can be searched for, as far as the canvas can write
// them: PDF's knows the regular face and ASCII. All others are outlines: the reader's machine may not have the font. In
// PNG all are, since that canvas kerns by whole pixels, which tears figures and words apart.
func (p *painter) text(s string, x, y vg.Length, st style) {
	size, bold := p.pt(st.size), st.face()
	x -= vg.Length(st.align) * p.width(s, st)
	p.c.SetColor(st.color)

	own := p.fonts.faces[bold]
	plain := func(r rune) bool {
		if p.format == "png" || p.format == "pdf" && (r >= 0x7F || st.bold) {
			return false
		}
		return p.fonts.face(r, bold) == own
	}
	runes := []rune(s)
	last := rune(0)
	var outlines vg.Path
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && plain(runes[j]) {
			j++
		}
		if j > i {
			run := string(runes[i:j])
			if strings.TrimSpace(run) != "" {
				p.c.FillString(p.face(own, st.bold, size), vg.Point{X: x, Y: y}, run)
			}
			x += p.fonts.width(run, size, bold)
			i, last = j, 0
			continue
		}
		r := runes[i]
		x += vg.Length(p.fonts.kern(last, r, bold)) * size
		pt := vg.Point{X: x, Y: y}
		if face := p.fonts.face(r, bold); face == nil {
			p.stroke(box(pt, size), p.pt(0.7), st.color, nil)
		} else {
			outlines = append(outlines, p.fonts.outline(face, r, pt, size)...)
		}
		x += vg.Length(p.fonts.advance(r, bold)) * size
		last = r
		i++
	}
	if len(outlines) > 0 { // at once: a fill costs more than a glyph
		p.c.SetColor(st.color)
		p.c.Fill(outlines)
	}
}

// face wraps a built-in face for the canvas.
func (p *painter) face(f *opentype.Font, bold bool, size vg.Length) font.Face {
	d := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		d.Weight = xfont.WeightBold
	}
	return font.Face{Font: d, Face: f}
}

// fit cuts s so that it is at most w wide; empty where not even two characters and the dots fit.
func (p *painter) fit(s string, st style, w vg.Length) string {
	if len(s) < 400 && p.width(s, st) <= w {
		return s
	}
	size, bold := p.pt(st.size), st.face()
	room := w - p.fonts.width("…", size, bold)
	n, at := 0, vg.Length(0)
	for i, r := range s {
		adv := vg.Length(p.fonts.advance(r, bold)) * size
		if at+adv > room {
			if n < 2 {
				return ""
			}
			return strings.TrimRight(s[:i], " ") + "…"
		}
		at += adv
		n++
	}
	return s
}

// wrapAll breaks paragraphs into at most room lines, a third more where nothing is lost then. Where that is not enough,
// the longest lose their ends, and the last are left out only where there is no line for each.
func (p *painter) wrapAll(paragraphs []string, st style, w vg.Length, room int) []string {
	most := make([]int, len(paragraphs))
	sum := 0
	for i, s := range paragraphs {
		most[i] = len(p.wrap(s, st, w, 9))
		sum += most[i]
	}
	if sum > room && sum <= room+(room+2)/3 {
		room = sum
	}
	for sum > room {
		longest := 0
		for i, n := range most {
			if n >= most[longest] {
				longest = i
			}
		}
		most[longest]--
		sum--
	}
	var lines []string
	for i, s := range paragraphs {
		if most[i] > 0 {
			lines = append(lines, p.wrap(s, st, w, most[i])...)
		}
	}
	return lines
}

// unit matches what is not to be parted from the number before it.
var unit = regexp.MustCompile(`^(%|B|[KMGTPE]iB|s|ms|µs|ns)[).,;:]*$`)

// wordsOf splits s into what stays on one line.
func wordsOf(s string) []string {
	var words []string
	for _, f := range strings.Fields(s) {
		if n := len(words); n > 0 && unit.MatchString(f) {
			words[n-1] += " " + f
			continue
		}
		words = append(words, f)
	}
	return words
}

// wrap breaks s into at most n lines no wider than w, between words where it can; what is left over is cut with "…".
func (p *painter) wrap(s string, st style, w vg.Length, n int) []string {
	var lines []string
	words := wordsOf(s)
	line := ""
	for i := 0; i < len(words); i++ {
		next := words[i]
		if line != "" {
			next = line + " " + words[i]
		}
		if p.width(next, st) <= w {
			line = next
			continue
		}
		if len(lines) == n-1 { // the last line takes what it can of the rest
			rest := strings.Join(words[i:], " ")
			if line != "" {
				rest = line + " " + rest
			}
			return append(lines, p.fit(rest, st, w))
		}
		if line == "" { // a word wider than the picture
			line = p.fit(words[i], st, w)
			continue
		}
		lines = append(lines, line)
		line = ""
		i--
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
