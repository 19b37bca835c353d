package workbook

import (
	"fmt"

	"github.com/xuri/excelize/v2"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

// tensors writes what is known of tensors in sentences.
func (o *overview) tensors(rep *findings.Report) {
	some := false
	for _, t := range rep.Tracks {
		some = some || t.Tensors != nil || t.Theory != nil
	}
	if !some {
		return
	}
	o.section("Tensors")
	for _, t := range rep.Tracks {
		if len(rep.Tracks) > 1 {
			o.fact("Track", phrase.Track(t))
		}
		if ten := t.Tensors; ten != nil {
			o.fact("Tensors", phrase.Tensors(ten))
			if s := phrase.Clock(ten.Clock); s != "" {
				o.fact("Clock", s)
			}
			if s := phrase.Settings(ten); s != "" {
				o.fact("Settings", "PYTORCH_CUDA_ALLOC_CONF: "+s)
			}
			if ten.Outside != nil {
				o.fact("Outside", phrase.Outside(ten.Outside))
				if s := phrase.OutsideHow(ten.Outside); s != "" {
					o.fact("", wording.Capital(s)+".")
				}
			}
			if ten.AtReserved != nil {
				o.fact("Fragmentation", phrase.Fragmentation(t))
			}
		}
		if t.Theory != nil {
			o.fact("Theory", phrase.Theory(t.Theory))
			for _, b := range phrase.BesideTheory(t) {
				o.fact("", b.Sentence())
			}
		}
	}
}

// tensorCharts draws for each track the three levels of its iterations, and its categories at the peak.
func (o *overview) tensorCharts(rep *findings.Report) {
	right, _ := excelize.ColumnNumberToName(overviewWidth/2 + 1)
	drawn := 0
	for _, t := range rep.Tracks {
		if t.Tensors == nil || drawn == overviewTracks {
			continue
		}
		drawn++
		o.chartRow()
		column := "A"
		for _, c := range []*excelize.Chart{levelsChart(rep.Report, t), categoriesChart(rep.Report, t)} {
			if c != nil {
				o.chart(column, c)
				column = right
			}
		}
		o.row += chartRows
	}
}

// levelsChart shows the peaks of the three levels by iteration; nil where the track has no such levels.
func levelsChart(rep *align.Report, t *align.Track) *excelize.Chart {
	from, to := tables.TensorLevelRows(rep, t)
	shown := min(to, from+chartPoints, maxRows-1) - from
	if shown <= 0 {
		return nil
	}
	g := tables.TensorLevelGrid(rep)
	c := plotted{levelsSheet, &g, "iteration", 1, from, from + shown}.
		lines([][2]string{{"allocated.peak_bytes", "E08214"}, {"reserved.peak_bytes", "4393C3"}, {"traced.peak_bytes", "1F4E79"}})
	c.Title, c.XAxis.Title = title("Peaks of the three levels, "+processAndDevice(t)), title("iteration")
	return c
}

// categoriesChart shows what each category holds at the most and at the peak; nil where the track has no categories.
func categoriesChart(rep *align.Report, t *align.Track) *excelize.Chart {
	from, to := tables.CategoryRows(rep, t)
	if to = min(to, maxRows-1); to <= from {
		return nil
	}
	g := tables.CategoryGrid(rep)
	c := plotted{categoriesSheet, &g, "category", 1, from, to}.
		bars([][2]string{{"max_bytes", "4393C3"}, {"at_peak_bytes", "E08214"}})
	c.Title = title("Categories of tensors, " + processAndDevice(t))
	return c
}

func processAndDevice(t *align.Track) string {
	return fmt.Sprintf("process %d, device %d", t.PID, t.Device)
}
