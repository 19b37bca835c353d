package summary

import (
	"strconv"
	"strings"
)

// countText is a number with its thousands apart, such as "1,792,400".
func countText(v int64) string {
	s := strconv.FormatInt(v, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// shareText is part of whole in percent. It says 0 and 100 only where that is exact.
func shareText(part, whole int64) string {
	switch {
	case whole == 0:
		return "n/a"
	case part == 0:
		return "0 %"
	case part == whole:
		return "100 %"
	}
	p := float64(part) / float64(whole) * 100
	switch {
	case p >= 0 && p < 0.05:
		return "<0.1 %"
	case p >= 99.95 && p <= 100:
		return ">99.9 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}
