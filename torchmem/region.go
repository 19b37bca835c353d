package torchmem

import (
	"slices"
	"sort"

	"nsysmem/torchmem/internal/sizes"
)

// A stretch is a piece of memory of one pool.
type stretch struct {
	addr       uint64
	size       int64
	stream     uint64
	small      bool
	expandable bool
}

func (s *stretch) end() uint64 { return s.addr + uint64(s.size) }

func (s *stretch) holds(addr uint64) bool { return addr-s.addr < uint64(s.size) }

// joins says that the stretches are of one pool and lie side by side.
func (s *stretch) joins(next *stretch) bool {
	return s.end() == next.addr && s.stream == next.stream && s.small == next.small
}

// A region is a segment, or a stretch of an expandable one that is mapped without gaps.
type region struct {
	stretch
	free       *[]int32 // free blocks of its pool, in no order
	head, tail int32
	busy       int     // blocks that are not free
	freeBytes  int64   // bytes of free blocks
	lives      []int32 // places in Replay.Segments
}

// upTo is the number of regions that begin at addr or below.
func (l *layout) upTo(addr uint64) int {
	return sort.Search(len(l.regions), func(i int) bool { return l.regions[i].addr > addr })
}

// find is the place of the region that holds addr, or -1.
func (l *layout) find(addr uint64) int {
	i := l.upTo(addr) - 1
	if i >= 0 && l.regions[i].holds(addr) {
		return i
	}
	return -1
}

// regionAt is the region that holds addr, or nil.
func (l *layout) regionAt(addr uint64) *region {
	if i := l.find(addr); i >= 0 {
		return l.regions[i]
	}
	return nil
}

// overlapping is the place of a region that shares addresses with the stretch, or -1.
func (l *layout) overlapping(s stretch) int {
	if i := l.find(s.addr); i >= 0 {
		return i
	}
	if i := l.upTo(s.addr); i < len(l.regions) && s.holds(l.regions[i].addr) {
		return i
	}
	return -1
}

func (l *layout) insertRegion(g *region) { l.regions = slices.Insert(l.regions, l.upTo(g.addr), g) }

func (l *layout) removeRegion(i int) { l.regions = slices.Delete(l.regions, i, i+1) }

// addRegion makes a region of one free block, born at a time; Never for one that was there before.
func (l *layout) addRegion(s stretch, birth int64) *region {
	pool := poolKey{s.stream, s.small}
	if l.free[pool] == nil {
		l.free[pool] = new([]int32)
	}
	g := &region{stretch: s, free: l.free[pool]}
	i := l.newNode(node{addr: s.addr, size: s.size, prev: noNode, next: noNode, block: noNode, reg: g})
	g.head, g.tail = i, i
	l.at[s.addr] = i
	l.setFree(i)
	l.insertRegion(g)
	l.reserved += s.size
	g.lives = append(g.lives, int32(len(l.r.Segments)))
	l.r.Segments = append(l.r.Segments, SegmentLife{Birth: birth, Death: Never, BirthEvent: l.event, DeathEvent: -1,
		Addr: s.addr, Size: s.size, Stream: s.stream, Small: s.small, Expandable: s.expandable})
	return g
}

// isSmall says of which pool a mapped stretch is: as the segments around it, as the snapshot says, or by its size, since
// the small pool maps 2 MiB at a time and the large one more.
func (l *layout) isSmall(addr uint64, size int64) bool {
	for _, at := range [2]uint64{addr - 1, addr + uint64(size)} {
		if g := l.regionAt(at); g != nil && g.expandable {
			return g.small
		}
	}
	i := sort.Search(len(l.held), func(i int) bool { return l.held[i].Addr > addr }) - 1
	if i >= 0 && addr-l.held[i].Addr < uint64(l.held[i].Size) {
		return l.held[i].Small
	}
	return size == sizes.SmallSegment || l.smallPages[addr]
}
