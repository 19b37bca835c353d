package allocator

import (
	"runtime"
	"sync"
)

// SweepGrid are settings worth trying: the default, each rule by itself in a few strengths, and combinations that do not
// work against each other.
func SweepGrid() []string {
	return []string{"", "expandable_segments:True",
		"max_split_size_mb:32", "max_split_size_mb:64", "max_split_size_mb:128", "max_split_size_mb:256",
		"max_split_size_mb:512", "max_split_size_mb:1024", "max_split_size_mb:2048",
		"roundup_power2_divisions:1", "roundup_power2_divisions:2", "roundup_power2_divisions:4", "roundup_power2_divisions:8",
		"roundup_power2_divisions:16", "roundup_power2_divisions:[64:8,256:4,1024:2,>:1]",
		"max_split_size_mb:128,roundup_power2_divisions:4", "max_split_size_mb:256,roundup_power2_divisions:8",
		"max_split_size_mb:512,roundup_power2_divisions:8", "max_split_size_mb:256,max_non_split_rounding_mb:64",
		"large_segment_size_mb:40", "large_segment_size_mb:64", "large_segment_size_mb:128",
		"expandable_segments:True,roundup_power2_divisions:8", "expandable_segments:True,large_segment_size_mb:64"}
}

// Sweep simulates each setting, in parallel on all cores, and returns the results in the order of the settings, with
// ReservedRange over all orders of segments. done, if not nil, is called after each with the number that are finished,
// from one goroutine at a time.
func (q *Requests) Sweep(cfgs []*Config, opt Options, done func(n int)) []*Result {
	out := make([]*Result, len(cfgs))
	atOnce(len(cfgs), func(i int) { out[i] = q.simulateOrders(cfgs[i], opt) }, done)
	return out
}

// SweepLimited simulates each setting with a capacity of its own, bytes, as Sweep does in the driver's order alone. free are
// the results without a limit: with a capacity that was never asked beyond nothing changes.
func (q *Requests) SweepLimited(cfgs []*Config, capacity []int64, free []*Result, done func(n int)) []*Result {
	out := make([]*Result, len(cfgs))
	atOnce(len(cfgs), func(i int) {
		if c := cfgs[i]; c.MemoryFraction == 0 && free[i].asked <= capacity[i] {
			same := *free[i]
			same.Capacity = capacity[i]
			out[i] = &same
			return
		}
		out[i] = q.Simulate(cfgs[i], Options{Capacity: capacity[i]})
	}, done)
	return out
}

// atOnce does n pieces of work on all cores.
func atOnce(n int, do func(i int), done func(n int)) {
	work := make(chan int)
	var workers sync.WaitGroup
	var telling sync.Mutex
	finished := 0
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range work {
				do(i)
				telling.Lock()
				finished++
				if done != nil {
					done(finished)
				}
				telling.Unlock()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	workers.Wait()
}

// longTrace is how many requests a trace may have for all orders of segments to be simulated: with more, the two further
// simulations of each setting would be most of what a sweep takes, for a range of a few percent.
const longTrace = 1_000_000

// simulateOrders is Simulate in the driver's order, with ReservedRange over all orders. With expandable segments there is
// only one.
func (q *Requests) simulateOrders(cfg *Config, opt Options) *Result {
	opt.order = driverOrder
	res := q.Simulate(cfg, opt)
	if opt.Smallest {
		res.Smallest = q.smallest(cfg, res)
	}
	if cfg.Expandable {
		return res
	}
	if len(q.ops) > longTrace {
		res.Notes = append(res.Notes, "the trace is long: what other orders of addresses come to was not looked for")
		return res
	}
	low, high := &res.ReservedRange[0], &res.ReservedRange[1]
	opt.lean = true
	for opt.order = driverOrder + 1; opt.order < numOrders; opt.order++ {
		other := q.Simulate(cfg, opt).PeakReserved
		*low, *high = min(*low, other), max(*high, other)
	}
	if *low != *high {
		res.Notes = append(res.Notes, "among free blocks of one size the lowest address is taken, and "+
			"where the driver puts a new segment cannot be known for sure: the range is what other orders come to")
	}
	return res
}
