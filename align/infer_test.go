package align

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"nsysmem/internal/fixture"
)

// findExport gives the path of an export by name, or skips: not all real ones are in testdata.
func findExport(t *testing.T, name string) string {
	t.Helper()
	path := fixture.Find(t, "..", name+".sqlite")
	if path == "" {
		t.Skipf("no export %s.sqlite in testdata, or in a folder that %s names", name, fixture.Folders)
	}
	return path
}

// annotatedExports have ranges for iterations; phases says that those inside are the ones that are inferred too.
var annotatedExports = []struct {
	name   string
	tracks int
	phases bool
}{
	{"cnn_default", 1, true}, {"cnn_nocache", 1, true}, {"gpt_amp", 1, true}, {"gpt_async", 1, true}, {"unet_grow", 1, true},
	{"unet_realoom", 1, true}, {"two_proc", 2, true}, {"graph_graph", 1, false}, {"cpp_mem", 1, false}, {"cpp_mem_2023", 1, false},
	{"mlp_sgdm", 1, true}, {"vit_adam", 1, true}, {"varlen_nvtx", 1, true}, {"infer_nvtx", 1, true}, {"leak", 1, true},
	{"leak_nocache", 1, true}, {"streams", 1, true}, {"loader", 1, true}, {"capture", 1, true}, {"capture_nocache", 1, true},
	{"expandable", 1, true}, {"seq_grow", 1, true}, {"graph_node", 1, false}, {"mp2", 2, true}, {"dp2", 2, true}, {"ddp2", 3, true},
}

// TestInferredAgrees compares what is inferred with what the ranges say: all iterations, each beginning in the gap
// before the annotated one, and 98 % of the kernels in their phase.
func TestInferredAgrees(t *testing.T) {
	t.Parallel()
	for _, c := range annotatedExports {
		t.Run(c.name, func(t *testing.T) {
			rep := analyze(t, findExport(t, c.name), Options{Infer: InferAlways})
			compared := 0
			for _, tr := range rep.Tracks {
				if tr.IterationsFrom.How != "nvtx" {
					t.Errorf("track %d/%d: iterations from %q", tr.PID, tr.Device, tr.IterationsFrom.How)
				}
				x := tr.Inferred
				if x == nil {
					continue
				}
				compared++
				if x.Annotated == 0 || len(x.Iterations) != x.Annotated || x.Boundaries != x.Annotated {
					t.Errorf("track %d/%d: %d iterations inferred, %d of them begin in the gap, %d annotated (%s)", tr.PID, tr.Device,
						len(x.Iterations), x.Boundaries, x.Annotated, x.Why)
				}
				switch {
				case !c.phases && (x.Kernels != 0 || x.Agree != 0):
					t.Errorf("track %d/%d: %d of %d kernels in phases that are not inferred", tr.PID, tr.Device, x.Agree, x.Kernels)
				case c.phases && (x.Kernels == 0 || 100*x.Agree < 98*x.Kernels):
					t.Errorf("track %d/%d: only %d of %d kernels are in the annotated phase", tr.PID, tr.Device, x.Agree, x.Kernels)
				}
				t.Logf("track %d/%d: %d of %d iterations, %d boundaries, %d of %d kernels, confidence %.2f", tr.PID, tr.Device,
					len(x.Iterations), x.Annotated, x.Boundaries, x.Agree, x.Kernels, x.Confidence)
			}
			if compared != c.tracks {
				t.Errorf("%d tracks compared, want %d", compared, c.tracks)
			}
		})
	}
}

// rewrite copies an export to a temporary folder and changes it by SQL statements.
func rewrite(t *testing.T, path string, change func(db *sql.DB) error) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(out, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", out)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if err := change(db); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestInferredWithoutRanges takes the ranges away: the same iterations come from the kernels, with the same kernels in
// the same phases, up to those two with which a backward pass begins on the main thread.
func TestInferredWithoutRanges(t *testing.T) {
	t.Parallel()
	for _, c := range annotatedExports {
		t.Run(c.name, func(t *testing.T) {
			path := findExport(t, c.name)
			// Ranges of libraries on a backward thread take kernels from the phase that encloses them in time.
			want := analyze(t, rewrite(t, path, func(db *sql.DB) error {
				_, err := db.Exec("DELETE FROM NVTX_EVENTS WHERE domainId<>0 AND eventType IN (59, 60)")
				return err
			}), Options{})
			got := analyze(t, rewrite(t, path, func(db *sql.DB) error {
				_, err := db.Exec("DROP TABLE NVTX_EVENTS")
				return err
			}), Options{})
			if len(got.Tracks) != len(want.Tracks) {
				t.Fatalf("%d tracks, want %d", len(got.Tracks), len(want.Tracks))
			}
			for i, w := range want.Tracks {
				g := got.Tracks[i]
				if g.IterationsFrom.How != "kernels" || len(g.Iterations) != len(w.Iterations) || g.IterationsFrom.Count != len(w.Iterations) {
					t.Errorf("track %d/%d: %d iterations from %q, want %d from kernels (%s)", g.PID, g.Device, len(g.Iterations), g.IterationsFrom.How,
						len(w.Iterations), g.IterationsFrom.Why)
					continue
				}
				for k := range w.Iterations {
					if d := g.Iterations[k].GPU.Kernels - w.Iterations[k].GPU.Kernels; d > 3 || d < -3 {
						t.Errorf("track %d/%d %s: %d kernels, want %d", g.PID, g.Device, g.Iterations[k].Name, g.Iterations[k].GPU.Kernels, w.Iterations[k].GPU.Kernels)
					}
					if c.phases {
						comparePhases(t, &g.Iterations[k], &w.Iterations[k])
					}
				}
			}
		})
	}
}

func comparePhases(t *testing.T, got, want *Iteration) {
	t.Helper()
	kernels := make(map[string]int64)
	for _, p := range got.Phases {
		if p.Path != OtherPhase && !p.Inferred {
			t.Errorf("%s: phase %q is not marked as inferred", got.Name, p.Path)
		}
		kernels[p.Path] = p.GPU.Kernels
	}
	for _, p := range want.Phases {
		if p.Path == OtherPhase || p.Depth != 1 || p.GPU.Kernels == 0 {
			continue
		}
		if d := kernels[p.Path] - p.GPU.Kernels; d > 2*int64(p.Calls) || d < -2*int64(p.Calls) {
			t.Errorf("%s (%s): %d kernels in %q, want %d", got.Name, want.Name, kernels[p.Path], p.Path, p.GPU.Kernels)
		}
	}
}

// TestPartsOfSteps names a part of each training step for a round: the step holds more, whatever a range is called. The
// whole step by that name stands.
func TestPartsOfSteps(t *testing.T) {
	t.Parallel()
	const name = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
	for _, c := range []struct {
		part string
		how  Origin
		sure bool
		open bool // the ranges of the steps were never closed
	}{
		{"forward", OriginKernels, true, false}, {"backward", OriginRanges, false, false}, {"iteration %", OriginRanges, true, false},
		{"iteration %", OriginRanges, true, true},
	} {
		rep := analyze(t, rewrite(t, findExport(t, "cnn_default"), func(db *sql.DB) error {
			if _, err := db.Exec("UPDATE NVTX_EVENTS SET text = 'train_step', textId = NULL WHERE "+name+" LIKE ?", c.part); err != nil {
				return err
			}
			if c.open {
				_, err := db.Exec("UPDATE NVTX_EVENTS SET \"end\" = NULL WHERE " + name + " = 'train_step'")
				return err
			}
			_, err := db.Exec("DELETE FROM NVTX_EVENTS WHERE " + name + " LIKE 'iteration %'")
			return err
		}), Options{})
		tr := rep.Tracks[0]
		if from := tr.IterationsFrom; from.How != c.how || len(tr.Iterations) != 8 || from.Confidence >= 0.9 != c.sure {
			t.Errorf("%s: %d iterations by %q, confidence %.2f, want 8 by %q (%s)", c.part, len(tr.Iterations), from.How, from.Confidence, c.how, from.Why)
		}
	}
}

// TestMicroBatchesAsBatches puts a range "batch" around the forward and backward pass of each micro-batch, three of which make
// a step: the optimizer outside of them tells that, or the GPU work does. Around whole steps it is a round.
func TestMicroBatchesAsBatches(t *testing.T) {
	t.Parallel()
	const name = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
	const steps = "DELETE FROM NVTX_EVENTS WHERE " + name + " LIKE 'iteration %'"
	const micro = "UPDATE NVTX_EVENTS SET text = 'batch', textId = NULL, \"end\" = (SELECT min(b.\"end\") FROM NVTX_EVENTS b WHERE b.start >= NVTX_EVENTS.\"end\" AND " +
		"coalesce(b.text, (SELECT value FROM StringIds WHERE id = b.textId)) = 'backward') WHERE " + name + " = 'forward'"
	for _, c := range []struct {
		what string
		sql  []string
		want int
		sure bool
	}{
		{"micro-batches", []string{steps, micro}, 18, false},
		{"micro-batches without a range for the optimizer", []string{steps, micro, "DELETE FROM NVTX_EVENTS WHERE " + name + " = 'optimizer'"}, 18, false},
		{"steps", []string{"UPDATE NVTX_EVENTS SET text = 'batch', textId = NULL WHERE " + name + " LIKE 'iteration %'"}, 6, true},
	} {
		rep := analyze(t, rewrite(t, findExport(t, "gpt_amp"), func(db *sql.DB) error {
			for _, q := range c.sql {
				if _, err := db.Exec(q); err != nil {
					return err
				}
			}
			return nil
		}), Options{})
		tr := rep.Tracks[0]
		from := tr.IterationsFrom
		if from.How != OriginRanges || len(tr.Iterations) != c.want || from.Confidence >= 0.9 != c.sure || (hasWarning(rep, string(Disagreement)) == "") != c.sure {
			t.Errorf("%s: %d iterations by %q, confidence %.2f (%s)", c.what, len(tr.Iterations), from.How, from.Confidence, from.Why)
		}
	}
}

// TestInferredSteps: exports without ranges for iterations.
func TestInferredSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		count  int
		phases string // with their calls, of every iteration but the first
	}{
		{"cnn_none", 12, "data 1, forward 1, backward 1, optimizer 1"},
		{"varlen", 12, "data 1, forward 1, backward 1, optimizer 1"},
		{"ckpt_amp_none", 8, "data 3, forward 3, backward 3, optimizer 1"},
		{"emit", 8, "data 1, forward 1, backward 1, optimizer 1"},
		{"pyann", 6, "data 1, forward 1, backward 1, optimizer 1"},
		{"short3", 3, "data 1, forward 1, backward 1, optimizer 1"},
		{"infer", 6, "prefill 1, decode 20"},
		{"noise", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep := analyze(t, findExport(t, c.name), Options{})
			if len(rep.Tracks) != 1 {
				t.Fatalf("%d tracks", len(rep.Tracks))
			}
			tr := rep.Tracks[0]
			from := tr.IterationsFrom
			t.Logf("%d iterations, confidence %.2f: %s", len(tr.Iterations), from.Confidence, from.Why)
			if len(tr.Iterations) != c.count {
				t.Fatalf("%d iterations, want %d (%s)", len(tr.Iterations), c.count, from.Why)
			}
			if c.count == 0 {
				if from.How != "none" || from.Confidence != 0 || from.Why == "" {
					t.Errorf("none found, but %+v", from)
				}
				return
			}
			if from.How != "kernels" || from.Confidence <= 0 || from.Confidence > 1 || c.count <= 3 && from.Confidence == 1 {
				t.Errorf("%+v", from)
			}
			for i := range tr.Iterations[1:] {
				var list []string
				for _, p := range tr.Iterations[i+1].Phases {
					if p.Path != OtherPhase {
						list = append(list, fmt.Sprintf("%s %d", p.Path, p.Calls))
					}
				}
				if got := strings.Join(list, ", "); got != c.phases {
					t.Errorf("%s: %s; want %s", tr.Iterations[i+1].Name, got, c.phases)
				}
			}
		})
	}
}

// TestInferredLikeTwin: the phases of an export without ranges have the kernels of its annotated twin's, up to the two
// with which a backward pass begins on the main thread.
func TestInferredLikeTwin(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"cnn_none", "cnn_default"}, {"infer", "infer_nvtx"}} {
		t.Run(c[0], func(t *testing.T) {
			got := analyze(t, findExport(t, c[0]), Options{}).Tracks[0]
			want := analyze(t, findExport(t, c[1]), Options{}).Tracks[0]
			for k := 1; k < len(got.Iterations); k++ {
				comparePhases(t, &got.Iterations[k], &want.Iterations[min(k, len(want.Iterations)-1)])
			}
		})
	}
}

// TestInferredFromShuffledRows: the order of rows in the file tells nothing.
func TestInferredFromShuffledRows(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cnn_none", "varlen", "streams", "cpp_mem", "infer", "graph_node", "dp2", "emit"} {
		t.Run(name, func(t *testing.T) {
			path := findExport(t, name)
			shuffled := rewrite(t, path, func(db *sql.DB) error {
				for _, table := range []string{"KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "GRAPH_TRACE"} {
					table = "CUPTI_ACTIVITY_KIND_" + table
					n := 0
					if err := db.QueryRow("SELECT count(*) FROM sqlite_master WHERE name=?", table).Scan(&n); err != nil || n == 0 {
						continue
					}
					for _, q := range []string{
						"CREATE TABLE shuffled AS SELECT * FROM " + table + " ORDER BY random()",
						"DROP TABLE " + table,
						"ALTER TABLE shuffled RENAME TO " + table,
					} {
						if _, err := db.Exec(q); err != nil {
							return fmt.Errorf("%s: %w", q, err)
						}
					}
				}
				return nil
			})
			inferred := func(path string) string {
				var out []any
				for _, tr := range analyze(t, path, Options{Infer: InferAlways}).Tracks {
					out = append(out, tr.IterationsFrom, tr.Inferred)
					for i := range tr.Iterations {
						it := &tr.Iterations[i]
						out = append(out, it.Name, it.Start, it.End, it.Truncated)
						for _, p := range it.Phases {
							out = append(out, p.Path, p.Start, p.End, p.Calls, p.GPU.Kernels)
						}
					}
				}
				data, err := json.Marshal(out)
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
			if got, want := inferred(shuffled), inferred(path); got != want {
				t.Errorf("from shuffled rows:\n%.2000s\nwant\n%.2000s", got, want)
			}
		})
	}
}
