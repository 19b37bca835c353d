package period

import (
	"cmp"
	"slices"
)

// A role is the part that the thread of an operation plays in a training program.
type role uint8

const (
	noRole       role = iota
	mainRole          // of the main thread, which launches forward passes and optimizers
	backwardRole      // of a backward pass
)

// rolesOf tells by operation what the threads of a training program do, or says that it is none.
//
//  1. Find the main thread.
//  2. The backward pass is launched while the main thread waits for it, after the fill of the loss's gradient where one is
//     seen: find the threads of which that is true.
//  3. Operations that a range marks as backward count as such on the main thread too.
func rolesOf(ops []Op) ([]role, bool) {
	u := threadsOf(ops)
	main := u.main()
	if main < 0 {
		return nil, false
	}
	isBack := u.backwards(main)
	if u.marked == 0 && !slices.Contains(isBack, true) {
		return nil, false
	}
	roles := make([]role, len(ops))
	for i, t := range u.of {
		switch {
		case isBack[t] || int(t) == main && ops[i].Flags&Backward != 0:
			roles[i] = backwardRole
		case int(t) == main:
			roles[i] = mainRole
		}
	}
	return roles, true
}

// main tells the main thread, -1 for none. It is the one with most operations of an optimizer, save where
//
//   - another thread works after the fills of another: helpers may use the optimizer's kernels;
//   - it copies nothing to the device and the thread that it takes turns with does: optimizers may run inside the
//     backward pass.
//
// Without optimizers it is the first of the pair that works in turn, or else the busiest if ranges mark a backward pass.
func (u threadUses) main() int {
	guess, waiting := u.pairOfPasses()
	_, fills := mostOften(u.begins)
	main := u.mostOf(func(x threadUse) int { return x.hints })
	switch {
	case main < 0,
		fills >= leastBegun && waiting != main,
		guess >= 0 && u.each[guess].feeds > 1 && u.each[main].feeds == 0 && (fills < leastBegun || waiting == main):
		main = guess
	}
	if main < 0 && u.marked > 0 {
		main = u.mostOf(func(x threadUse) int { return x.work })
	}
	return main
}

// mostOf is the thread with the highest count, -1 where all are 0; of equals the first.
func (u threadUses) mostOf(count func(threadUse) int) int {
	best, most := -1, 0
	for t, x := range u.each {
		if n := count(x); n > most {
			best, most = t, n
		}
	}
	return best
}

// pairOfPasses guesses the main thread and the one that launches the backward pass: the pair of which the second works
// after the first one's fills most often, else the two that follow each other most often, of which the one that copies
// more to the device, or came first, is the main thread. It gives -1 for none.
func (u threadUses) pairOfPasses() (main, back int) {
	if p, n := mostOften(u.begins); n >= leastBegun {
		return p.first, p.second
	}
	p, n := mostOften(u.turns)
	if n < leastInTurn {
		return -1, -1
	}
	a, b := &u.each[p.first], &u.each[p.second]
	if b.feeds > a.feeds || b.feeds == a.feeds && b.first < a.first {
		return p.second, p.first
	}
	return p.first, p.second
}

// backwards tells which threads launch the backward pass of a main thread.
//
//  1. Of the threads that work while the main thread pauses, those come first that do so after fills, then those that
//     keep it waiting, then those with most work.
//  2. The first that fits is the backward thread. What launches the same as the main thread is a worker that does the same.
//  3. Others are too that work at the same times (one a device) or as much; what works in other pauses, or while the main
//     thread goes on, is a helper.
func (u threadUses) backwards(main int) []bool {
	windows, use := u.pauses(main)
	longest := 0
	var order []int
	for t, x := range use {
		if x.windows > 0 {
			order = append(order, t)
			longest = max(longest, x.long)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := use[a], use[b]
		return cmp.Or(one(y.afterFills())-one(x.afterFills()), one(y.long >= leastLong)-one(x.long >= leastLong),
			u.each[b].work-u.each[a].work)
	})
	isBack := make([]bool, len(use))
	first, tried := -1, 0
	var busy map[int]bool // pauses in which the first works
	for _, t := range order {
		x := use[t]
		fits := asMuch.of(x.long, longest)
		if first >= 0 {
			fits = fits && asMuch.of(u.each[t].work*use[first].windows, u.each[first].work*x.windows)
			fits = x.afterFills() || fits && !use[first].afterFills() || u.together(windows, busy, t)
		}
		if !fits {
			continue
		}
		if tried++; tried > maxThreads {
			break
		}
		if u.sameWork(main, t) {
			continue
		}
		isBack[t] = true
		if first < 0 {
			first = t
			busy = pausesOf(windows, t)
		}
	}
	return isBack
}

// pausesOf are the pauses in which a thread works.
func pausesOf(windows []window, thread int) map[int]bool {
	busy := map[int]bool{}
	for _, w := range windows {
		if w.thread == thread {
			busy[w.pause] = true
		}
	}
	return busy
}

// together says that nearly all work of a thread is in certain pauses.
func (u threadUses) together(windows []window, busy map[int]bool, thread int) bool {
	work := 0
	for _, w := range windows {
		if w.thread == thread && busy[w.pause] {
			work += w.work
		}
	}
	return atOnce.of(work, u.each[thread].work)
}

// sameWork says that two threads launch much the same operations, by exact key, or that one launches none.
func (u threadUses) sameWork(a, b int) bool {
	counts := map[uint64]*[2]int{}
	var all [2]int
	for i, t := range u.of {
		if o := &u.ops[i]; o.work() && (int(t) == a || int(t) == b) {
			n := counts[o.Key]
			if n == nil {
				n = new([2]int)
				counts[o.Key] = n
			}
			side := one(int(t) == b)
			n[side]++
			all[side]++
		}
	}
	both := 0 // of all[0] × all[1]
	for _, n := range counts {
		both += min(n[0]*all[1], n[1]*all[0])
	}
	return all[0] == 0 || all[1] == 0 || float64(both) > sameWorkPart*float64(all[0])*float64(all[1])
}
