package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oneOf checks the value of a flag that takes one of some words.
func oneOf(flag, value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return usage("--%s %q: say %s or %s", flag, value, strings.Join(words[:last], ", "), words[last])
}

var (
	timeRE  = regexp.MustCompile(`^\s*(\d+(?:\.\d+)?)\s*(s|ms|us|µs|ns)?\s*$`)
	rangeRE = regexp.MustCompile(`^(\d+)(?:-(\d+))?$`)
	bytesRE = regexp.MustCompile(`^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*$`)
)

// timeUnits are the units of times, in ns.
var timeUnits = map[string]float64{"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1}

// parseTime reads a time such as "12.5s", "300ms", "1500us", "20ns" or plain seconds, as ns; of nothing it is 0.
func parseTime(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	m := timeRE.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no time: write seconds, or a number with s, ms, us or ns", s)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	if v *= timeUnits[m[2]]; v > 9e18 { // near what an int64 holds, 292 years
		return 0, fmt.Errorf("%q is too large", s)
	}
	return int64(v), nil
}

// parseRange reads the numbers of iterations, such as "3" or "3-8", both included; of nothing it is nil.
func parseRange(s string) (*[2]int, error) {
	if s == "" {
		return nil, nil
	}
	m := rangeRE.FindStringSubmatch(s)
	if m == nil {
		return nil, usage("--iterations %q: write a number or a range such as 3-8", s)
	}
	if m[2] == "" {
		m[2] = m[1]
	}
	first, err := strconv.Atoi(m[1])
	last, errLast := strconv.Atoi(m[2])
	if err != nil || errLast != nil || last < first {
		return nil, usage("--iterations %q: the first must not be after the last", s)
	}
	return &[2]int{first, last}, nil
}

// byteUnits are the units of --capacity. Cards are sold in GB of either kind, so that a bare G would be a guess.
var byteUnits = map[string]float64{"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}

// Capacities beyond these are slips of the pen: no card has so little or so much.
const (
	leastCapacity = 1 << 20
	mostCapacity  = 1 << 50
)

// parseBytes reads a size such as "24GiB", "80GB" (a thousand million each) or plain bytes.
func parseBytes(s string) (int64, error) {
	m := bytesRE.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no size: write bytes, or a number with MiB, GiB or GB", s)
	}
	unit, ok := byteUnits[strings.ToLower(m[2])]
	if !ok {
		return 0, fmt.Errorf("%q: the unit %s is not known: write MiB, GiB or TiB, or MB, GB or TB for powers of ten", s, m[2])
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", s, err)
	}
	// Who writes 24 means gigabytes, and would be told that nothing fits.
	if m[2] == "" && (strings.Contains(m[1], ".") || v < leastCapacity) {
		return 0, fmt.Errorf("%q has no unit: write %sGiB, or MiB, TiB, GB or MB", s, m[1])
	}
	v = math.Round(v * unit)
	if v < leastCapacity || v > mostCapacity {
		return 0, fmt.Errorf("%q: say between 1MiB and 1024TiB", s)
	}
	return int64(v), nil
}
