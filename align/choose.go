package align

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// A candidate is a family that may carry the iterations of its process, with what speaks for it.
type candidate struct {
	*family
	total    int64   // ns; sum of its members' durations
	launches int64   // within its members
	share    float64 // of the process's launches
	chosen   bool
	why      string // why it was or was not chosen; empty until that is decided
}

// Shares of the process's launches, or of what the fullest family holds of them, by which candidates are refused.
const (
	// wholeShare is the share from which on a family that is named for a phase can be the whole round: a program may do
	// all its work in a range called "forward".
	wholeShare = 0.95
	leastShare = 0.3 // of the fullest family's: below it no family is a round
	plainShare = 0.5 // of the fullest family's: below it none is that has no word for a round in its name
)

// A ballot is what the candidates of one process are weighed by.
type ballot struct {
	ranges   *ranges
	within   []int64 // launches within each span
	launched int64   // launches of the process
	last     int64   // ns; last time seen
}

func (b *ballot) candidate(f *family) *candidate {
	c := &candidate{family: f, total: f.time(b.ranges, b.last)}
	for _, id := range f.members {
		c.launches += b.within[id]
	}
	if b.launched > 0 {
		c.share = float64(c.launches) / float64(b.launched)
	}
	return c
}

// pick chooses the candidate that carries a process's iterations, as the options ask for; nil for none. It marks the
// candidates with why.
func (b *ballot) pick(src *source, p *process, cs []*candidate) *candidate {
	domain := src.opts.Domain
	if src.iteration != nil {
		return b.byPattern(p, src.iteration, domain)
	}
	in := make([]*candidate, 0, len(cs))
	for _, c := range cs {
		if b.ranges.inDomain(&b.ranges.spans[c.members[0]], domain) {
			in = append(in, c)
		} else {
			c.why = "in another domain"
		}
	}
	return choose(b.ranges, in)
}

// byPattern makes a candidate of the ranges that an expression matches. On several threads the one with most launches,
// then most ranges, counts.
func (b *ballot) byPattern(p *process, re *regexp.Regexp, domain string) *candidate {
	var best *candidate
	for _, t := range at(b.ranges.byProc, p) {
		f := matching(b.ranges, t, re, domain)
		if f == nil {
			continue
		}
		if c := b.candidate(f); best == nil || cmp.Or(cmp.Compare(c.launches, best.launches), cmp.Compare(len(c.members), len(best.members))) > 0 {
			best = c
		}
	}
	if best != nil {
		best.chosen = true
		best.why = fmt.Sprintf("%d ranges match %q", len(best.members), re)
		if best.nested > 0 {
			best.why += fmt.Sprintf("; %d more lie inside these and are left out", best.nested)
		}
	}
	return best
}

// choose picks the candidate that carries the iterations of a process, or nil.
//
//  1. Refuse operators, libraries, families whose members overlap, and single ranges without a word for a round.
//  2. Refuse what holds little of the GPU work beside the fullest family.
//  3. Families named by a word for a round win over others; an epoch gives way to what repeats inside it.
//  4. Of several, the outermost wins: the one that lies inside no other; of those, the one with most launches, most time.
func choose(r *ranges, cs []*candidate) *candidate {
	words, others := weigh(cs, refuse(cs))
	set := others
	if len(words) > 0 {
		set = withoutEpochs(r, words)
	}
	if len(set) == 0 {
		return nil
	}
	f := slices.MinFunc(outermost(r, set), func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(y.launches, x.launches), cmp.Compare(y.total, x.total), cmp.Compare(x.pattern, y.pattern),
			cmp.Compare(x.thread.tid, y.thread.tid))
	})
	f.chosen = true
	for _, g := range slices.Concat(words, others) {
		if g != f && g.why == "" {
			g.why = fmt.Sprintf("%q was preferred", f.pattern)
		}
	}
	f.why = fmt.Sprintf("%d ranges named %q are the outermost that repeat", len(f.members), f.pattern)
	if f.word != "" {
		f.why = fmt.Sprintf("%d ranges named %q follow each other on one thread", len(f.members), f.pattern)
	}
	return f
}

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

// weigh marks what holds too little of the GPU work, and parts the rest into those named by a word for a round and others.
func weigh(cs []*candidate, best float64) (words, others []*candidate) {
	for _, c := range cs {
		switch {
		case c.why != "":
		case c.share < best*leastShare || best > 0 && c.launches == 0:
			c.why = "holds little of the GPU work"
		case c.word != "":
			words = append(words, c)
		case best > 0 && phaseWord.MatchString(c.pattern) && c.share < wholeShare:
			c.why = "named for a phase, and holds only part of the GPU work"
		case len(c.members) >= 2 && c.share >= best*plainShare:
			others = append(others, c)
		default:
			c.why = "holds less of the GPU work than another"
		}
	}
	return words, others
}

// withoutEpochs marks epochs inside which another of the candidates repeats, and gives the rest.
func withoutEpochs(r *ranges, cs []*candidate) []*candidate {
	repeats := func(f *candidate) bool {
		return slices.ContainsFunc(cs, func(g *candidate) bool {
			return g != f && g.word != "epoch" && len(g.members) > len(f.members) && g.within(r, f.family)
		})
	}
	var out []*candidate
	for _, f := range cs {
		if len(cs) > 1 && f.word == "epoch" && repeats(f) {
			f.why = "what repeats inside it is the finer unit"
			continue
		}
		out = append(out, f)
	}
	return out
}

// outermost marks the candidates that lie inside another, and gives the rest; all of them where each lies inside one.
func outermost(r *ranges, cs []*candidate) []*candidate {
	var out []*candidate
	for _, f := range cs {
		i := slices.IndexFunc(cs, func(g *candidate) bool { return g != f && f.within(r, g.family) })
		if i < 0 {
			out = append(out, f)
			continue
		}
		f.why = fmt.Sprintf("lies inside %q", cs[i].pattern)
	}
	if len(out) == 0 {
		return cs
	}
	return out
}
