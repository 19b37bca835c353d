package plot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"
)

// entry is a line of a legend: a sample and what it stands for.
type entry struct {
	label  string
	sample func(x0, y0, x1, y1 vg.Length)
}

// legendText is how legends are written.
var legendText = style{size: small, color: ink}

// legend draws entries in rows from the left, the first row's baseline at y, at most rows of them, within x0 to x1. What
// does not fit is counted ("+ 180 more"). It returns how many rows it took; with dry it draws nothing.
func (p *painter) legend(entries []entry, x0, x1, y vg.Length, rows int, dry bool) int {
	if len(entries) == 0 || rows < 1 {
		return 0
	}
	sampleW, gap, between := p.pt(14), p.pt(4), p.pt(12)
	labelMax := min((x1-x0)/2, p.pt(190))
	more := func(n int) string { return fmt.Sprintf("+ %d more", n) }
	x, row := x0, 0
	for i, e := range entries {
		label := p.fit(e.label, legendText, labelMax)
		w := sampleW + gap + p.width(label, legendText)
		// The last row keeps room for the count of what is left over.
		room := x1
		if left := len(entries) - i - 1; row == rows-1 && left > 0 {
			room -= between + p.width(more(left), legendText)
		}
		if x > x0 && x+w > room {
			if row == rows-1 {
				if !dry {
					p.text(more(len(entries)-i), x, y-vg.Length(row)*p.pt(13), style{size: small, color: faint})
				}
				return rows
			}
			x = x0
			row++
		}
		if !dry {
			base := y - vg.Length(row)*p.pt(13)
			e.sample(x, base-p.pt(0.5), x+sampleW, base+p.pt(7))
			p.text(label, x+sampleW+gap, base, legendText)
		}
		x += w + between
	}
	return row + 1
}

// swatch is a legend sample: a filled box.
func (p *painter) swatch(c color.Color) func(x0, y0, x1, y1 vg.Length) {
	return func(x0, y0, x1, y1 vg.Length) {
		p.fill(x0+p.pt(3), y0, x1, y1, c)
		p.outlineRect(x0+p.pt(3), y0, x1, y1, p.pt(0.4), faint)
	}
}

// lineSample is a legend sample: a piece of line.
func (p *painter) lineSample(c color.Color, width float64, dashes []float64) func(x0, y0, x1, y1 vg.Length) {
	return func(x0, y0, x1, y1 vg.Length) {
		y := (y0 + y1) / 2
		p.line(p.pt(width), c, dashes, vg.Point{X: x0, Y: y}, vg.Point{X: x1, Y: y})
	}
}
