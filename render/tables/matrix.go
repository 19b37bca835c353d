package tables

import (
	"sort"

	"nsysmem/align"
)

// matrixPhases is how many phases a heat map shows, those with the highest need: more columns than that nobody reads, and
// every phase is among the phase rows.
const matrixPhases = 100

// phaseAt is the phase of the step's iteration at a path; nil where it has none.
func (s *Step) phaseAt(path string) *align.Phase {
	if s.indexed != s.Iteration {
		s.indexed, s.paths = s.Iteration, make(map[string]*align.Phase, len(s.Iteration.Phases))
		for i := range s.Iteration.Phases {
			p := &s.Iteration.Phases[i]
			s.paths[p.Path] = p
		}
	}
	return s.paths[path]
}

// Matrix is a heat map: a row for each iteration and three columns for each of so many phases, its peak, net and need.
func Matrix(rep *align.Report) (g Grid, phases int) {
	paths := matrixPaths(rep)
	cols := lead(steps, Workbook, matrixLead)
	for _, f := range []struct {
		head string
		unit Unit
		get  func(*align.MemoryUse) int64
	}{
		{"Peak (MiB)", Bytes, func(m *align.MemoryUse) int64 { return m.Peak }},
		{"Net (MiB)", Change, func(m *align.MemoryUse) int64 { return m.Net }},
		{"Need (MiB)", Bytes, func(m *align.MemoryUse) int64 { return m.Need }},
	} {
		for _, path := range paths {
			cols = append(cols, Column[*Step]{Key: f.head + path, Head: f.head + " " + path, Unit: f.unit, Shade: f.head,
				Int:   func(s *Step) int64 { return f.get(&s.phaseAt(path).Memory) },
				Known: func(s *Step) bool { p := s.phaseAt(path); return p != nil && !p.Lost.Memory }})
		}
	}
	return IterationGrid(rep, cols), len(paths)
}

// matrixPaths lists the phases of all iterations in order of first appearance, what no phase covers last, and where they
// are too many those with the highest need.
func matrixPaths(rep *align.Report) []string {
	type seen struct {
		place int
		need  int64
	}
	phases := map[string]*seen{}
	var paths []string
	for _, t := range rep.Tracks {
		for i := range t.Iterations {
			for j := range t.Iterations[i].Phases {
				p := &t.Iterations[i].Phases[j]
				s := phases[p.Path]
				if s == nil {
					s = &seen{place: len(paths)}
					phases[p.Path] = s
					paths = append(paths, p.Path)
				}
				s.need = max(s.need, p.Memory.Need)
			}
		}
	}
	if len(paths) > matrixPhases {
		sort.SliceStable(paths, func(i, j int) bool { return phases[paths[i]].need > phases[paths[j]].need })
		paths = paths[:matrixPhases]
	}
	sort.SliceStable(paths, func(i, j int) bool {
		if (paths[i] == align.OtherPhase) != (paths[j] == align.OtherPhase) {
			return paths[j] == align.OtherPhase
		}
		return phases[paths[i]].place < phases[paths[j]].place
	})
	return paths
}
