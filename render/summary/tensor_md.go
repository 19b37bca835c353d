package summary

import (
	"fmt"
	"strconv"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// inferred says under a table that its iterations were not annotated.
func (m *markdown) inferred(t *align.Track) {
	if s := phrase.Inferred(t); s != "" {
		m.line("")
		m.line("*(" + wording.Markdown(s) + ")*")
	}
}

// levelBytes is a figure of a level; n/a where the row does not have the level.
func levelBytes(u *align.MemoryUse, get func(*align.MemoryUse) int64) string {
	if u == nil {
		return "n/a"
	}
	return wording.Bytes(get(u))
}

func peakOf(u *align.MemoryUse) int64 { return u.Peak }
func needOf(u *align.MemoryUse) int64 { return u.Need }

// tensors writes what printer.tensors does.
func (m *markdown) tensors(rep *findings.Report, t *align.Track) {
	ten := t.Tensors
	if ten == nil {
		if t.Theory != nil {
			m.head(3, "Theory")
			m.theory(t)
		}
		return
	}
	if t.HasTensorLevels() {
		m.levels(t)
	}
	m.head(3, "Tensors")
	m.line(wording.Markdown(phrase.Tensors(ten)) + ".")
	if s := phrase.Clock(ten.Clock); s != "" {
		m.line("Clock: " + wording.Markdown(s) + ".")
	}
	if s := phrase.Settings(ten); s != "" {
		m.line("Allocator settings: " + wording.Markdown(s) + ".")
	}
	m.line("")
	m.begin(1, "Category", "Highest in steady iterations", "At the peak", "Share of it")
	for _, c := range ten.Categories {
		m.row(wording.Markdown(c.Name), wording.Bytes(c.Max), wording.Bytes(c.AtPeak), wording.Share(c.AtPeak, ten.Peak.Bytes))
	}
	if s := phrase.Unknown(ten); s != "" {
		m.line("")
		m.line("*(" + wording.Markdown(s) + ")*")
	}
	m.inferred(t)
	if t.Theory != nil {
		m.line("")
		m.theory(t)
	}
	m.head(3, fmt.Sprintf("Who holds %s at the peak, %s", wording.Bytes(ten.Peak.Bytes), wording.Markdown(phrase.At(t, ten.Peak.Iteration, ten.Peak.Phase))))
	m.holding(&ten.Peak)
	m.inferred(t)
	if n := len(ten.Failures); n > 0 {
		m.head(3, fmt.Sprintf("Requests that could not be served (%d)", n))
		var caches []*tensor.Cache
		for i := range ten.Failures[max(n-textFailures, 0):] {
			if c := ten.Failures[max(n-textFailures, 0)+i].Cache; c != nil {
				caches = append(caches, c)
			}
		}
		m.caches(rep, t, caches)
		m.line("")
		m.line(fmt.Sprintf("At the last of them, %s in tensors:", wording.Bytes(ten.Failures[n-1].Bytes)))
		m.line("")
		m.holding(&ten.Failures[n-1])
	}
	m.outside(t)
	if ten.AtReserved != nil {
		m.head(3, "Fragmentation of the cache")
		m.line(wording.Markdown(phrase.Fragmentation(t)))
		var list []*tensor.Cache
		for i := range ten.Growth {
			if c := &ten.Growth[i]; c.Misfit() {
				list = append(list, c)
			}
		}
		if len(list) > 0 {
			m.line("")
			m.caches(rep, t, list[max(len(list)-textMisfits, 0):])
		}
	}
}

func (m *markdown) levels(t *align.Track) {
	if len(t.Iterations) > 0 {
		m.head(3, "Three levels of each iteration")
		m.begin(2, "Iteration", "Allocated peaks in", "Allocated peak", "Allocated need", "Reserved peak", "Reserved need", "Traced peak", "Traced need",
			"Unused at end", "Outside at end", "Note")
		show := thin(t.Iterations, textIterations)
		for n, i := range show.rows {
			it := &t.Iterations[i]
			if n > 0 && show.rows[n-1] != i-1 {
				m.row(append([]string{fmt.Sprintf("… %s more", wording.Count(i-show.rows[n-1]-1))}, make([]string, 10)...)...)
			}
			a, r := it.Level(align.LevelAllocated), it.Level(align.LevelReserved)
			unused, outside, ok := it.Use.Gaps()
			m.row(wording.Markdown(it.Name), wording.Markdown(it.PeakPhase("allocated")), levelBytes(a, peakOf), levelBytes(a, needOf), levelBytes(r, peakOf), levelBytes(r, needOf),
				m.bytes(it.Memory.Peak), m.bytes(it.Memory.Need), known(ok, wording.Bytes(unused)), known(ok, wording.Bytes(outside)), phrase.Flags(it))
		}
		m.inferred(t)
	}
	if len(t.Phases) > 0 {
		m.head(3, "Three levels of each phase (highest over the steady iterations)")
		m.begin(1, "Phase", "Allocated peak", "Allocated need", "Allocated net (median)", "Reserved peak", "Reserved need", "Traced peak", "Traced need")
		for i := range t.Phases {
			p := &t.Phases[i]
			a, r, net := p.Max.Level(align.LevelAllocated), p.Max.Level(align.LevelReserved), "n/a"
			if u := p.Median.Level(align.LevelAllocated); u != nil {
				net = wording.SignedBytes(u.Net)
			}
			name := wording.Markdown(p.Path)
			if p.Inferred {
				name += " (inferred)"
			}
			m.row(name, levelBytes(a, peakOf), levelBytes(a, needOf), net, levelBytes(r, peakOf), levelBytes(r, needOf), m.bytes(p.Max.Memory.Peak), m.bytes(p.Max.Memory.Need))
		}
	}
}

func (m *markdown) theory(t *align.Track) {
	m.line(wording.Markdown("Theory: " + phrase.Theory(t.Theory) + "."))
	m.line("")
	m.begin(1, "Category", "Theory", "Bytes", "Measured", "Difference", "Likely")
	for _, b := range phrase.BesideTheory(t) {
		m.row(b.Category, b.Formula, wording.Count(b.Expected), known(b.Known, wording.Count(b.Measured)), known(b.Known, wording.SignedCount(b.Difference())), wording.Markdown(b.Note))
	}
}

func (m *markdown) holding(h *tensor.Holding) {
	m.begin(2, "By", "Name", "Blocks", "Bytes", "Share")
	for _, g := range phrase.ShareGroups(h) {
		for _, s := range topShares(g.Shares, textShares) {
			m.row(g.By, wording.Markdown(s.Name), strconv.Itoa(s.Blocks), wording.Bytes(s.Bytes), wording.Share(s.Bytes, h.Bytes))
		}
	}
}

func (m *markdown) caches(rep *findings.Report, t *align.Track, list []*tensor.Cache) {
	m.begin(1, "In", "At", "Request", "Free", "Largest free", "Stuck", "Allocated", "Reserved", "Free on the card")
	for _, c := range list {
		device := ""
		if c.DeviceFree > 0 {
			device = wording.Bytes(c.DeviceFree)
		}
		m.row(wording.Markdown(phrase.At(t, c.Iteration, c.Phase)), wording.Duration(c.Time-rep.Source.Start), known(c.Request > 0, wording.Bytes(c.Request)), wording.Bytes(c.Free), wording.Bytes(c.LargestFree),
			wording.Bytes(c.Stuck), wording.Bytes(c.Allocated), wording.Bytes(c.Reserved), device)
	}
	m.inferred(t)
}

func (m *markdown) outside(t *align.Track) {
	o := t.Tensors.Outside
	if o == nil {
		return
	}
	m.head(3, "Memory outside PyTorch")
	m.line(wording.Markdown(phrase.Outside(o)))
	list, _ := topTakers(o)
	if len(list) == 0 {
		return
	}
	m.line("")
	m.begin(2, "Call", "In", "Blocks", "Taken", "Live at the end")
	for i := range list {
		x := &list[i]
		m.row(known(x.Call != "", wording.Markdown(x.Call)), wording.Markdown(phrase.TakerPlace(t, x)), strconv.Itoa(x.Blocks), wording.Bytes(x.Bytes), wording.Bytes(x.Live))
	}
	m.inferred(t)
}
