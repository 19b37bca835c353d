package phrase

import (
	"fmt"
	"strconv"
	"strings"

	"nsysmem/align"
)

const (
	mostGaps = 8 // so many numbers missing from the sequence are named
	mostLeft = 6 // so many iterations that medians leave out
)

// IterationsFrom says how the iterations of a track were found, in a few sentences: from what, with which confidence, what
// is missing from their sequence, and which of them medians leave out.
func IterationsFrom(t *align.Track) string {
	f := &t.IterationsFrom
	why := ""
	if f.Why != "" {
		why = ": " + f.Why
	}
	s := foundFrom(t)
	if s == "" {
		return "none found" + why + ". Mark iterations with NVTX ranges, as the README shows, or name ranges " +
			"that are there with --iteration; without ranges, --infer auto looks for what repeats."
	}
	if f.Domain != "" {
		s += fmt.Sprintf(" in domain %q", f.Domain)
	}
	s += ", confidence " + strconv.FormatFloat(f.Confidence, 'f', 2, 64)
	if f.Inferred() {
		s += " (how well the repeats match, and how far what they hold proves them to be steps)"
	}
	s += why + "."
	if len(f.Gaps) > 0 {
		s += " Missing from the sequence: " + firstFew(f.Gaps, mostGaps) + "."
	}
	if left := leftOut(t); left != "" {
		s += " Medians leave out number " + left + "."
	}
	return s
}

// foundFrom says from what how many iterations were found; empty where none were looked for, or found.
func foundFrom(t *align.Track) string {
	f := &t.IterationsFrom
	switch f.How {
	case align.OriginRanges:
		return fmt.Sprintf("%d, from ranges named %q", f.Count, f.Pattern)
	case align.OriginPattern:
		return fmt.Sprintf("%d, from ranges that match %q as asked", f.Count, f.Pattern)
	case align.OriginKernels:
		s := fmt.Sprintf("%d, inferred from the repeating sequence of GPU work", f.Count)
		if len(t.Iterations) > 0 {
			s += fmt.Sprintf(" and named %q here", strings.TrimRight(t.Iterations[0].Name, "0123456789")+"#")
		}
		return s
	}
	return ""
}

// leftOut names the iterations that medians leave out, such as "0 (warm-up) and 7 (truncated)"; empty for none.
func leftOut(t *align.Track) string {
	var warm, cut []int
	for i := range t.Iterations {
		switch it := &t.Iterations[i]; {
		case it.Truncated:
			cut = append(cut, it.Index)
		case it.Warmup:
			warm = append(warm, it.Index)
		}
	}
	var left []string
	if len(warm) > 0 {
		left = append(left, firstFew(warm, mostLeft)+" (warm-up)")
	}
	if len(cut) > 0 {
		left = append(left, firstFew(cut, mostLeft)+" (truncated)")
	}
	return strings.Join(left, " and ")
}

// firstFew lists numbers, the first most of them, such as "3, 5, 2 more".
func firstFew(numbers []int, most int) string {
	var list []string
	for _, n := range numbers[:min(len(numbers), most)] {
		list = append(list, strconv.Itoa(n))
	}
	if n := len(numbers) - most; n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
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
	if t.IterationsFrom.Inferred() {
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

// From says for an iteration of a track, by its place, and the path of a phase in it where the two come from: "nvtx" or
// "inferred"; empty for no iteration and no phase, so that a range outside of iterations is "nvtx".
func From(t *align.Track, place int, path string) string {
	it := t.IterationAt(place)
	switch {
	case it == nil && path == "":
		return ""
	case it == nil:
		return "nvtx"
	case t.IterationsFrom.Inferred():
		return "inferred"
	}
	for i := range it.Phases {
		if it.Phases[i].Path == path && it.Phases[i].Inferred {
			return "inferred"
		}
	}
	return "nvtx"
}
