package allocator

import (
	"slices"
	"sort"
)

// A freeList holds free blocks in order of size, then address, in pieces of bounded length: finding, adding and removing
// one costs little however many there are, without a pointer for each.
type freeList struct {
	parts [][]freeBlock // none empty
	n     int
}

type freeBlock struct {
	size int64
	addr uint64
	node int32
}

const freePart = 128 // blocks of a part before it is cut in two

// before is the order of a list. Nodes part blocks at one address: the model's address space is as large as a device's,
// and a trace may ask for more.
func (a freeBlock) before(b freeBlock) bool {
	switch {
	case a.size != b.size:
		return a.size < b.size
	case a.addr != b.addr:
		return a.addr < b.addr
	}
	return a.node < b.node
}

// A freeAt is a place in a freeList, valid until the list changes.
type freeAt struct{ part, i int }

// seek is the place of the first block not before b.
func (l *freeList) seek(b freeBlock) freeAt {
	p := sort.Search(len(l.parts), func(i int) bool { q := l.parts[i]; return !q[len(q)-1].before(b) })
	if p == len(l.parts) {
		return freeAt{p, 0}
	}
	q := l.parts[p]
	lo, hi := 0, len(q)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if q[m].before(b) {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return freeAt{p, lo}
}

func (l *freeList) end(a freeAt) bool { return a.part >= len(l.parts) }

func (l *freeList) at(a freeAt) freeBlock { return l.parts[a.part][a.i] }

func (l *freeList) next(a freeAt) freeAt {
	if a.i++; a.i == len(l.parts[a.part]) {
		return freeAt{a.part + 1, 0}
	}
	return a
}

func (l *freeList) insert(b freeBlock) {
	l.n++
	if len(l.parts) == 0 {
		l.parts = append(l.parts, append(make([]freeBlock, 0, freePart), b))
		return
	}
	a := l.seek(b)
	if l.end(a) {
		a.part--
		a.i = len(l.parts[a.part])
	}
	q := append(l.parts[a.part], freeBlock{}) // by hand: each allocation and free comes here
	copy(q[a.i+1:], q[a.i:])
	q[a.i] = b
	l.parts[a.part] = q
	if len(q) < freePart {
		return
	}
	half := append(make([]freeBlock, 0, freePart), q[freePart/2:]...)
	l.parts[a.part] = q[:freePart/2]
	l.parts = slices.Insert(l.parts, a.part+1, half)
}

// remove takes out a block that is in the list.
func (l *freeList) remove(b freeBlock) {
	a := l.seek(b)
	l.n--
	q := l.parts[a.part]
	if len(q) == 1 {
		l.parts = slices.Delete(l.parts, a.part, a.part+1)
		return
	}
	copy(q[a.i:], q[a.i+1:])
	l.parts[a.part] = q[:len(q)-1]
}

// all are the blocks in order, as a copy.
func (l *freeList) all() []freeBlock { return slices.Concat(l.parts...) }

// largest is the last block; ok is false where there is none.
func (l *freeList) largest() (freeBlock, bool) {
	if l.n == 0 {
		return freeBlock{}, false
	}
	p := l.parts[len(l.parts)-1]
	return p[len(p)-1], true
}
