package workbook

import (
	"fmt"

	"github.com/xuri/excelize/v2"

	"nsysmem/align/findings"
	"nsysmem/render/phrase"
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
	drawn, levels, cats := 0, 0, 0
	for _, t := range rep.Tracks {
		from := levels + 2
		levels += leveled(t)
		to := min(levels+1, from+chartPoints-1, maxRows)
		first := cats + 2
		cats += len(categoryRows(t))
		last := min(cats+1, maxRows)
		if t.Tensors == nil || drawn == overviewTracks {
			continue
		}
		drawn++
		o.chartRow()
		who := fmt.Sprintf("process %d, device %d", t.PID, t.Device)
		column := right
		if to >= from {
			c := &excelize.Chart{
				Type:  excelize.Line,
				Title: title("Peaks of the three levels, " + who),
				XAxis: excelize.ChartAxis{Font: axisFont, Title: title("iteration"), TickLabelSkip: max(1, (to-from)/20), TickLabelPosition: excelize.ChartTickLabelLow},
				YAxis: axis(),
			}
			for i, color := range []string{"E08214", "4393C3", "1F4E79"} {
				col := tensorLead + i*levelFigures + levelPeakPlace
				s := excelize.ChartSeries{Name: cells("Tensor levels", col, 1, 1), Categories: cells("Tensor levels", columnIteration, from, to),
					Values: cells("Tensor levels", col, from, to), Fill: solid(color), Line: excelize.LineOptions{Width: 2}, Marker: excelize.ChartMarker{Symbol: "none"}}
				if to-from < 40 {
					s.Marker = excelize.ChartMarker{Symbol: "circle", Size: 5, Fill: solid(color)}
				}
				c.Series = append(c.Series, s)
			}
			o.chart("A", c)
		} else {
			column = "A"
		}
		if last >= first {
			o.chart(column, &excelize.Chart{
				Type: excelize.Col,
				Series: []excelize.ChartSeries{
					{Name: cells("Categories", columnAtPeak-1, 1, 1), Categories: cells("Categories", columnCategory, first, last),
						Values: cells("Categories", columnAtPeak-1, first, last), Fill: solid("4393C3")},
					{Name: cells("Categories", columnAtPeak, 1, 1), Categories: cells("Categories", columnCategory, first, last),
						Values: cells("Categories", columnAtPeak, first, last), Fill: solid("E08214")}},
				Title: title("Categories of tensors, " + who),
				XAxis: excelize.ChartAxis{Font: axisFont, TickLabelPosition: excelize.ChartTickLabelLow},
				YAxis: axis(),
			})
		}
		o.row += chartRows
	}
}
