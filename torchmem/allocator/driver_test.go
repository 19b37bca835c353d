package allocator

import (
	"testing"

	"nsysmem/torchmem/internal/snaptest"
)

// TestDriverOrder lets the driver's model choose every address of each recording by itself, knowing only what came to or
// went from the address space otherwise, and counts how often it chose as the driver did.
func TestDriverOrder(t *testing.T) {
	t.Parallel()
	for _, rec := range snaptest.Runs(t, "../..") {
		q := RequestsOf(rec.Replay(t))
		d := newDriver(driverOrder, q.known)
		d.sync = false
		same, pieces, n := 0, 0, 0
		for _, s := range q.known.segments {
			if s.free {
				d.free(s.addr, s.size)
				continue
			}
			n++
			d.pass(s.event)
			if s.addr%driverPiece == 0 && d.space.holeAt(s.addr, s.size) < 0 {
				// A new piece: where exactly depends on what else lies below, the order does not.
				pieces++
				if i := d.space.firstFit(s.size); i >= 0 {
					t.Errorf("%s: %d bytes at %#x, the model takes the hole at %#x", rec.Name, s.size, s.addr, d.space[i].addr)
				}
				if d.low != nowhere && s.addr >= d.low {
					t.Errorf("%s: a piece at %#x above the one at %#x", rec.Name, s.addr, d.low)
				}
				d.piece(s.addr, s.size)
				continue
			}
			if got := d.alloc(s.event, s.size); got == s.addr {
				same++
			} else {
				t.Errorf("%s: %d bytes at %#x, the model says %#x", rec.Name, s.size, s.addr, got)
				break
			}
		}
		t.Logf("%s: %d segments, %d in new pieces, %d in holes as the model says; %d stretches came from elsewhere, %d went", rec.Name, n, pieces, same, len(q.known.given), len(q.known.taken))
	}
}
