package wording

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is the number of terminal cells that s takes, or of characters of usual width in a cell of a sheet: two for wide
// East Asian characters, none for marks that join the character before them. "日本" is 4 wide.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 { // below it nothing is wide or a mark: most text needs no table
		return 1
	}
	return widthOf(r)
}

// widthOf looks a rune up. It is apart from runeWidth so that this is inlined.
func widthOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens s to at most n terminal cells, with … where something is gone: "forward/layer0" at 8 is "forward…".
func Cut(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// leastWrap is the narrowest that text is wrapped to: below it wide characters would not fit a line of their own.
const leastWrap = 4

// Wrap breaks text at spaces into lines of at most n terminal cells (at least 4); a word that is longer is broken anywhere.
func Wrap(text string, n int) []string {
	n = max(n, leastWrap)
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		w := Width(word)
		if used > 0 && used+1+w > n {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line += " "
			used++
		}
		for w > n {
			end := fitting(word, n-used)
			lines = append(lines, line+word[:end])
			line, used, word = "", 0, word[end:]
			w = Width(word)
		}
		line += word
		used += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fitting is the length in bytes of the longest beginning of s that takes at most n terminal cells.
func fitting(s string, n int) int {
	for i, r := range s {
		if n -= runeWidth(r); n < 0 {
			return i
		}
	}
	return len(s)
}
