package align

import (
	"fmt"
	"slices"
)

// Shares of launches by which candidates are refused.
const (
	// wholeShare is the share from which on a family that is named for a phase can be the whole round: a program may do
	// all its work in a range called "forward".
	wholeShare = 0.95
	leastShare = 0.3 // of the fullest family's: below it no family is a round
	plainShare = 0.5 // of the fullest family's: below it none is that has no word for a round in its name

	// leastCover is the part of the launches between its first and its last range that a round must hold: a layer, an
	// attention or a validation holds less of a program that goes on around it. A program that trains and evaluates in
	// turn still holds about half in its steps.
	leastCover = 0.3
	plainCover = 0.9 // likewise of a family without a word for a round: rounds follow each other
	mainShare  = 0.3 // of the process's launches: with less, the program's main work may lie elsewhere
)

// around is where a family lies: what most of its members are inside of.
type around struct {
	phase string // name of a range that is named for a phase; empty for none
	holds bool   // most members hold a forward and a backward pass or an optimizer, by the names of ranges
	lacks bool   // most members lack an optimizer that the thread has: they may be micro-batches, or a part of a step
}

// maxAsked is how many members of a family are asked what they are inside of: bounds the time for long programs.
const maxAsked = 64

// around tells what most members of a family lie inside of.
func (b *ballot) around(f *family) around {
	var out around
	counts := make(map[string]int)
	stride := (len(f.members) + maxAsked - 1) / maxAsked
	asked, holds, optimizers := 0, 0, 0
	for i := 0; i < len(f.members); i += stride {
		asked++
		phase := ""
		for k := b.parents[f.members[i]]; k >= 0 && phase == ""; k = b.parents[k] {
			if s := &b.ranges.spans[k]; !s.operator && b.says(s.name)&saysPass != 0 {
				phase = pattern(b.ranges.names[s.name])
			}
		}
		counts[phase]++
		passes, optimizer := b.inside(f, f.members[i])
		if passes {
			holds++
		}
		if optimizer {
			optimizers++
		}
	}
	for phase, n := range counts {
		if phase != "" && 2*n > asked {
			out.phase = phase
		}
	}
	out.holds = 5*holds >= 4*asked
	out.lacks = 2*optimizers < asked && b.optimizes(f.thread)
	return out
}

// inside says of a range of a thread that it holds others that are named for a forward pass and for what only training has,
// and that it holds an optimizer, or more ranges than are asked.
func (b *ballot) inside(f *family, id int32) (passes, optimizer bool) {
	spans := b.ranges.spans
	ids := f.thread.ranges
	i, _ := slices.BinarySearchFunc(ids, spans[id].start, func(k int32, t int64) int {
		if spans[k].start < t {
			return -1
		}
		return 1
	})
	forward, backward := false, false
	for n, k := range ids[i:] {
		if spans[k].start >= spans[id].end {
			break
		}
		if n == maxInside {
			optimizer = true
			break
		}
		if k == id {
			continue
		}
		said := b.says(spans[k].name)
		optimizer = optimizer || said&saysOptimizer != 0
		if spans[k].operator {
			continue
		}
		forward = forward || said&saysForward != 0
		backward = backward || said&saysTraining != 0
	}
	return forward && backward, optimizer
}

// optimizes says that a thread has several ranges of one name that is an optimizer's: a single one may set it up.
func (b *ballot) optimizes(t *thread) bool {
	if is, ok := b.optimizing[t]; ok {
		return is
	}
	counts := make(map[int32]int)
	is := slices.ContainsFunc(t.ranges, func(id int32) bool {
		name := b.ranges.spans[id].name
		if b.says(name)&saysOptimizer == 0 {
			return false
		}
		counts[name]++
		return counts[name] > 1
	})
	b.optimizing[t] = is
	return is
}

// What a name says of the range that bears it.
const (
	saysPass      = 1 << iota // it is a pass, or a part of a round as large
	saysForward               // it is a forward pass
	saysTraining              // it is of what only training has
	saysOptimizer             // it is an optimizer's step
	saysKnown                 // it was asked
)

// says tells what a name says. It is asked once a name: spans may be many more.
func (b *ballot) says(name int32) uint8 {
	if b.said[name] == 0 {
		said, text := uint8(saysKnown), b.ranges.names[name]
		if passWord.MatchString(text) {
			said |= saysPass
		}
		if forwardWord.MatchString(text) {
			said |= saysForward
		}
		if trainingWord.MatchString(text) {
			said |= saysTraining
		}
		if optimizerWord.MatchString(text) {
			said |= saysOptimizer
		}
		b.said[name] = said
	}
	return b.said[name]
}

// maxInside is how many ranges inside a member are asked for their names.
const maxInside = 1 << 10

// refuse marks what can be no round whatever work it holds, and gives the highest share of the rest.
func refuse(cs []*candidate) (best float64) {
	for _, c := range cs {
		switch {
		case c.operator:
			c.why = "a framework's or library's own ranges"
		case c.overlaps:
			c.why = "its ranges overlap"
		case len(c.members) < 2 && c.word == "":
			c.why = "stands alone"
		default:
			best = max(best, c.share)
		}
	}
	return best
}

// executes says that the ranges are executions of a compiled function that is named for a round. What it is held against are
// launches by the thousand of kernels that XLA's compiler tries, also between the first executions; its own are few, for
// XLA launches graphs.
func (c *candidate) executes() bool { return c.module && c.word != "" }

// weigh marks what holds too little of the GPU work or lies inside a pass, and parts the rest by what speaks for it:
// rounds by name, rounds by name that the GPU work must confirm, and others, which it must confirm too.
func weigh(cs []*candidate, best float64) (ranks [3][]*candidate) {
	for _, c := range cs {
		switch {
		case c.why != "":
		case c.share < best*leastShare || best > 0 && c.launches == 0:
			c.why = "holds little of the GPU work"
		case c.cover < leastCover && !c.executes():
			c.why = fmt.Sprintf("holds only %.0f %% of the launches between its first and its last range", 100*c.cover)
		case c.place.phase != "":
			c.why = fmt.Sprintf("lies inside %q, which is a pass", c.place.phase)
		case c.word != "" && !c.inner:
			switch {
			case c.word == "epoch":
				c.doubt = "an epoch may hold many steps"
			case len(c.members) < 2 && !c.executes():
				c.doubt = "it stands once, and may hold many rounds"
			case best > 0 && c.main < mainShare && !c.executes():
				c.doubt = "most of the GPU work lies elsewhere"
			default:
				c.part = (c.cover < plainCover || c.place.lacks) && !c.executes()
				ranks[0] = append(ranks[0], c)
				continue
			}
			ranks[1] = append(ranks[1], c)
		case best > 0 && phaseWord.MatchString(c.pattern) && c.share < wholeShare:
			c.why = "named for a phase, and holds only part of the GPU work"
		case len(c.members) < 2:
			c.why = "stands alone"
		case c.share < best*plainShare:
			c.why = "holds less of the GPU work than another"
		case c.cover < plainCover:
			c.why = fmt.Sprintf("has no word for a round in its name, and holds only %.0f %% of the launches between its first and its last range", 100*c.cover)
		case c.place.holds:
			ranks[0] = append(ranks[0], c)
		default:
			c.doubt = "nothing in its name says that it is a round"
			ranks[2] = append(ranks[2], c)
		}
	}
	return ranks
}
