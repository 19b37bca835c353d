package period

import "cmp"

// A threadUse is what one thread launches.
type threadUse struct {
	first int // operation
	work  int // kernels and graph launches
	feeds int // stretches in which it copied to the device
	hints int // operations with an optimizer's name
}

// A pair counts how often two threads, by index, do something in turn.
type pair struct{ first, second int }

// threadUses is what the threads of a process launch, and in what order. Threads are numbered from 0 as they come.
type threadUses struct {
	ops    []Op
	of     []int32 // by operation: thread
	each   []threadUse
	turns  map[pair]int // how often work of two threads follows each other; the lower number is first
	begins map[pair]int // how often the second works right after a fill by the first
	marked int          // operations that a range marks as backward
}

// threadsOf reads who launches what. Threads that launch no work count for nothing but their copies: they prefetch data.
func threadsOf(ops []Op) threadUses {
	u := threadUses{ops: ops, of: numberThreads(ops), turns: map[pair]int{}, begins: map[pair]int{}}
	last, lastFeed := -1, -1 // threads
	filled := false          // the last work was a fill
	for i := range ops {
		o, t := &ops[i], int(u.of[i])
		if t == len(u.each) {
			u.each = append(u.each, threadUse{first: i})
		}
		s := &u.each[t]
		if o.Class == HtoD && lastFeed != t {
			s.feeds++
			lastFeed = t
		}
		if !o.work() {
			continue
		}
		s.work++
		s.hints += one(o.Flags&Optimizer != 0)
		u.marked += one(o.Flags&Backward != 0)
		if last != t {
			if last >= 0 {
				u.turns[pair{min(last, t), max(last, t)}]++
				if filled {
					u.begins[pair{last, t}]++
				}
			}
			last, lastFeed = t, -1
		}
		filled = o.Flags&fill != 0
	}
	return u
}

// numberThreads numbers the threads of operations as they come.
func numberThreads(ops []Op) []int32 {
	of := make([]int32, len(ops))
	number := map[int32]int32{}
	for i := range ops {
		if i > 0 && ops[i].Thread == ops[i-1].Thread {
			of[i] = of[i-1]
			continue
		}
		n, ok := number[ops[i].Thread]
		if !ok {
			n = int32(len(number))
			number[ops[i].Thread] = n
		}
		of[i] = n
	}
	return of
}

// mostOften is the pair with the highest count; of equals the least.
func mostOften(count map[pair]int) (best pair, times int) {
	for p, n := range count {
		if n > times || n == times && cmp.Or(cmp.Compare(p.first, best.first), cmp.Compare(p.second, best.second)) < 0 {
			best, times = p, n
		}
	}
	return best, times
}

// A window is the work of one thread in one pause of the main thread.
type window struct{ pause, thread, work int }

// A pauseUse is what a thread does while the main thread pauses.
type pauseUse struct {
	windows int // pauses in which it works
	long    int // of those, the ones with at least longWindow of work
	begun   int // of those, the ones that follow the fill with which a backward pass begins
}

// afterFills says that the thread works mostly after fills, as a backward pass does.
func (u pauseUse) afterFills() bool { return u.begun >= leastBegun && most.of(u.begun, u.windows) }

// pauses lists what other threads launch between two operations of the main thread, and sums it up by thread.
func (u threadUses) pauses(main int) ([]window, []pauseUse) {
	var out []window
	use := make([]pauseUse, len(u.each))
	pause, from := 0, 0 // the windows of the current pause are out[from:]
	filled := false     // it follows a fill
	end := func() {
		for _, w := range out[from:] {
			x := &use[w.thread]
			x.windows++
			x.long += one(w.work >= longWindow)
			x.begun += one(filled)
		}
		pause += one(from < len(out))
		from = len(out)
	}
	for i, t := range u.of {
		o := &u.ops[i]
		switch {
		case int(t) == main:
			end()
			if o.work() {
				filled = o.Flags&fill != 0
			}
		case o.work():
			k := from
			for k < len(out) && out[k].thread != int(t) {
				k++
			}
			if k == len(out) {
				out = append(out, window{pause: pause, thread: int(t)})
			}
			out[k].work++
		}
	}
	end()
	return out, use
}
