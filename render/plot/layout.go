package plot

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
		return Size{}, fmt.Errorf("plot: size %q: write width and height such as 1600x1000, 40x25cm or 16x10in", s)
	}
	w, errW := strconv.ParseFloat(m[1], 64)
	h, errH := strconv.ParseFloat(m[2], 64)
	size := Size{W: w, H: h, Unit: m[3]}
	if errW != nil || errH != nil || w <= 0 || h <= 0 {
		return Size{}, fmt.Errorf("plot: size %q: width and height must be above 0", s)
	}
	return size, nil
}

// Limits of a picture. Above, memory runs out before anybody could look at it; below, nothing can be told apart.
const (
	maxPixels = 150e6
	maxSide   = 30000 // pixels
	minSide   = 100   // pixels
	maxDPI    = 2400
)

// What the layout needs at its usual text sizes, in points. Smaller pictures get smaller text.
const (
	needW = 700
	needH = 500
)

// layout is the size of a picture in all units.
type layout struct {
	w, h    vg.Length
	dpi     int
	unit    float64 // as painter.unit
	pixel   vg.Length
	columns int // pixel columns over the whole width
}

// CheckSize says why a picture of the size and resolution of o cannot be; nil where it can.
func CheckSize(o Options) error {
	_, err := newLayout(o)
	return err
}

func newLayout(o Options) (layout, error) {
	dpi := o.DPI
	if dpi == 0 {
		dpi = 100
	}
	size := o.Size
	if size == (Size{}) {
		size = Size{W: 1600, H: 1000}
	}
	if dpi < 10 || dpi > maxDPI {
		return layout{}, fmt.Errorf("plot: %d dpi: use 10 to %d", dpi, maxDPI)
	}
	perUnit := 1.0
	switch size.Unit {
	case "", "px":
	case "cm":
		perUnit = float64(dpi) / 2.54
	case "in":
		perUnit = float64(dpi)
	default:
		return layout{}, fmt.Errorf("plot: size in %q: use px, cm or in", size.Unit)
	}
	w, h := math.Round(size.W*perUnit), math.Round(size.H*perUnit)
	switch {
	case !(w >= minSide && h >= minSide): // also what is no number
		return layout{}, fmt.Errorf("plot: size %gx%g px: use at least %dx%d", w, h, minSide, minSide)
	case w*h > maxPixels || w > maxSide || h > maxSide:
		return layout{}, fmt.Errorf("plot: size %gx%g px: use at most %d px a side and %d million in all; a lower --dpi makes fewer of the same size in cm", w, h, maxSide, int(maxPixels/1e6))
	}
	l := layout{w: vg.Length(w) * vg.Inch / vg.Length(dpi), h: vg.Length(h) * vg.Inch / vg.Length(dpi), dpi: dpi, columns: int(w)}
	l.pixel = l.w / vg.Length(w)
	l.unit = min(1, float64(l.w)/needW, float64(l.h)/needH)
	return l, nil
}
