package plot

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
	"nsysmem/render/plot/internal/canvas"
)

// WriteWhatIf draws what settings of the allocator would have reserved over time, a line a setting, over what tensors
// hold. Of many settings it shows those that differ most. Of o it takes size, font and title. Formats, warnings and
// errors are as Write has them.
func WriteWhatIf(w io.Writer, format string, wi *whatif.Comparison, o Options) (warnings []findings.Warning, err error) {
	defer recovered(format, &err)
	return write(w, format, o, func(c *canvas.Canvas) {
		page := canvas.NewPage(c)
		title := cmp.Or(o.Title, baseName(wi.Snapshot)+": reserved memory under other allocator settings")
		page.Title(clean(title), aboutSettings(wi))
		page.Skip(5)
		page.Lines(c.Wrap(settingsFinding(wi), canvas.Normal, page.Left.W(), 2))
		page.Skip(8)
		shown := wi.Chosen(min(len(settingPens), page.TableRows(0.3)))
		settingsTable(page, wi, shown)
		page.Skip(6)
		drawPanels(c, []panel{newSettings(wi, shown)}, []canvas.Rect{page.Left})
	})
}

// aboutSettings says whose requests they are.
func aboutSettings(wi *whatif.Comparison) string {
	s := fmt.Sprintf("device %d, ", wi.Device)
	if t := wi.Track; t != nil {
		s = fmt.Sprintf("%s (pid %d) on device %d, %s, ", baseName(t.Process), t.PID, t.Device, t.DeviceName)
	}
	s += fmt.Sprintf("%d allocations served again under each setting · PyTorch's cache alone, timing not modelled", wi.Allocations)
	if wi.HasOutside {
		s += " · " + wording.Bytes(wi.Outside) + " outside PyTorch not in the lines"
	}
	return clean(s)
}

// settingsFinding says what the reader should take along.
func settingsFinding(wi *whatif.Comparison) string {
	base := &wi.Settings[wi.Base()]
	best, stop := base, 0
	for i := range wi.Settings {
		s := &wi.Settings[i]
		if s.Failed() < best.Failed() || s.Failed() == best.Failed() && s.SmallestCard < best.SmallestCard {
			best = s
		}
		if s.Failed() > 0 {
			stop++
		}
	}
	text := fmt.Sprintf("%s reserves %s at most, for %s of tensors.", settingLabel(base), wording.Bytes(base.PeakReserved), wording.Bytes(base.PeakAllocated))
	if best != base {
		text += fmt.Sprintf(" %s would have reserved %s, and runs on a card of %s rather than %s.", settingLabel(best),
			wording.Bytes(best.PeakReserved), wording.Bytes(best.SmallestCard), wording.Bytes(base.SmallestCard))
	} else if len(wi.Settings) > 1 {
		text += " No setting tried would run on a smaller card."
	}
	if wi.Capacity > 0 {
		text += fmt.Sprintf(" On a card of %s, %d of the %d settings stop.", wording.Bytes(wi.Capacity), stop, len(wi.Settings))
	}
	return text
}

// settingLabel begins a sentence with a setting.
func settingLabel(s *whatif.Setting) string {
	if s.Conf == "" {
		return "The default"
	}
	return clean(s.Conf)
}

// A settingRow is a setting in the table.
type settingRow struct {
	*whatif.Setting
	name string
	pen  canvas.Pen
}

// settingsTable writes the settings shown with their figures.
func settingsTable(page *canvas.Page, wi *whatif.Comparison, shown []int) {
	bytes := func(head string, get func(*whatif.Setting) int64) canvas.Column[settingRow] {
		return canvas.Column[settingRow]{Head: head, Right: true, Cell: func(r settingRow) string { return wording.Bytes(get(r.Setting)) }}
	}
	columns := []canvas.Column[settingRow]{
		{Pen: func(r settingRow) canvas.Pen { return r.pen }},
		{Head: "setting", Yield: 2, Cell: func(r settingRow) string { return r.name }},
		bytes("peak reserved", func(s *whatif.Setting) int64 { return s.PeakReserved }),
		bytes("cache at tensor peak", func(s *whatif.Setting) int64 { return s.CacheAtPeak }),
		{Head: "cudaMallocs", Right: true, Cell: func(r settingRow) string { return strconv.Itoa(r.CUDAMallocs) }},
		bytes("smallest card", func(s *whatif.Setting) int64 { return s.SmallestCard }),
	}
	if wi.Capacity > 0 {
		columns = append(columns, canvas.Column[settingRow]{Head: "on " + wording.Bytes(wi.Capacity),
			Cell: func(r settingRow) string { return outcome(wi.Track, r.Setting) }})
	}
	columns[len(columns)-1].Yield = 1
	rows := make([]settingRow, len(shown))
	for k, i := range shown {
		s := &wi.Settings[i]
		name := cmp.Or(clean(s.Conf), "(default)")
		if s.IsRecorded {
			name += ", recorded"
		}
		rows[k] = settingRow{s, fmt.Sprintf("#%d %s", i+1, name) + hidden(wi, shown, k), settingPen(k, 1.8)}
	}
	more := ""
	if left := len(wi.Settings) - len(shown); left > 0 {
		more = fmt.Sprintf("%d more settings are in the table, not drawn", left)
	}
	canvas.Table(page, columns, rows, more)
}

// outcome says whether a setting runs on the card, and where it stops.
func outcome(t *align.Track, s *whatif.Setting) string {
	if s.Limited == nil || s.Limited.Failed == 0 {
		return "runs through"
	}
	if len(s.Limited.Failures) == 0 {
		return "stops"
	}
	m := &s.Limited.Failures[0].Moment
	switch {
	case t != nil && m.Iteration >= 0 && m.Iteration < len(t.Iterations):
		out := fmt.Sprintf("stops in iteration %d", t.Iterations[m.Iteration].Index)
		if m.Phase != "" {
			out += ", " + short(m.Phase)
		}
		return out
	case m.Phase != "":
		return "stops in " + short(m.Phase)
	case strings.HasPrefix(m.Frame, "after "):
		return "stops " + short(m.Frame)
	case m.Frame != "":
		return "stops in " + short(m.Frame)
	}
	return "stops"
}

// hides is the share of the panel's height, one part in so many, within which one line hides the other.
const hides = 200

// hidden names the line, of those drawn over it, behind which the k-th line shown lies; empty for none.
func hidden(wi *whatif.Comparison, shown []int, k int) string {
	var top int64
	for _, i := range shown {
		top = max(top, wi.Settings[i].PeakReserved)
	}
	for _, j := range shown[:k] {
		switch d := difference(&wi.Settings[j], &wi.Settings[shown[k]]); {
		case d == 0:
			return fmt.Sprintf(" (line as #%d)", j+1)
		case d <= top/hides:
			return fmt.Sprintf(" (line about as #%d)", j+1)
		}
	}
	return ""
}

// difference is the largest between the levels of two settings, in bytes.
func difference(s, t *whatif.Setting) int64 {
	a, b := s.Curve, t.Curve
	var x, y, most int64
	for len(a) > 0 || len(b) > 0 {
		event := int32(math.MaxInt32)
		if len(a) > 0 {
			event = a[0].Event
		}
		if len(b) > 0 {
			event = min(event, b[0].Event)
		}
		for ; len(a) > 0 && a[0].Event == event; a = a[1:] {
			x = a[0].Reserved
		}
		for ; len(b) > 0 && b[0].Event == event; b = b[1:] {
			y = b[0].Reserved
		}
		most = max(most, x-y, y-x)
	}
	return most
}
