package workbook

import (
	"testing"

	"nsysmem/internal/fixture"
	"nsysmem/render/internal/sample"
)

// TestCharts holds what the overview's charts show against the heads of the columns that they are meant to show.
func TestCharts(t *testing.T) {
	t.Parallel()
	rep := sample.Report(4)
	sample.Tensors(rep)
	sample.Golden(t, *update, "charts.txt", []byte(fixture.Charts(t, write(t, rep))))
}
