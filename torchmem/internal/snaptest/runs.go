// Package snaptest finds recordings of real runs for tests, a snapshot and beside it what PyTorch's own meters said while
// it was recorded, and checks what all maps of segments must keep to.
package snaptest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
)

// A Run is a snapshot with its truth.
type Run struct {
	Name string
	Path string // of the snapshot
	Truth
}

// A Truth is what a training script read from PyTorch's meters.
type Truth struct {
	Conf   string  // setting of the allocator
	Params int64   // elements of all parameters
	Phases []Phase `json:"Truth"`
	Stats  map[string]int64
}

// A Phase is what the meters said of [T0, T1), ns since 1970. Sizes are bytes.
type Phase struct {
	Step      int
	Phase     string
	T0, T1    int64
	Alloc0    int64
	Resv0     int64
	Alloc1    int64
	Resv1     int64
	PeakAlloc int64 `json:"peak_alloc"`
	PeakResv  int64 `json:"peak_resv"`
}

// PeakReserved is the highest reserved level of all phases, bytes.
func (r Run) PeakReserved() int64 {
	var peak int64
	for _, p := range r.Phases {
		peak = max(peak, p.PeakResv)
	}
	return peak
}

// Runs are the recordings at hand; root is the way from the test's package to the repository. With names, only those:
// where there is none of them, the test is skipped.
func Runs(t testing.TB, root string, names ...string) []Run {
	t.Helper()
	var out []Run
	for _, f := range fixture.Files(t, root, "*.snapshot.pickle") {
		r := Run{Name: strings.TrimSuffix(filepath.Base(f), ".snapshot.pickle"), Path: f}
		if len(names) > 0 && !slices.Contains(names, r.Name) {
			continue
		}
		text, err := os.ReadFile(strings.TrimSuffix(f, ".snapshot.pickle") + ".truth.json")
		if err != nil {
			continue
		}
		if err := json.Unmarshal(text, &r.Truth); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out = append(out, r)
	}
	switch {
	case len(out) > 0:
	case len(names) == 0:
		t.Fatal("no snapshot in testdata has its truth")
	default:
		t.Skipf("none of %v in testdata, or in a folder that %s names", names, fixture.Folders)
	}
	return out
}

// Read reads the snapshot.
func (r Run) Read(t testing.TB) *torchmem.Snapshot {
	t.Helper()
	f, err := os.Open(r.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatalf("%s: %v", r.Path, err)
	}
	return s
}

// Replay replays the first device of the snapshot.
func (r Run) Replay(t testing.TB) *torchmem.Replay {
	t.Helper()
	rep, err := r.Read(t).Replay(0)
	if err != nil {
		t.Fatalf("%s: %v", r.Path, err)
	}
	return rep
}

// Cut drops the first n entries of the first trace, as a full ring buffer does.
func Cut(s *torchmem.Snapshot, n int) {
	var left []torchmem.TraceEvent
	s.Traces[0].Each(func(i int, e *torchmem.TraceEvent) bool {
		if i >= n {
			left = append(left, *e)
		}
		return true
	})
	s.Traces[0] = torchmem.TraceOf(left)
}
