package canvas

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode"

	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"

	xfont "golang.org/x/image/font"
)

// builtin are the two faces that all text is drawn in, parsed once for all pictures.
var builtin = sync.OnceValue(func() [2]*opentype.Font {
	cache := font.NewCache(liberation.Collection())
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	bold := sans
	bold.Weight = xfont.WeightBold
	return [2]*opentype.Font{cache.Lookup(sans, 0).Face, cache.Lookup(bold, 0).Face}
})

// Fonts pick a face for each character: the built-in one where it has the character, else the one that the user named,
// else an installed one. They are used by one picture, from one goroutine.
type Fonts struct {
	faces     [2]*opentype.Font // regular, bold
	fallback  []*opentype.Font  // named by the user, or found
	installed *installed        // nil until a character is missing
	scan      bool              // whether to look for installed fonts
	chosen    map[rune]*opentype.Font
	missing   []rune
	buf       sfnt.Buffer
}

// NewFonts reads the font file that the user named, empty for none; with scan, characters that neither it nor the built-in
// font has are looked for among the installed fonts.
func NewFonts(file string, scan bool) (*Fonts, error) {
	f := &Fonts{faces: builtin(), scan: scan, chosen: map[rune]*opentype.Font{}}
	if file == "" {
		return f, nil
	}
	faces, err := readFontFile(file)
	if err != nil {
		return nil, fmt.Errorf("read font %q: %w: name a TrueType or OpenType file (.ttf, .otf, .ttc)", file, err)
	}
	f.fallback = faces
	return f, nil
}

// Missing are the characters that no font has, in order of appearance: boxes are drawn in their place.
func (f *Fonts) Missing() []rune { return f.missing }

// readFontFile reads every face of a font file. Files with one face are read as a collection of one.
func readFontFile(file string) ([]*opentype.Font, error) {
	data, err := readFont(file)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, err
	}
	collection, err := opentype.ParseCollection(data)
	if err != nil {
		return nil, err
	}
	var faces []*opentype.Font
	for i := range collection.NumFonts() {
		face, err := collection.Font(i)
		if err != nil {
			return nil, err
		}
		faces = append(faces, face)
	}
	return faces, nil
}

// maxFont is more than any font has, in bytes.
const maxFont = 256 << 20

// readFont reads a file that ends: of a device, or of what is no font at all, memory could run out.
func readFont(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > maxFont:
		return nil, errors.New("the file is too large for a font")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFont))
}

// face is the face that r is drawn in, nil where none has it. Built-in faces are returned as they are, so that the caller
// can tell text from outlines.
func (f *Fonts) face(r rune, bold int) *opentype.Font {
	if f.has(f.faces[bold], r) {
		return f.faces[bold]
	}
	face, ok := f.chosen[r]
	if !ok {
		face = f.find(r)
		f.chosen[r] = face
		if face == nil {
			f.missing = append(f.missing, r)
		}
	}
	return face
}

// find looks for r in the fallback faces, then among the installed fonts. A font that had one character is asked first for
// the next, so that a name comes out in one hand.
func (f *Fonts) find(r rune) *opentype.Font {
	for _, face := range f.fallback {
		if f.drawable(face, r) {
			return face
		}
	}
	if !f.scan {
		return nil
	}
	if f.installed == nil {
		f.installed = scanInstalled()
	}
	face := f.installed.find(r, func(face *opentype.Font) bool { return f.drawable(face, r) })
	if face != nil {
		f.fallback = append(f.fallback, face)
	}
	return face
}

// has says that a face knows r; glyph 0 is the box of what it does not know.
func (f *Fonts) has(face *opentype.Font, r rune) bool {
	i, err := face.GlyphIndex(&f.buf, r)
	return err == nil && i != 0
}

// drawable says that the face has r as an outline: colour fonts have pictures only.
func (f *Fonts) drawable(face *opentype.Font, r rune) bool {
	i, err := face.GlyphIndex(&f.buf, r)
	if err != nil || i == 0 {
		return false
	}
	segments, err := face.LoadGlyph(&f.buf, i, fixed.Int26_6(face.UnitsPerEm()), nil)
	return err == nil && (len(segments) > 0 || unicode.IsSpace(r))
}

// The box drawn for a character that no font has, in ems, and its pen, in points of the layout.
const (
	boxWidth  = 0.7
	boxHeight = 0.7
	boxSide   = 0.08 // left free on either side
	boxPen    = 0.7
)

// advance is how far r moves the pen, in ems.
func (f *Fonts) advance(r rune, bold int) float64 {
	face := f.face(r, bold)
	if face == nil {
		return boxWidth
	}
	upem := fixed.Int26_6(face.UnitsPerEm())
	i, err := face.GlyphIndex(&f.buf, r)
	if err != nil {
		return boxWidth
	}
	adv, err := face.GlyphAdvance(&f.buf, i, upem, xfont.HintingNone)
	if err != nil {
		return boxWidth
	}
	return float64(adv) / float64(upem)
}

// kern is how much nearer r stands to last than their widths say, in ems; 0 unless both are of the built-in face.
func (f *Fonts) kern(last, r rune, bold int) float64 {
	own := f.faces[bold]
	a, errA := own.GlyphIndex(&f.buf, last)
	b, errB := own.GlyphIndex(&f.buf, r)
	if last == 0 || errA != nil || errB != nil || a == 0 || b == 0 {
		return 0
	}
	upem := fixed.Int26_6(own.UnitsPerEm())
	k, err := own.Kern(&f.buf, a, b, upem, xfont.HintingNone)
	if err != nil {
		return 0
	}
	return float64(k) / float64(upem)
}

// width is the width of s at a font size.
func (f *Fonts) width(s string, size Length, bold int) Length {
	w, last := 0.0, rune(0)
	for _, r := range s {
		w += f.advance(r, bold) + f.kern(last, r, bold)
		last = r
	}
	return Length(w) * size
}

// outline is the shape of r with its origin at pt; nil for a space or an unreadable glyph.
func (f *Fonts) outline(face *opentype.Font, r rune, pt Point, size Length) vg.Path {
	upem := fixed.Int26_6(face.UnitsPerEm())
	i, err := face.GlyphIndex(&f.buf, r)
	if err != nil {
		return nil
	}
	segments, err := face.LoadGlyph(&f.buf, i, upem, nil)
	if err != nil {
		return nil
	}
	at := func(p fixed.Point26_6) Point { // font outlines grow downwards
		return Point{
			X: pt.X + size*Length(float64(p.X)/float64(upem)),
			Y: pt.Y - size*Length(float64(p.Y)/float64(upem)),
		}
	}
	var path vg.Path
	for n, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if n > 0 {
				path.Close()
			}
			path.Move(at(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(at(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(at(s.Args[0]), at(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(at(s.Args[0]), at(s.Args[1]), at(s.Args[2]))
		}
	}
	if len(path) > 0 {
		path.Close()
	}
	return path
}

// box is what is drawn for a character that no font has.
func box(pt Point, size Length) vg.Path {
	x0, x1 := pt.X+boxSide*size, pt.X+(boxWidth-boxSide)*size
	y0, y1 := pt.Y, pt.Y+boxHeight*size
	path := through([]Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
	path.Close()
	return path
}
