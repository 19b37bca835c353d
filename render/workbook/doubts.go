package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/phrase"
)

func failedTable(rep *findings.Report) *table {
	n, at := flatten(rep, func(t *align.Track) int { return len(t.Failed) })
	origin := fromOf(rep)
	return &table{
		sheet: "Failed allocations", name: "Failed_allocations", tab: tabDoubt, n: n, fixed: 3,
		none: missing(rep, rep.Collected.API, "CUDA API calls", "none"),
		cols: columns(
			column{head: "Time (ms)", as: asTime}, column{head: "Iteration", as: asID}, column{head: "Iteration name"}, column{head: "Phase"}, column{head: "From"},
			column{head: "Range outside iterations"}, column{head: "Call"}, column{head: "Returned"}, column{head: "Duration (µs)", as: asTime},
			column{head: "Thread", as: asID}, column{head: "Traced level then (MiB)", as: asMiB}, column{head: "Traced level then (bytes)", as: asCount}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &t.Failed[j]
			r.track(t)
			r.ms(true, k.Time-rep.Source.Start)
			r.iterationIndex(t, k.Iteration)
			name := ""
			if k.Iteration >= 0 && k.Iteration < len(t.Iterations) {
				name = t.Iterations[k.Iteration].Name
			}
			r.text(name)
			r.text(k.Phase)
			r.text(origin(t, k.Iteration, k.Phase+k.Range))
			r.text(k.Range)
			r.text(k.Call)
			r.text(phrase.Return(k.Return))
			r.us(true, k.Duration)
			r.intIf(k.TID != 0, k.TID)
			r.mib(rep.Collected.Memory && k.Level >= 0, k.Level)
			r.intIf(rep.Collected.Memory && k.Level >= 0, k.Level)
		},
	}
}

// warningsTable lists what is missing, what was found and what is doubtful.
func warningsTable(rep *findings.Report) *table {
	type line struct{ what, severity, code, text, advice string }
	var lines []line
	for _, g := range phrase.Missing(rep.Collected) {
		lines = append(lines, line{"not collected", "warn", g.What, g.Cost, g.How})
	}
	for _, w := range rep.Warnings {
		lines = append(lines, line{"warning", "warn", w.Code, w.Text, ""})
	}
	for _, f := range rep.Findings {
		lines = append(lines, line{"finding", string(f.Severity), string(f.ID), f.Text, f.Advice})
	}
	return &table{
		sheet: "Warnings", name: "Warnings", tab: tabDoubt, n: len(lines), none: "none",
		cols: []column{{head: "What"}, {head: "Severity"}, {head: "Code"}, {head: "Text", as: asLong}, {head: "Advice", as: asLong}},
		fill: func(i int, r *row) {
			for _, s := range []string{lines[i].what, lines[i].severity, lines[i].code, lines[i].text, lines[i].advice} {
				r.text(s)
			}
		},
	}
}
