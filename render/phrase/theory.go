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
	out := []Beside{
		{Category: "parameter", Expected: th.Parameter},
		{Category: "gradient", Expected: th.Gradient},
		{Category: "optimizer state", Expected: th.State},
	}
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

// guesses are what a category's difference from theory is likely to be.
type guesses struct {
	half, twice string // a whole multiple says that the question was wrong
	more, less  string // else
}

// split is why half of something may be missing.
const split = "a model that is split over devices"

var likely = map[string]guesses{
	"parameter": {
		half:  "half of it: another --dtype, or " + split,
		twice: "twice as much: another --dtype, or a second copy",
		more:  "buffers, such as running statistics, or parameters that --params leaves out",
		less:  "--params counts more than this device holds, or another --dtype",
	},
	"gradient": {
		half:  "half of it: another --dtype, or " + split,
		twice: "twice as much: another --dtype, or two sets at once",
		more:  "gradients of more than the parameters, or copies of some",
		less:  "parameters without a gradient (frozen), or gradients that never live all at once",
	},
	"optimizer state": {
		half:  "half of it: another --optimizer or --dtype, or " + split,
		twice: "twice as much: another --optimizer or --dtype",
		more:  "more than the moments: step counters, master copies, buffers",
		less:  "another --optimizer, or parameters without a step (frozen)",
	},
}

// besideNote names what a difference is likely to be; empty where there is none.
func besideNote(b *Beside, th *theory.Need) string {
	switch {
	case b.Difference() == 0:
		return ""
	case b.Measured == 0:
		return "none was found: it is not on this device, or looks like something else"
	case b.Expected == 0:
		return "not expected of " + th.Optimizer
	}
	g := likely[b.Category]
	switch {
	case near(b.Measured, b.Expected/2):
		return g.half
	case near(b.Measured, b.Expected*2):
		return g.twice
	case b.Difference() > 0:
		return g.more
	}
	return g.less
}

// near says that v is what is expected or up to one part in 64 more: small things, such as step
// counters, come on top.
func near(v, expected int64) bool { return v >= expected && v-expected <= expected/64 }
