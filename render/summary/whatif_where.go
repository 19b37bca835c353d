package summary

import (
	"fmt"
	"slices"
	"strings"

	"nsysmem/align/whatif"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// apart says where settings differ from the one that the program ran with: all, or of many those that stand for them.
func (p *printer) apart(wi *whatif.Comparison) {
	if len(wi.Settings) < 2 {
		return
	}
	base := wi.Base()
	shown := map[int]bool{}
	if len(wi.Settings) > whatIfApart {
		for _, i := range wi.Chosen(whatIfColumns) {
			shown[i] = true
		}
	}
	var rows []*tables.Setting
	var same []string
	more := 0
	for _, r := range tables.SettingRows(wi) {
		switch {
		case r.Place == base:
		case wi.Settings[r.Place].First == nil:
			same = append(same, number(r.Place))
		case len(shown) > 0 && !shown[r.Place]:
			more++
		default:
			rows = append(rows, r)
		}
	}
	p.head(fmt.Sprintf("Where reserved memory differs from that under %s %s", number(base), phrase.Conf(wi.Settings[base].Conf)))
	p.placed(wi, laidOut(tables.Differing.Columns(tables.Terminal), rows), len(rows))
	if more > 0 {
		p.para("  ", fmt.Sprintf("and %d more, which --format json has", more), dim)
	}
	if len(same) > 0 {
		p.para("  ", "never: "+strings.Join(same, ", "), dim)
	}
}

// places explains the places that a comparison without a report names.
func (p *printer) places(wi *whatif.Comparison) {
	if wi.Track != nil {
		return
	}
	named := moments(wi)
	if len(named) == 0 {
		return
	}
	text := "Times count from the start of the trace, which may be long before the first iteration; --report names iterations and phases."
	if !wi.Timed {
		text = "Entries are those of the trace; --report names iterations and phases."
	}
	if slices.ContainsFunc(named, func(m *whatif.Moment) bool { return strings.HasPrefix(m.Frame, phrase.NoLine) }) {
		text = "(after LINE): no Python line runs there, as in a backward pass; LINE is the last one to ask for memory before. " + text
	}
	p.blank()
	p.para("  ", text, dim)
}

// moments are those that the tables name: where settings stop, and where they differ.
func moments(wi *whatif.Comparison) []*whatif.Moment {
	var out []*whatif.Moment
	for i := range wi.Settings {
		s := &wi.Settings[i]
		if s.First != nil {
			out = append(out, &s.First.Moment, &s.Most.Moment)
		}
		if s.Failed() > 0 && len(s.Limited.Failures) > 0 {
			out = append(out, &s.Limited.Failures[0].Moment)
		}
	}
	return out
}

// byIteration compares the highest reserved level of each iteration.
func (p *printer) byIteration(wi *whatif.Comparison) {
	if wi.Track == nil || len(wi.Track.Iterations) == 0 || !wi.Timed {
		return
	}
	p.head("Peak reserved by iteration")
	t := thin(wi.Track.Iterations, whatIfRows)
	gaps := map[int]string{}
	rows := make([]*tables.SettingStep, len(t))
	for k, i := range t {
		if k > 0 && i != t[k-1]+1 {
			gaps[k] = fmt.Sprintf("… %d iterations", i-t[k-1]-1)
		}
		rows[k] = &tables.SettingStep{WhatIf: wi, Place: i}
	}
	p.table(laidOut(tables.StepsUnder(tables.Terminal, wi.Chosen(whatIfColumns), number), rows), gaps)
}
