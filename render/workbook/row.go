package workbook

import (
	"strconv"

	"nsysmem/internal/wording"
)

// A row takes the cells of one row from left to right. A cell that is left out stays empty, which is how "not collected"
// and "unknown" are shown.
type row struct {
	slots []any // the row's cells, and behind them what is left of the row above
	n     int   // cells
}

func (r *row) reset() { r.n = 0 }

func (r *row) cells() []any { return r.slots[:r.n] }

// next adds a cell, which is at first that of the row above.
func (r *row) next() *any {
	if r.n == len(r.slots) {
		r.slots = append(r.slots, nil)
	}
	r.n++
	return &r.slots[r.n-1]
}

// put adds a cell. Rows are much like those above them: a value that stands there as well is not made an any once more.
func put[T comparable](r *row, v T) {
	cell := r.next()
	if above, ok := (*cell).(T); !ok || above != v {
		*cell = v
	}
}

func (r *row) none() { *r.next() = nil }

// text takes a name of the program or a word of ours; it is always stored as a string.
func (r *row) text(s string) {
	if s == "" {
		r.none()
		return
	}
	cell := r.next()
	if above, ok := (*cell).(string); !ok || above != s { // what is clean stays as it is
		*cell = wording.Cell(s)
	}
}

// address takes a 64-bit address; as a number it would lose digits.
func (r *row) address(a uint64) {
	var b [18]byte
	out := append(b[:0], "0x"...)
	put(r, string(strconv.AppendUint(out, a, 16)))
}
