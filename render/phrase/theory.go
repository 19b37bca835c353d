package phrase

import (
	"fmt"
	"strconv"

	"nsysmem/align"
	"nsysmem/align/theory"
	"nsysmem/internal/wording"
)

// Theory says what the theory is of.
func Theory(th *theory.Need) string {
	return fmt.Sprintf("N = %s parameters of %s, optimizer %s", wording.Count(th.Params), th.DType, th.Optimizer)
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

// Sentence says it in a sentence, to the byte.
func (b *Beside) Sentence() string {
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
func besideNote(b *Beside, th *theory.Need) string {
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
