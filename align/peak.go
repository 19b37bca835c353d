package align

import (
	"sort"
	"strings"
)

// AtStart stands for the phase of the peak where a level never rose above the iteration's start.
const AtStart = "at its start"

const (
	// tieShare is the part of a peak within which another phase's peak counts as equal to it, 1 in 100. Which of the two is
	// higher is decided by a workspace or by rounding, and differs from run to run.
	tieShare = 100

	// takerShare is the part of the largest need among equal peaks, 1 in 100, below which a phase is passed over: it met the
	// level that others had made.
	takerShare = 100
)

// A PeakBy says what made a peak.
type PeakBy struct {
	Phase string   // path; OtherPhase where it was in none, AtStart where the level did not rise, empty without phases
	Ties  []string // paths of other phases that came within 1 % of the peak, in order; nil for none
	At    int64    // ns; when the level was there, of a tie within 1 %, and but for static memory of modules
}

// String names the phase with those that it ties with, such as "forward (tie: backward)".
func (p PeakBy) String() string {
	if len(p.Ties) == 0 {
		return p.Phase
	}
	return p.Phase + " (tie: " + strings.Join(p.Ties, ", ") + ")"
}

// Short is String for a column that may be cut: "≈ forward" where other phases tie with it.
func (p PeakBy) Short() string {
	if len(p.Ties) == 0 {
		return p.Phase
	}
	return "≈ " + p.Phase
}

// own is how high a level comes in a row: the device level without static memory unless that is all there is, other levels
// as they are.
func (u *Use) own(kind LevelKind) (OwnPeak, bool) {
	if kind == LevelDevice && u.Own != nil && u.Own.Bytes > 0 {
		return *u.Own, true
	}
	m := u.Level(kind)
	if m == nil {
		return OwnPeak{}, false
	}
	return OwnPeak{m.Peak, m.PeakAt, m.Need}, true
}

// PeakBy says which phase made the peak of a level in the iteration; it is empty where the iteration has no such level.
//
//  1. The device level counts without static memory of modules, which is loaded lazily, in whichever phase comes first.
//  2. Of the topmost phases of which there are several, those whose peak is within 1 % of the iteration's are equal, and
//     the one that took most memory made it.
//  3. Within that phase it is the innermost one that has its peak. Layers that add to each other all come near it, and
//     the last of them makes it.
func (it *Iteration) PeakBy(kind LevelKind) PeakBy {
	top, ok := it.Use.own(kind)
	switch {
	case !ok || len(it.Phases) == 0:
		return PeakBy{}
	case top.Need == 0:
		return PeakBy{Phase: AtStart, At: top.At}
	}
	out := PeakBy{Phase: it.innermost(kind, top, ""), At: top.At}
	depth := it.fork()
	if !it.peaksAt(kind, top, depth) {
		return out
	}
	var taker *Phase
	most := int64(0)
	for i := range it.Phases {
		p := &it.Phases[i]
		if !p.near(kind, top, depth) {
			continue
		}
		if need := p.needOf(kind); need > most || need == most && taker != nil && under(out.Phase, p.Path) {
			taker, most = p, need
		}
	}
	if taker == nil {
		return out
	}
	for i := range it.Phases {
		if p := &it.Phases[i]; p != taker && p.near(kind, top, depth) && p.needOf(kind) > most/takerShare {
			out.Ties = append(out.Ties, p.Path)
		}
	}
	if !under(out.Phase, taker.Path) {
		peak, _ := taker.Use.own(kind)
		out.Phase, out.At = it.innermost(kind, peak, taker.Path), peak.At
	}
	return out
}

// PeakPhase is the path of the phase that made the peak of a level in the iteration; see PeakBy.
func (it *Iteration) PeakPhase(kind LevelKind) string { return it.PeakBy(kind).Phase }

// fork is the topmost depth at which the iteration has several phases; 0 for none.
func (it *Iteration) fork() int {
	for depth := 1; ; depth++ {
		n := 0
		for i := range it.Phases {
			if p := &it.Phases[i]; p.Depth == depth && p.Path != OtherPhase {
				n++
			}
		}
		switch {
		case n == 0:
			return 0
		case n > 1:
			return depth
		}
	}
}

// peaksAt says that one of the phases of a depth has the iteration's very peak: else that was outside of all of them.
func (it *Iteration) peaksAt(kind LevelKind, top OwnPeak, depth int) bool {
	for i := range it.Phases {
		p := &it.Phases[i]
		if o, ok := p.Use.own(kind); ok && p.Depth == depth && o.Bytes == top.Bytes {
			return true
		}
	}
	return false
}

// near says that a phase is of a depth and comes within 1 % of the iteration's peak.
func (p *Phase) near(kind LevelKind, top OwnPeak, depth int) bool {
	o, ok := p.Use.own(kind)
	return ok && p.Depth == depth && o.Bytes >= top.Bytes-top.Bytes/tieShare
}

// needOf is the need of a phase in a level, without static memory.
func (p *Phase) needOf(kind LevelKind) int64 {
	o, _ := p.Use.own(kind)
	return o.Need
}

// under says that a path is that of a phase or lies below it.
func under(path, phase string) bool {
	rest, ok := strings.CutPrefix(path, phase)
	return ok && (rest == "" || rest[0] == '/')
}

// innermost finds the innermost phase, at or below a path unless that is empty, that has a peak: the same bytes at the same
// time. A phase that merely spans the time, between two of its calls, has its own peak elsewhere and is passed over. It
// is the path given, or OtherPhase, where there is none.
func (it *Iteration) innermost(kind LevelKind, peak OwnPeak, below string) string {
	path, depth := below, 0
	if path == "" {
		path = OtherPhase
	}
	for i := range it.Phases {
		p := &it.Phases[i]
		if p.Path == OtherPhase || p.Depth <= depth || below != "" && !under(p.Path, below) {
			continue
		}
		if o, ok := p.Use.own(kind); ok && o.Bytes == peak.Bytes && o.At == peak.At {
			path, depth = p.Path, p.Depth
		}
	}
	return path
}

// PeakPlace is the iteration in which a level of the track was highest and what made the peak there: nil and nothing where
// that was outside all iterations. Where modules alone lifted the level in that iteration, the one before counts in which
// the rest of the level came so high, if there is one.
func (t *Track) PeakPlace(l *Level) (*Iteration, PeakBy) {
	i := sort.Search(len(t.Iterations), func(i int) bool { return t.Iterations[i].End > l.PeakAt })
	if i == len(t.Iterations) || t.Iterations[i].Start > l.PeakAt {
		return nil, PeakBy{}
	}
	it := &t.Iterations[i]
	by := it.PeakBy(l.Kind)
	if top, ok := it.Use.own(l.Kind); ok && by.Phase == AtStart {
		for k := range t.Iterations[:i] {
			before := &t.Iterations[k]
			if o, ok := before.Use.own(l.Kind); ok && o.Need > 0 && o.Bytes >= top.Bytes {
				return before, before.PeakBy(l.Kind)
			}
		}
	}
	return it, by
}
