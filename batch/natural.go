package batch

import (
	"cmp"
	"strings"
)

// natural compares names as people order them: runs of digits by their value, so that r2 stands before r10, all else byte
// by byte. Only equal names are 0: where just leading zeros differ, the plain order decides.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
		if c := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); c != 0 {
			return c
		}
		x, y = x[dx:], y[dy:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits is the number of digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// naturalPath compares paths element by element, so that what lies in one folder stays together.
func naturalPath(a, b string) int {
	x, y := strings.Split(slashed(a), "/"), strings.Split(slashed(b), "/")
	for i := 0; i < len(x) && i < len(y); i++ {
		if c := natural(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}
