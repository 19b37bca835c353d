package workbook

import (
	"strconv"

	"nsysmem/internal/wording"
)

// A row takes the cells of one row from left to right. A cell that is left out stays empty, which is how "not collected"
// and "unknown" are shown.
type row struct {
	cells []any
}

func (r *row) reset() { r.cells = r.cells[:0] }

func (r *row) none() { r.cells = append(r.cells, nil) }

func (r *row) int(v int64) { r.cells = append(r.cells, v) }

// text takes a name of the program or a word of ours; it is always stored as a string.
func (r *row) text(s string) {
	if s == "" {
		r.none()
		return
	}
	r.cells = append(r.cells, wording.Cell(s))
}

// mib takes bytes. The library keeps 15 significant digits, as Excel does, which is more than a number of bytes has: times
// 1,048,576 and rounded, the cell is the exact number.
func (r *row) mib(bytes int64) { r.cells = append(r.cells, float64(bytes)/(1<<20)) }

// ms takes nanoseconds.
func (r *row) ms(ns int64) { r.cells = append(r.cells, float64(ns)/1e6) }

// us takes nanoseconds, of which a mean has parts.
func (r *row) us(ns float64) { r.cells = append(r.cells, ns/1e3) }

// address takes a 64-bit address; as a number it would lose digits.
func (r *row) address(a uint64) {
	var b [18]byte
	out := append(b[:0], "0x"...)
	r.cells = append(r.cells, string(strconv.AppendUint(out, a, 16)))
}
