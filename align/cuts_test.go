package align

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nsysmem/align/period"
	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
)

// cutExports are annotated recordings of training programs. The snapshot of each lies beside it where it has one.
var cutExports = []struct {
	name     string
	snapshot bool
}{
	{"cnn_default", true}, {"gpt_amp", true}, {"unet_grow", true}, {"cnn_nocache", false}, {"ddp", true},
}

// withSnapshot are options with the snapshot beside an export; without one where there is none.
func withSnapshot(t testing.TB, path string, opts Options) Options {
	t.Helper()
	name := fixture.Find(t, "..", strings.TrimSuffix(filepath.Base(path), ".sqlite")+".snapshot.pickle")
	f, err := os.Open(name)
	if err != nil {
		return opts
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts.Snapshots = []Snapshot{{Name: name, Data: snap}}
	return opts
}

// bare is a copy of an export without a range.
func bare(t *testing.T, path string) string {
	t.Helper()
	return rewrite(t, path, func(db *sql.DB) error {
		_, err := db.Exec("DELETE FROM NVTX_EVENTS WHERE eventType IN (59, 60)")
		return err
	})
}

// figures are those of a level that must not depend on who tells where phases begin.
type figures struct{ net, peak, need int64 }

// compareFigures counts the figures of steady iterations and their phases that are the same in two reports of one run, on each
// level.
func compareFigures(t *testing.T, got, want *Report) (equal, total int) {
	t.Helper()
	if len(got.Tracks) != len(want.Tracks) {
		t.Fatalf("%d tracks, want %d", len(got.Tracks), len(want.Tracks))
	}
	for k, w := range want.Tracks {
		g := got.Tracks[k]
		if len(g.Iterations) != len(w.Iterations) {
			t.Errorf("track %d/%d: %d iterations, want %d (%s)", g.PID, g.Device, len(g.Iterations), len(w.Iterations), g.IterationsFrom.Why)
			continue
		}
		for i := range w.Iterations {
			if !w.Iterations[i].Steady() {
				continue
			}
			for _, path := range []string{"", "data", "forward", "backward", "optimizer"} {
				x, y := useOf(&g.Iterations[i], path), useOf(&w.Iterations[i], path)
				if y == nil {
					continue
				}
				for _, l := range w.Levels {
					if l.Kind != LevelDevice && !l.Kind.FromSnapshot() {
						continue
					}
					a, b := figuresOf(x, l.Kind), figuresOf(y, l.Kind)
					for _, same := range []bool{a.net == b.net, a.peak == b.peak, a.need == b.need} {
						total++
						if same {
							equal++
						}
					}
					if a != b {
						t.Logf("%s %s %s: %+v, want %+v", w.Iterations[i].Name, path, l.Kind, a, b)
					}
				}
			}
		}
	}
	return equal, total
}

// useOf is what an iteration uses in the phase at a path, itself for an empty path; nil where there is no such phase.
func useOf(it *Iteration, path string) *Use {
	if path == "" {
		return &it.Use
	}
	for i := range it.Phases {
		if it.Phases[i].Path == path {
			return &it.Phases[i].Use
		}
	}
	return nil
}

// figuresOf are the figures of a level; none of a use that there is not.
func figuresOf(u *Use, kind LevelKind) figures {
	if u == nil || u.Level(kind) == nil {
		return figures{-1, -1, -1}
	}
	m := u.Level(kind)
	return figures{m.Net, m.Peak, m.Need}
}

// TestInferredFigures takes the ranges away: a steady iteration and each of its phases takes, keeps and needs what it
// did with them, to the byte, on each level.
func TestInferredFigures(t *testing.T) {
	t.Parallel()
	for _, c := range cutExports {
		t.Run(c.name, func(t *testing.T) {
			path := findExport(t, c.name)
			opts := withSnapshot(t, path, Options{})
			if c.snapshot && len(opts.Snapshots) == 0 {
				t.Skip("its snapshot is not at hand")
			}
			equal, total := compareFigures(t, analyze(t, bare(t, path), opts), analyze(t, path, opts))
			if t.Logf("%d of %d figures are those of the annotated run", equal, total); equal != total || total == 0 {
				t.Errorf("%d of %d figures are those of the annotated run", equal, total)
			}
		})
	}
}

// TestInferredBeside: with the ranges there, the inferred phases have the same figures beside the annotated ones.
func TestInferredBeside(t *testing.T) {
	t.Parallel()
	for _, c := range cutExports {
		t.Run(c.name, func(t *testing.T) {
			path := findExport(t, c.name)
			opts := withSnapshot(t, path, Options{Infer: InferAlways})
			alone := analyze(t, bare(t, path), withSnapshot(t, path, Options{}))
			compared := 0
			for k, tr := range analyze(t, path, opts).Tracks {
				x := tr.Inferred
				for _, m := range x.Phases {
					compared += m.Same
					if m.Same != m.Iterations || m.Found.Net != m.Annotated.Net {
						t.Errorf("%s on level %s: the same in %d of %d iterations", m.Path, m.Level, m.Same, m.Iterations)
					}
				}
				for _, m := range x.Memory {
					u := figuresOf(useOf(&alone.Tracks[k].Iterations[m.Inferred], m.Path), m.Level)
					if f := (figures{m.Found.Net, m.Found.Peak, m.Found.Need}); f != u {
						t.Errorf("%d %s on level %s: %+v, without ranges %+v", m.Inferred, m.Path, m.Level, f, u)
					}
				}
			}
			if compared == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}

// TestInferredNotBeside: where the iterations are inferred there is nothing to lay beside them.
func TestInferredNotBeside(t *testing.T) {
	t.Parallel()
	for _, tr := range analyze(t, bare(t, findExport(t, "cnn_default")), Options{Infer: InferAlways}).Tracks {
		if tr.Inferred != nil {
			t.Errorf("%d inferred iterations are compared", len(tr.Inferred.Iterations))
		}
	}
}

// TestInferredMemoryLost: where memory events had ended, the driver's levels over an inferred phase are unknown and not told;
// those of a snapshot are.
func TestInferredMemoryLost(t *testing.T) {
	t.Parallel()
	its := []period.Iteration{
		{Phases: []period.Phase{{Name: "forward", Start: 10, End: 20}}},
		{Phases: []period.Phase{{Name: "forward", Start: 30, End: 40}}},
	}
	sweeps := make(map[LevelKind]*levelSweep)
	for _, kind := range []LevelKind{LevelDevice, LevelAllocated} {
		r := &rows{inferred: []*procRows{rowsOfInferred(its)}}
		l := newLevelSweep(kind, r, &process{}, nil, 0)
		l.change(12, 512)
		l.change(35, 1024)
		l.finish()
		sweeps[kind] = l
	}
	tr := &Track{Iterations: make([]Iteration, 2), Inferred: &Inferred{Iterations: []InferredIteration{{Place: 0}, {Place: 1}}}}
	tr.Iterations[1].Lost.Memory = true
	tr.compareMemory(sweeps)
	got := ""
	for _, m := range tr.Inferred.Memory {
		got += fmt.Sprint(m.Inferred, " ", m.Level, " ", m.Found.Net, " ", m.Found.Peak, "; ")
	}
	if want := "0 device 512 512; 0 allocated 512 512; 1 allocated 1024 1536; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
