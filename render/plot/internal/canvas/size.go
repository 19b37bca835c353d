package canvas

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// A Size is the width and height of a picture.
type Size struct {
	W, H float64
	Unit string // "px", "cm" or "in"; empty for px
}

var sizeRE = regexp.MustCompile(`^\s*(\d+(?:\.\d+)?)\s*[xX×]\s*(\d+(?:\.\d+)?)\s*(px|cm|in)?\s*$`)

// ParseSize reads a size such as "1600x1000", "1600x1000px", "40x25cm" or "16x10in".
func ParseSize(s string) (Size, error) {
	m := sizeRE.FindStringSubmatch(s)
	if m == nil {
		return Size{}, fmt.Errorf("size %q: write width and height such as 1600x1000, 40x25cm or 16x10in", s)
	}
	w, errW := strconv.ParseFloat(m[1], 64)
	h, errH := strconv.ParseFloat(m[2], 64)
	if errW != nil || errH != nil || w <= 0 || h <= 0 {
		return Size{}, fmt.Errorf("size %q: width and height must be above 0", s)
	}
	return Size{W: w, H: h, Unit: m[3]}, nil
}

// Limits of a picture. Above, memory runs out before anybody could look at it; below, nothing can be told apart.
const (
	maxPixels = 150e6
	maxSide   = 30000 // pixels
	minSide   = 100   // pixels
	minDPI    = 10
	maxDPI    = 2400
)

// What is taken where the user says nothing.
const (
	usualW   = 1600 // pixels
	usualH   = 1000 // pixels
	usualDPI = 100
)

// What a layout needs at its usual text sizes, in points. Smaller pictures get smaller text.
const (
	needW = 700
	needH = 500
)

// A Sheet is what is drawn on: the size of a picture in all units.
type Sheet struct {
	Columns int // pixel columns over the whole width

	w, h  Length
	dpi   int
	unit  float64 // as Canvas.unit
	pixel Length
}

// NewSheet is a sheet of a size, the zero value of which is 1600 by 1000 pixels, at dpi pixels per inch; 0 for 100.
func NewSheet(size Size, dpi int) (Sheet, error) {
	if dpi == 0 {
		dpi = usualDPI
	}
	if size == (Size{}) {
		size = Size{W: usualW, H: usualH}
	}
	if dpi < minDPI || dpi > maxDPI {
		return Sheet{}, fmt.Errorf("%d dpi: use %d to %d", dpi, minDPI, maxDPI)
	}
	perUnit := 1.0
	switch size.Unit {
	case "", "px":
	case "cm":
		perUnit = float64(dpi) / 2.54
	case "in":
		perUnit = float64(dpi)
	default:
		return Sheet{}, fmt.Errorf("size in %q: use px, cm or in", size.Unit)
	}
	w, h := math.Round(size.W*perUnit), math.Round(size.H*perUnit)
	switch {
	case !(w >= minSide && h >= minSide): // also what is no number
		return Sheet{}, fmt.Errorf("size %gx%g px: use at least %dx%d", w, h, minSide, minSide)
	case w*h > maxPixels || w > maxSide || h > maxSide:
		return Sheet{}, fmt.Errorf("size %gx%g px: use at most %d px a side and %d million in all; "+
			"a lower --dpi makes fewer of the same size in cm", w, h, maxSide, int(maxPixels/1e6))
	}
	s := Sheet{Columns: int(w), w: Length(w) * vg.Inch / Length(dpi), h: Length(h) * vg.Inch / Length(dpi), dpi: dpi}
	s.pixel = s.w / Length(w)
	s.unit = min(1, float64(s.w)/needW, float64(s.h)/needH)
	return s, nil
}
