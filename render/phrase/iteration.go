package phrase

import (
	"fmt"
	"strconv"
	"strings"

	"nsysmem/align"
)

// IterationsFrom says how the iterations of a track were found, in one or two sentences.
func IterationsFrom(t *align.Track) string {
	f := &t.IterationsFrom
	why := ""
	if f.Why != "" {
		why = ": " + f.Why
	}
	var s string
	switch f.How {
	case align.OriginRanges:
		s = fmt.Sprintf("%d, from ranges named %q", f.Count, f.Pattern)
	case align.OriginPattern:
		s = fmt.Sprintf("%d, from ranges that match %q as asked", f.Count, f.Pattern)
	case align.OriginKernels:
		s = fmt.Sprintf("%d, inferred from the repeating sequence of GPU work", f.Count)
		if len(t.Iterations) > 0 {
			s += fmt.Sprintf(" and named %q here", strings.TrimRight(t.Iterations[0].Name, "0123456789")+"#")
		}
	default:
		return "none found" + why + ". Mark iterations with NVTX ranges, as the README shows, or name ranges that are there with --iteration; without ranges, --infer auto looks for what repeats."
	}
	if f.Domain != "" {
		s += fmt.Sprintf(" in domain %q", f.Domain)
	}
	s += ", confidence " + strconv.FormatFloat(f.Confidence, 'f', 2, 64)
	if inferredIterations(t) {
		s += " (how well the repeats match: 1 where all are the same)"
	}
	s += why + "."
	if n := len(f.Gaps); n > 0 {
		var gaps []string
		for _, g := range f.Gaps[:min(n, 8)] {
			gaps = append(gaps, strconv.Itoa(g))
		}
		if n > 8 {
			gaps = append(gaps, fmt.Sprintf("%d more", n-8))
		}
		s += " Missing from the sequence: " + strings.Join(gaps, ", ") + "."
	}
	var left []string
	if warm := indexes(t, func(it *align.Iteration) bool { return it.Warmup && !it.Truncated }); warm != "" {
		left = append(left, warm+" (warm-up)")
	}
	if cut := indexes(t, func(it *align.Iteration) bool { return it.Truncated }); cut != "" {
		left = append(left, cut+" (truncated)")
	}
	if len(left) > 0 {
		s += " Medians leave out number " + strings.Join(left, " and ") + "."
	}
	return s
}

// indexes lists the numbers of some iterations, the first few; empty for none.
func indexes(t *align.Track, of func(*align.Iteration) bool) string {
	var list []string
	n := 0
	for i := range t.Iterations {
		if it := &t.Iterations[i]; of(it) {
			if n++; n <= 6 {
				list = append(list, strconv.Itoa(it.Index))
			}
		}
	}
	if n > 6 {
		list = append(list, fmt.Sprintf("%d more", n-6))
	}
	return strings.Join(list, ", ")
}

// Flags says what is special about an iteration, such as "warm-up"; empty for a steady one.
func Flags(it *align.Iteration) string {
	switch {
	case it.Warmup && it.Truncated:
		return "warm-up, truncated"
	case it.Warmup:
		return "warm-up"
	case it.Truncated:
		return "truncated"
	}
	return ""
}

// Inferred is what is said beside a track's iterations and phases where some of them were found in the GPU work; empty
// where all come from ranges of the program.
func Inferred(t *align.Track) string {
	if inferredIterations(t) {
		return "iterations and phases are inferred from the GPU work, not from ranges of the program"
	}
	for i := range t.Iterations {
		for k := range t.Iterations[i].Phases {
			if t.Iterations[i].Phases[k].Inferred {
				return "some phases are inferred from the GPU work, not from ranges of the program"
			}
		}
	}
	return ""
}

// inferredIterations says that a track's iterations were found in the GPU work.
func inferredIterations(t *align.Track) bool { return t.IterationsFrom.Inferred() }

// From says for an iteration of a track, by its place, and the path of a phase in it where the two come from: "nvtx" or
// "inferred"; empty for no iteration and no phase, so that a range outside of iterations is "nvtx".
func From(t *align.Track, place int, path string) string {
	it := t.IterationAt(place)
	switch {
	case it == nil && path == "":
		return ""
	case it == nil:
		return "nvtx"
	case inferredIterations(t):
		return "inferred"
	}
	for i := range it.Phases {
		if it.Phases[i].Path == path && it.Phases[i].Inferred {
			return "inferred"
		}
	}
	return "nvtx"
}
