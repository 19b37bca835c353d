package peertest

import (
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// TestDuckDB opens the data set as a user does and compares its totals with the summaries.
func TestDuckDB(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	text, err := exec.Command(build(t), "batch", filepath.Join("..", "..", "testdata"), "-o", out, "--allocations").CombinedOutput()
	if _, exit := err.(*exec.ExitError); err != nil && !exit { // one of the reports is of no use
		t.Fatalf("%v\n%s", err, text)
	}
	names, _ := filepath.Glob(filepath.Join(out, "reports", "*.json"))
	if len(names) < 3 {
		t.Fatalf("%d summaries:\n%s", len(names), text)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"runs", "iterations", "phases", "allocations"} {
		if _, err := db.Exec(fmt.Sprintf("CREATE VIEW %s AS SELECT * FROM read_parquet('%s/data/%[1]s/*/*.parquet', hive_partitioning=true)", table, out)); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(query string, args ...any) string {
		t.Helper()
		rows, err := db.Query(query, args...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer rows.Close()
		cols, _ := rows.Columns()
		var lines []string
		for rows.Next() {
			vals := make([]sql.NullString, len(cols))
			at := make([]any, len(cols))
			for i := range vals {
				at[i] = &vals[i]
			}
			if err := rows.Scan(at...); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			var cells []string
			for _, v := range vals {
				if !v.Valid {
					v.String = "null"
				}
				cells = append(cells, v.String)
			}
			lines = append(lines, strings.Join(cells, " "))
		}
		if rows.Err() != nil {
			t.Fatalf("%s: %v", query, rows.Err())
		}
		return strings.Join(lines, "; ")
	}

	if got := ask("SELECT count(DISTINCT run)::VARCHAR FROM runs"); got != fmt.Sprint(len(names)) {
		t.Errorf("%s runs, %d summaries", got, len(names))
	}
	for _, name := range names {
		run := strings.TrimSuffix(filepath.Base(name), ".json")
		s := readSummary(t, name)
		for _, tr := range s.Tracks {
			l, memory := tr.Levels["device"]
			want := "null null null null"
			if memory {
				want = fmt.Sprint(l.Peak, l.Alloc, l.Free, l.Allocs)
			}
			if tr.Total.GPU != nil {
				want += fmt.Sprint(" ", tr.Total.GPU.Kernels, " ", tr.Total.GPU.NS)
			} else {
				want += " null null"
			}
			if got := ask("SELECT peak_bytes::VARCHAR, alloc_bytes::VARCHAR, free_bytes::VARCHAR, allocs::VARCHAR, kernels::VARCHAR, kernel_ns::VARCHAR FROM runs WHERE run = ? AND pid = ?", run, tr.PID); got != want {
				t.Errorf("%s: runs has %s, the summary %s", run, got, want)
			}
			var net, kernels int64
			phases := 0
			for _, it := range tr.Iterations {
				if it.Memory.Net != nil {
					net += *it.Memory.Net
				}
				if it.GPU != nil {
					kernels += it.GPU.Kernels
				}
				phases += len(it.Phases)
			}
			if got, want := ask("SELECT count(*)::VARCHAR, coalesce(sum(net_bytes),0)::VARCHAR, coalesce(sum(kernels),0)::VARCHAR FROM iterations WHERE run = ? AND pid = ?", run, tr.PID), fmt.Sprint(len(tr.Iterations), net, kernels); got != want {
				t.Errorf("%s: iterations has %s, the summary %s", run, got, want)
			}
			if got := ask("SELECT count(*)::VARCHAR FROM phases WHERE run = ? AND pid = ?", run, tr.PID); got != fmt.Sprint(phases) {
				t.Errorf("%s: %s phase rows, the summary has %d", run, got, phases)
			}
			if got := ask("SELECT coalesce(sum(bytes),0)::VARCHAR FROM allocations WHERE run = ? AND pid = ? AND kind = 'device' AND start_ns IS NOT NULL", run, tr.PID); got != fmt.Sprint(l.Alloc) {
				t.Errorf("%s: %s bytes allocated, the summary has %d", run, got, l.Alloc)
			}
		}
	}
	// Top-level phases and (other) add up to their iteration, for net bytes and kernels.
	bad := ask(`SELECT run, iteration::VARCHAR FROM iterations i JOIN
		(SELECT run, pid, device, iteration, sum(net_bytes) AS net, sum(kernels) AS k FROM phases WHERE depth = 1 GROUP BY ALL) p USING (run, pid, device, iteration)
		WHERE i.net_bytes <> p.net OR i.kernels <> p.k`)
	if bad != "" {
		t.Errorf("phases do not add up in %s", bad)
	}
	if ask("SELECT count(*)::VARCHAR FROM phases WHERE depth = 1") == "0" {
		t.Error("no phase")
	}
}
