package align

import (
	"cmp"
	"slices"

	"nsysmem/nsysdb"
)

// A sameTime orders the memory events of one time stamp. There is mostly one; where there are many, as at the start of
// a recording that begins in the middle, there are thousands.
type sameTime struct {
	events []memEvent
	places []int32    // order of events
	seats  []int32    // hash table of events by process and address: index + 1
	spare  []memEvent // for the next time stamp
	again  map[int64]bool
}

// add takes in an event that came later than the ones before, or with them. The events of the time before are first given
// to flush, which takes them out.
func (s *sameTime) add(e *memEvent, flush func()) error {
	if n := len(s.events); n > 0 && s.events[n-1].time != e.time {
		if s.events[n-1].time > e.time {
			return errUnordered
		}
		flush()
	}
	s.events = append(s.events, *e)
	return nil
}

// order orders the events: allocations first, then frees. Where several events of a process have one address, that
// process's go in the order of their calls instead: a recording that begins in the middle writes all that came before it
// at time 0 (observed with --capture-range=cudaProfilerApi in 2025.3), where blocks pair only so. Beyond that the order
// is one that does not depend on the rows' order in the table.
func (s *sameTime) order() {
	n := len(s.events)
	if n < 2 {
		return
	}
	s.findAgain()
	s.places = s.places[:0]
	for i := range n {
		s.places = append(s.places, int32(i))
	}
	slices.SortFunc(s.places, func(i, j int32) int { return s.compare(&s.events[i], &s.events[j]) })
	s.spare = s.spare[:0]
	for _, i := range s.places {
		s.spare = append(s.spare, s.events[i])
	}
	s.events, s.spare = s.spare, s.events
}

// findAgain finds the processes of which several events have one address.
func (s *sameTime) findAgain() {
	clear(s.again)
	size := 4
	for size < 2*len(s.events) {
		size *= 2
	}
	if len(s.seats) < size {
		s.seats = make([]int32, size)
	}
	seats := s.seats[:size]
	clear(seats)
	for k := range s.events {
		e := &s.events[k]
		pid := nsysdb.Process(e.gpid)
		i := mix(uint64(pid), uint64(e.address)) & uint64(size-1)
		for ; seats[i] != 0; i = (i + 1) & uint64(size-1) {
			if o := &s.events[seats[i]-1]; o.address == e.address && nsysdb.Process(o.gpid) == pid {
				if s.again == nil {
					s.again = make(map[int64]bool)
				}
				s.again[pid] = true
				break
			}
		}
		seats[i] = int32(k + 1)
	}
}

func (s *sameTime) compare(x, y *memEvent) int {
	p, q := nsysdb.Process(x.gpid), nsysdb.Process(y.gpid)
	if p != q {
		return cmp.Compare(p, q)
	}
	byOp, byCall := cmp.Compare(x.op, y.op), cmp.Compare(x.corr, y.corr)
	if len(s.again) > 0 && s.again[p] {
		byOp, byCall = byCall, byOp
	}
	switch {
	case byOp != 0:
		return byOp
	case byCall != 0:
		return byCall
	case x.address != y.address:
		return cmp.Compare(x.address, y.address)
	}
	return cmp.Or(cmp.Compare(x.bytes, y.bytes),
		cmp.Compare(x.device, y.device), cmp.Compare(x.kind, y.kind), cmp.Compare(x.pool, y.pool),
		cmp.Compare(x.poolSize, y.poolSize), cmp.Compare(x.poolUsed, y.poolUsed), cmp.Compare(x.imported, y.imported),
		cmp.Compare(x.stream, y.stream), cmp.Compare(x.context, y.context))
}
