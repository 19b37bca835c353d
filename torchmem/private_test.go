package torchmem_test

import (
	"os"
	"slices"
	"testing"

	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
)

// TestPrivateFree replays a training step that was captured as a CUDA graph: what lies free in its pool at the end is what
// the snapshot's own segments say, and at no time more than the cache had.
func TestPrivateFree(t *testing.T) {
	t.Parallel()
	f, err := os.Open(fixture.Unpack(t, "..", "graphed.snapshot.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for i := range snap.Segments {
		if g := &snap.Segments[i]; g.PoolID != [2]int64{} {
			want += g.Size - g.Allocated
		}
	}
	r, err := snap.Replay(0)
	if err != nil {
		t.Fatal(err)
	}
	free := r.PrivateFree()
	if got := free[len(free)-1].Free; got != want || want != 34_504_192 {
		t.Errorf("%d bytes free in private pools, the segments say %d", got, want)
	}
	k := 0
	for _, s := range r.Steps {
		for k+1 < len(free) && free[k+1].Event <= s.Event {
			k++
		}
		if free[k].Free < 0 || free[k].Free > s.Reserved-s.Allocated {
			t.Fatalf("entry %d: %d free in private pools, %d in the whole cache", s.Event, free[k].Free, s.Reserved-s.Allocated)
		}
	}
}

// TestPrivateSegments takes an address twice: what was there before the private pool's segment counts for the common pools,
// and a snapshot without private pools has none.
func TestPrivateSegments(t *testing.T) {
	t.Parallel()
	const addr, size = 0x7f0000000000, 4 << 20
	trace := []any{
		entry("segment_alloc", addr, size, 10), entry("alloc", addr, size, 11), entry("free_requested", addr, size, 12),
		entry("free_completed", addr, size, 12), entry("segment_free", addr, size, 13),
		entry("segment_alloc", addr, size, 14), entry("alloc", addr, 2<<20, 15),
	}
	for _, c := range []struct {
		name string
		pool []any
		want []torchmem.PrivateStep
	}{
		{"common", []any{0, 0}, nil},
		{"private", []any{0, 1}, []torchmem.PrivateStep{{Time: 10_000, Event: -1}, {Time: 14_000, Event: 5, Free: size}, {Time: 15_000, Event: 6, Free: 2 << 20}}},
	} {
		segment := append(segmentOf(addr, size, 2<<20, 2<<20, "active_allocated", 0, 2<<20, "inactive"), kv{"segment_pool_id", c.pool})
		snap, err := readString(pickleOf(4, snapshotOf([]any{segment}, trace)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := snap.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.PrivateFree(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
