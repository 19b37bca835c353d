package workbook

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"nsysmem/internal/wording"
)

// maxHead is the length of a table's head that Excel takes, less room for a number behind it.
const maxHead = 240

// escapes are what Excel reads as one character in a head.
var escapes = regexp.MustCompile(`_x([0-9A-Fa-f]{4}_)`)

// uniqueHeads makes heads such as Excel demands of a table: one line, no two that differ in case alone.
func uniqueHeads(cols []column) {
	seen := make(map[string]bool, len(cols))
	for i := range cols {
		h := strings.Join(strings.Fields(wording.Cell(cols[i].head)), " ")
		h = escapes.ReplaceAllString(h, "_X$1")
		if r := []rune(h); len(r) > maxHead {
			h = string(r[:maxHead]) + "…"
		}
		if h == "" {
			h = "Column"
		}
		unique := h
		for n := 2; seen[strings.ToLower(unique)]; n++ {
			unique = h + " (" + strconv.Itoa(n) + ")"
		}
		seen[strings.ToLower(unique)] = true
		cols[i].head = unique
	}
}

const (
	measured = 2000 // so many rows are measured for the columns' widths
	widest   = 60.0
	widestOf = 110.0 // of long text, which is wrapped
)

// columnWidths measures what a table's columns need, in characters: some rows of it, evenly spread, and the heads, which
// may be broken at spaces.
func columnWidths(t *table) []float64 {
	need := make([]int, len(t.cols))
	for i, c := range t.cols {
		for _, word := range strings.Fields(c.head) {
			need[i] = max(need[i], wording.Width(word)+3) // 3 for the filter's button
		}
		need[i] = max(need[i], (wording.Width(c.head)+1)/2+3)
	}
	var r row
	step := max(1, t.n/measured)
	for i := 0; i < t.n; i += step {
		r.reset()
		t.fill(i, &r)
		for j, v := range r.cells() {
			need[j] = max(need[j], shownWidth(v, t.cols[j].as))
		}
	}
	widths := make([]float64, len(need))
	for i, n := range need {
		most := widest
		if t.cols[i].as == asLong {
			most = widestOf
		}
		widths[i] = min(float64(n)+2.5, most)
	}
	return widths
}

// shownWidth is the number of characters that a cell takes as its format shows it.
func shownWidth(v any, as format) int {
	var f float64
	switch v := v.(type) {
	case string:
		return wording.Width(v)
	case int64:
		f = float64(v)
	case float64:
		f = v
	default:
		return 0
	}
	digits := 1
	if a := math.Abs(f); a >= 10 {
		digits = int(math.Log10(a)) + 1
	}
	n := digits
	if as != asID {
		n += (digits - 1) / 3
	}
	switch as {
	case asMiB, asChange:
		n += 3
	case asTime:
		n += 4
	}
	if f < 0 || as == asChange {
		n++
	}
	return n
}
