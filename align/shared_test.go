package align

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nsysmem/nsysdb"
)

// sharedFolder is a folder beside the checkout with more real exports than testdata holds.
const sharedFolder = "../../shared"

// exports lists the real exports at hand: those in testdata, and those beside the checkout where there are any.
func exports(t testing.TB) []string {
	t.Helper()
	var out []string
	seen := make(map[string]bool)
	for _, dir := range []string{"../testdata", filepath.Join(sharedFolder, "reports"), os.Getenv("NSYSMEM_EXPORTS")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := filepath.Base(f); !seen[name] {
				seen[name] = true
				out = append(out, f)
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("no exports in testdata")
	}
	return out
}

func analyze(t testing.TB, path string, opts Options) *Report {
	t.Helper()
	rep, err := analyzeErr(t, path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func analyzeErr(t testing.TB, path string, opts Options) (*Report, error) {
	t.Helper()
	db, err := nsysdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return Analyze(context.Background(), db, opts)
}

type expectedRow struct {
	Name       string
	T0, T1     int64
	Start, End int64
	Net, Peak  int64
	Need       int64
	Calls      int
	Kernels    int64
	KernelNS   int64 `json:"kernel_ns"`
	Phases     map[string]expectedRow
}

type expectedTrack struct {
	PID, Device int64
	Level       struct{ Peak, End, Unmatched int64 }
	Kernels     map[string]int64
	Iterations  []expectedRow
}

func checkRow(t *testing.T, what string, want expectedRow, u Use, calls int) {
	t.Helper()
	got := expectedRow{Start: u.Memory.Start, End: u.Memory.End, Net: u.Memory.Net, Peak: u.Memory.Peak, Need: u.Memory.Need,
		Calls: calls, Kernels: u.GPU.Kernels, KernelNS: u.GPU.KernelNS}
	want.Name, want.T0, want.T1, want.Phases = "", 0, 0, nil
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("%s:\n got %s\nwant %s", what, a, b)
	}
}

// TestExpected compares every iteration and phase with counts made independently of this package.
func TestExpected(t *testing.T) {
	var files []string
	for _, dir := range []string{"../testdata/expected", filepath.Join(sharedFolder, "expected"), os.Getenv("NSYSMEM_EXPECTED")} {
		f, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		files = append(files, f...)
	}
	reports := make(map[string]string)
	for _, e := range exports(t) {
		reports[strings.TrimSuffix(filepath.Base(e), ".sqlite")] = e
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		t.Run(name, func(t *testing.T) {
			path, ok := reports[name]
			if !ok {
				t.Skipf("no export %s.sqlite at hand", name)
			}
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var want []expectedTrack
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			rep := analyze(t, path, Options{})
			if len(rep.Tracks) != len(want) {
				t.Fatalf("%d tracks, want %d", len(rep.Tracks), len(want))
			}
			for i, w := range want {
				g := rep.Tracks[i]
				if g.PID != w.PID || g.Device != w.Device {
					t.Fatalf("track %d is %d/%d, want %d/%d", i, g.PID, g.Device, w.PID, w.Device)
				}
				l := g.Levels[0]
				if l.Peak != w.Level.Peak || l.End != w.Level.End || l.UnmatchedFrees != w.Level.Unmatched {
					t.Errorf("level %+v, want %+v", l, w.Level)
				}
				at := g.Attribution
				for k, n := range map[string]int64{"same_thread": at.SameThread, "other_thread": at.OtherThread, "none": at.None, "no_launch": at.NoLaunch} {
					if n != w.Kernels[k] {
						t.Errorf("attribution %s: %d, want %d", k, n, w.Kernels[k])
					}
				}
				if len(g.Iterations) != len(w.Iterations) {
					t.Fatalf("%d iterations, want %d", len(g.Iterations), len(w.Iterations))
				}
				for k, wi := range w.Iterations {
					gi := &g.Iterations[k]
					if gi.Name != wi.Name || gi.Start != wi.T0 || gi.End != wi.T1 {
						t.Errorf("iteration %q [%d, %d), want %q [%d, %d)", gi.Name, gi.Start, gi.End, wi.Name, wi.T0, wi.T1)
					}
					checkRow(t, gi.Name, wi, gi.Use, 1)
					seen := 0
					for n := range gi.Phases {
						p := &gi.Phases[n]
						if p.Path == OtherPhase {
							continue
						}
						wp, ok := wi.Phases[p.Path]
						if !ok {
							t.Errorf("%s: phase %q not expected", gi.Name, p.Path)
							continue
						}
						seen++
						checkRow(t, gi.Name+" "+p.Path, wp, p.Use, p.Calls)
					}
					if seen != len(wi.Phases) {
						t.Errorf("%s: %d phases, want %d", gi.Name, seen, len(wi.Phases))
					}
				}
			}
		})
	}
}
