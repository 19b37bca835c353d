package align

import (
	"testing"

	"nsysmem/internal/fixture"
)

// TestGraphPools has a training step that was captured as a CUDA graph. What lies free in its private pool is no unused cache:
// the snapshot's segments at the end say 34,504,192 bytes of it, and with the other gaps it fills what lies between the levels.
func TestGraphPools(t *testing.T) {
	t.Parallel()
	snap := snapshotOf(t, fixture.Unpack(t, "..", "graphed.snapshot.pickle"))
	tr := onlyTrack(t, analyze(t, fixture.Unpack(t, "..", "graphed.sqlite"), Options{Snapshots: []Snapshot{{Data: snap}}}))
	l := tr.Level(LevelGraphs)
	if l == nil || l.End != 34_504_192 {
		t.Fatalf("graph pools %+v", l)
	}
	if len(tr.Iterations) != 10 {
		t.Fatalf("%d iterations", len(tr.Iterations))
	}
	for i := range tr.Iterations {
		u := &tr.Iterations[i].Use
		g, ok := u.Gaps()
		if !ok || g.Graphs != u.Level(LevelGraphs).End || g.Graphs < 34_000_000 || u.Level(LevelAllocated).End+g.Unused+g.Graphs+g.Outside != u.Memory.End {
			t.Errorf("iteration %d: gaps %+v", i, g)
		}
	}
	// At the reserved peak 48 MiB of the cache are the pool's, and free for nobody else.
	if c := tr.Tensors.AtReserved; c.Free >= c.Reserved-c.Allocated || c.LargestFree > c.Free {
		t.Errorf("at the reserved peak %+v", c)
	}
	// Six segments were added for the pool. The first request found 15 MiB free in the cache, which it may not have.
	private := 0
	for i := range tr.Tensors.Growth {
		c := &tr.Tensors.Growth[i]
		if c.Private {
			private++
		}
		if c.Misfit() {
			t.Errorf("a misfit: %+v", c)
		}
	}
	if private != 6 {
		t.Errorf("%d requests of the private pool", private)
	}
}

// TestNoGraphPools has a run without CUDA graphs: all that tensors do not use is unused cache.
func TestNoGraphPools(t *testing.T) {
	t.Parallel()
	snap := readSnapshot(t, "../testdata/cnn_default.sqlite")
	tr := onlyTrack(t, analyze(t, "../testdata/cnn_default.sqlite", Options{Snapshots: []Snapshot{{Data: snap}}}))
	if l := tr.Level(LevelGraphs); l != nil {
		t.Fatalf("graph pools %+v", l)
	}
	u := &tr.Iterations[3].Use
	if g, _ := u.Gaps(); g.Graphs != 0 || g.Unused != u.Level(LevelReserved).End-u.Level(LevelAllocated).End {
		t.Errorf("gaps %+v", g)
	}
}
