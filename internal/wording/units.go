// Package wording is how values read: units, counts, widths, and the cleaning of hostile text for each kind of output. Exact
// figures stay int64 up to here.
package wording

import (
	"math"
	"strconv"
)

// byteUnits are the binary units, 1024 apart. GB and MB are never written: "81 GB" on an 80 GB card is how they mislead.
var byteUnits = [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Bytes writes n bytes in the largest binary unit that it fills, such as "75.77 GiB". Whole numbers of a unit have no
// decimals, others two.
func Bytes(n int64) string {
	v, unit := float64(n), 0
	for unit < len(byteUnits)-1 && math.Abs(round2(v, unit)) >= 1024 {
		v /= 1024
		unit++
	}
	decimals := 2
	if v == math.Trunc(v) {
		decimals = 0
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + " " + byteUnits[unit]
}

// round2 is v as it would be written, so that 1023.999 MiB becomes 1.00 GiB rather than 1024.00 MiB.
func round2(v float64, unit int) float64 {
	if unit == 0 {
		return v
	}
	return math.Round(v*100) / 100
}

// SignedBytes is Bytes with a sign before rises too, such as "+5 MiB". Zero has none.
func SignedBytes(n int64) string {
	if n > 0 {
		return "+" + Bytes(n)
	}
	return Bytes(n)
}

// Duration writes ns nanoseconds with four significant digits, such as "1.537 s", "12.40 ms" or "3.100 µs".
func Duration(ns int64) string {
	abs := math.Abs(float64(ns))
	switch {
	case abs >= 1e9:
		return significant(float64(ns)/1e9) + " s"
	case abs >= 1e6:
		return significant(float64(ns)/1e6) + " ms"
	case abs >= 1e3:
		return significant(float64(ns)/1e3) + " µs"
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

// Seconds writes a time of ns nanoseconds on the report's clock in seconds with milliseconds, such as "155.360 s".
func Seconds(ns int64) string {
	return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s"
}

// Clock writes a time of ns nanoseconds in a unit, "s", "ms", "µs" or "ns", to the digit of step (ns), such as "11.6324 s" to
// 100,000.
func Clock(ns int64, unit string, step int64) string {
	size, decimals := map[string]int64{"s": 1e9, "ms": 1e6, "µs": 1e3}[unit], 0
	if size == 0 {
		size, unit = 1, "ns"
	}
	for s := max(step, 1); s < size; s *= 10 {
		decimals++
	}
	return strconv.FormatFloat(float64(ns)/float64(size), 'f', decimals, 64) + " " + unit
}

func significant(v float64) string {
	decimals := 3
	for a := math.Abs(v); a >= 10 && decimals > 0; a /= 10 {
		decimals--
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
