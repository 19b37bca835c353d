package allocator

import (
	"math"
	"slices"
	"sort"

	"nsysmem/torchmem/internal/sizes"
)

// How the smallest capacity is found
//
// A capacity has its say in a simulation only where the driver is asked for memory: the answer is yes where what is reserved
// and what is asked for are no more than it. So one simulation tells what happens with a whole stretch of capacities: from
// the highest sum that was granted to the lowest that was refused. Stretch by stretch all capacities are gone through.
//
//  1. With the peak of a simulation without a limit all is served: no more is ever asked for. Below the peak of what tensors
//     hold nothing can be.
//  2. Between the two a border is sought by halving: all is served above it, and something fails below.
//  3. More memory can make a request fail: the cache is given back at another time, and what comes after lies elsewhere.
//     So the stretches above are gone through up to the peak; one with a failure moves the border above it.
//  4. Those below the first border are gone through likewise for the least capacity with which all is served.
//  5. The work is bounded. What it does not suffice for is looked at here and there, and the result says from where on.

// Smallest is which capacities serve every request. One that the program got over failing need not be served.
type Smallest struct {
	Threshold int64 // bytes; this capacity and every larger one does, as far as they were looked at
	Least     int64 // bytes; the least that was seen to; less than Threshold where some capacity between the two fails
	Checked   int64 // bytes; up to here every capacity from Threshold on was looked at, beyond only some
	Certain   int64 // bytes; this and every larger one does for sure: no more is ever asked for
}

// Exact says that every capacity was looked at.
func (s *Smallest) Exact() bool { return s.Checked >= s.Certain }

// The work that finding one setting's smallest capacity may take, in requests served: a third of a second, which is what a
// setting may take with the two dozen of a sweep done in a few seconds. What is looked at here and there has a fourth of it.
const (
	smallestWork = 4_000_000
	spotsShare   = 4
	fewestProbes = 2 // so many simulations are done of any trace
)

// A stretch is capacities, [from, to) in bytes, with which the simulation goes the same way.
type stretchOf struct {
	from, to int64
	serves   bool
}

// A prober looks at capacities.
type prober struct {
	q    *Requests
	cfg  *Config
	seen []stretchOf // by from; none overlap
	work int         // requests that may still be served
	few  int         // simulations that may be done though there is no work left
}

// spent says that no more may be looked at.
func (p *prober) spent() bool { return p.work <= 0 && p.few <= 0 }

// at looks at a capacity; ok is false where the work does not suffice.
func (p *prober) at(capacity int64) (s stretchOf, ok bool) {
	i := sort.Search(len(p.seen), func(i int) bool { return p.seen[i].from > capacity }) - 1
	if i >= 0 && capacity < p.seen[i].to {
		return p.seen[i], true
	}
	if p.spent() {
		return s, false
	}
	sim := p.q.simulation(p.cfg, Options{Capacity: capacity, lean: true})
	p.work -= sim.run(&Options{lean: true})
	p.few--
	s = stretchOf{sim.least, sim.below, sim.result.FailedRequests == 0}
	if sim.collect > 0 || sim.capacity != capacity {
		// A share of the memory is what it may use, and from another one on it collects: other capacities go other ways.
		s.from, s.to = capacity, capacity+1
	}
	sim.putBack()
	p.seen = slices.Insert(p.seen, i+1, s)
	return s, true
}

// smallest finds the capacities that serve every request. free is the simulation without a limit.
func (q *Requests) smallest(cfg *Config, free *Result) Smallest {
	if cfg.MemoryFraction > 0 && cfg.GCThreshold > 0 {
		return q.smallestCollecting(cfg, free)
	}
	plain := *cfg
	plain.MemoryFraction = 0
	plain.checkWhole = cfg.MemoryFraction > 0
	p := &prober{q: q, cfg: &plain, work: smallestWork, few: fewestProbes}
	s := p.find(free.PeakAllocated, free.asked)
	if f := cfg.MemoryFraction; f > 0 {
		for _, n := range []*int64{&s.Threshold, &s.Least, &s.Checked, &s.Certain} {
			*n = shareOf(*n, f)
		}
	}
	return s
}

// shareOf is the least capacity of which a share is so many bytes.
func shareOf(n int64, share float64) int64 {
	c := int64(math.Ceil(float64(n) / share))
	for int64(float64(c)*share) < n {
		c++
	}
	return c
}

// find finds them between what tensors hold at their peak, below which something fails, and what is asked for at most.
func (p *prober) find(held, asked int64) Smallest {
	s := Smallest{Threshold: asked, Least: asked, Checked: asked, Certain: asked}
	border, ok := p.border(held, asked)
	if !ok {
		s.Threshold = border
		s.Checked = border
		s.Least = border
		return s
	}
	s.Threshold, s.Least = border, border
	whole := p.work
	p.work -= whole / spotsShare
	s.Checked = p.upwards(&s, asked)
	p.work += whole / spotsShare
	if s.Checked < asked {
		p.spots(&s, asked)
	}
	p.downwards(&s, held, border)
	return s
}

// border is a capacity that serves all while a little less does not; where the work does not suffice, one that serves all.
func (p *prober) border(held, asked int64) (at int64, ok bool) {
	lo, hi := held, asked // below lo something fails, or it is lo itself; hi serves all
	for lo < hi {
		s, ok := p.at(lo + (hi-lo)/2)
		switch {
		case !ok:
			return hi, false
		case s.serves:
			hi = max(s.from, held)
		default:
			lo = min(s.to, hi)
		}
	}
	return hi, true
}

// upwards goes through the capacities from the threshold on, moves it above each that fails, and returns how far it came.
func (p *prober) upwards(s *Smallest, asked int64) int64 {
	for at := s.Threshold; at < asked; {
		next, ok := p.at(at)
		if !ok {
			return at
		}
		at = next.to
		if !next.serves {
			s.Threshold = min(at, asked)
		}
	}
	return asked
}

// spots looks at capacities here and there where not all can be looked at, in ever finer steps, none below that of a segment.
func (p *prober) spots(s *Smallest, asked int64) {
	from := s.Checked
	for parts := int64(2); (asked-from)/parts >= sizes.LargeRound; parts *= 2 {
		for k := int64(1); k < parts; k += 2 {
			at := from + (asked-from)/parts*k
			if at < s.Threshold {
				continue
			}
			next, ok := p.at(at)
			if !ok {
				return
			}
			if !next.serves {
				s.Threshold = min(next.to, asked)
				s.Checked = max(s.Checked, s.Threshold)
			}
		}
	}
}

// downwards goes through the capacities below the border for the least that serves all.
func (p *prober) downwards(s *Smallest, held, border int64) {
	for at := border - 1; at >= held; {
		next, ok := p.at(at)
		if !ok {
			return
		}
		if next.serves {
			s.Least = max(next.from, held)
		}
		at = next.from - 1
	}
}

// smallestCollecting is smallest for a setting that collects old segments from a share of the capacity on: there each
// capacity goes its own way, and whole segments of 2 MiB are looked at.
func (q *Requests) smallestCollecting(cfg *Config, free *Result) Smallest {
	p := &prober{q: q, cfg: cfg, work: smallestWork, few: fewestProbes}
	lo, hi := shareOf(free.PeakAllocated, cfg.MemoryFraction)-1, shareOf(free.asked, cfg.MemoryFraction)
	s := Smallest{Threshold: hi, Least: hi, Checked: hi, Certain: hi}
	for hi-lo > sizes.LargeRound {
		mid := lo + (hi-lo)/2
		next, ok := p.at(mid)
		if !ok {
			break
		}
		if next.serves {
			hi = mid
		} else {
			lo = mid
		}
	}
	s.Threshold, s.Least, s.Checked = hi, hi, hi
	p.spots(&s, s.Certain)
	return s
}
