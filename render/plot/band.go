package plot

import (
	"image/color"

	"nsysmem/render/plot/internal/canvas"
)

// A bandLook is how one key of a band looks.
type bandLook struct {
	name  string
	color color.RGBA
	outer bool // a range outside iterations, whose name is written on the lane of phases
}

// A band is phases or ranges side by side, before they are brought to pixels.
type band struct {
	pieces []canvas.Piece
	looks  []bandLook // by key
	keys   map[bandLook]int
}

// addPiece adds a stretch of time, in ns. Those that look alike join.
func (b *band) addPiece(l bandLook, start, end int64) {
	k, ok := b.keys[l]
	if !ok {
		if b.keys == nil {
			b.keys = map[bandLook]int{}
		}
		k = len(b.looks)
		b.keys[l] = k
		b.looks = append(b.looks, l)
	}
	b.pieces = append(b.pieces, canvas.Piece{Key: k, Start: start, End: end})
}

// eachRun calls f for each run of one look in n columns of a scale, with its part of r.
func (b *band) eachRun(scale canvas.Scale, r canvas.Rect, n int, f func(key int, l bandLook, r canvas.Rect)) {
	canvas.Lane(b.pieces, scale, r, n, func(key int, r canvas.Rect) { f(key, b.looks[key], r) })
}

// bandName is a name cut to a width; empty where fewer than four letters would be left, which say nothing.
func bandName(c *canvas.Canvas, name string, w canvas.Length) string {
	const least = len("abcd") + 1 // the dots are one
	name = clean(name)
	if s := c.Fit(name, canvas.Small, w); s == name || len([]rune(s)) >= least {
		return s
	}
	return ""
}

// writeName writes the name of a look on its part of a band, with its baseline so far above the lower edge, where it fits with
// so much free beside it, both in points of the layout.
func (l bandLook) writeName(c *canvas.Canvas, name string, r canvas.Rect, beside, rise float64) {
	if s := bandName(c, name, r.W()-c.Pt(beside)); s != "" {
		c.Text(s, r.Mid().X, r.Y0+c.Pt(rise), canvas.Small.In(canvas.Readable(l.color)).Centred())
	}
}
