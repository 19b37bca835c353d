package align

import (
	"reflect"
	"slices"
)

const (
	// warmupShare is the part of the track's highest level that an iteration may add more than later ones do without being
	// taken for warm-up.
	warmupShare = 10000

	// startShare is the part of the track's highest level at which an iteration starts from nothing, 1 in 100: libraries
	// hold a handle or a workspace before the first step.
	startShare = 100

	// startTimes is how many times as long as a later one an iteration lasts in which a program starts: it compiles, loads
	// modules and tries algorithms. Of steps that differ in their inputs none lasts so long.
	startTimes = 100
)

// markTruncated marks the last iteration where it lacks the phase with which all others end: the program stopped in
// its middle. Iterations whose range never closed are marked already.
func markTruncated(t *Track) {
	n := len(t.Iterations)
	if n < 2 {
		return
	}
	last := lastPhase(&t.Iterations[0])
	for i := range t.Iterations[:n-1] {
		if lastPhase(&t.Iterations[i]) != last {
			return
		}
	}
	it := &t.Iterations[n-1]
	if last != "" && len(it.Phases) > 0 && !slices.ContainsFunc(it.Phases, func(p Phase) bool { return p.Path == last }) {
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
// than the later half does at the median, or more in one phase than any of the later half does there; and those in which
// the program starts. At most the first half can be warm-up, so that a level which rises all along is not taken for one.
// Without memory events, a first iteration that lasts twice as long as the median of the others counts as warm-up.
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
	first, later := whole[:n/2], whole[n/2:]
	usual := max(0, medianOf(later, lasts))
	if !memory && lasts(first[0]) > 2*usual {
		first[0].Warmup = true
	}
	starts := startsFrom(first, usual, t.Total.Memory.Peak) // without memory events all levels are 0
	for _, it := range first[:starts] {
		it.Warmup = true
	}
	if !memory {
		return
	}
	net := func(it *Iteration) int64 { return it.Memory.Net }
	base, slack := max(0, medianOf(later, net)), t.Total.Memory.Peak/warmupShare
	for _, it := range first {
		if !it.Warmup && net(it) <= base+slack && !startsPhase(it, later, slack) {
			break
		}
		it.Warmup = true
	}
}

// lasts is the time of an iteration in nanoseconds.
func lasts(it *Iteration) int64 { return it.End - it.Start }

// startsFrom is how many of the first iterations a program needs to start: where the first one starts from nothing, those
// up to the first that does not last startTimes as long as is usual.
func startsFrom(first []*Iteration, usual, peak int64) int {
	if first[0].Memory.Start > peak/startShare || usual <= 0 {
		return 0
	}
	for i, it := range first {
		if lasts(it)/startTimes < usual {
			return i
		}
	}
	return len(first)
}

// medianOf is the median of a figure of several.
func medianOf[T any](list []T, figure func(T) int64) int64 {
	values := make([]int64, len(list))
	for i, x := range list {
		values[i] = figure(x)
	}
	return median(values)
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
		s.Median, s.Max = combine(s.uses, median), combine(s.uses, slices.Max)
		out[i] = s.PhaseStat
	}
	return out
}

// combine makes one use of many, each figure by itself: f makes one value of many.
func combine(uses []*Use, f func([]int64) int64) Use {
	out := Use{Other: slices.Clone(uses[0].Other)} // for its kinds of level
	values, from := make([]int64, len(uses)), make([]reflect.Value, len(uses))
	figures := func(part func(*Use) any) { // of a part of a use, whose fields are figures all
		for i, u := range uses {
			from[i] = reflect.ValueOf(part(u)).Elem()
		}
		to := reflect.ValueOf(part(&out)).Elem()
		for k := range to.NumField() {
			for i := range from {
				values[i] = from[i].Field(k).Int()
			}
			to.Field(k).SetInt(f(values))
		}
	}
	figures(func(u *Use) any { return &u.Memory })
	figures(func(u *Use) any { return &u.GPU })
	figures(func(u *Use) any { return &u.API })
	for i := range out.Other {
		figures(func(u *Use) any { return &u.Other[i].MemoryUse })
	}
	return out
}
