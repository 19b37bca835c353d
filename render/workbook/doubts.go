package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

func failedTable(rep *findings.Report) *table {
	return table{sheet: "Failed allocations", name: "Failed_allocations", tab: tabDoubt, fixed: 3,
		none: missing(rep, rep.Collected.API, "CUDA API calls", "none")}.
		of(tables.RowGrid(rep.Report, tables.Failures.Columns(tables.Workbook), func(t *align.Track) []align.FailedAlloc { return t.Failed }))
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
