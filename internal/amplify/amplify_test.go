package amplify_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"nsysmem/align"
	"nsysmem/internal/amplify"
	"nsysmem/nsysdb"
)

const copies = 3

func analyze(t *testing.T, path string) (*align.Report, map[string]int64) {
	t.Helper()
	db, err := nsysdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rep, err := align.Analyze(context.Background(), db, align.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := db.Tables()
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]int64)
	for _, table := range tables {
		rows[table.Name] = table.Rows
	}
	return rep, rows
}

// TestTotals makes sure that what is counted in an amplified export is that of the original, times the copies.
func TestTotals(t *testing.T) {
	for _, name := range []string{"cnn_default", "gpt_amp"} {
		t.Run(name, func(t *testing.T) {
			in := filepath.Join("../../testdata", name+".sqlite")
			out := filepath.Join(t.TempDir(), "out.sqlite")
			if err := amplify.Report(context.Background(), in, out, copies, nil); err != nil {
				t.Fatal(err)
			}
			one, oneRows := analyze(t, in)
			all, allRows := analyze(t, out)
			a, b := one.Tracks[0], all.Tracks[0]
			live := int64(0)
			for _, l := range a.Levels {
				live += l.Allocs - l.Frees
			}
			for table, n := range oneRows {
				want := n
				switch table {
				case "CUDA_GPU_MEMORY_USAGE_EVENTS":
					want = copies * (n + live)
				case "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
					"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS", "PROFILER_OVERHEAD":
					want = copies * n
				}
				if allRows[table] != want {
					t.Errorf("%s: %d rows, want %d", table, allRows[table], want)
				}
			}
			if want := (align.Attribution{Kernels: copies * a.Attribution.Kernels, SameThread: copies * a.Attribution.SameThread,
				OtherThread: copies * a.Attribution.OtherThread, None: copies * a.Attribution.None}); b.Attribution != want {
				t.Errorf("attribution %+v, want %+v", b.Attribution, want)
			}
			l := b.Levels[0]
			if l.Peak != a.Levels[0].Peak || l.End != 0 || l.Baseline != 0 || l.UnmatchedFrees != 0 || l.LostFrees != 0 {
				t.Errorf("level %+v, want the peak of one copy, %d, and nothing left at the end", l, a.Levels[0].Peak)
			}
			if l.Allocs != copies*a.Levels[0].Allocs || l.Frees != l.Allocs {
				t.Errorf("%d allocations, %d frees, want %d of both", l.Allocs, l.Frees, copies*a.Levels[0].Allocs)
			}
			if len(b.Iterations) != copies*len(a.Iterations) {
				t.Fatalf("%d iterations, want %d", len(b.Iterations), copies*len(a.Iterations))
			}
			for i := range b.Iterations {
				x, y := &a.Iterations[i%len(a.Iterations)], &b.Iterations[i]
				if x.Name != y.Name || len(x.Phases) != len(y.Phases) {
					t.Fatalf("iteration %d is %q with %d phases, want %q with %d", i, y.Name, len(y.Phases), x.Name, len(x.Phases))
				}
				sameUse(t, y.Name, x.Use, y.Use)
				for k := range x.Phases {
					sameUse(t, y.Name+": "+x.Phases[k].Path, x.Phases[k].Use, y.Phases[k].Use)
				}
			}
			if d := all.Source.Duration(); d <= (copies-1)*one.Source.Duration()/2 {
				t.Errorf("the amplified export lasts %d ns, that of one copy %d", d, one.Source.Duration())
			}
		})
	}
}

func sameUse(t *testing.T, name string, x, y align.Use) {
	t.Helper()
	x.Memory.PeakAt, y.Memory.PeakAt = 0, 0
	x.Own, y.Own = untimed(x.Own), untimed(y.Own)
	x.Other, y.Other = nil, nil
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%s:\n got %+v\nwant %+v", name, y, x)
	}
}

// untimed is a peak without its time.
func untimed(p *align.OwnPeak) *align.OwnPeak {
	if p == nil {
		return nil
	}
	return &align.OwnPeak{Bytes: p.Bytes, Need: p.Need}
}

// TestRefuses makes sure that nothing is left behind where an export cannot be made, and none replaced.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.sqlite")
	if err := amplify.Report(context.Background(), "../../testdata/cnn_default.sqlite", out, 0, nil); err == nil {
		t.Error("0 copies: no error")
	}
	if err := amplify.Report(context.Background(), "../../testdata/cnn_default.truth.json", out, 2, nil); err == nil {
		t.Error("no database: no error")
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("%v is left behind", list[0].Name())
	}
	if err := os.WriteFile(out, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := amplify.Report(context.Background(), "../../testdata/cnn_default.sqlite", out, 2, nil); err == nil {
		t.Error("a file in the way: no error")
	}
	if data, _ := os.ReadFile(out); string(data) != "mine" {
		t.Error("a file in the way was replaced")
	}
}
