package allocator

import (
	"os"
	"testing"

	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
)

// replayOf replays the first device of a packed snapshot of testdata.
func replayOf(t *testing.T, name string) *torchmem.Replay {
	t.Helper()
	f, err := os.Open(fixture.Unpack(t, "../..", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := snap.Replay(0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPrivateGap has a captured training step: what its private pool has left at the end is what the snapshot's segments
// say, and no gap of a simulation holds it. Without private pools gaps are reserved less allocated.
func TestPrivateGap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		left int64 // bytes, at the end
	}{{"graphed.snapshot.pickle", 34_504_192}, {"unet_grow.snapshot.pickle", 0}} {
		r := replayOf(t, c.name)
		cfg, err := ParseConfig(r.Settings.Conf)
		if err != nil {
			t.Fatal(err)
		}
		left, widest, whole := int64(0), int64(0), int64(0)
		res := RequestsOf(r).Simulate(cfg, Options{check: func(m *model) {
			left = m.private
			widest, whole = max(widest, m.reserved-m.allocated-m.private), max(whole, m.reserved-m.allocated)
			if m.private < 0 || m.private > m.reserved-m.allocated {
				t.Fatalf("%s: %d left in private pools of %d", c.name, m.private, m.reserved-m.allocated)
			}
		}})
		if left != c.left {
			t.Errorf("%s: %d left in private pools, want %d", c.name, left, c.left)
		}
		if peak := r.Whole().ReservedPeak; res.PeakReserved != peak { // an address that the pool took over was a common one before
			t.Errorf("%s: %d reserved, the run itself had %d", c.name, res.PeakReserved, peak)
		}
		if res.LargestGap != widest || (whole > widest) != (c.left > 0) {
			t.Errorf("%s: largest gap %d, want %d; with private pools %d", c.name, res.LargestGap, widest, whole)
		}
	}
}
