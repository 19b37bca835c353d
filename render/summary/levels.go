package summary

import (
	"fmt"
	"strconv"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// HasTensorLevels says that a track has the levels allocated and reserved, which come from a snapshot.
func HasTensorLevels(t *align.Track) bool {
	return t.Level(align.LevelAllocated) != nil && t.Level(align.LevelReserved) != nil
}

// LevelGaps are, at the end of a row, the bytes in the allocator's cache that no tensor uses (reserved less allocated), and
// the bytes on the device that the allocator does not hold (traced less reserved; static memory is in them). ok is false
// where the row lacks a level.
func LevelGaps(u *align.Use) (unused, outside int64, ok bool) { return u.Gaps() }

// LevelPeakPhase is PeakPhase for the level of a kind; empty where the iteration has no such level.
func LevelPeakPhase(it *align.Iteration, kind align.LevelKind) string { return it.PeakPhase(kind) }

// TensorsText says in a sentence where a track's tensors come from.
func TensorsText(ten *align.Tensors) string {
	n := wording.Count(len(ten.Blocks))
	if ten.From == "driver" {
		return n + " blocks that the driver handed out one by one: the program runs without a caching allocator of its own, so that the device level is its tensors, with libraries' workspaces among them"
	}
	return n + " blocks from PyTorch's memory snapshot"
}

// UnknownText says what the category unknown is; empty where no block is of it.
func UnknownText(ten *align.Tensors) string {
	for _, c := range ten.Categories {
		if c.Name == "unknown" {
			return "unknown is what no rule names: blocks kept from one iteration to the next that are neither parameter, gradient nor optimizer state, such as a growing list or what was born in no phase; and workspaces of libraries"
		}
	}
	return ""
}

// ClockText says how well a snapshot's clock goes with the report's; empty without a snapshot.
func ClockText(c *align.Clock) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("the snapshot's stamps are %s late, spread %s; %d of %d segments of the snapshot are in the report with address and size",
		wording.Duration(c.Offset), wording.Duration(c.Spread), c.Matched, c.Segments)
}

// SettingsText is what PYTORCH_CUDA_ALLOC_CONF was; empty without a snapshot.
func SettingsText(ten *align.Tensors) string {
	switch {
	case ten.Conf != "":
		return ten.Conf
	case ten.Replay == nil:
		return ""
	case ten.Replay.Settings.Known:
		return "the defaults"
	}
	return "n/a: the snapshot does not say"
}

// InferredNote is what is said beside a track's iterations and phases where some of them were found in the GPU work; empty
// where all come from ranges of the program.
func InferredNote(t *align.Track) string {
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
	it := iterationAt(t, place)
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

// A Beside is a category beside what theory expects of it.
type Beside struct {
	Category string
	Formula  string // such as "8N"
	Expected int64  // bytes
	Measured int64  // bytes; highest over the steady iterations
	Known    bool   // Measured is known
	Note     string // what a difference is likely to be; empty for none
}

// Difference is what was measured on top of what is expected.
func (b *Beside) Difference() int64 { return b.Measured - b.Expected }

// BesideTheory lays a track's categories beside what a model of so many parameters needs: parameters, gradients and
// optimizer state. nil without theory.
func BesideTheory(t *align.Track) []Beside {
	th := t.Theory
	if th == nil || th.Params <= 0 {
		return nil
	}
	formula := func(bytes int64) string {
		if bytes == 0 {
			return "0"
		}
		return strconv.FormatInt(bytes/th.Params, 10) + "N"
	}
	out := []Beside{{Category: "parameter", Expected: th.Parameter}, {Category: "gradient", Expected: th.Gradient}, {Category: "optimizer state", Expected: th.State}}
	for i := range out {
		b := &out[i]
		b.Formula = formula(b.Expected)
		if t.Tensors == nil {
			continue
		}
		b.Known = true
		for _, c := range t.Tensors.Categories {
			if c.Name == b.Category {
				b.Measured = c.Max
			}
		}
		b.Note = besideNote(b, th)
	}
	return out
}

// besideNote names what a difference is likely to be. A whole multiple says that the question was wrong.
func besideNote(b *Beside, th *align.Theory) string {
	d := b.Difference()
	if d == 0 {
		return ""
	}
	if b.Measured == 0 {
		return "none was found: it is not on this device, or looks like something else"
	}
	if b.Expected == 0 {
		return "not expected of " + th.Optimizer
	}
	near := func(times, by int64) bool { // within one part in 64
		x := b.Expected * times / by
		return b.Measured >= x && b.Measured-x <= x/64
	}
	half, twice := near(1, 2), near(2, 1)
	switch b.Category {
	case "parameter":
		switch {
		case half:
			return "half of it: another --dtype, or a model that is split over devices"
		case twice:
			return "twice as much: another --dtype, or a second copy"
		case d > 0:
			return "buffers, such as running statistics, or parameters that --params leaves out"
		}
		return "--params counts more than this device holds, or another --dtype"
	case "gradient":
		switch {
		case half:
			return "half of it: another --dtype, or a model that is split over devices"
		case twice:
			return "twice as much: another --dtype, or two sets at once"
		case d > 0:
			return "gradients of more than the parameters, or copies of some"
		}
		return "parameters without a gradient (frozen), or gradients that never live all at once"
	}
	switch {
	case half:
		return "half of it: another --optimizer or --dtype, or a model that is split over devices"
	case twice:
		return "twice as much: another --optimizer or --dtype"
	case d > 0:
		return "more than the moments: step counters, master copies, buffers"
	}
	return "another --optimizer, or parameters without a step (frozen)"
}

// BesideText says it in a sentence, to the byte.
func BesideText(b *Beside) string {
	s := fmt.Sprintf("%s: %s = %s bytes by theory", b.Category, b.Formula, wording.Count(b.Expected))
	switch {
	case !b.Known:
		s += "; to measure it takes a snapshot"
	case b.Difference() == 0:
		s += ", measured exactly"
	default:
		s += fmt.Sprintf(", %s measured, %s bytes", wording.Count(b.Measured), wording.SignedCount(b.Difference()))
	}
	if b.Note != "" {
		s += ": " + b.Note
	}
	return s
}

// TheoryText says what the theory is of.
func TheoryText(th *align.Theory) string {
	return fmt.Sprintf("N = %s parameters of %s, optimizer %s", wording.Count(th.Params), th.DType, th.Optimizer)
}

// Misfits counts the segments that were added although the cache had as many bytes free as were asked for.
func Misfits(ten *align.Tensors) int {
	n := 0
	for i := range ten.Growth {
		if ten.Growth[i].Misfit() {
			n++
		}
	}
	return n
}
