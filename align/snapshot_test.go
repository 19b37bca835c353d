package align

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSnapshotFindings checks the findings on recorded runs.
func TestSnapshotFindings(t *testing.T) {
	t.Parallel()
	want := map[string]map[string]bool{
		"cnn_default": {"fragmentation": false, "growth_allocated": false, "flat_cache": false},
		"gpt_amp":     {"fragmentation": false, "growth_allocated": false},
		"unet_grow":   {"fragmentation": true, "growth_allocated": false},
		"leak":        {"fragmentation": false, "growth_allocated": true},
		"seq_grow":    {"fragmentation": true, "growth_allocated": false},
		"varlen_nvtx": {"growth_allocated": false},
	}
	seen := 0
	for _, export := range exports(t) {
		w := want[strings.TrimSuffix(filepath.Base(export), ".sqlite")]
		snap := readSnapshot(t, export)
		if w == nil || snap == nil {
			continue
		}
		rep := analyze(t, export, Options{Snapshots: []Snapshot{{Data: snap}}})
		for id, found := range w {
			seen++
			if f := hasFinding(rep, id); (f != nil) != found {
				t.Errorf("%s: %s is %v, want found %v", export, id, f, found)
			}
		}
	}
	if seen == 0 {
		t.Error("no recorded run with a snapshot")
	}
}
