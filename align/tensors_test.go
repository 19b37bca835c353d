package align

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
)

// meterTruth is what the training script read from PyTorch's own meters while it was profiled.
type meterTruth struct {
	Params int64
	Truth  []struct {
		Step      int
		Phase     string
		Alloc1    int64
		Resv1     int64
		PeakAlloc int64 `json:"peak_alloc"`
		PeakResv  int64 `json:"peak_resv"`
	}
}

// beside is the file of a run that belongs to its export; empty for none.
func beside(t testing.TB, export, ending string) string {
	return fixture.Find(t, "..", strings.TrimSuffix(filepath.Base(export), ".sqlite")+ending)
}

func readMeters(t *testing.T, export string) *meterTruth {
	t.Helper()
	path := beside(t, export, ".truth.json")
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &meterTruth{}
	if err := json.Unmarshal(data, out); err != nil {
		t.Logf("%s: %v", export, err)
		return nil
	}
	return out
}

func readSnapshot(t testing.TB, export string) *torchmem.Snapshot {
	t.Helper()
	path := beside(t, export, ".snapshot.pickle")
	if path == "" {
		return nil
	}
	return snapshotOf(t, path)
}

// snapshotOf reads a snapshot.
func snapshotOf(t testing.TB, path string) *torchmem.Snapshot {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMeters compares the levels allocated and reserved of every phase with PyTorch's own meters. A phase that comes
// several times in an iteration has the last call's end and the highest peak; the meter's peak covers the innermost
// phases alone, since it was reset at the start of each.
func TestMeters(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, export := range exports(t) {
		tr, snap := readMeters(t, export), readSnapshot(t, export)
		if tr == nil || snap == nil || len(tr.Truth) == 0 {
			continue
		}
		rep := analyze(t, export, Options{Snapshots: []Snapshot{{Data: snap}}})
		for _, track := range rep.Tracks {
			if track.Tensors == nil {
				t.Errorf("%s: no tensors", export)
				continue
			}
			c := track.Tensors.Clock
			bound := int64(100e3) // ns
			if track.Tensors.Replay.Settings.Expandable {
				bound = 1e6 // one call maps several pieces
			}
			if c.Matched < c.Segments*9/10 || c.Spread > bound {
				t.Errorf("%s: %d of %d segments match, spread %d ns", export, c.Matched, c.Segments, c.Spread)
			}
			if len(rep.Tracks) > 1 {
				continue // the truths of several devices have another form
			}
			type key struct {
				step  int
				phase string
			}
			last, peak := make(map[key]int), make(map[key]int64)
			for i, p := range tr.Truth {
				k := key{p.Step, p.Phase}
				last[k] = i
				peak[k] = max(peak[k], p.PeakAlloc)
			}
			check := func(k key, u *Use, innermost bool) {
				i, ok := last[k]
				if !ok {
					return
				}
				compared++
				want := tr.Truth[i]
				a, r := u.Level(LevelAllocated), u.Level(LevelReserved)
				if a.End != want.Alloc1 {
					t.Errorf("%s step %d %s: allocated %d at its end, the meter says %d", export, k.step, k.phase, a.End, want.Alloc1)
				}
				if r.End != want.Resv1 {
					t.Errorf("%s step %d %s: reserved %d at its end, the meter says %d", export, k.step, k.phase, r.End, want.Resv1)
				}
				if innermost && a.Peak != peak[k] {
					t.Errorf("%s step %d %s: allocated peaks at %d, the meter says %d", export, k.step, k.phase, a.Peak, peak[k])
				}
			}
			for _, r := range track.Ranges {
				check(key{-1, r.Name}, &r.Use, true)
			}
			for i := range track.Iterations {
				it := &track.Iterations[i]
				inner := make(map[string]bool)
				for k := range it.Phases {
					if path := it.Phases[k].Path; strings.Contains(path, "/") {
						inner[path[:strings.LastIndex(path, "/")]] = true
					}
				}
				for k := range it.Phases {
					p := &it.Phases[k]
					check(key{it.Index, p.Name}, &p.Use, !inner[p.Path])
				}
			}
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	t.Logf("%d phases compared", compared)
}

// TestCategories checks what tensors are for against what a model of so many parameters needs.
func TestCategories(t *testing.T) {
	t.Parallel()
	want := map[string]map[string]int64{
		"cnn_default": {"optimizer state": 1721152, "gradient": 860576, "parameter": 863176, "workspace": 65 << 20, "unknown": 0},
		// Without a cache what cuBLAS takes from the driver itself is among the blocks; cuDNN's small blocks are unknown.
		"cnn_nocache": {"optimizer state": 1721152, "gradient": 860576, "parameter": 863176, "workspace": 193<<20 + 256<<10, "unknown": 52744},
		"gpt_amp":     {"optimizer state": 167985152, "gradient": 83992576, "parameter": 83992576, "workspace": 66 << 20, "unknown": 0},
	}
	for _, export := range exports(t) {
		name := strings.TrimSuffix(export[strings.LastIndex(export, "/")+1:], ".sqlite")
		w := want[name]
		if w == nil {
			continue
		}
		snap := readSnapshot(t, export)
		if snap == nil && !strings.Contains(name, "nocache") {
			t.Logf("%s: no snapshot at hand", name)
			continue
		}
		var opts Options
		if snap != nil {
			opts.Snapshots = []Snapshot{{Data: snap}}
		}
		rep := analyze(t, export, opts)
		got := make(map[string]int64)
		for _, c := range rep.Tracks[0].Tensors.Categories {
			got[c.Name] = c.Max
		}
		for k, v := range w {
			if got[k] != v {
				t.Errorf("%s: %s %d, want %d", name, k, got[k], v)
			}
		}
	}
}

// TestOutside checks the memory that PyTorch's allocator did not take.
func TestOutside(t *testing.T) {
	t.Parallel()
	want := map[string]int64{"cnn_default": 134532616, "unet_grow": 50696}
	for _, export := range exports(t) {
		name := strings.TrimSuffix(export[strings.LastIndex(export, "/")+1:], ".sqlite")
		w, ok := want[name]
		if !ok {
			continue
		}
		snap := readSnapshot(t, export)
		if snap == nil {
			t.Logf("%s: no snapshot at hand", name)
			continue
		}
		o := analyze(t, export, Options{Snapshots: []Snapshot{{Data: snap}}}).Tracks[0].Tensors.Outside
		sum := int64(0)
		for _, x := range o.Takers {
			sum += x.Live
			if x.Call == "" || x.Iteration >= 0 && x.Phase == "" {
				t.Errorf("%s: %+v has no call or phase", name, x)
			}
		}
		if o.Bytes != w || sum != w {
			t.Errorf("%s: %d bytes outside, %d by takers, want %d", name, o.Bytes, sum, w)
		}
	}
}

// TestForeignSnapshot refuses the snapshot of another run.
func TestForeignSnapshot(t *testing.T) {
	t.Parallel()
	snap := readSnapshot(t, "../testdata/cnn_default.sqlite")
	if snap == nil {
		t.Fatal("no snapshot in testdata")
	}
	_, err := analyzeErr(t, "../testdata/cpp_mem.sqlite", Options{Snapshots: []Snapshot{{Name: "cnn.pickle", Data: snap}}})
	if err == nil || !strings.Contains(err.Error(), "another run") || !strings.Contains(err.Error(), "cnn.pickle") {
		t.Errorf("error %v", err)
	}
	// Another run of the same program has its segments at the same addresses.
	for _, late := range []int64{3600e9, -2 * 3600e9} {
		snap.Traces[0].Each(func(_ int, e *torchmem.TraceEvent) bool {
			e.Time += late
			return true
		})
		_, err := analyzeErr(t, "../testdata/cnn_default.sqlite", Options{Snapshots: []Snapshot{{Name: "cnn.pickle", Data: snap}}})
		if err == nil || !strings.Contains(err.Error(), "another run") || !strings.Contains(err.Error(), "recorded from 20") {
			t.Errorf("%v off: error %v", time.Duration(late), err)
		}
	}
}
