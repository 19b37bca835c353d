package torchmem

import (
	"slices"
	"sort"
)

// spans are stretches by address that do not overlap. Neighbours of one pool are one stretch, as the allocator's own list
// has it.
type spans []stretch

func (s *spans) add(x stretch) {
	s.remove(x.addr, x.size)
	if x.size <= 0 {
		return
	}
	i := sort.Search(len(*s), func(i int) bool { return (*s)[i].addr > x.addr })
	*s = slices.Insert(*s, i, x)
	s.join(i)
	s.join(i - 1)
}

// join makes one of stretch i and the next where they join.
func (s *spans) join(i int) {
	all := *s
	if i >= 0 && i+1 < len(all) && all[i].joins(&all[i+1]) {
		all[i].size += all[i+1].size
		*s = slices.Delete(all, i+1, i+2)
	}
}

// remove cuts a stretch out of all that it overlaps.
func (s *spans) remove(addr uint64, size int64) {
	end := addr + uint64(max(size, 0))
	all := *s
	from := max(sort.Search(len(all), func(i int) bool { return all[i].addr > addr })-1, 0)
	var keep []stretch
	to := from
	for ; to < len(all) && all[to].addr < end; to++ {
		x := all[to]
		if x.addr < addr {
			before := x
			before.size = int64(min(addr, x.end()) - x.addr)
			keep = append(keep, before)
		}
		if x.end() > end {
			after := x
			after.addr, after.size = end, int64(x.end()-end)
			keep = append(keep, after)
		}
	}
	*s = slices.Replace(all, from, to, keep...)
}
