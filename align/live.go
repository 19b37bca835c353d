package align

import "math/bits"

// A liveTable holds the live blocks of a process by address. It is a table with open addressing, because a report has
// millions of blocks that come and go, and few that are live at once.
type liveTable[T any] struct {
	seats  []liveSeat // a power of two of them, at most half of them taken
	blocks []T        // in seats, and some that are free
	free   []int32    // of blocks
	n      int
}

type liveSeat struct {
	address int64
	block   int32 // index + 1 in blocks; 0 where the seat is free
}

// find is the seat of an address, or the free one where it would be.
func (t *liveTable[T]) find(address int64) int {
	i := t.home(address)
	for t.seats[i].block != 0 && t.seats[i].address != address {
		i = (i + 1) & (len(t.seats) - 1)
	}
	return i
}

// home is the seat where the search for an address begins.
func (t *liveTable[T]) home(address int64) int {
	h := uint64(address) * 0x9e3779b97f4a7c15
	return int(h >> (64 - bits.TrailingZeros(uint(len(t.seats)))))
}

// get is the block at an address, nil where none is live. It is valid until the next put or remove.
func (t *liveTable[T]) get(address int64) *T {
	if t.n == 0 {
		return nil
	}
	if b := t.seats[t.find(address)].block; b != 0 {
		return &t.blocks[b-1]
	}
	return nil
}

// put makes a block the one that is live at an address.
func (t *liveTable[T]) put(address int64, b T) {
	if 2*t.n >= len(t.seats) {
		t.grow()
	}
	s := &t.seats[t.find(address)]
	switch k := len(t.free); {
	case s.block != 0:
	case k > 0:
		s.block = t.free[k-1] + 1
		t.free = t.free[:k-1]
		t.n++
	default:
		t.blocks = append(t.blocks, *new(T))
		s.block = int32(len(t.blocks))
		t.n++
	}
	s.address = address
	t.blocks[s.block-1] = b
}

func (t *liveTable[T]) grow() {
	old := t.seats
	t.seats = make([]liveSeat, max(64, 2*len(old)))
	for _, s := range old {
		if s.block != 0 {
			t.seats[t.find(s.address)] = s
		}
	}
}

// remove takes out the block at an address, which must be live.
//
// The seats after it move up to where a search begins for them, so that no search ends early at the gap.
func (t *liveTable[T]) remove(address int64) {
	gap := t.find(address)
	t.free = append(t.free, t.seats[gap].block-1)
	t.n--
	mask := len(t.seats) - 1
	for i := (gap + 1) & mask; t.seats[i].block != 0; i = (i + 1) & mask {
		// It may move into the gap unless its own search begins after the gap.
		if (i-t.home(t.seats[i].address))&mask >= (i-gap)&mask {
			t.seats[gap] = t.seats[i]
			gap = i
		}
	}
	t.seats[gap] = liveSeat{}
}

// all calls f for each live block, in no set order.
func (t *liveTable[T]) all(f func(address int64, b *T)) {
	for _, s := range t.seats {
		if s.block != 0 {
			f(s.address, &t.blocks[s.block-1])
		}
	}
}
