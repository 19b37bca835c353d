package allocator

import (
	"slices"
	"sort"
)

// A hole is a stretch of address space that the driver holds and does not use.
type hole struct {
	addr uint64
	size int64
}

func (h hole) end() uint64 { return h.addr + uint64(h.size) }

// A space is the holes by address. No two adjoin.
type space []hole

// upTo is the number of holes that begin at addr or below.
func (s space) upTo(addr uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].addr > addr })
}

// firstFit is the place of the lowest hole with room, or -1.
func (s space) firstFit(size int64) int {
	return slices.IndexFunc(s, func(h hole) bool { return h.size >= size })
}

// holeAt is the place of the hole that holds size bytes at addr, or -1.
func (s space) holeAt(addr uint64, size int64) int {
	i := s.upTo(addr) - 1
	if i < 0 {
		return -1
	}
	before, all := addr-s[i].addr, uint64(s[i].size)
	if before > all || all-before < uint64(size) {
		return -1
	}
	return i
}

// use takes size bytes at addr out of the hole around them, and says whether that hole is gone.
func (s *space) use(addr uint64, size int64) (gone bool) {
	i := s.holeAt(addr, size)
	if i < 0 {
		return false
	}
	h := (*s)[i]
	rest := make([]hole, 0, 2)
	if h.addr < addr {
		rest = append(rest, hole{h.addr, int64(addr - h.addr)})
	}
	if end := addr + uint64(size); end < h.end() {
		rest = append(rest, hole{end, int64(h.end() - end)})
	}
	*s = slices.Replace(*s, i, i+1, rest...)
	return len(rest) == 0
}

// useWithin takes all that is unused in [from, to).
func (s *space) useWithin(from, to uint64) {
	for i := 0; i < len(*s); {
		h := (*s)[i]
		a, b := max(h.addr, from), min(h.end(), to)
		if a >= b || !s.use(a, int64(b-a)) {
			i++
		}
	}
}

// add adds unused space and joins it with its neighbours.
func (s *space) add(h hole) {
	from := s.upTo(h.addr)
	to := from
	end := h.end()
	if from > 0 && (*s)[from-1].end() >= h.addr {
		from--
		h.addr = (*s)[from].addr
		end = max(end, (*s)[from].end())
	}
	if to < len(*s) && end >= (*s)[to].addr {
		end = max(end, (*s)[to].end())
		to++
	}
	h.size = int64(end - h.addr)
	*s = slices.Replace(*s, from, to, h)
}
