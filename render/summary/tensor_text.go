package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

const (
	textShares   = 8 // so many frames and phases that hold memory are shown
	textTakers   = 8
	textFailures = 6
	textMisfits  = 6
)

// inferred says under a table that its iterations were not annotated.
func (p *printer) inferred(t *align.Track) {
	if s := phrase.Inferred(t); s != "" {
		p.para("  ", "("+s+")", dim)
	}
}

// tensors writes what a snapshot, or a program without a caching allocator, tells of the track's tensors.
func (p *printer) tensors(rep *findings.Report, t *align.Track) {
	ten := t.Tensors
	if ten == nil {
		if t.Theory != nil {
			p.blank()
			p.theory(t)
		}
		return
	}
	if t.HasTensorLevels() {
		if len(t.Iterations) > 0 {
			p.head("Three levels of each iteration: what tensors hold, what PyTorch's allocator holds, and all that was traced")
			p.levelIterations(t)
		}
		if len(t.Phases) > 0 {
			p.head("Three levels of each phase (highest over the steady iterations)")
			p.levelPhases(t)
		}
	}
	p.head("Tensors")
	p.para("  ", phrase.Tensors(ten)+".")
	if s := phrase.Clock(ten.Clock); s != "" {
		p.para("  clock: ", s+".")
	}
	if s := phrase.Settings(ten); s != "" {
		p.para("  allocator settings: ", s+".")
	}
	p.head("Categories (requested bytes; highest in steady iterations, and at the peak)")
	p.categories(ten)
	if t.Theory != nil {
		p.blank()
		p.theory(t)
	}
	p.head(fmt.Sprintf("Who holds %s at the peak, %s, at %s", wording.Bytes(ten.Peak.Bytes), phrase.At(t, ten.Peak.Iteration, ten.Peak.Phase), wording.Duration(ten.Peak.Time-rep.Source.Start)))
	p.holding(&ten.Peak)
	p.inferred(t)
	if n := len(ten.Failures); n > 0 {
		p.head(fmt.Sprintf("Requests that could not be served (%s)", wording.Count(n)))
		p.failures(rep, t)
	}
	if ten.Outside != nil {
		p.head("Memory outside PyTorch")
		p.outside(t)
	}
	if ten.AtReserved != nil {
		p.head("Fragmentation of the cache")
		p.fragmentation(rep, t)
	}
}

func (p *printer) levelIterations(t *align.Track) {
	tab := &textTable{}
	index := tab.add(column{head: "#"})
	aPeak := tab.add(column{head: "peak", over: "allocated"})
	// Ends and gaps add up to the traced level at the end: they stay together.
	aNeed := tab.add(column{head: "need", over: "allocated", rank: 6})
	aEnd := tab.add(column{head: "end", over: "allocated", rank: 3})
	rPeak := tab.add(column{head: "peak", over: "reserved", rank: 5})
	rNeed := tab.add(column{head: "need", over: "reserved", rank: 9})
	dPeak := tab.add(column{head: "peak", over: "traced", rank: 8})
	dNeed := tab.add(column{head: "need", over: "traced", rank: 10})
	unused := tab.add(column{head: "unused", over: "end gaps", rank: 1})
	outside := tab.add(column{head: "outside", over: "end gaps", rank: 2})
	phase := tab.add(column{head: "allocated peaks in", left: true, rank: 7, min: 18})
	flag := tab.add(column{head: "", left: true, rank: 4})
	show := thin(t.Iterations, textIterations)
	gaps := map[int]string{}
	for n, i := range show.rows {
		it := &t.Iterations[i]
		if n > 0 && show.rows[n-1] != i-1 {
			gaps[n] = fmt.Sprintf("… %s more", wording.Count(i-show.rows[n-1]-1))
		}
		index.cells = append(index.cells, strconv.Itoa(it.Index))
		levelCells(it.Level(align.LevelAllocated), aPeak, aNeed, aEnd)
		levelCells(it.Level(align.LevelReserved), rPeak, rNeed, nil)
		levelCells(&it.Memory, dPeak, dNeed, nil)
		free, other, ok := it.Use.Gaps()
		unused.cells = append(unused.cells, known(ok, wording.Bytes(free)))
		outside.cells = append(outside.cells, known(ok, wording.Bytes(other)))
		phase.cells = append(phase.cells, wording.Terminal(it.PeakPhase("allocated")))
		flag.cells = append(flag.cells, phrase.Flags(it))
	}
	p.table(tab, gaps)
	p.inferred(t)
	p.para("  ", "(gaps at the end of each: unused in the allocator's cache, reserved less allocated; outside of it, traced less reserved)", dim)
}

// levelCells fills the cells of a level; nil is a level that the row does not have, or a column that is not there.
func levelCells(u *align.MemoryUse, peak, need, end *column) {
	put := func(c *column, get func(*align.MemoryUse) int64) {
		switch {
		case c == nil:
		case u == nil:
			c.cells = append(c.cells, "n/a")
		default:
			c.cells = append(c.cells, wording.Bytes(get(u)))
		}
	}
	put(peak, func(u *align.MemoryUse) int64 { return u.Peak })
	put(need, func(u *align.MemoryUse) int64 { return u.Need })
	put(end, func(u *align.MemoryUse) int64 { return u.End })
}

func (p *printer) levelPhases(t *align.Track) {
	tab := &textTable{}
	name := tab.add(column{head: "phase", left: true, min: 12})
	aPeak := tab.add(column{head: "peak", over: "allocated"})
	aNeed := tab.add(column{head: "need", over: "allocated", rank: 1})
	aNet := tab.add(column{head: "net (median)", over: "allocated", rank: 6})
	rPeak := tab.add(column{head: "peak", over: "reserved", rank: 2})
	rNeed := tab.add(column{head: "need", over: "reserved", rank: 4})
	dPeak := tab.add(column{head: "peak", over: "traced", rank: 3})
	dNeed := tab.add(column{head: "need", over: "traced", rank: 5})
	from := tab.add(column{head: "from", left: true, rank: 1})
	show := thinPhases(t.Phases, textPhases)
	for _, i := range show.rows {
		ph := &t.Phases[i]
		name.cells = append(name.cells, strings.Repeat("  ", min(max(ph.Depth-1, 0), 8))+wording.Terminal(ph.Name))
		levelCells(ph.Max.Level(align.LevelAllocated), aPeak, aNeed, nil)
		net := "n/a"
		if u := ph.Median.Level(align.LevelAllocated); u != nil {
			net = wording.SignedBytes(u.Net)
		}
		aNet.cells = append(aNet.cells, net)
		levelCells(ph.Max.Level(align.LevelReserved), rPeak, rNeed, nil)
		levelCells(&ph.Max.Memory, dPeak, dNeed, nil)
		s := ""
		if ph.Inferred {
			s = "inferred"
		}
		from.cells = append(from.cells, s)
	}
	p.table(tab, nil)
	p.inferred(t)
}

func (p *printer) categories(ten *tensor.Memory) {
	tab := &textTable{}
	name := tab.add(column{head: "category", left: true, min: 8})
	most := tab.add(column{head: "steady max"})
	at := tab.add(column{head: "at peak"})
	share := tab.add(column{head: "share of it", rank: 1})
	for _, c := range ten.Categories {
		name.cells = append(name.cells, wording.Terminal(c.Name))
		most.cells = append(most.cells, wording.Bytes(c.Max))
		at.cells = append(at.cells, wording.Bytes(c.AtPeak))
		share.cells = append(share.cells, wording.Share(c.AtPeak, ten.Peak.Bytes))
	}
	p.table(tab, nil)
	if s := phrase.Unknown(ten); s != "" {
		p.para("  ", "("+s+")", dim)
	}
}

// theory writes the expected bytes, beside the measured ones where these are known, to the byte.
func (p *printer) theory(t *align.Track) {
	p.para("  ", "Theory: "+phrase.Theory(t.Theory)+".")
	tab := &textTable{}
	name := tab.add(column{head: "category", left: true, min: 8})
	formula := tab.add(column{head: "theory", rank: 1})
	expected := tab.add(column{head: "bytes", rank: 2})
	measured := tab.add(column{head: "measured"})
	diff := tab.add(column{head: "difference"})
	list := phrase.BesideTheory(t)
	for i := range list {
		b := &list[i]
		name.cells = append(name.cells, b.Category)
		formula.cells = append(formula.cells, b.Formula)
		expected.cells = append(expected.cells, wording.Count(b.Expected))
		measured.cells = append(measured.cells, known(b.Known, wording.Count(b.Measured)))
		diff.cells = append(diff.cells, known(b.Known, wording.SignedCount(b.Difference())))
	}
	p.table(tab, nil)
	for i := range list {
		if b := &list[i]; b.Note != "" {
			p.para("  ", fmt.Sprintf("%s: %s bytes: %s", b.Category, wording.SignedCount(b.Difference()), b.Note))
		}
	}
	if t.Tensors == nil {
		p.para("  ", "(measured needs a snapshot: --snapshot)", dim)
	}
}

// topShares are the largest parts, and one for the rest.
func topShares(list []tensor.Share, n int) []tensor.Share {
	if len(list) <= n {
		return list
	}
	rest := tensor.Share{Name: fmt.Sprintf("(%s others)", wording.Count(len(list)-n+1))}
	for _, s := range list[n-1:] {
		rest.Blocks += s.Blocks
		rest.Bytes += s.Bytes
	}
	return append(append([]tensor.Share(nil), list[:n-1]...), rest)
}

func (p *printer) holding(h *tensor.Holding) {
	for _, g := range phrase.ShareGroups(h) {
		tab := &textTable{}
		name := tab.add(column{head: "by " + g.By, left: true, min: 18})
		bytes := tab.add(column{head: "bytes"})
		share := tab.add(column{head: "share", rank: 2})
		blocks := tab.add(column{head: "blocks", rank: 1})
		list := topShares(g.Shares, textShares)
		wide := 0
		for _, s := range list {
			wide = max(wide, wording.Width(wording.Terminal(s.Name)))
		}
		for _, s := range list {
			// All groups have their columns under each other.
			name.cells = append(name.cells, wording.Terminal(s.Name)+strings.Repeat(" ", max(min(36, p.width-40)-wording.Width(wording.Terminal(s.Name)), 0)))
			bytes.cells = append(bytes.cells, fmt.Sprintf("%11s", wording.Bytes(s.Bytes)))
			share.cells = append(share.cells, fmt.Sprintf("%6s", wording.Share(s.Bytes, h.Bytes)))
			blocks.cells = append(blocks.cells, wording.Count(s.Blocks))
		}
		p.table(tab, nil)
	}
}

func (p *printer) failures(rep *findings.Report, t *align.Track) {
	ten := t.Tensors
	from := max(len(ten.Failures)-textFailures, 0)
	if from > 0 {
		p.para("  ", fmt.Sprintf("(the last %d; all are in --format json)", textFailures), dim)
	}
	var caches []*tensor.Cache
	for i := range ten.Failures[from:] {
		if c := ten.Failures[from+i].Cache; c != nil {
			caches = append(caches, c)
		}
	}
	p.caches(rep, t, caches)
	last := &ten.Failures[len(ten.Failures)-1]
	p.para("  ", fmt.Sprintf("At the last of them, %s in tensors:", wording.Bytes(last.Bytes)))
	p.holding(last)
}

func (p *printer) caches(rep *findings.Report, t *align.Track, list []*tensor.Cache) {
	tab := &textTable{}
	at := tab.add(column{head: "at", rank: 5})
	in := tab.add(column{head: "in", left: true, min: 16, rank: 2})
	request := tab.add(column{head: "request"})
	free := tab.add(column{head: "free"})
	largest := tab.add(column{head: "largest free"})
	stuck := tab.add(column{head: "stuck", rank: 8})
	allocated := tab.add(column{head: "allocated", rank: 7})
	reserved := tab.add(column{head: "reserved", rank: 4})
	device := tab.add(column{head: "free on the card", rank: 3})
	for _, c := range list {
		at.cells = append(at.cells, wording.Duration(c.Time-rep.Source.Start))
		in.cells = append(in.cells, phrase.At(t, c.Iteration, c.Phase))
		request.cells = append(request.cells, known(c.Request > 0, wording.Bytes(c.Request)))
		free.cells = append(free.cells, wording.Bytes(c.Free))
		largest.cells = append(largest.cells, wording.Bytes(c.LargestFree))
		stuck.cells = append(stuck.cells, wording.Bytes(c.Stuck))
		allocated.cells = append(allocated.cells, wording.Bytes(c.Allocated))
		reserved.cells = append(reserved.cells, wording.Bytes(c.Reserved))
		s := ""
		if c.DeviceFree > 0 {
			s = wording.Bytes(c.DeviceFree)
		}
		device.cells = append(device.cells, s)
	}
	p.table(tab, nil)
	p.inferred(t)
}

func (p *printer) outside(t *align.Track) {
	o := t.Tensors.Outside
	p.para("  ", phrase.Outside(o))
	list, left := topTakers(o)
	if len(list) == 0 {
		return
	}
	tab := &textTable{}
	call := tab.add(column{head: "call", left: true, min: 10})
	in := tab.add(column{head: "in", left: true, min: 16, rank: 1})
	bytes := tab.add(column{head: "taken"})
	live := tab.add(column{head: "live at the end"})
	blocks := tab.add(column{head: "blocks", rank: 2})
	for i := range list {
		x := &list[i]
		call.cells = append(call.cells, known(x.Call != "", wording.Terminal(x.Call)))
		in.cells = append(in.cells, phrase.TakerPlace(t, x))
		bytes.cells = append(bytes.cells, wording.Bytes(x.Bytes))
		live.cells = append(live.cells, wording.Bytes(x.Live))
		blocks.cells = append(blocks.cells, wording.Count(x.Blocks))
	}
	p.table(tab, nil)
	p.inferred(t)
	if left > 0 {
		p.para("  ", fmt.Sprintf("(%s more takers are in --format json)", wording.Count(left)), dim)
	}
}

// topTakers are the takers to show, and how many there are beside them. Static memory is always shown.
func topTakers(o *tensor.Outside) (list []tensor.Taker, left int) {
	list = phrase.OutsideTakers(o)
	left = max(len(o.Takers)-textTakers, 0)
	return slices.Delete(list, len(o.Takers)-left, len(o.Takers)), left
}

func (p *printer) fragmentation(rep *findings.Report, t *align.Track) {
	ten := t.Tensors
	p.para("  ", phrase.Fragmentation(t))
	var list []*tensor.Cache
	for i := range ten.Growth {
		if c := &ten.Growth[i]; c.Misfit() {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return
	}
	if len(list) > textMisfits {
		list = list[len(list)-textMisfits:]
		p.para("  ", fmt.Sprintf("The last %d of such:", textMisfits))
	}
	p.caches(rep, t, list)
}
