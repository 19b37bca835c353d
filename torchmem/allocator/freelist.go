package allocator

import (
	"math/bits"
	"slices"
	"sort"
)

// A freeList holds free blocks in order of size, then address. Blocks of about one size share a bin, and a bit says which
// bins have any: finding, adding and removing a block costs little however many there are.
type freeList struct {
	n    int
	used [binCount / 64]uint64
	bins []bin // binCount of them, or none while nothing was added
}

type freeBlock struct {
	size int64
	addr uint64
	node int32
}

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

// There are 16 bins to each power of two: few blocks share one, and a list of all of them is small.
const (
	binBits  = 4
	binCount = 64 << binBits
)

// binOf is the bin of a size. Larger sizes have no lower bin.
func binOf(size int64) int {
	log := bits.Len64(uint64(size))
	if log <= binBits {
		return int(size)
	}
	return (log-binBits)<<binBits | int(uint64(size)>>(log-1-binBits)&(1<<binBits-1))
}

// A bin holds its blocks in order, in pieces of bounded length. Only an only piece may be empty.
type bin struct{ parts [][]freeBlock }

const freePart = 128 // blocks of a part before it is cut in two

// seek is the place of the first block not before b: a part, which may be one too many, and a place in it.
func (l *bin) seek(b freeBlock) (p, i int) {
	if len(l.parts) > 1 {
		p = sort.Search(len(l.parts), func(i int) bool { q := l.parts[i]; return !q[len(q)-1].before(b) })
	}
	if p == len(l.parts) {
		return p, 0
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
	if lo == len(q) {
		return p + 1, 0
	}
	return p, lo
}

func (l *bin) insert(b freeBlock) {
	if len(l.parts) == 0 {
		l.parts = append(l.parts, nil)
	}
	p, i := l.seek(b)
	if p == len(l.parts) {
		p--
		i = len(l.parts[p])
	}
	q := append(l.parts[p], freeBlock{}) // by hand: each allocation and free comes here
	copy(q[i+1:], q[i:])
	q[i] = b
	l.parts[p] = q
	if len(q) < freePart {
		return
	}
	half := append(make([]freeBlock, 0, freePart), q[freePart/2:]...)
	l.parts[p] = q[:freePart/2]
	l.parts = slices.Insert(l.parts, p+1, half)
}

// remove takes out a block that is in the bin, and says whether it was the last.
func (l *bin) remove(b freeBlock) bool {
	p, i := l.seek(b)
	q := l.parts[p]
	copy(q[i:], q[i+1:])
	l.parts[p] = q[:len(q)-1]
	if len(q) > 1 {
		return false
	}
	if len(l.parts) == 1 {
		return true
	}
	l.parts = slices.Delete(l.parts, p, p+1)
	return false
}

// A freeAt is a place in a freeList, valid until the list changes.
type freeAt struct{ bin, part, i int }

// seek is the place of the first block not before b.
func (l *freeList) seek(b freeBlock) freeAt {
	k := binOf(b.size)
	if l.used[k>>6]>>(k&63)&1 != 0 {
		if p, i := l.bins[k].seek(b); p < len(l.bins[k].parts) {
			return freeAt{k, p, i}
		}
	}
	return freeAt{bin: l.usedFrom(k + 1)}
}

// usedFrom is the first bin from k on that has blocks; binCount for none.
func (l *freeList) usedFrom(k int) int {
	if k >= binCount {
		return binCount
	}
	w := k >> 6
	word := l.used[w] >> (k & 63) << (k & 63)
	for word == 0 {
		if w++; w == len(l.used) {
			return binCount
		}
		word = l.used[w]
	}
	return w<<6 + bits.TrailingZeros64(word)
}

func (l *freeList) end(a freeAt) bool { return a.bin >= binCount }

func (l *freeList) at(a freeAt) freeBlock { return l.bins[a.bin].parts[a.part][a.i] }

func (l *freeList) next(a freeAt) freeAt {
	parts := l.bins[a.bin].parts
	if a.i++; a.i < len(parts[a.part]) {
		return a
	}
	if a.part++; a.part < len(parts) {
		return freeAt{a.bin, a.part, 0}
	}
	return freeAt{bin: l.usedFrom(a.bin + 1)}
}

func (l *freeList) insert(b freeBlock) {
	if l.bins == nil {
		l.bins = make([]bin, binCount)
	}
	k := binOf(b.size)
	l.n++
	l.used[k>>6] |= 1 << (k & 63)
	l.bins[k].insert(b)
}

// remove takes out a block that is in the list.
func (l *freeList) remove(b freeBlock) {
	k := binOf(b.size)
	l.n--
	if l.bins[k].remove(b) {
		l.used[k>>6] &^= 1 << (k & 63)
	}
}

// all are the blocks in order, as a copy.
func (l *freeList) all() []freeBlock {
	out := make([]freeBlock, 0, l.n)
	for k := l.usedFrom(0); k < binCount; k = l.usedFrom(k + 1) {
		for _, p := range l.bins[k].parts {
			out = append(out, p...)
		}
	}
	return out
}

// largest is the last block; ok is false where there is none.
func (l *freeList) largest() (b freeBlock, ok bool) {
	for w := len(l.used) - 1; w >= 0; w-- {
		if l.used[w] != 0 {
			parts := l.bins[w<<6+bits.Len64(l.used[w])-1].parts
			p := parts[len(parts)-1]
			return p[len(p)-1], true
		}
	}
	return b, false
}
