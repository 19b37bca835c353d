package period

import (
	"maps"
	"slices"
)

// A cast says which thread plays which part in a training program.
type cast struct {
	main int32
	back []bool // by operation: launched by the backward pass
	ours []bool // by operation: of the main thread or the backward pass
}

type threadStat struct {
	thread  int32
	first   int
	work    int // kernels and graph launches
	bursts  int // stretches of work without another thread's work between
	feeds   int // stretches in which it copied to the device
	hints   int // operations with an optimizer's name
	partner int // stretches next to the main thread's
}

// findCast tells the main thread and the backward threads of a program, or says that there are none.
//
//  1. Kernels and graph launches fall into bursts by launching thread. Threads that launch none are left out: they
//     prefetch data.
//  2. The main thread is the one with most operations of an optimizer; without any, of the two threads that follow each
//     other most often the one that copies to the device, else the one that came first.
//  3. Other threads whose bursts follow the main thread's at least twice launch the backward pass, unless they launch
//     what the main thread launches: then they are workers that do the same.
//
// Operations that a range marks as backward count as such on any thread.
func findCast(ops []Op) (cast, bool) {
	at := map[int32]int{}
	var stats []threadStat
	last, lastFeed := -1, -1
	pairs := map[[2]int]int{}
	hinted := 0
	for i := range ops {
		o := &ops[i]
		t, ok := at[o.Thread]
		if !ok {
			t = len(stats)
			at[o.Thread] = t
			stats = append(stats, threadStat{thread: o.Thread, first: i})
		}
		s := &stats[t]
		if o.Class == HtoD && lastFeed != t {
			s.feeds++
			lastFeed = t
		}
		if !o.work() {
			continue
		}
		s.work++
		if o.Flags&Optimizer != 0 {
			s.hints++
		}
		if o.Flags&Backward != 0 {
			hinted++
		}
		if last != t {
			s.bursts++
			if last >= 0 {
				pairs[[2]int{min(last, t), max(last, t)}]++
			}
			last = t
			lastFeed = -1
		}
	}
	m := -1
	for t := range stats {
		if stats[t].hints > 0 && (m < 0 || stats[t].hints > stats[m].hints) {
			m = t
		}
	}
	if m < 0 {
		m = mainOfPair(stats, pairs)
	}
	if m < 0 && hinted > 0 {
		m = 0
	}
	if m < 0 {
		return cast{}, false
	}
	isBack := make([]bool, len(stats))
	most := 0
	for t := range stats {
		if t != m {
			stats[t].partner = pairs[[2]int{min(m, t), max(m, t)}] / 2
			most = max(most, stats[t].partner)
		}
	}
	any := hinted > 0
	for t := range stats {
		s := &stats[t]
		if t == m || s.partner < 1 || 4*s.partner < most || s.hints > 0 {
			continue
		}
		if sameWork(ops, stats[m].thread, s.thread) {
			continue
		}
		isBack[t], any = true, true
	}
	if !any {
		return cast{}, false
	}
	c := cast{main: stats[m].thread, back: make([]bool, len(ops)), ours: make([]bool, len(ops))}
	for i := range ops {
		t := at[ops[i].Thread]
		c.back[i] = isBack[t] || t == m && ops[i].Flags&Backward != 0
		c.ours[i] = isBack[t] || t == m
	}
	return c, true
}

func mainOfPair(stats []threadStat, pairs map[[2]int]int) int {
	best, m := 1, -1
	keys := slices.SortedFunc(maps.Keys(pairs), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, p := range keys {
		n := pairs[p]
		if n <= best {
			continue
		}
		a, b := &stats[p[0]], &stats[p[1]]
		best, m = n, p[0]
		if b.feeds > a.feeds || b.feeds == a.feeds && b.first < a.first {
			m = p[1]
		}
	}
	return m
}

// sameWork says that two threads launch much the same operations, by exact key.
func sameWork(ops []Op, a, b int32) bool {
	ca, cb := map[uint64]int{}, map[uint64]int{}
	na, nb := 0, 0
	for i := range ops {
		o := &ops[i]
		switch {
		case !o.work():
		case o.Thread == a:
			ca[o.Key]++
			na++
		case o.Thread == b:
			cb[o.Key]++
			nb++
		}
	}
	if na == 0 || nb == 0 {
		return true
	}
	both := 0.0
	for k, n := range ca {
		both += min(float64(n)/float64(na), float64(cb[k])/float64(nb))
	}
	return both > 0.85
}

// threadOfWork is the thread that launched most kernels and graphs; among equals the first.
func threadOfWork(ops []Op) (thread int32, n int) {
	count := map[int32]int{}
	var order []int32
	for i := range ops {
		if ops[i].work() {
			if count[ops[i].Thread] == 0 {
				order = append(order, ops[i].Thread)
			}
			count[ops[i].Thread]++
		}
	}
	if len(order) == 0 {
		return 0, 0
	}
	best := slices.MaxFunc(order, func(a, b int32) int { return count[a] - count[b] })
	return best, count[best]
}
