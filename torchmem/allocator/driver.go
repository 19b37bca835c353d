package allocator

import "nsysmem/torchmem/internal/sizes"

// An order is where new segments are put. PyTorch takes, among free blocks of one size, the one at the lowest address, so
// the driver's choice of addresses has an influence on what is reserved, by a few percent at most in recorded runs.
type order uint8

const (
	driverOrder  order = iota // as the CUDA driver was seen to do it
	risingOrder               // each segment above the ones before
	fallingOrder              // each segment below the ones before
	numOrders                 // not an order
)

// What the driver was seen to do (CUDA 12 and 13 on Linux, the segment addresses of all recorded snapshots): it takes
// address space in pieces that are a multiple of 32 MiB, each below the ones before, and puts a segment at the beginning
// of its piece. What remains of a piece is used for later segments, at the lowest address where they fit. In the
// beginning of a process there are stretches that were taken for other purposes before; they fill at rising addresses.
const driverPiece = 32 * sizes.MiB

// Addresses of the model where nothing was recorded.
const (
	middle         = 1 << 46   // where segments start
	lowest         = 1 << 44   // where pieces start at least, so that there is room below
	nowhere        = 1<<64 - 1 // no address
	expandableBase = 1 << 33   // where expandable segments start
	expandableStep = 1 << 41   // how far they lie apart, so that none grows into the next
)

// A driver gives addresses to segments.
type driver struct {
	order order
	space space
	low   uint64 // lowest address of all pieces
	high  uint64 // next address of the rising order

	// What the recorded run shows.
	known *recording
	next  int  // recorded segments that were met so far
	sync  bool // all segments so far were those of the recording, so its addresses hold
	given int  // recording.given that are in space
	taken int  // recording.taken that are out of it
}

func newDriver(o order, known *recording) *driver {
	d := &driver{order: o, known: known, low: middle, high: middle, sync: o == driverOrder}
	if o == driverOrder {
		d.low = nowhere
	}
	return d
}

// alloc gives a segment of size bytes an address, at entry event of the trace.
//
//  1. What came to the address space or went from it up to then is taken note of.
//  2. As long as the simulation asked for what the recorded run did, the recorded address holds.
//  3. Else the lowest hole with room, or a new piece below all others.
func (d *driver) alloc(event int32, size int64) uint64 {
	switch d.order {
	case risingOrder:
		d.high += uint64(size)
		return d.high - uint64(size)
	case fallingOrder:
		d.low -= uint64(size)
		return d.low
	}
	d.pass(event)
	if d.sync {
		s := d.recorded()
		if s != nil && !s.free && s.event == event && s.size == size {
			d.next++
			switch {
			case d.space.holeAt(s.addr, size) >= 0:
				d.space.use(s.addr, size)
			case s.addr < d.low:
				d.piece(s.addr, size)
			}
			return s.addr
		}
		d.sync = false
	}
	if i := d.space.firstFit(size); i >= 0 {
		at := d.space[i].addr
		d.space.use(at, size)
		return at
	}
	low := d.low
	if low == nowhere {
		low = d.known.start()
	}
	at := low - uint64(sizes.Up(size, driverPiece))
	d.piece(at, size)
	return at
}

// recorded is the recorded segment that comes next, or nil.
func (d *driver) recorded() *recordedSegment {
	if d.next < len(d.known.segments) {
		return &d.known.segments[d.next]
	}
	return nil
}

// pass takes note of what happened to the address space up to an event.
func (d *driver) pass(event int32) {
	d.passGiven(event)
	for ; d.taken < len(d.known.taken) && d.known.taken[d.taken].event <= event; d.taken++ {
		h := d.known.taken[d.taken].hole
		d.space.useWithin(h.addr, h.end())
	}
}

func (d *driver) passGiven(event int32) {
	for ; d.given < len(d.known.given) && d.known.given[d.given].event <= event; d.given++ {
		d.space.add(d.known.given[d.given].hole)
	}
}

// free takes a segment back.
func (d *driver) free(addr uint64, size int64) {
	if d.order != driverOrder {
		return
	}
	if d.sync {
		s := d.recorded()
		if d.sync = s != nil && s.free && s.addr == addr && s.size == size; d.sync {
			d.next++
		}
	}
	d.space.add(hole{addr, size})
}

// piece takes new address space at an address below all other, for a segment at its beginning.
func (d *driver) piece(addr uint64, size int64) {
	end := addr + uint64(sizes.Up(size, driverPiece))
	if d.low != nowhere && end > d.low && addr < d.low {
		end = d.low
	}
	if rest := int64(end - addr - uint64(size)); rest > 0 {
		d.space.add(hole{addr + uint64(size), rest})
	}
	d.low = addr
}

// expandable is where an expandable segment begins: number n of the process, the first of its stream and pool or not.
func (d *driver) expandable(k expandKey, n int, first bool) uint64 {
	if a, ok := d.known.bases[k]; ok && first {
		return a
	}
	return expandableBase + uint64(n)*expandableStep
}
