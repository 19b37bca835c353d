package align

import (
	"cmp"
	"maps"
	"slices"

	"nsysmem/align/period"
)

// Amounts are a level over one stretch of time, as MemoryUse has them.
type Amounts struct {
	Start  int64 // bytes; level just before the stretch
	End    int64 // bytes; level just before its end stamp
	Net    int64 // bytes; End less Start, or the sum of that over the calls of a phase; may be negative
	Peak   int64 // bytes; highest level within, not under Start
	PeakAt int64 // ns; when Peak was first reached
	Need   int64 // bytes; Peak less Start, of a phase the highest of one call
}

// PhaseMemory is a level over one inferred phase, beside that over the annotated phase of the same name.
type PhaseMemory struct {
	Inferred  int // place in Inferred.Iterations
	Iteration int // place in Track.Iterations of the annotated one; -1 for none
	Path      string
	Level     LevelKind
	Found     Amounts
	Annotated *Amounts // nil where the annotated iteration has no such phase at its top level
}

// Same says that net, peak and need are those of the annotated phase.
func (m *PhaseMemory) Same() bool {
	a := m.Annotated
	return a != nil && m.Found.Net == a.Net && m.Found.Peak == a.Peak && m.Found.Need == a.Need
}

// PhaseMedian is a level over a phase of the steady iterations in which it is both inferred and annotated.
type PhaseMedian struct {
	Path       string
	Level      LevelKind
	Iterations int
	Same       int     // iterations in which net, peak and need are the same, to the byte
	Found      Amounts // medians; of Net, Peak and Need alone
	Annotated  Amounts // likewise
}

// inferredRows are the rows of what was inferred in processes whose iterations are annotated; nil where nothing is to be
// compared.
func inferredRows(src *source, a *alignment) []*procRows {
	if src.opts.Infer != InferAlways || !src.collected.Memory {
		return nil
	}
	procs := src.processes.all()
	out := make([]*procRows, len(procs))
	for i, p := range procs {
		if its, ok := a.comparable(p); ok {
			out[i] = rowsOfInferred(its.searched.result.Iterations)
		}
	}
	return out
}

// rowsOfInferred makes a row of each phase of each iteration, in the order of Inferred.phases.
func rowsOfInferred(its []period.Iteration) *procRows {
	out := &procRows{}
	for k := range its {
		rows := make(map[string]int32) // of this iteration
		for _, ph := range its[k].Phases {
			r, ok := rows[ph.Name]
			if !ok {
				r = int32(len(out.list))
				rows[ph.Name] = r
				out.list = append(out.list, row{kind: rowPhase, parent: -1, iter: int32(k), span: -1, path: ph.Name})
			}
			out.list[r].calls++
			out.calls = append(out.calls, call{row: r, start: ph.Start, end: ph.End})
		}
	}
	out.sort()
	return out
}

// compareMemory lays the levels over inferred phases beside those over annotated ones.
func (t *Track) compareMemory(sweeps map[LevelKind]*levelSweep) {
	x := t.Inferred
	if x == nil {
		return
	}
	for _, kind := range slices.SortedFunc(maps.Keys(sweeps), compareLevels) {
		l := sweeps[kind].beside
		if l == nil {
			continue
		}
		use := make([]MemoryUse, len(l.rows.list))
		list := l.rows.list
		l.takeRows(func(r int32) *MemoryUse { return &use[r] })
		var median phaseMedians
		for i := range list {
			m := PhaseMemory{Inferred: int(list[i].iter), Path: list[i].path, Level: kind, Found: amounts(&use[i])}
			m.Iteration = x.Iterations[m.Inferred].Place
			if it := t.IterationAt(m.Iteration); it != nil {
				if it.lostMemory(m.Path) && !kind.FromSnapshot() {
					continue // what was not recorded is not 0
				}
				m.Annotated = it.amounts(m.Path, kind)
				median.add(&m, it.Steady())
			}
			x.Memory = append(x.Memory, m)
		}
		x.Phases = append(x.Phases, median.list()...)
	}
	slices.SortStableFunc(x.Memory, func(a, b PhaseMemory) int { return cmp.Compare(a.Inferred, b.Inferred) })
}

func amounts(m *MemoryUse) Amounts {
	return Amounts{Start: m.Start, End: m.End, Net: m.Net, Peak: m.Peak, PeakAt: m.PeakAt, Need: m.Need}
}

// lostMemory says that the recording of memory events had ended before the top-level phase at a path did, or the iteration
// where it has none.
func (it *Iteration) lostMemory(path string) bool {
	for i := range it.Phases {
		if it.Phases[i].Path == path {
			return it.Phases[i].Lost.Memory
		}
	}
	return it.Lost.Memory
}

// amounts are those of a level over an annotated top-level phase; nil where the iteration has none.
func (it *Iteration) amounts(path string, kind LevelKind) *Amounts {
	for i := range it.Phases {
		p := &it.Phases[i]
		if p.Path != path || p.Inferred {
			continue
		}
		if m := p.Use.Level(kind); m != nil {
			a := amounts(m)
			return &a
		}
	}
	return nil
}

// phaseMedians collects the phases of one level by path.
type phaseMedians struct {
	paths  []string
	byPath map[string][]PhaseMemory
}

func (p *phaseMedians) add(m *PhaseMemory, steady bool) {
	if !steady || m.Annotated == nil {
		return
	}
	if p.byPath == nil {
		p.byPath = make(map[string][]PhaseMemory)
	}
	if p.byPath[m.Path] == nil {
		p.paths = append(p.paths, m.Path)
	}
	p.byPath[m.Path] = append(p.byPath[m.Path], *m)
}

func (p *phaseMedians) list() []PhaseMedian {
	var out []PhaseMedian
	for _, path := range p.paths {
		ms := p.byPath[path]
		x := PhaseMedian{Path: path, Level: ms[0].Level, Iterations: len(ms)}
		for i := range ms {
			if ms[i].Same() {
				x.Same++
			}
		}
		x.Found = medianAmounts(ms, func(m *PhaseMemory) *Amounts { return &m.Found })
		x.Annotated = medianAmounts(ms, func(m *PhaseMemory) *Amounts { return m.Annotated })
		out = append(out, x)
	}
	return out
}

// medianAmounts are the medians of net, peak and need.
func medianAmounts(ms []PhaseMemory, of func(*PhaseMemory) *Amounts) Amounts {
	each := func(get func(*Amounts) int64) int64 {
		return medianOf(ms, func(m PhaseMemory) int64 { return get(of(&m)) })
	}
	return Amounts{Net: each(func(a *Amounts) int64 { return a.Net }), Peak: each(func(a *Amounts) int64 { return a.Peak }),
		Need: each(func(a *Amounts) int64 { return a.Need })}
}
