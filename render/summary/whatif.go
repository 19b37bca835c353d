package summary

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

const (
	whatIfColumns  = 7  // so many settings are compared iteration by iteration
	whatIfRows     = 24 // so many iterations
	whatIfFailures = 8  // so many failing settings are told of in full
	whatIfApart    = 10 // so many settings are all shown where they differ; of more, whatIfColumns
)

// WriteWhatIf writes a comparison of settings for a terminal of so many columns (0 for 80), as WriteText does.
func WriteWhatIf(w io.Writer, wi *whatif.Comparison, width int, color bool) error {
	p := newPrinter(w, width, color)
	p.compared(wi)
	title := "Settings"
	if wi.Ranked {
		title = "Settings, best first"
	}
	p.head(title)
	p.order(wi)
	p.settings(wi)
	p.limits(wi)
	p.apart(wi)
	p.places(wi)
	p.byIteration(wi)
	if notes := slices.Concat(wi.Notes, settingNotes(wi)); len(notes) > 0 {
		p.head("Notes")
		p.list(notes)
	}
	p.head("What these figures cannot know")
	p.list(wi.CannotKnow)
	return p.close()
}

// compared says what was recorded, and on which card it is to run.
func (p *printer) compared(wi *whatif.Comparison) {
	p.para("", wi.Snapshot, bold)
	s := fmt.Sprintf("device %d, %s allocations", wi.Device, wording.Count(wi.Allocations))
	if wi.Timed {
		s += " in " + wording.Duration(wi.To-wi.From)
	}
	switch {
	case wi.Known && wi.Recorded == "":
		s += ", recorded with the default setting"
	case wi.Known:
		s += ", recorded with setting " + wi.Recorded
	}
	p.para("  ", s)
	if wi.Track != nil {
		p.para("  ", phrase.Track(wi.Track))
	}
	if wi.Capacity > 0 {
		s := "capacity " + wording.Bytes(wi.Capacity)
		if wi.HasOutside {
			s += fmt.Sprintf(", less %s measured outside PyTorch", wording.Bytes(wi.Outside))
		}
		p.para("  ", s)
	}
}

// list writes sentences, each with a dash before it.
func (p *printer) list(sentences []string) {
	for _, s := range sentences {
		p.para("- ", s)
	}
}

// number is what the text calls the setting at a place. Settings are referred to by it: their names are long, and differ in
// the middle.
func number(i int) string { return "#" + strconv.Itoa(i+1) }

// order says how the rows are sorted, and what their figures are about.
func (p *printer) order(wi *whatif.Comparison) {
	switch {
	case wi.Ranked && wi.Capacity > 0:
		p.para("  ", fmt.Sprintf("Order: those that run through on %s, by peak reserved; then those that stop, by the smallest card on which they would run, however many requests fail.", wording.Bytes(wi.Capacity)), dim)
	case wi.Ranked:
		p.para("  ", "Order: by peak reserved.", dim)
	}
	if wi.Capacity > 0 {
		p.para("  ", "Peak reserved is on a card with room enough. On a smaller one the cache is given back before a request fails, so that a setting may run through on less than its peak.", dim)
	}
	for i := range wi.Settings {
		if s := &wi.Settings[i]; !s.IsRecorded && !s.IsDefault {
			return
		}
	}
	p.para("  ", "No other setting was asked for: --sweep tries some two dozen, --conf SETTING one of your own.")
}

// settings has a row for each. Where names would take the place of figures that matter, each name has a line of its own
// above them.
func (p *printer) settings(wi *whatif.Comparison) {
	cols, rows := tables.Settings.Columns(tables.Terminal), tables.SettingRows(wi)
	tab := settingTable(wi, cols, rows)
	lines, dropped := tab.lines(p.width - 2)
	if tab.holds(dropped, "cache_at_allocated_peak_bytes", "failed", "smallest_capacity_bytes") &&
		!slices.ContainsFunc(lines, func(l string) bool { return wording.Width(l) > p.width-2 }) {
		p.table(tab, nil)
		return
	}
	const in = "     " // as far as a name is behind its number
	figures := slices.DeleteFunc(slices.Clone(cols), func(c tables.Column[*tables.Setting]) bool {
		return c.Key == "number" || c.Key == "setting_is"
	})
	tab = settingTable(wi, figures, rows)
	lines, dropped = tab.lines(p.width - len(in))
	for i, l := range lines {
		if i < tab.heads {
			p.line(in + p.paint(bold, l))
			continue
		}
		p.para("  "+number(i-tab.heads)+" ", phrase.Setting(&wi.Settings[i-tab.heads]))
		p.line(in + l)
	}
	if len(dropped) > 0 {
		p.para("  ", "(left out at this width: "+strings.Join(dropped, ", ")+")", dim)
	}
}

// settingTable says over the figures on which card they are, where one was asked for.
func settingTable(wi *whatif.Comparison, cols []tables.Column[*tables.Setting], rows []*tables.Setting) *textTable {
	tab := laidOut(cols, rows)
	if wi.Capacity == 0 {
		for _, c := range tab.cols {
			c.over = ""
		}
		return tab
	}
	tab.column("failed").over = "on " + wording.Bytes(wi.Capacity)
	return tab
}

// limits says which settings run on the card that was asked for, and where the others stop.
func (p *printer) limits(wi *whatif.Comparison) {
	if wi.Capacity == 0 {
		return
	}
	p.head("On a card of " + wording.Bytes(wi.Capacity))
	none := true
	for i := range wi.Settings {
		if s := &wi.Settings[i]; s.Failed() == 0 {
			none = false
			p.para("  "+number(i)+" ", phrase.Setting(s)+" runs through"+retries(s.Limited.Retries)+".")
		}
	}
	if none {
		p.para("  ", "No setting tried runs through.")
	}
	// In full for those that one asks about first; the rest, which differ in figures alone, as a table.
	told := map[int]bool{}
	for i := range wi.Settings {
		if s := &wi.Settings[i]; s.Failed() > 0 && (len(told) < whatIfFailures && !wi.Ranked || s.IsRecorded || s.IsDefault) {
			told[i] = true
			p.para("  "+p.paint(red, number(i))+" ", phrase.Setting(s)+" "+phrase.Failure(wi, s)+".")
		}
	}
	rows := slices.DeleteFunc(tables.SettingRows(wi), func(r *tables.Setting) bool { return wi.Settings[r.Place].Failed() == 0 || told[r.Place] })
	p.placed(wi, laidOut(tables.Stops.Columns(tables.Terminal), rows), len(rows))
}

// retries tells of caches that were given back because there was no room.
func retries(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", and gives its whole cache back once, which costs time"
	}
	return fmt.Sprintf(", and gives its whole cache back %d times, which costs time", n)
}

// placed writes a table whose places are times without a report: things happen at those, and in a phase. Without rows there
// is none.
func (p *printer) placed(wi *whatif.Comparison, tab *textTable, rows int) {
	if rows == 0 {
		return
	}
	if wi.Track == nil {
		for _, c := range tab.cols {
			if name, ok := strings.CutSuffix(c.head, " in"); ok && c.left {
				c.head = name + " at"
			}
		}
	}
	p.table(tab, nil)
}

// settingNotes are what is to be said about single settings, each sentence once. Which settings it is about is left out where
// these are many: what is said of most of them is no reason to choose one.
func settingNotes(wi *whatif.Comparison) []string {
	var texts []string
	where := map[string][]string{}
	for i := range wi.Settings {
		for _, n := range wi.Settings[i].Notes {
			if where[n] == nil {
				texts = append(texts, n)
			}
			where[n] = append(where[n], number(i))
		}
	}
	for i, n := range texts {
		if len(where[n]) < len(wi.Settings) && len(where[n]) <= 6 {
			texts[i] = strings.Join(where[n], ", ") + ": " + n
		}
	}
	return texts
}
