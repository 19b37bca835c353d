package torchmem

import (
	"math"
	"sort"
)

// before is the number of steps before time t.
func (r *Replay) before(t int64) int {
	return sort.Search(len(r.Steps), func(i int) bool { return r.Steps[i].Time >= t })
}

// levels are those after the first n steps.
func (r *Replay) levels(n int) (allocated, reserved int64) {
	if n == 0 {
		return r.StartAllocated, r.StartReserved
	}
	return r.Steps[n-1].Allocated, r.Steps[n-1].Reserved
}

// A Use is the two levels over a stretch of time. Start is the level just before it, End the one just before its end,
// Peak the highest within, not under Start.
type Use struct {
	AllocatedStart, AllocatedEnd, AllocatedPeak int64 // bytes
	ReservedStart, ReservedEnd, ReservedPeak    int64 // bytes
	AllocatedPeakEvent                          int32 // place in the trace where it was first reached; -1 for the start
	ReservedPeakEvent                           int32
}

// Over is the use in [from, to), both in ns since 1970.
func (r *Replay) Over(from, to int64) Use {
	a, b := r.before(from), r.before(to)
	u := Use{AllocatedPeakEvent: -1, ReservedPeakEvent: -1}
	u.AllocatedStart, u.ReservedStart = r.levels(a)
	u.AllocatedEnd, u.ReservedEnd = r.levels(max(a, b))
	u.AllocatedPeak, u.ReservedPeak = u.AllocatedStart, u.ReservedStart
	for i := a; i < b; i++ {
		s := &r.Steps[i]
		if s.Allocated > u.AllocatedPeak {
			u.AllocatedPeak, u.AllocatedPeakEvent = s.Allocated, s.Event
		}
		if s.Reserved > u.ReservedPeak {
			u.ReservedPeak, u.ReservedPeakEvent = s.Reserved, s.Event
		}
	}
	return u
}

// Whole is the use over the whole trace.
func (r *Replay) Whole() Use { return r.Over(math.MinInt64, math.MaxInt64) }

// EventAt is the place of the last entry before time t (ns since 1970); -1 for none. For StateAt.
func (r *Replay) EventAt(t int64) int {
	at := -1
	r.Trace().Each(func(i int, e *TraceEvent) bool {
		if e.Time >= t {
			return false
		}
		at = i
		return true
	})
	return at
}

// LiveAt are the places in Blocks of those that are handed out just after entry event of the trace; -1 means before the
// first. In order of Blocks.
func (r *Replay) LiveAt(event int) []int {
	var out []int
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if int(b.BirthEvent) > event {
			continue
		}
		if b.DeathEvent < 0 && b.Death == Never || b.DeathEvent >= 0 && int(b.DeathEvent) > event {
			out = append(out, i)
		}
	}
	return out
}
