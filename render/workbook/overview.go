package workbook

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

const (
	overviewSheet  = "Overview"
	overviewWidth  = 14    // columns
	columnWidth    = 14.0  // characters, of each
	overviewPhases = 12    // phases in the table and the chart
	overviewTracks = 4     // tracks that have charts
	chartRows      = 22    // rows that a chart covers
	markedPoints   = 40    // so few iterations of a chart have a mark each
	chartPoints    = 30000 // iterations that a chart shows; Excel takes 32,000 a series
	overviewDoubts = 15    // findings and warnings that stand in full
)

// An overview writes the first sheet from top to bottom. It is the one sheet that is not streamed: it is short, and has
// several tables.
type overview struct {
	b    *book
	row  int // the next free one, from 1
	err  error
	long int // style of wrapped text
	rows int // of charts

	lastCol, lastRow int // of the cells that there are, from 1
}

// overview writes what is to be known at a glance: which report, what was and was not collected, what was found, the
// levels, how iterations were found, the phases that need most, and charts.
func (b *book) overview(rep *findings.Report) error {
	if err := b.sheet(overviewSheet, "", 1); err != nil {
		return err
	}
	o := &overview{b: b, row: 1}
	o.long, o.err = b.f.NewStyle(&excelize.Style{Font: &excelize.Font{Family: family, Size: fontSize},
		Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"}})
	last, _ := excelize.ColumnNumberToName(overviewWidth)
	o.do(b.f.SetColWidth(overviewSheet, "A", last, columnWidth))
	o.do(b.f.SetSheetView(overviewSheet, 0, &excelize.ViewOptions{ShowGridLines: new(false)}))

	o.set(1, "Device memory by iteration and phase", b.title)
	o.row += 2
	o.source(rep)
	o.doubts(rep)
	o.levels(rep)
	o.tracks(rep)
	o.tensors(rep)
	head := o.row + sectionRows
	o.charts(rep, o.phases(rep), head)
	o.tensorCharts(rep)
	o.dimension()
	if o.err != nil {
		return fmt.Errorf("sheet %q: %w", overviewSheet, o.err)
	}
	return nil
}

func (o *overview) do(err error) {
	if o.err == nil {
		o.err = err
	}
}

// name is the name of a cell, whose column and row count from 1.
func (o *overview) name(col, row int) string {
	cell, err := excelize.CoordinatesToCellName(col, row)
	o.do(err)
	return cell
}

// set puts a value in a column, counted from 1, of the current row. nil stays empty.
func (o *overview) set(col int, v any, style int) {
	cell := o.name(col, o.row)
	if o.err != nil {
		return
	}
	if s, ok := v.(string); ok {
		v = wording.Cell(s)
	}
	if v != nil {
		o.do(o.b.f.SetCellValue(overviewSheet, cell, v))
	}
	if style != 0 {
		o.do(o.b.f.SetCellStyle(overviewSheet, cell, cell, style))
	}
	o.lastCol, o.lastRow = max(o.lastCol, col), max(o.lastRow, o.row)
}

// dimension states which cells there are.
func (o *overview) dimension() {
	o.do(o.b.dimension(overviewSheet, o.lastCol, o.lastRow))
}

// fact writes a name and a text that may be long, wrapped over the sheet's width.
func (o *overview) fact(key, text string) {
	if text == "" {
		text = "n/a"
	}
	o.set(1, key, o.b.key)
	o.set(2, text, o.long)
	// Merged cells are cells, as Excel itself writes them.
	o.do(o.b.f.SetCellStyle(overviewSheet, o.name(2, o.row), o.name(overviewWidth, o.row), o.long))
	o.do(o.b.f.MergeCell(overviewSheet, o.name(2, o.row), o.name(overviewWidth, o.row)))
	o.lastCol = max(o.lastCol, overviewWidth)
	// Neither Excel nor LibreOffice fits the height of a row to merged cells.
	lines := math.Ceil(float64(wording.Width(text)) / ((overviewWidth - 1) * columnWidth * 0.95))
	o.do(o.b.f.SetRowHeight(overviewSheet, o.row, min(max(lines, 1)*15, 150)))
	o.row++
}

// sectionRows is how far below the last row the first one of a section is.
const sectionRows = 2

func (o *overview) section(title string) {
	o.row++
	o.set(1, title, o.b.strong)
	o.row++
}

// table writes an Excel table of at least one row.
func (o *overview) table(name string, t *table) {
	top := o.row
	lines := 1
	for i, c := range t.cols {
		o.set(i+1, c.head, o.b.headStyle(c.as))
		lines = max(lines, int(math.Ceil(float64(wording.Width(c.head)+5)/columnWidth)))
	}
	o.do(o.b.f.SetRowHeight(overviewSheet, o.row, float64(lines*15+3)))
	o.row++
	var r row
	for i := range t.n {
		r.reset()
		t.fill(i, &r)
		high := 1
		for j, v := range r.cells() {
			o.set(j+1, v, o.b.styles[t.cols[j].as])
			if s, ok := v.(string); ok && t.cols[j].as == asLong {
				high = max(high, int(math.Ceil(float64(wording.Width(s))/(columnWidth-1.5))))
			}
		}
		o.do(o.b.f.SetRowHeight(overviewSheet, o.row, float64(min(high, 8)*15)))
		o.row++
	}
	area := o.name(1, top) + ":" + o.name(len(t.cols), o.row-1)
	if o.err == nil {
		o.do(o.b.f.AddTable(overviewSheet, &excelize.Table{Range: area, Name: name, StyleName: "TableStyleLight1", ShowRowStripes: new(true)}))
	}
	o.row++
}

func (o *overview) source(rep *findings.Report) {
	s := &rep.Source
	o.fact("Report", s.Path)
	nsys := s.NsysVersion
	if nsys != "" && s.SchemaVersion != "" {
		nsys += ", export schema " + s.SchemaVersion
	}
	o.fact("Nsight Systems", nsys)
	o.fact("Recorded", strconv.FormatFloat(float64(s.Duration())/1e9, 'f', 3, 64)+" s; times in this workbook count from "+
		strconv.FormatFloat(float64(s.Start)/1e9, 'f', 9, 64)+" s on the report's clock")
	o.fact("Clock 0", phrase.Date(s.StartUTC))
	o.fact("System", s.OS)
	var drivers []string
	if s.Driver != "" {
		drivers = append(drivers, s.Driver)
	}
	if s.CUDADriver != "" {
		drivers = append(drivers, "CUDA "+s.CUDADriver)
	}
	o.fact("Driver", strings.Join(drivers, ", "))
	for _, t := range rep.Tracks {
		o.fact("Traced", phrase.Track(t))
	}
	gaps := map[string]phrase.Gap{}
	for _, g := range phrase.Missing(rep.Collected) {
		gaps[g.What] = g
	}
	for _, what := range []string{"device memory", "NVTX ranges", "GPU kernels", "CUDA API calls"} {
		if g, ok := gaps[what]; ok {
			o.fact(wording.Capital(what), "n/a: not collected. "+wording.Capital(g.Cost)+"; "+g.How+".")
		} else {
			o.fact(wording.Capital(what), "collected")
		}
	}
}

func (o *overview) doubts(rep *findings.Report) {
	var doubts []Fact
	for i := range rep.Findings {
		f := &rep.Findings[i]
		text := f.Text
		if f.Advice != "" {
			text += " → " + f.Advice
		}
		doubts = append(doubts, Fact{string(f.Severity), text})
	}
	for i := range rep.Warnings {
		doubts = append(doubts, Fact{"warning", rep.Warnings[i].Text})
	}
	if len(doubts) == 0 {
		return
	}
	o.section("What to know")
	for _, f := range doubts[:min(len(doubts), overviewDoubts)] {
		o.fact(f.Key, f.Text)
	}
	if len(doubts) > overviewDoubts {
		o.fact("", fmt.Sprintf("%d in all, see the sheet Warnings", len(doubts)))
	}
}

func (o *overview) levels(rep *findings.Report) {
	if !rep.Collected.Memory {
		return
	}
	g := tables.LevelGrid(rep.Report)
	if g.Rows == 0 {
		return
	}
	o.section("Memory traced as live (allocations that the recording saw; the CUDA context and other processes are not in it)")
	o.table("Levels", table{}.of(g))
	for _, s := range phrase.Together(rep) {
		o.fact("Together", s)
	}
	for _, t := range rep.Tracks {
		if p := t.Pool; p != nil {
			o.fact("Memory pools", fmt.Sprintf("process %d, device %d: number of pools %d, together at most %.2f MiB, of which at most %.2f MiB were used",
				t.PID, t.Device, p.Pools, float64(p.PeakSize)/(1<<20), float64(p.PeakUsed)/(1<<20)))
		}
	}
}

func (o *overview) tracks(rep *findings.Report) {
	if len(rep.Tracks) == 0 {
		o.section("No process with device memory or GPU work in this report")
		return
	}
	o.section("Iterations and attribution")
	for _, t := range rep.Tracks {
		o.fact(fmt.Sprintf("Process %d", t.PID), "iterations: "+phrase.IterationsFrom(t))
	}
	o.fact("Median", phrase.Median)
	if rep.Collected.Kernels {
		o.fact("Kernel time", phrase.KernelTime)
		o.fact("GPU busy", phrase.Busy)
	}
	o.table("Tracks", table{}.of(tables.TrackGrid(rep.Report)))
}

// ofLevel says, as the end of a title, of which level phases are told; empty where that is the device level.
func ofLevel(rep *findings.Report) string {
	with := 0
	for _, t := range rep.Tracks {
		if t.HasTensorLevels() {
			with++
		}
	}
	switch with {
	case 0:
		return ""
	case len(rep.Tracks):
		return " (allocated: what tensors hold)"
	}
	return " (allocated where a snapshot tells what tensors hold, else the device level)"
}

// phases writes the table of phases that need most, and returns its rows.
func (o *overview) phases(rep *findings.Report) *tables.Grid {
	var all []*tables.Row[align.PhaseStat]
	if !rep.Collected.Memory {
		return nil
	}
	for _, t := range rep.Tracks {
		for i := range t.Phases {
			if t.Phases[i].Path != align.OtherPhase {
				all = append(all, &tables.Row[align.PhaseStat]{Report: rep.Report, Track: t, Item: &t.Phases[i]})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	need := func(i int) int64 { return tables.HeldNeed(all[i]) }
	sort.SliceStable(all, func(i, j int) bool { return need(i) > need(j) })
	// Phases that need nothing say nothing, unless all are such.
	some := sort.Search(len(all), func(i int) bool { return need(i) <= 0 })
	if some > 0 {
		all = all[:some]
	}
	all = all[:min(len(all), overviewPhases)]
	o.section("Phases of steady iterations that need most" + ofLevel(rep))
	g := tables.Rows(tables.PhasePeaks.Columns(tables.Workbook), all)
	o.table("Phase_peaks", table{}.of(g))
	return &g
}

// charts draws the level of each iteration, one chart a track, and beside the first the phases of a table of so many rows
// whose head is in row head of this sheet.
func (o *overview) charts(rep *findings.Report, phases *tables.Grid, head int) {
	if !rep.Collected.Memory {
		return
	}
	o.row++
	// A picture that is cut by the end of a page shows nothing.
	o.do(o.b.f.InsertPageBreak(overviewSheet, "A"+strconv.Itoa(o.row)))
	o.row++
	g := tables.IterationGrid(rep.Report, tables.Iterations.Columns(tables.Workbook))
	drawn, first := 0, 0
	right, _ := excelize.ColumnNumberToName(overviewWidth/2 + 1)
	for _, t := range rep.Tracks {
		from := first
		first += len(t.Iterations)
		shown := min(len(t.Iterations), chartPoints, maxRows-1-from)
		if shown <= 0 || drawn == overviewTracks {
			continue
		}
		drawn++
		o.chartRow()
		c := plotted{iterationsSheet, &g, "iteration", 1, from, from + shown}.
			lines([][2]string{{"peak_bytes", "E08214"}, {"start_bytes", "4393C3"}, {"end_bytes", "1F4E79"}})
		c.Title, c.XAxis.Title = title("Device level of each iteration, "+processAndDevice(t)), title("iteration")
		for i := range c.Series[1:] {
			c.Series[i+1].Line.Width = 1.5
		}
		o.chart("A", c)
		if drawn == 1 && phases != nil {
			c := plotted{overviewSheet, phases, "path", head, 0, phases.Rows}.
				bars([][2]string{{"held.max.peak_bytes", "E08214"}, {"held.max.need_bytes", "4393C3"}})
			c.Title = title("Highest peak and need of phases" + ofLevel(rep))
			o.chart(right, c)
		}
		o.row += chartRows
	}
}

// chartRow begins a row of charts: a new page after each two, for a picture that is cut by the end of a page shows
// nothing.
func (o *overview) chartRow() {
	if o.rows > 0 && o.rows%2 == 0 && o.err == nil {
		o.do(o.b.f.InsertPageBreak(overviewSheet, "A"+strconv.Itoa(o.row)))
	}
	o.rows++
}

func (o *overview) chart(col string, c *excelize.Chart) {
	c.Legend = excelize.ChartLegend{Position: "bottom"}
	c.Dimension = excelize.ChartDimension{Width: 690, Height: 340}
	c.ShowBlanksAs = "gap"
	if o.err == nil {
		o.do(o.b.f.AddChart(overviewSheet, col+strconv.Itoa(o.row), c))
	}
}
