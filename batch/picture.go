package batch

import (
	"cmp"
	"fmt"
	"slices"

	"nsysmem/render/plot"
	"nsysmem/render/tables"
)

// picture is what is drawn of all runs.
func (c *comparison) picture() *plot.Runs {
	p := &plot.Runs{Title: fmt.Sprintf("Device memory of %d runs", len(c.runs)), Over: c.over()}
	p.Subtitle = fmt.Sprintf("%d reports, %d done", c.reports, len(c.runs))
	if n := len(c.failed); n > 0 {
		p.Subtitle += fmt.Sprintf(", %d failed", n)
	}
	if n := len(c.missing); n > 0 {
		p.Subtitle += fmt.Sprintf(", %d missing", n)
	}
	p.Subtitle += " · allocations that the recordings saw, not what the driver reports as used · runs compared by iteration number"
	for _, b := range c.all {
		out := plot.RunBar{Label: b.label, Failed: b.failed}
		if b.ref >= 0 {
			h, t := c.track(&c.refs[b.ref])
			if l := t.device(); l != nil && h.Collected.Memory {
				out.Peak, out.End, out.Known = l.Peak, l.End, true
				if l.Ended { // where it ends is unknown: no mark
					out.End = l.Peak
				}
			}
		}
		p.Bars = append(p.Bars, out)
	}
	return p
}

// highestLines are the runs or jobs drawn by themselves where there are too many to draw all.
const highestLines = 5

// lines adds the levels by iteration: a line for each job, and for each run of none, while these can be told apart; else
// one over all of them, and those that came highest.
func (c *comparison) lines(p *plot.Runs) error {
	var groups []group
	if c.ranked {
		groups = append(groups, c.groups...)
	}
	for i := range c.refs {
		if h, t := c.track(&c.refs[i]); (t.Rank < 0 || !c.ranked) && t.Iterations > 0 && h.Collected.Memory {
			groups = append(groups, group{name: c.refs[i].label, members: []int{i}})
		}
	}
	tooMany := len(groups) > plot.MaxRunLines
	if tooMany {
		all := group{name: fmt.Sprintf("all %d runs", len(c.refs))}
		for i := range c.refs {
			all.members = append(all.members, i)
		}
		slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(c.highest(&b), c.highest(&a)) })
		groups, p.Over = append([]group{all}, groups[:highestLines]...), "runs"
	}
	for i := range groups {
		g := &groups[i]
		if g.rows == nil {
			if err := c.spreadGroup(g); err != nil {
				return err
			}
		}
		ranged := !tooMany || i == 0 // of the many the one range is that over all
		if line := g.line(ranged); len(line.Points) > 0 {
			p.Lines = append(p.Lines, line)
		}
	}
	return nil
}

// line is the line of a group whose rows are there, with the range over its members where that is wanted.
func (g *group) line(ranged bool) plot.RunLine {
	line := plot.RunLine{Label: g.name}
	for _, r := range g.rows {
		s := &r.have[tables.PeakSpread]
		if s.n == 0 || r.key.before > 0 { // a program that counts anew would draw the line back to where it began
			continue
		}
		pt := plot.RunPoint{Iteration: int64(r.key.index), Low: s.mid, Mid: s.mid, High: s.mid, Runs: int(s.n)}
		if ranged {
			pt.Low, pt.High = s.low, s.top
		}
		line.Points = append(line.Points, pt)
	}
	return line
}

// highest is the highest peak of a group's members.
func (c *comparison) highest(g *group) int64 {
	high := int64(-1)
	for _, m := range g.members {
		h, t := c.track(&c.refs[m])
		if l := t.device(); l != nil && h.Collected.Memory {
			high = max(high, l.Peak)
		}
	}
	return high
}
