package align_test

import (
	"nsysmem/align"
	"nsysmem/align/findings"
)

func init() {
	align.Say = func(rep *align.Report) (warnings, found []align.Said) {
		all := findings.Of(rep)
		for _, w := range all.Warnings {
			warnings = append(warnings, align.Said{Code: w.Code, Text: w.Text})
		}
		for i := range all.Findings {
			f := &all.Findings[i]
			facts := make(map[string]any)
			for _, x := range f.Facts() {
				facts[x.Key] = x.Value
			}
			found = append(found, align.Said{Code: string(f.ID), Text: f.Text, Advice: f.Advice, Facts: facts})
		}
		return warnings, found
	}
}
