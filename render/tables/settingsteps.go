package tables

import (
	"slices"

	"nsysmem/align"
	"nsysmem/align/whatif"
	"nsysmem/render/phrase"
)

// A SettingStep is an iteration under all the settings that are compared.
type SettingStep struct {
	WhatIf *whatif.Comparison
	Place  int // in the iterations of its track
}

func (s *SettingStep) iteration() *align.Iteration { return &s.WhatIf.Track.Iterations[s.Place] }

// settingSteps has a row for each iteration. Each setting is a column more.
var settingSteps = define(slices.Concat(
	whatIfTrack(func(s *SettingStep) *whatif.Comparison { return s.WhatIf }),
	[]Column[*SettingStep]{
		{Key: "iteration", Head: "iteration", Unit: ID, Int: func(s *SettingStep) int64 { return int64(s.iteration().Index) }},
		{Key: "name", Head: "name", Text: func(s *SettingStep) string { return s.iteration().Name }},
	}), Views{
	Terminal: "name:0/12=iteration",
	JSON:     "iteration=index",
	Workbook: "pid, track_device, iteration, name",
})[0]

// under is the highest reserved level in an iteration under a setting of its comparison; -1 for one that this does not have.
func under(key, head string, setting func(*whatif.Comparison) int) Column[*SettingStep] {
	return Column[*SettingStep]{Key: key, Head: head, Unit: Bytes, Shade: "settings",
		Int: func(s *SettingStep) int64 { return s.WhatIf.Settings[setting(s.WhatIf)].Iterations[s.Place] },
		Has: func(s *SettingStep) bool { return setting(s.WhatIf) >= 0 }}
}

// StepsUnder are the columns of an output that compare some settings of one comparison by iteration. head names a setting
// by its place.
func StepsUnder(o Output, places []int, head func(place int) string) []Column[*SettingStep] {
	cols := slices.Clone(settingSteps.Columns(o))
	for k, place := range places {
		c := under(head(place), head(place), func(*whatif.Comparison) int { return place })
		// The first two stay where the width is short: what the program ran with, and PyTorch's own.
		if k >= 2 {
			c.Rank = k
		}
		cols = append(cols, c)
	}
	return cols
}

// SettingStepGrid is the table of the iterations of some comparisons, with a column for each setting of any.
func SettingStepGrid(list []*whatif.Comparison) Grid {
	cols := slices.Clone(settingSteps.Columns(Workbook))
	var rows []*SettingStep
	known := make(map[string]bool)
	for _, w := range list {
		for i := range w.Settings {
			conf := w.Settings[i].Conf
			if known[conf] {
				continue
			}
			known[conf] = true
			cols = append(cols, under(conf, phrase.Conf(conf)+remark(unitNames[Bytes]), func(w *whatif.Comparison) int {
				return slices.IndexFunc(w.Settings, func(s whatif.Setting) bool { return s.Conf == conf })
			}))
		}
		if w.Track == nil || !w.Timed {
			continue
		}
		for i := range w.Track.Iterations {
			rows = append(rows, &SettingStep{w, i})
		}
	}
	return Rows(cols, rows)
}
