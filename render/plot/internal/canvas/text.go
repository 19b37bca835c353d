package canvas

import (
	"image/color"
	"math"
	"regexp"
	"strings"

	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	xfont "golang.org/x/image/font"
)

// A Style says how a text looks.
type Style struct {
	Size  float64 // points of the layout
	bold  bool
	Color color.RGBA
	align float64 // 0 starts at the point, 0.5 is centred on it, 1 ends at it
}

// The styles of all pictures.
var (
	Title  = Style{Size: 13, bold: true, Color: Ink}
	Head   = Style{Size: 10.5, bold: true, Color: Ink}
	Normal = Style{Size: 10.5, Color: Ink}
	Small  = Style{Size: 9.5, Color: Ink}
	Strong = Style{Size: 9.5, bold: true, Color: Ink}
	Tiny   = Style{Size: 8.5, Color: Ink}
)

// In is s in a colour.
func (s Style) In(c color.RGBA) Style {
	s.Color = c
	return s
}

// Centred is s in the middle of its point.
func (s Style) Centred() Style {
	s.align = 0.5
	return s
}

// Right is s that ends at its point.
func (s Style) Right() Style {
	s.align = 1
	return s
}

// face is the place of a style's face among the built-in ones.
func (s Style) face() int {
	if s.bold {
		return 1
	}
	return 0
}

// Width is the width of s in a style.
func (c *Canvas) Width(s string, st Style) Length { return c.fonts.width(s, c.Pt(st.Size), st.face()) }

// Text draws s with its baseline at (x, y).
//
// In SVG and PDF, characters of the built-in font stay text, which can be searched for, as far as the canvas can write
// them: PDF's knows the regular face and ASCII. All others are outlines: the reader's machine may not have the font. In
// PNG all are, since that canvas kerns by whole pixels, which tears figures and words apart.
//
//  1. Runs of plain characters go to the canvas as text.
//  2. Each other character adds its outline, or a box where no font has it.
//  3. All outlines are filled at once: a fill costs more than a glyph.
func (c *Canvas) Text(s string, x, y Length, st Style) {
	size, bold := c.Pt(st.Size), st.face()
	x -= Length(st.align) * c.Width(s, st)
	c.out.SetColor(st.Color)

	own := c.fonts.faces[bold]
	plain := func(r rune) bool {
		if c.format == "png" || c.format == "pdf" && (r >= 0x7F || st.bold) {
			return false
		}
		return c.fonts.face(r, bold) == own
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
				temporary.while(func() { c.out.FillString(wrapped(own, st.bold, size), Point{X: x, Y: y}, run) })
			}
			x += c.fonts.width(run, size, bold)
			i, last = j, 0
			continue
		}
		r := runes[i]
		x += Length(c.fonts.kern(last, r, bold)) * size
		pt := Point{X: x, Y: y}
		if face := c.fonts.face(r, bold); face == nil {
			c.stroke(Pen{Width: boxPen, Color: st.Color}, box(pt, size))
		} else {
			outlines = append(outlines, c.fonts.outline(face, r, pt, size)...)
		}
		x += Length(c.fonts.advance(r, bold)) * size
		last = r
		i++
	}
	if len(outlines) > 0 {
		c.out.SetColor(st.Color)
		c.out.Fill(outlines)
	}
}

// Turned draws s upwards, centred on (x, y).
func (c *Canvas) Turned(s string, x, y Length, st Style) {
	c.out.Push()
	c.out.Translate(Point{X: x, Y: y})
	c.out.Rotate(math.Pi / 2)
	c.Text(s, 0, 0, st.Centred())
	c.out.Pop()
}

// wrapped is a built-in face as the canvas wants it.
func wrapped(f *opentype.Font, bold bool, size Length) font.Face {
	d := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		d.Weight = xfont.WeightBold
	}
	return font.Face{Font: d, Face: f}
}

// measured is the length in bytes up to which a text is measured as a whole before it is cut.
const measured = 400

// Fit cuts s so that it is at most w wide; empty where not even two characters and the dots fit.
func (c *Canvas) Fit(s string, st Style, w Length) string {
	if len(s) < measured && c.Width(s, st) <= w {
		return s
	}
	size, bold := c.Pt(st.Size), st.face()
	room := w - c.fonts.width("…", size, bold)
	n, at := 0, Length(0)
	for i, r := range s {
		at += Length(c.fonts.advance(r, bold)) * size
		if at > room {
			if n < 2 {
				return ""
			}
			return strings.TrimRight(s[:i], " ") + "…"
		}
		n++
	}
	return s
}

// WrapAll breaks paragraphs into at most room lines, a third more where nothing is lost then. Where that is not enough,
// the longest lose their ends, and the last are left out only where there is no line for each.
func (c *Canvas) WrapAll(paragraphs []string, st Style, w Length, room int) []string {
	const longest = 9 // lines of one paragraph
	most := make([]int, len(paragraphs))
	sum := 0
	for i, s := range paragraphs {
		most[i] = len(c.Wrap(s, st, w, longest))
		sum += most[i]
	}
	if sum > room && sum <= room+(room+2)/3 {
		room = sum
	}
	for ; sum > room; sum-- {
		longest := 0
		for i, n := range most {
			if n >= most[longest] {
				longest = i
			}
		}
		most[longest]--
	}
	var lines []string
	for i, s := range paragraphs {
		if most[i] > 0 {
			lines = append(lines, c.Wrap(s, st, w, most[i])...)
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

// Wrap breaks s into at most n lines no wider than w, between words where it can; what is left over is cut with "…".
func (c *Canvas) Wrap(s string, st Style, w Length, n int) []string {
	var lines []string
	words := wordsOf(s)
	line := ""
	for i := 0; i < len(words); i++ {
		next := strings.TrimPrefix(line+" "+words[i], " ")
		if c.Width(next, st) <= w {
			line = next
			continue
		}
		if len(lines) == n-1 { // the last line takes what it can of the rest
			return append(lines, c.Fit(strings.TrimPrefix(line+" "+strings.Join(words[i:], " "), " "), st, w))
		}
		if line == "" { // a word wider than the picture
			line = c.Fit(words[i], st, w)
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
