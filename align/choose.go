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
	main     float64 // likewise, where a graph's launch counts for many and other threads' count at their time
	cover    float64 // of the launches from its first member's start to its last one's end; 1 where there are none
	place    around  // what its members lie inside, and hold
	inner    bool    // named for a part of a round, or for another thing than a step
	phases   bool    // ranges of the program begin inside its members; told of the one that was chosen
	chosen   bool
	part     bool   // named for a round, but may be only a part of one: launches lie between its ranges, or an optimizer; the GPU work is asked
	doubt    string // why the GPU work must confirm it; empty where the ranges alone are enough
	why      string // why it was or was not chosen; empty until that is decided
}

// A ballot is what the candidates of a report are weighed by.
type ballot struct {
	ranges  *ranges
	parents []int32 // of each span
	within  []int64 // launches within each span
	calls   *calls
	last    int64   // ns; last time seen
	said    []uint8 // by name, as says tells it; 0 where it was not asked

	optimizing map[*thread]bool // as optimizes tells it
}

func newBallot(r *ranges, c *calls) *ballot {
	parents := r.parents()
	return &ballot{ranges: r, parents: parents, within: c.launchesWithin(r, parents), calls: c, last: r.time.with(c.time).last,
		said: make([]uint8, len(r.names)), optimizing: make(map[*thread]bool)}
}

func (b *ballot) candidate(p *process, f *family) *candidate {
	c := &candidate{family: f, total: f.time(b.ranges, b.last), cover: 1, inner: innerWord.MatchString(f.pattern)}
	pace := b.calls.paces[p.index]
	timed := 0.0
	for _, id := range f.members {
		s := &b.ranges.spans[id]
		c.launches += b.within[id]
		timed += pace.between(s.start, min(s.end, b.last))
	}
	if all := b.calls.launched[p.index]; all > 0 {
		c.share = float64(c.launches) / float64(all)
	}
	first, last := &b.ranges.spans[f.members[0]], &b.ranges.spans[f.members[len(f.members)-1]]
	c.main = c.share
	if pace != nil && pace.all > 0 {
		c.main = max(c.share, timed/float64(pace.all))
	}
	if extent := pace.between(first.start, min(last.end, b.last)); extent > 0 {
		c.cover = min(1, max(timed, float64(c.launches))/extent)
	}
	if !f.operator && (f.word != "" || len(f.members) > 1) { // others are refused whatever is around them
		c.place = b.around(f)
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
		if c := b.candidate(p, f); best == nil || cmp.Or(cmp.Compare(c.launches, best.launches), cmp.Compare(len(c.members), len(best.members))) > 0 {
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
//  1. Refuse what can be no round, see refuse and weigh.
//  2. Families that need no confirmation win over others, and those named by a word for a round over those that are not;
//     an epoch gives way to what repeats inside it.
//  3. Of several, the outermost wins: the one that lies inside no other; of those, the one with most launches, most time.
func choose(r *ranges, cs []*candidate) *candidate {
	ranks := weigh(cs, refuse(cs))
	var set []*candidate
	for _, rank := range ranks {
		if set = withoutEpochs(r, rank); len(set) > 0 {
			break
		}
	}
	if len(set) == 0 {
		return nil
	}
	f := slices.MinFunc(outermost(r, set), func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(y.launches, x.launches), cmp.Compare(y.total, x.total), cmp.Compare(x.pattern, y.pattern),
			cmp.Compare(x.thread.tid, y.thread.tid))
	})
	f.chosen = true
	for _, g := range slices.Concat(ranks[:]...) {
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
