package summary

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
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

// ties says what the mark before a phase's name means, where some of the iterations that are shown have one.
func (p *printer) ties(t *align.Track, show thinned, kind align.LevelKind) {
	if s := phrase.Ties(t, show, kind); s != "" {
		p.para("  ", s, dim)
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
	p.threeLevels(rep, t)
	p.head("Tensors")
	p.para("  ", phrase.Tensors(ten)+".")
	if s := phrase.Clock(ten.Clock); s != "" {
		p.para("  clock: ", s+".")
	}
	if s := phrase.Settings(ten); s != "" {
		p.para("  allocator settings: ", s+".")
	}
	p.head("Categories (requested bytes; highest in steady iterations, and at the peak)")
	p.categories(t)
	if t.Theory != nil {
		p.blank()
		p.theory(t)
	}
	p.head(fmt.Sprintf("Who holds %s at the peak, %s, at %s", wording.Bytes(ten.Peak.Bytes), phrase.At(t, ten.Peak.Iteration, ten.Peak.Phase), wording.Duration(ten.Peak.Time-rep.Source.Start)))
	p.holding(rep, t, &ten.Peak)
	p.inferred(t)
	if n := len(ten.Failures); n > 0 {
		p.head(fmt.Sprintf("Requests that could not be served (%s)", wording.Count(n)))
		p.failures(rep, t)
	}
	if ten.Outside != nil {
		p.head("Memory outside PyTorch")
		p.outside(rep, t)
	}
	if ten.AtReserved != nil {
		p.head("Fragmentation of the cache")
		p.fragmentation(rep, t)
	}
}

// threeLevels sets beside each other what tensors hold, what the allocator holds and what was traced: the difference tells
// a large model from a large cache.
func (p *printer) threeLevels(rep *findings.Report, t *align.Track) {
	if !t.HasTensorLevels() {
		return
	}
	if len(t.Iterations) > 0 {
		p.head("Three levels of each iteration: what tensors hold, what PyTorch's allocator holds, and all that was traced")
		show := thin(t.Iterations, textIterations)
		p.table(laidOut(tables.TensorLevels.Columns(tables.Terminal), stepsOf(rep, t, show)), show.gaps(""))
		p.inferred(t)
		p.ties(t, show, align.LevelAllocated)
		p.para("  ", phrase.EndGaps(t), dim)
	}
	if len(t.Phases) > 0 {
		p.head("Three levels of each phase (highest over the steady iterations)")
		rows := tables.RowsOf(rep.Report, t, t.Phases, thinPhases(t.Phases, textPhases))
		p.table(laidOut(tables.TensorPhases.Columns(tables.Terminal), rows), nil)
		p.inferred(t)
	}
}

// stepsOf are the iterations of a track that are shown.
func stepsOf(rep *findings.Report, t *align.Track, show thinned) []*tables.Step {
	steps := make([]*tables.Step, len(show))
	for n, i := range show {
		steps[n] = tables.StepOf(rep.Report, t, &t.Iterations[i], nil)
	}
	return steps
}

// categories says what tensors are for. Not all can be told: what unknown means is said below.
func (p *printer) categories(t *align.Track) {
	p.table(laidOut(tables.Categories.Columns(tables.Terminal), tables.MeasuredCategories(t)), nil)
	if s := phrase.Unknown(t.Tensors); s != "" {
		p.para("  ", "("+s+")", dim)
	}
}

// theory writes the expected bytes, beside the measured ones where these are known, to the byte.
func (p *printer) theory(t *align.Track) {
	p.para("  ", "Theory: "+phrase.Theory(t.Theory)+".")
	rows := tables.ExpectedCategories(t)
	p.table(laidOut(tables.Theory.Columns(tables.Terminal), rows), nil)
	for _, c := range rows {
		if b := c.Item.Beside; b.Note != "" {
			p.para("  ", fmt.Sprintf("%s: %s bytes: %s", b.Category, wording.SignedCount(b.Difference()), b.Note))
		}
	}
	if t.Tensors == nil {
		p.para("  ", "(measured needs a snapshot: --snapshot)", dim)
	}
}

// holding writes who holds memory, a table for each way of telling. They have their columns under each other.
func (p *printer) holding(rep *findings.Report, t *align.Track, h *tensor.Holding) {
	for _, g := range phrase.ShareGroups(h) {
		tab := laidOut(tables.HolderTable.Columns(tables.Terminal), tables.Holders(rep.Report, t, h, g, textShares))
		for key, wide := range map[string]int{"name": min(36, p.width-40), "bytes": 11, "share": 6} {
			tab.column(key).wide = wide
		}
		tab.column("name").head = "by " + g.By
		p.table(tab, nil)
	}
}

// failures tells of the last requests that could not be served, since a program that catches them may have many, and what
// was held at the very last, which most often ended the run.
func (p *printer) failures(rep *findings.Report, t *align.Track) {
	list := t.Tensors.Failures
	if len(list) > textFailures {
		p.para("  ", fmt.Sprintf("(the last %d; all are in --format json)", textFailures), dim)
	}
	p.caches(t, tables.FailedCaches(rep.Report, t, last(list, textFailures)))
	final := &list[len(list)-1]
	p.para("  ", fmt.Sprintf("At the last of them, %s in tensors:", wording.Bytes(final.Bytes)))
	p.holding(rep, t, final)
}

// last are the last of a list, n at most.
func last[E any](list []E, n int) []E { return list[max(len(list)-n, 0):] }

// caches writes states of the allocator's cache.
func (p *printer) caches(t *align.Track, rows []*tables.Row[tables.Cache]) {
	p.table(laidOut(tables.Caches.Columns(tables.Terminal), rows), nil)
	p.inferred(t)
}

// outside says who else took memory: what the allocator's own figures do not have.
func (p *printer) outside(rep *findings.Report, t *align.Track) {
	o := t.Tensors.Outside
	p.para("  ", phrase.Outside(o))
	list, left := topTakers(o)
	if len(list) == 0 {
		return
	}
	if libraries := phrase.OutsideLibraries(o); len(libraries) > 0 {
		p.table(laidOut(tables.Libraries.Columns(tables.Terminal), tables.AllRows(rep.Report, t, libraries)), nil)
	}
	p.table(laidOut(tables.Takers.Columns(tables.Terminal), tables.AllRows(rep.Report, t, list)), nil)
	p.inferred(t)
	if s := phrase.OutsideHow(o); s != "" {
		p.para("  ", "("+s+")", dim)
	}
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

// misfits are the states of the cache when a segment was added although enough was free.
func misfits(rep *findings.Report, t *align.Track) []*tables.Row[tables.Cache] {
	return slices.DeleteFunc(tables.GrowthCaches(rep.Report, t), func(r *tables.Row[tables.Cache]) bool { return !r.Item.Misfit() })
}

// fragmentation says how far free bytes of the cache could not be used.
func (p *printer) fragmentation(rep *findings.Report, t *align.Track) {
	p.para("  ", phrase.Fragmentation(t))
	list := misfits(rep, t)
	if len(list) == 0 {
		return
	}
	if len(list) > textMisfits {
		p.para("  ", fmt.Sprintf("The last %d of such:", textMisfits))
	}
	p.caches(t, last(list, textMisfits))
}
