package workbook

import (
	"strconv"

	"nsysmem/align"
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

func (r *row) intIf(known bool, v int64) {
	if known {
		r.int(v)
	} else {
		r.none()
	}
}

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
func (r *row) mib(known bool, bytes int64) {
	if known {
		r.cells = append(r.cells, float64(bytes)/(1<<20))
	} else {
		r.none()
	}
}

// ms takes nanoseconds.
func (r *row) ms(known bool, ns int64) {
	if known {
		r.cells = append(r.cells, float64(ns)/1e6)
	} else {
		r.none()
	}
}

// us takes nanoseconds.
func (r *row) us(known bool, ns int64) {
	if known {
		r.cells = append(r.cells, float64(ns)/1e3)
	} else {
		r.none()
	}
}

// address takes a 64-bit address; as a number it would lose digits.
func (r *row) address(a uint64) {
	var b [18]byte
	out := append(b[:0], "0x"...)
	r.cells = append(r.cells, string(strconv.AppendUint(out, a, 16)))
}

// track takes the columns that every sheet begins with.
func (r *row) track(t *align.Track) {
	r.int(t.PID)
	r.int(t.Device)
}

// phaseText names the phase of an event: a path, or what stands for none.
func phaseText(path string, where align.Where) string {
	if where == align.InNone || path == "" && where != align.InIteration {
		return "(no range)"
	}
	return path
}
