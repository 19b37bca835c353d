package summary

import (
	"strconv"
	"strings"
)

var binaryUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// bytesText is a size with its binary unit, such as "75.77 GiB". Below 1 KiB it is exact.
func bytesText(v int64) string {
	f, i := float64(v), 0
	// 1023.995 would be printed as 1024.00, so the next unit begins there.
	for (f >= 1023.995 || f <= -1023.995) && i < len(binaryUnits)-1 {
		f /= 1024
		i++
	}
	if i == 0 {
		return strconv.FormatInt(v, 10) + " B"
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + " " + binaryUnits[i]
}

// changeText is a size with its sign, as of a level that rose or fell.
func changeText(v int64) string {
	if v > 0 {
		return "+" + bytesText(v)
	}
	return bytesText(v)
}

// timeText is a duration given in nanoseconds, with its unit.
func timeText(ns int64) string {
	f := float64(ns)
	abs := max(f, -f)
	switch {
	case abs < 1e3:
		return strconv.FormatInt(ns, 10) + " ns"
	case abs < 999_995:
		return strconv.FormatFloat(f/1e3, 'f', 2, 64) + " µs"
	case abs < 999_995_000:
		return strconv.FormatFloat(f/1e6, 'f', 2, 64) + " ms"
	}
	return strconv.FormatFloat(f/1e9, 'f', 3, 64) + " s"
}

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
	return strconv.FormatFloat(min(max(p, 0.1), 99.9), 'f', 1, 64) + " %"
}
