package period

import "slices"

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
	windows int // pauses of the main thread in which it works
	long    int // of those, the ones with at least longBurst of work
	after   int // of those, the ones that follow the fill with which a backward pass begins
	within  int // work in pauses in which the backward thread works
}

// longBurst is more work than a helper launches while the main thread goes on: a backward pass keeps it waiting.
const longBurst = 3

// A window is the work of one thread in one pause of the main thread.
type window struct {
	pause  int
	thread int // index into the stats
	work   int
}

// findCast tells the main thread and the backward threads of a program, or says that there are none.
//
//  1. Kernels and graph launches fall into bursts by launching thread. Threads that launch none are left out: they
//     prefetch data.
//  2. The main thread is the one with most operations of an optimizer, unless it copies nothing to the device; else the
//     one after whose fills (the gradient of the loss) another works; else, of the two threads that follow each other
//     most often, the one that copies more to the device or came first.
//  3. The backward pass is launched while the main thread waits for it, after the fill of the loss's gradient where one is
//     seen. Of the threads of which that is true, the one with most work so launches it; others too that work at the
//     same times (one a device) or as much. What launches the same as the main thread is a worker that does the same;
//     what works in other pauses, or while the main thread goes on, is a helper.
//
// Operations that a range marks as backward count as such on any thread.
func findCast(ops []Op) (cast, bool) {
	at := map[int32]int{}
	var stats []threadStat
	last, lastFeed := -1, -1
	pairs := map[[2]int]int{}
	begins := map[[2]int]int{} // bursts of the second after a fill by the first
	fill := false
	hinted := 0
	t := -1
	for i := range ops {
		o := &ops[i]
		if t < 0 || o.Thread != stats[t].thread {
			var ok bool
			if t, ok = at[o.Thread]; !ok {
				t = len(stats)
				at[o.Thread] = t
				stats = append(stats, threadStat{thread: o.Thread, first: i})
			}
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
				if fill {
					begins[[2]int{last, t}]++
				}
			}
			last = t
			lastFeed = -1
		}
		fill = o.Flags&Fill != 0
	}
	m := -1
	for t := range stats {
		if stats[t].hints > 0 && (m < 0 || stats[t].hints > stats[m].hints) {
			m = t
		}
	}
	// Optimizers may run inside the backward pass: then their thread is not the one that feeds. Helpers may use the
	// optimizer's kernels: then another thread works after the main thread's fills.
	p, q := mainOfPair(stats, pairs, begins)
	_, fills := mostOften(begins)
	switch {
	case m < 0, fills > 1 && q != m, p >= 0 && stats[p].feeds > 1 && stats[m].feeds == 0 && (fills < 2 || q == m):
		m = p
	}
	if m < 0 && hinted > 0 {
		for t := range stats {
			if m < 0 || stats[t].work > stats[m].work {
				m = t
			}
		}
	}
	if m < 0 {
		return cast{}, false
	}
	isBack := findBack(ops, stats, at, m)
	if !slices.Contains(isBack, true) && hinted == 0 {
		return cast{}, false
	}
	c := cast{main: stats[m].thread, back: make([]bool, len(ops)), ours: make([]bool, len(ops))}
	t = -1
	for i := range ops {
		if t < 0 || ops[i].Thread != ops[i-1].Thread {
			t = at[ops[i].Thread]
		}
		c.back[i] = isBack[t] || t == m && ops[i].Flags&Backward != 0
		c.ours[i] = isBack[t] || t == m
	}
	return c, true
}

// findBack tells which threads launch the backward pass of a main thread.
func findBack(ops []Op, stats []threadStat, at map[int32]int, m int) []bool {
	windows := pauses(ops, stats, at, m)
	order := make([]int, 0, len(stats))
	most := 0
	for t := range stats {
		if t != m && stats[t].windows > 0 {
			order = append(order, t)
			most = max(most, stats[t].long)
		}
	}
	begun := func(s *threadStat) bool { return s.after > 1 && 2*s.after >= s.windows }
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := &stats[x], &stats[y]
		if f, g := begun(a), begun(b); f != g {
			return one(g) - one(f)
		}
		if f, g := a.long > 1, b.long > 1; f != g {
			return one(g) - one(f)
		}
		return b.work - a.work
	})
	isBack := make([]bool, len(stats))
	first, tried := -1, 0
	var busy map[int]bool
	for _, t := range order {
		s := &stats[t]
		if tried == maxThreads {
			break
		}
		if first < 0 {
			if 4*s.long < most {
				continue
			}
		} else {
			for _, w := range windows {
				if w.thread == t && busy[w.pause] {
					s.within += w.work
				}
			}
			together := 10*s.within >= 9*s.work
			asMuch := 4*s.long >= most && 4*s.work*stats[first].windows >= stats[first].work*s.windows
			if !together && !begun(s) && (begun(&stats[first]) || !asMuch) {
				continue
			}
		}
		tried++
		if sameWork(ops, stats[m].thread, stats[t].thread) {
			continue
		}
		isBack[t] = true
		if first < 0 {
			first = t
			busy = map[int]bool{}
			for _, w := range windows {
				if w.thread == t {
					busy[w.pause] = true
				}
			}
		}
	}
	return isBack
}

// pauses lists what other threads do between two operations of the main thread, and counts it by thread.
func pauses(ops []Op, stats []threadStat, at map[int32]int, m int) []window {
	var out []window
	pause, from := 0, 0
	fill := false
	flush := func() {
		if from == len(out) {
			return
		}
		for _, w := range out[from:] {
			s := &stats[w.thread]
			s.windows++
			s.long += one(w.work >= longBurst)
			s.after += one(fill)
		}
		from = len(out)
		pause++
	}
	t := -1
	for i := range ops {
		o := &ops[i]
		if t < 0 || o.Thread != ops[i-1].Thread {
			t = at[o.Thread]
		}
		if t == m {
			flush()
			if o.work() {
				fill = o.Flags&Fill != 0
			}
			continue
		}
		if !o.work() {
			continue
		}
		k := from
		for k < len(out) && out[k].thread != t {
			k++
		}
		if k == len(out) {
			out = append(out, window{pause: pause, thread: t})
		}
		out[k].work++
	}
	flush()
	return out
}

// mainOfPair guesses the main thread and the one that launches the backward pass: the pair of which the second works
// after the first one's fills most often, else the two that follow each other most often. It gives -1 for none.
func mainOfPair(stats []threadStat, pairs, begins map[[2]int]int) (main, back int) {
	if p, n := mostOften(begins); n > 1 {
		return p[0], p[1]
	}
	p, n := mostOften(pairs)
	if n < 2 {
		return -1, -1
	}
	a, b := &stats[p[0]], &stats[p[1]]
	if b.feeds > a.feeds || b.feeds == a.feeds && b.first < a.first {
		return p[1], p[0]
	}
	return p[0], p[1]
}

// mostOften is the pair with the highest count; of equals the least.
func mostOften(count map[[2]int]int) (best [2]int, n int) {
	for p, k := range count {
		if k > n || k == n && slices.Compare(p[:], best[:]) < 0 {
			best, n = p, k
		}
	}
	return best, n
}

// maxThreads bounds how many threads are looked at.
const maxThreads = 8

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
	both := 0 // of na × nb
	for k, n := range ca {
		both += min(n*nb, cb[k]*na)
	}
	return float64(both) > 0.85*float64(na)*float64(nb)
}

// graphWork is how many kernels a graph launch stands for where amounts of work are compared.
const graphWork = 20

// weight is the amount of work of an operation, in kernels.
func (o *Op) weight() int {
	switch o.Class {
	case Kernel:
		return 1
	case Graph:
		return graphWork
	}
	return 0
}

// workers lists the threads that launch at least a tenth as much as the busiest, busiest first, at most four.
func workers(ops []Op) []int32 {
	count := map[int32]int{}
	var order []int32
	for i := range ops {
		o := &ops[i]
		if w := o.weight(); w > 0 {
			if count[o.Thread] == 0 {
				order = append(order, o.Thread)
			}
			count[o.Thread] += w
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return count[b] - count[a] })
	for i, t := range order {
		if i == 4 || 10*count[t] < count[order[0]] {
			return order[:i]
		}
	}
	return order
}
