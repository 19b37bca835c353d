package align

import "slices"

// warmupShare is the part of the track's highest level that an iteration may add more than later ones do without being
// taken for warm-up.
const warmupShare = 10000

// markTruncated marks the last iteration where it lacks the phase with which all others end: the program stopped in
// its middle. Iterations whose range never closed are marked already.
func markTruncated(t *Track) {
	n := len(t.Iterations)
	if n < 2 {
		return
	}
	last := lastPhase(&t.Iterations[0])
	for i := 1; i < n-1 && last != ""; i++ {
		if lastPhase(&t.Iterations[i]) != last {
			last = ""
		}
	}
	if last == "" {
		return
	}
	it := &t.Iterations[n-1]
	for i := range it.Phases {
		if it.Phases[i].Path == last {
			return
		}
	}
	if len(it.Phases) > 0 {
		it.Truncated = true
	}
}

// lastPhase is the path of the top-level phase that ends last; empty where there are no phases.
func lastPhase(it *Iteration) string {
	path, end := "", int64(-maxTime)
	for i := range it.Phases {
		if p := &it.Phases[i]; p.Depth == 1 && p.Path != OtherPhase && p.End > end {
			path, end = p.Path, p.End
		}
	}
	return path
}

// markWarmup marks the first iterations that allocate what later ones reuse: those that add more to the device level
// than the later half does at the median, or more in one phase than any of the later half does there. At most the first
// half can be warm-up, so that a level which rises all along is not taken for one. Without memory events, a first
// iteration that lasts twice as long as the median of the others counts as warm-up.
func markWarmup(t *Track, memory bool) {
	var whole []*Iteration
	for i := range t.Iterations {
		if !t.Iterations[i].Truncated {
			whole = append(whole, &t.Iterations[i])
		}
	}
	n := len(whole)
	if n < 2 {
		return
	}
	measure := func(it *Iteration) int64 { return it.Memory.Net }
	slack := t.Total.Memory.Peak / warmupShare
	if !memory {
		measure = func(it *Iteration) int64 { return it.End - it.Start }
		slack = 0
	}
	later := make([]int64, 0, n)
	for _, it := range whole[n/2:] {
		later = append(later, measure(it))
	}
	base := max(0, median(later))
	if !memory {
		slack = base
	}
	for i := 0; i < n/2 && (measure(whole[i]) > base+slack || memory && startsPhase(whole[i], whole[n/2:], slack)); i++ {
		if !memory && i > 0 {
			break
		}
		whole[i].Warmup = true
	}
}

// startsPhase says that an iteration adds more in one of its top-level phases than any of the later ones does there:
// an optimizer that makes its state, say, while the rest of the level grows for other reasons.
func startsPhase(it *Iteration, later []*Iteration, slack int64) bool {
	for i := range it.Phases {
		p := &it.Phases[i]
		if p.Depth != 1 || p.Memory.Net <= slack {
			continue
		}
		most, found := int64(0), false
		for _, l := range later {
			for k := range l.Phases {
				if l.Phases[k].Path == p.Path {
					most, found = max(most, l.Phases[k].Memory.Net), true
				}
			}
		}
		if found && p.Memory.Net > most+slack {
			return true
		}
	}
	return false
}

// median is the middle value, the lower one of two, so that it is a value that was measured. It sorts its argument;
// of nothing it is 0.
func median(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

// phaseStats are medians and highest figures of each phase over the steady iterations.
func phaseStats(t *Track) []PhaseStat {
	type stat struct {
		PhaseStat
		uses  []*Use
		calls []int64
		dur   []int64
	}
	var order []*stat
	byPath := make(map[string]*stat)
	for i := range t.Iterations {
		it := &t.Iterations[i]
		if !it.Steady() {
			continue
		}
		for k := range it.Phases {
			p := &it.Phases[k]
			s := byPath[p.Path]
			if s == nil {
				s = &stat{PhaseStat: PhaseStat{Path: p.Path, Name: p.Name, Depth: p.Depth, Inferred: p.Inferred}}
				byPath[p.Path] = s
				order = append(order, s)
			}
			s.uses = append(s.uses, &p.Use)
			s.calls = append(s.calls, int64(p.Calls))
			s.dur = append(s.dur, p.Duration)
		}
	}
	rest := slices.IndexFunc(order, func(s *stat) bool { return s.Path == OtherPhase })
	if rest >= 0 { // it comes last
		order = append(slices.Delete(slices.Clone(order), rest, rest+1), order[rest])
	}
	out := make([]PhaseStat, len(order))
	for i, s := range order {
		s.Iterations = len(s.uses)
		s.Calls, s.DurationNS = int(median(s.calls)), median(s.dur)
		s.Median, s.Max = combine(s.uses, median), combine(s.uses, slices.Max[[]int64])
		out[i] = s.PhaseStat
	}
	return out
}

// combine makes one use of many, each figure by itself.
func combine(uses []*Use, f func([]int64) int64) Use {
	buf := make([]int64, len(uses))
	var out Use
	each := func(dst *int64, get func(*Use) int64) {
		for i, u := range uses {
			buf[i] = get(u)
		}
		*dst = f(buf)
	}
	fields := func(dst *MemoryUse, get func(*Use) *MemoryUse) {
		each(&dst.Start, func(u *Use) int64 { return get(u).Start })
		each(&dst.End, func(u *Use) int64 { return get(u).End })
		each(&dst.Net, func(u *Use) int64 { return get(u).Net })
		each(&dst.Peak, func(u *Use) int64 { return get(u).Peak })
		each(&dst.PeakAt, func(u *Use) int64 { return get(u).PeakAt })
		each(&dst.Need, func(u *Use) int64 { return get(u).Need })
		each(&dst.Allocs, func(u *Use) int64 { return get(u).Allocs })
		each(&dst.AllocBytes, func(u *Use) int64 { return get(u).AllocBytes })
		each(&dst.Frees, func(u *Use) int64 { return get(u).Frees })
		each(&dst.FreeBytes, func(u *Use) int64 { return get(u).FreeBytes })
		each(&dst.FailedAllocs, func(u *Use) int64 { return get(u).FailedAllocs })
	}
	fields(&out.Memory, func(u *Use) *MemoryUse { return &u.Memory })
	for i := range uses[0].Other {
		l := LevelUse{Level: uses[0].Other[i].Level}
		fields(&l.MemoryUse, func(u *Use) *MemoryUse { return &u.Other[i].MemoryUse })
		out.Other = append(out.Other, l)
	}
	g := &out.GPU
	each(&g.Kernels, func(u *Use) int64 { return u.GPU.Kernels })
	each(&g.KernelNS, func(u *Use) int64 { return u.GPU.KernelNS })
	each(&g.BusyNS, func(u *Use) int64 { return u.GPU.BusyNS })
	each(&g.Graphs, func(u *Use) int64 { return u.GPU.Graphs })
	each(&g.GraphNS, func(u *Use) int64 { return u.GPU.GraphNS })
	each(&g.Copies, func(u *Use) int64 { return u.GPU.Copies })
	each(&g.H2D, func(u *Use) int64 { return u.GPU.H2D })
	each(&g.D2H, func(u *Use) int64 { return u.GPU.D2H })
	each(&g.D2D, func(u *Use) int64 { return u.GPU.D2D })
	each(&g.MemcpyNS, func(u *Use) int64 { return u.GPU.MemcpyNS })
	each(&g.Memsets, func(u *Use) int64 { return u.GPU.Memsets })
	each(&g.MemsetBytes, func(u *Use) int64 { return u.GPU.MemsetBytes })
	each(&g.MemsetNS, func(u *Use) int64 { return u.GPU.MemsetNS })
	each(&out.API.Calls, func(u *Use) int64 { return u.API.Calls })
	each(&out.API.AllocNS, func(u *Use) int64 { return u.API.AllocNS })
	each(&out.API.FreeNS, func(u *Use) int64 { return u.API.FreeNS })
	each(&out.API.SyncNS, func(u *Use) int64 { return u.API.SyncNS })
	return out
}
