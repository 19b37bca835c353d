package align

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var everything = Options{Blocks: true, Kernels: true, Spans: true}

// TestRealLaws checks on every real export at hand what holds for every report.
func TestRealLaws(t *testing.T) {
	t.Parallel()
	for _, path := range exports(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			rep := analyze(t, path, everything)
			for _, tr := range rep.Tracks {
				checkLaws(t, tr)
				checkCurves(t, path, rep, tr)
				checkTime(t, rep, tr)
			}
			checkTables(t, path, rep)
		})
	}
}

// checkTime checks that everything lies within the report's time, phases within their iteration, in order.
func checkTime(t *testing.T, rep *Report, tr *Track) {
	t.Helper()
	from, to := rep.Source.Start, rep.Source.End
	at := int64(Never)
	for i := range tr.Iterations {
		it := &tr.Iterations[i]
		if it.Start < from || it.End > to || it.Start < at {
			t.Errorf("%s [%d, %d) does not follow %d or is outside [%d, %d]", it.Name, it.Start, it.End, at, from, to)
		}
		at = it.Start
		for k := range it.Phases {
			if p := &it.Phases[k]; p.Start < it.Start || p.End > it.End || p.Duration > it.End-it.Start && p.Path != OtherPhase {
				t.Errorf("%s %s [%d, %d) is outside [%d, %d)", it.Name, p.Path, p.Start, p.End, it.Start, it.End)
			}
		}
	}
	for i := range tr.Levels {
		if l := &tr.Levels[i]; l.PeakAt < from || l.PeakAt > to {
			t.Errorf("peak of %s at %d is outside [%d, %d]", l.Kind, l.PeakAt, from, to)
		}
	}
}

// checkTables checks that the tracks together hold every row of the event tables.
func checkTables(t *testing.T, path string, rep *Report) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	count := func(query string) (n, sum int64) {
		if err := db.QueryRow(query).Scan(&n, &sum); err != nil {
			if strings.Contains(err.Error(), "no such table") {
				return 0, 0
			}
			t.Fatal(err)
		}
		return n, sum
	}
	var kernels, kernelNS, memsets, memsetBytes, copies, copyNS, allocs, allocBytes, frees int64
	calls := make(map[int64]int64)
	for _, tr := range rep.Tracks {
		g := &tr.Total.GPU
		kernels, kernelNS = kernels+g.Kernels, kernelNS+g.KernelNS
		copies, copyNS = copies+g.Copies, copyNS+g.MemcpyNS
		memsets, memsetBytes = memsets+g.Memsets, memsetBytes+g.MemsetBytes
		for i := range tr.Levels {
			l := &tr.Levels[i]
			allocs, allocBytes, frees = allocs+l.Allocs, allocBytes+l.AllocBytes, frees+l.Frees
		}
		calls[tr.PID] = tr.Total.API.Calls // the same on each track of a process
	}
	var apiCalls int64
	for _, n := range calls {
		apiCalls += n
	}
	same := func(what string, n, sum int64, query string) {
		t.Helper()
		if wn, ws := count(query); n != wn || sum != ws {
			t.Errorf("%s: tracks hold %d (sum %d), the table %d (sum %d)", what, n, sum, wn, ws)
		}
	}
	same("kernels", kernels, kernelNS, `SELECT count(*), ifnull(sum("end"-start), 0) FROM CUPTI_ACTIVITY_KIND_KERNEL`)
	same("copies", copies, copyNS, `SELECT count(*), ifnull(sum("end"-start), 0) FROM CUPTI_ACTIVITY_KIND_MEMCPY`)
	same("memsets", memsets, memsetBytes, `SELECT count(*), ifnull(sum(bytes), 0) FROM CUPTI_ACTIVITY_KIND_MEMSET`)
	same("allocations", allocs, allocBytes, `SELECT count(*), ifnull(sum(bytes), 0) FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memoryOperationType = 0`)
	same("frees", frees, 0, `SELECT count(*), 0 FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memoryOperationType = 1`)
	if len(rep.Tracks) > 0 {
		same("calls", apiCalls, 0, `SELECT count(*), 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME`)
	}
}

// TestShuffled checks that the order of the rows in the tables changes nothing: exports of 2025.6 and later do not
// promise any.
func TestShuffled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("copies every export")
	}
	for _, path := range exports(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			mixed := filepath.Join(t.TempDir(), "shuffled.sqlite")
			shuffle(t, path, mixed)
			a, b := analyze(t, path, everything), analyze(t, mixed, everything)
			b.Source.Path = a.Source.Path
			if !reflect.DeepEqual(a, b) {
				t.Errorf("shuffled rows give another report: %s", firstDifference(a, b))
			}
			for _, tr := range a.Tracks {
				checkCurves(t, mixed, a, tr)
			}
		})
	}
}

// shuffle copies an export with the rows of its event tables in another order.
func shuffle(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", to)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(q string) {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	exec("PRAGMA journal_mode=OFF")
	exec("PRAGMA synchronous=OFF")
	moved := 0
	for _, name := range []string{"CUDA_GPU_MEMORY_USAGE_EVENTS", "CUDA_GPU_MEMORY_POOL_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL",
		"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME",
		"NVTX_EVENTS", "ThreadNames", "PROCESSES"} {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", name).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		exec("BEGIN")
		exec("CREATE TEMP TABLE mixed AS SELECT * FROM " + name + " ORDER BY rowid * 7919 % 10007, rowid")
		exec("DELETE FROM " + name)
		exec("INSERT INTO " + name + " SELECT * FROM mixed")
		exec("DROP TABLE mixed")
		exec("COMMIT")
		moved++
	}
	if moved == 0 {
		t.Fatal("no table to shuffle")
	}
}

// A truth is what a training script read from PyTorch while it was profiled.
type truth struct {
	Conf    string
	NoCache string `json:"nocache"`
	Truth   []struct {
		Step  int
		Phase string
		T1    int64
		Resv1 int64
	}
}

// known are the bytes that libraries allocated for themselves beside PyTorch from the first iteration on, by export.
var known = map[string]int64{"unet_grow": 50_696, "cnn_default": 134_532_616}

// TestReserved compares the device level with PyTorch's own count: what it has reserved is part of the level, and the
// rest, which libraries take for themselves, only grows.
func TestReserved(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, path := range exports(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".sqlite")
		data, err := os.ReadFile(strings.TrimSuffix(path, ".sqlite") + ".truth.json")
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var tr truth
		if err := json.Unmarshal(data, &tr); err != nil {
			t.Fatal(err)
		}
		if len(tr.Truth) == 0 || tr.NoCache != "" || strings.Contains(tr.Conf, "cudaMallocAsync") {
			continue // no phases; or reserved is 0, or the driver's pool
		}
		t.Run(name, func(t *testing.T) {
			rep := analyze(t, path, Options{Blocks: true})
			if len(rep.Tracks) != 1 {
				t.Skipf("%d tracks: the truth is of one", len(rep.Tracks))
			}
			rest, rows := int64(-1), 0
			for _, row := range tr.Truth {
				at := row.T1 - rep.Source.StartUTC
				if at <= rep.Source.Start {
					continue // before a recording that began in the middle
				}
				level := int64(0) // of memory allocated at run time: modules' static variables are beside it
				for i := range rep.Tracks[0].Blocks {
					if b := &rep.Tracks[0].Blocks[i]; b.MemKind == "device" && b.Start < at && (b.End == Never || b.End >= at) {
						level += b.Bytes
					}
				}
				rows++
				if d := level - row.Resv1; d < max(rest, 0) {
					t.Errorf("level less reserved falls from %d to %d at step %d %s", rest, d, row.Step, row.Phase)
				} else {
					rest = d
				}
				if w, ok := known[name]; ok && row.Step >= 1 && rest != w || row.Phase == "model_init" && rest != 0 {
					t.Errorf("level less reserved is %d at step %d %s", rest, row.Step, row.Phase)
				}
			}
			if rows == 0 {
				t.Error("no phase of the truth lies in the report's time")
			}
		})
		checked++
	}
	if checked == 0 {
		t.Fatal("no export with a truth at hand")
	}
}
