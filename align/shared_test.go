package align

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nsysmem/internal/fixture"
	"nsysmem/nsysdb"
)

// exports lists the real exports at hand.
func exports(t testing.TB) []string { return fixture.Files(t, "..", "*.sqlite") }

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
	t.Parallel()
	for _, f := range fixture.Files(t, "..", "expected/*.json") {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		t.Run(name, func(t *testing.T) {
			path := findExport(t, name)
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
