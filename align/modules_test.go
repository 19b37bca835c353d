package align

import (
	"testing"

	"nsysmem/align/tensor"
	"nsysmem/internal/fixture"
)

// TestModules has a run that noted the module of each allocation: a small network of PyTorch Lightning, whose layers are the
// numbers 0 to 7. By module its peak is what it is by category, to the byte.
func TestModules(t *testing.T) {
	t.Parallel()
	snap := snapshotOf(t, fixture.Unpack(t, "..", "lightning.snapshot.pickle"))
	tr := onlyTrack(t, analyze(t, fixture.Unpack(t, "..", "lightning.sqlite"), Options{Snapshots: []Snapshot{{Data: snap}}}))
	p := &tr.Tensors.Peak
	sum, names := int64(0), map[string]int64{}
	for _, s := range p.ByModule {
		sum += s.Bytes
		names[s.Name] = s.Bytes
	}
	// The last layer holds the activations that are largest, beside what ran in no module.
	if sum != p.Bytes || p.Bytes != 117_159_796 || names["7"] != 33<<20 || names[tensor.NoModule] == 0 || len(names) != 5 {
		t.Errorf("%d bytes at the peak, by module %d: %v", p.Bytes, sum, p.ByModule)
	}
}

// TestNoModules has a run that noted none.
func TestNoModules(t *testing.T) {
	t.Parallel()
	snap := readSnapshot(t, "../testdata/cnn_default.sqlite")
	tr := onlyTrack(t, analyze(t, "../testdata/cnn_default.sqlite", Options{Snapshots: []Snapshot{{Data: snap}}}))
	if p := &tr.Tensors.Peak; len(p.ByModule) != 1 || p.ByModule[0].Name != tensor.NoModule || p.ByModule[0].Bytes != p.Bytes {
		t.Errorf("%v", p.ByModule)
	}
}
