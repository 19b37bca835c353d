package summary

import (
	"io"

	"nsysmem/align/whatif"
	"nsysmem/render/tables"
)

// WriteWhatIfCSV writes a row for each setting, with a header, as WriteCSV does. The error is the writer's.
func WriteWhatIfCSV(w io.Writer, wi *whatif.Comparison) error {
	t := &csvTable{output: output{w: w}}
	cols := tables.Settings.Columns(tables.CSV)
	csvHeads(t, cols)
	for _, r := range tables.SettingRows(wi) {
		csvRow(t, cols, r)
	}
	return t.close()
}
