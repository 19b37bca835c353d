package allocator

import "sort"

// An Order is where new segments are put. PyTorch takes, among free blocks of one size, the one at the lowest address, so
// the driver's choice of addresses has an influence on what is reserved, by a few percent at most in recorded runs.
type Order uint8

// The orders.
const (
	DriverOrder  Order = iota // as the CUDA driver was seen to do it
	RisingOrder               // each segment above the ones before
	FallingOrder              // each segment below the ones before
	NumOrders                 // not an order
)

var orderNames = [NumOrders]string{"driver", "rising", "falling"}

// String is the order's name.
func (o Order) String() string {
	if o < NumOrders {
		return orderNames[o]
	}
	return "unknown"
}

// What the driver was seen to do (CUDA 12 and 13 on Linux, the segment addresses of all recorded snapshots): it takes
// address space in pieces that are a multiple of 32 MiB, each below the ones before, and puts a segment at the beginning
// of its piece. What remains of a piece is used for later segments, at the lowest address where they fit. In the
// beginning of a process there are stretches that were taken for other purposes before; they fill at rising addresses.
const driverPiece = 32 << 20

// A hole is a stretch of address space that the driver holds and does not use.
type hole struct {
	addr uint64
	size int64
}

func (h hole) end() uint64 { return h.addr + uint64(h.size) }

// A driver gives addresses to segments.
type driver struct {
	order Order
	holes []hole // by address
	low   uint64 // lowest address of all pieces
	high  uint64 // next address of the rising order

	// What the recorded run shows.
	known *driverKnown
	next  int  // recorded segments that were met so far
	sync  bool // all segments so far were those of the recording, so its addresses hold
	given int  // known.given that are in holes
	taken int  // known.taken that are out of them
}

// driverKnown is what one recording tells about its process. It is shared by simulations and never changes.
type driverKnown struct {
	segments []recordedSegment
	given    []timedHole // stretches that the driver had from elsewhere, by event
	taken    []timedHole // stretches that something else took, by event
	bases    map[expandKey]uint64
}

type recordedSegment struct {
	event int32 // place in the trace of the request that it was for, or of what came next
	free  bool
	addr  uint64
	size  int64
}

type timedHole struct {
	event int32
	hole
}

type expandKey struct {
	stream uint64
	small  bool
}

const (
	middle  = 1 << 46   // where addresses start when nothing was recorded
	nothing = 1<<64 - 1 // no address
)

func newDriver(order Order, known *driverKnown) *driver {
	d := &driver{order: order, known: known, low: middle, high: middle, sync: order == DriverOrder}
	if order == DriverOrder {
		d.low = nothing
	}
	return d
}

// learn replays the recorded segments and notes where the model alone would have chosen otherwise: first where space came
// from elsewhere, then, with that space there from the beginning of its use, where something else had taken it.
func learn(segments []recordedSegment) *driverKnown {
	first := &driverKnown{segments: segments}
	first.compare(nil)
	k := &driverKnown{segments: segments, bases: map[expandKey]uint64{}}
	k.compare(first.joinGiven())
	return k
}

// compare fills given, beginning with the stretches that are known, and taken.
func (k *driverKnown) compare(given []timedHole) {
	k.given = given
	d := newDriver(DriverOrder, k)
	for _, s := range k.segments {
		if s.free {
			d.give(s.addr, s.size)
			continue
		}
		for d.given < len(k.given) && k.given[d.given].event <= s.event {
			d.addHole(k.given[d.given].hole)
			d.given++
		}
		i := d.holeAt(s.addr, s.size)
		fresh := i < 0 && s.addr%driverPiece == 0 && s.addr < d.low
		if i < 0 && !fresh {
			g := timedHole{s.event, hole{s.addr, s.size}}
			k.given = append(k.given, timedHole{})
			copy(k.given[d.given+1:], k.given[d.given:])
			k.given[d.given] = g
			d.given++
			d.addHole(g.hole)
		}
		// Lower holes in which it would have fitted were in use by something else; for a new piece, all such holes.
		for j := 0; j < len(d.holes) && (fresh || d.holes[j].addr < s.addr); {
			h := d.holes[j]
			if h.addr < s.addr && h.end() > s.addr {
				h.size = int64(s.addr - h.addr)
			} else if h.size < s.size {
				j++
				continue
			}
			k.taken = append(k.taken, timedHole{s.event, h})
			n := len(d.holes)
			d.use(h.addr, h.size)
			if len(d.holes) == n {
				j++
			}
		}
		if fresh {
			d.piece(s.addr, s.size)
		} else {
			d.use(s.addr, s.size)
		}
	}
}

// start is where new pieces begin when none was taken yet: below all that was recorded.
func (k *driverKnown) start() uint64 {
	low := uint64(middle)
	for i, s := range k.segments {
		if i == 0 || s.addr < low {
			low = s.addr
		}
	}
	return max(low/driverPiece*driverPiece, 1<<44)
}

// joinGiven makes one stretch of pieces that adjoin, there from the first time on, up to the next multiple of 32 MiB.
func (k *driverKnown) joinGiven() []timedHole {
	sort.SliceStable(k.given, func(i, j int) bool { return k.given[i].addr < k.given[j].addr })
	var out []timedHole
	for _, g := range k.given {
		if n := len(out); n > 0 && out[n-1].end() == g.addr {
			out[n-1].size += g.size
			out[n-1].event = min(out[n-1].event, g.event)
			continue
		}
		out = append(out, g)
	}
	for i := range out {
		end := (out[i].end() + driverPiece - 1) / driverPiece * driverPiece
		if i+1 < len(out) {
			end = min(end, out[i+1].addr)
		}
		for _, s := range k.segments {
			if s.addr >= out[i].end() {
				end = min(end, s.addr)
			}
		}
		out[i].size = int64(end - out[i].addr)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].event < out[j].event })
	return out
}

// alloc gives a segment of size bytes an address, at entry event of the trace.
func (d *driver) alloc(event int32, size int64) uint64 {
	switch d.order {
	case RisingOrder:
		d.high += uint64(size)
		return d.high - uint64(size)
	case FallingOrder:
		d.low -= uint64(size)
		return d.low
	}
	d.pass(event)
	if d.sync {
		if s := d.recorded(); s != nil && !s.free && s.event == event && s.size == size {
			d.next++
			switch {
			case d.holeAt(s.addr, size) >= 0:
				d.use(s.addr, size)
			case s.addr < d.low:
				d.piece(s.addr, size)
			}
			return s.addr
		}
		d.sync = false
	}
	if i := d.firstFit(size); i >= 0 {
		at := d.holes[i].addr
		d.use(at, size)
		return at
	}
	taken := (uint64(size) + driverPiece - 1) / driverPiece * driverPiece
	low := d.low
	if low == nothing {
		low = d.known.start()
	}
	at := low - taken
	d.piece(at, size)
	return at
}

// firstFit is the place of the lowest hole with room, or -1.
func (d *driver) firstFit(size int64) int {
	for i, h := range d.holes {
		if h.size >= size {
			return i
		}
	}
	return -1
}

func (d *driver) recorded() *recordedSegment {
	if d.next < len(d.known.segments) {
		return &d.known.segments[d.next]
	}
	return nil
}

// pass takes note of what happened to the address space up to an event.
func (d *driver) pass(event int32) {
	for d.given < len(d.known.given) && d.known.given[d.given].event <= event {
		g := d.known.given[d.given]
		d.addHole(g.hole)
		d.given++
	}
	for d.taken < len(d.known.taken) && d.known.taken[d.taken].event <= event {
		t := d.known.taken[d.taken]
		d.useWithin(t.addr, t.end())
		d.taken++
	}
}

// free takes a segment back.
func (d *driver) free(addr uint64, size int64) {
	if d.order != DriverOrder {
		return
	}
	if d.sync {
		if s := d.recorded(); s != nil && s.free && s.addr == addr && s.size == size {
			d.next++
		} else {
			d.sync = false
		}
	}
	d.give(addr, size)
}

func (d *driver) give(addr uint64, size int64) { d.addHole(hole{addr, size}) }

// piece takes new address space at an address below all other, for a segment at its beginning.
func (d *driver) piece(addr uint64, size int64) {
	taken := (size + driverPiece - 1) / driverPiece * driverPiece
	end := addr + uint64(taken)
	if d.low != nothing && end > d.low && addr < d.low {
		end = d.low
	}
	if rest := int64(end - addr - uint64(size)); rest > 0 {
		d.addHole(hole{addr + uint64(size), rest})
	}
	d.low = addr
}

// holeAt is the place of the hole that holds size bytes at addr, or -1.
func (d *driver) holeAt(addr uint64, size int64) int {
	i := sort.Search(len(d.holes), func(i int) bool { return d.holes[i].addr > addr }) - 1
	if i >= 0 && addr-d.holes[i].addr <= uint64(d.holes[i].size) && uint64(d.holes[i].size)-(addr-d.holes[i].addr) >= uint64(size) {
		return i
	}
	return -1
}

// use takes size bytes at addr out of the hole around them.
func (d *driver) use(addr uint64, size int64) {
	i := d.holeAt(addr, size)
	if i < 0 {
		return
	}
	h := d.holes[i]
	before, after := hole{h.addr, int64(addr - h.addr)}, hole{addr + uint64(size), int64(h.end() - addr - uint64(size))}
	switch {
	case before.size > 0 && after.size > 0:
		d.holes[i] = before
		d.holes = append(d.holes, hole{})
		copy(d.holes[i+2:], d.holes[i+1:])
		d.holes[i+1] = after
	case before.size > 0:
		d.holes[i] = before
	case after.size > 0:
		d.holes[i] = after
	default:
		d.holes = append(d.holes[:i], d.holes[i+1:]...)
	}
}

// useWithin takes all that is unused in [from, to).
func (d *driver) useWithin(from, to uint64) {
	for i := 0; i < len(d.holes); {
		h := d.holes[i]
		a, b := max(h.addr, from), min(h.end(), to)
		if a >= b {
			i++
			continue
		}
		n := len(d.holes)
		d.use(a, int64(b-a))
		if len(d.holes) >= n {
			i++
		}
	}
}

// addHole adds unused space and joins it with its neighbours.
func (d *driver) addHole(h hole) {
	i := sort.Search(len(d.holes), func(i int) bool { return d.holes[i].addr > h.addr })
	if i > 0 && d.holes[i-1].end() >= h.addr {
		h = hole{d.holes[i-1].addr, int64(max(h.end(), d.holes[i-1].end()) - d.holes[i-1].addr)}
		i--
		d.holes = append(d.holes[:i], d.holes[i+1:]...)
	}
	if i < len(d.holes) && h.end() >= d.holes[i].addr {
		h.size = int64(max(h.end(), d.holes[i].end()) - h.addr)
		d.holes[i] = h
		return
	}
	d.holes = append(d.holes, hole{})
	copy(d.holes[i+1:], d.holes[i:])
	d.holes[i] = h
}

// expandable is where an expandable segment begins: number n of the process, the first of its stream and pool or not.
func (d *driver) expandable(k expandKey, n int, first bool) uint64 {
	if a, ok := d.known.bases[k]; ok && first {
		return a
	}
	return 1<<33 + uint64(n)<<41 // far apart, so that none grows into the next
}
