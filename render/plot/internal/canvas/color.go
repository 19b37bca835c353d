package canvas

import "image/color"

// Colours of what every picture has.
var (
	White = color.RGBA{0xFF, 0xFF, 0xFF, 0xFF}
	Ink   = color.RGBA{0x22, 0x22, 0x22, 0xFF} // text and the main line
	Faint = color.RGBA{0x5C, 0x5C, 0x5C, 0xFF} // secondary text
	Edge  = color.RGBA{0x9A, 0x9A, 0x9A, 0xFF} // frames and marks of axes
	grid  = color.RGBA{0xE4, 0xE4, 0xE4, 0xFF}
)

// Okabe and Ito's colours, which readers with any of the common colour-vision deficiencies can tell apart, less black.
var (
	Orange     = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	Sky        = color.RGBA{0x56, 0xB4, 0xE9, 0xFF}
	Green      = color.RGBA{0x00, 0x9E, 0x73, 0xFF}
	Yellow     = color.RGBA{0xE6, 0xD5, 0x2E, 0xFF}
	Blue       = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	Vermillion = color.RGBA{0xD5, 0x5E, 0x00, 0xFF}
	Purple     = color.RGBA{0xCC, 0x79, 0xA7, 0xFF}
)

// Mix is f of b in a.
func Mix(a, b color.RGBA, f float64) color.RGBA {
	m := func(x, y uint8) uint8 { return uint8(float64(x)*(1-f) + float64(y)*f + 0.5) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 0xFF}
}

// darkBelow is the lightness, of 255, below which white text reads better than dark text.
const darkBelow = 130

// Readable is white or ink, whichever can be read on c.
func Readable(c color.RGBA) color.RGBA {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) < darkBelow {
		return White
	}
	return Ink
}
