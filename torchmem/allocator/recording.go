package allocator

import (
	"cmp"
	"slices"

	"nsysmem/torchmem/internal/sizes"
)

// A recording is what one trace tells about the address space of its process. It is shared by simulations and never
// changes.
type recording struct {
	segments []recordedSegment
	given    []timedHole // stretches that the driver had from elsewhere, by event
	taken    []timedHole // stretches that something else took, by event
	bases    map[expandKey]uint64
}

// A recordedSegment is one that came from the driver or went back to it.
type recordedSegment struct {
	event int32 // place in the trace of the request that it was for, or of what came next
	free  bool
	addr  uint64
	size  int64 // bytes
}

type timedHole struct {
	event int32
	hole
}

// An expandKey tells the expandable segments of a process apart.
type expandKey struct {
	stream uint64
	small  bool
}

// learn replays the recorded segments and notes where the model alone would have chosen otherwise: first where space came
// from elsewhere, then, with that space there from the beginning of its use, where something else had taken it.
func learn(segments []recordedSegment, bases map[expandKey]uint64) *recording {
	first := &recording{segments: segments}
	first.compare(nil)
	k := &recording{segments: segments, bases: bases}
	k.compare(first.joinGiven())
	return k
}

// compare fills given, beginning with the stretches that are known, and taken.
//
//  1. What was given up to a segment is there.
//  2. A segment that lies in a hole is used there, one at a multiple of the pieces below all others is in a new piece. Any
//     other shows that the space came from elsewhere just then.
//  3. Lower holes in which it would have fitted were in use by something else; for a new piece, all such holes.
func (k *recording) compare(given []timedHole) {
	k.given = given
	d := newDriver(driverOrder, k)
	for _, s := range k.segments {
		if s.free {
			d.space.add(hole{s.addr, s.size})
			continue
		}
		d.passGiven(s.event)
		held := d.space.holeAt(s.addr, s.size) >= 0
		fresh := !held && s.addr%driverPiece == 0 && s.addr < d.low
		if !held && !fresh {
			g := timedHole{s.event, hole{s.addr, s.size}}
			k.given = slices.Insert(k.given, d.given, g)
			d.given++
			d.space.add(g.hole)
		}
		if fresh {
			k.takeBefore(d, s, nowhere)
			d.piece(s.addr, s.size)
		} else {
			k.takeBefore(d, s, s.addr)
			d.space.use(s.addr, s.size)
		}
	}
}

// takeBefore takes the holes below an address in which a segment would have fitted.
func (k *recording) takeBefore(d *driver, s recordedSegment, below uint64) {
	for j := 0; j < len(d.space) && d.space[j].addr < below; {
		h := d.space[j]
		if h.addr < s.addr && h.end() > s.addr { // the one that it lies in: the part before it, however small
			h.size = int64(s.addr - h.addr)
		} else if h.size < s.size {
			j++
			continue
		}
		k.taken = append(k.taken, timedHole{s.event, h})
		if !d.space.use(h.addr, h.size) {
			j++
		}
	}
}

// start is where new pieces begin when none was taken yet: below all that was recorded.
func (k *recording) start() uint64 {
	low := uint64(middle)
	if len(k.segments) > 0 {
		low = slices.MinFunc(k.segments, func(a, b recordedSegment) int { return cmp.Compare(a.addr, b.addr) }).addr
	}
	return max(low/driverPiece*driverPiece, lowest)
}

// joinGiven makes one stretch of pieces that adjoin, there from the first time on, up to the next multiple of 32 MiB.
func (k *recording) joinGiven() []timedHole {
	slices.SortStableFunc(k.given, func(a, b timedHole) int { return cmp.Compare(a.addr, b.addr) })
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
		end := sizes.Up(out[i].end(), driverPiece)
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
	slices.SortStableFunc(out, func(a, b timedHole) int { return cmp.Compare(a.event, b.event) })
	return out
}
