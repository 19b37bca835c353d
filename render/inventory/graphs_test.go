package inventory

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite" // writes the fixture

	"nsysmem/render/tables"
)

// TestKernelsAgree checks that the contents and the processes count the same kernels, with graphs that are traced whole
// beside them and without.
func TestKernelsAgree(t *testing.T) {
	t.Parallel()
	for _, graphs := range []int64{0, 2} {
		data, err := os.ReadFile("../../testdata/cpp_mem.sqlite")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "graphs.sqlite")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		addGraphs(t, path, graphs)
		held, _ := gathered(t, path)
		rows := func(name string) int64 {
			i := slices.IndexFunc(held.Contents, func(c tables.Content) bool { return c.Name == name })
			if i < 0 {
				return 0
			}
			return held.Contents[i].Rows
		}
		var sum int64
		for _, p := range held.Processes {
			sum += p.Kernels
		}
		if sum == 0 || rows("GPU kernels") != sum {
			t.Errorf("%d graphs: %d kernels among the contents, %d of processes", graphs, rows("GPU kernels"), sum)
		}
		if got := rows("CUDA graphs traced whole"); got != graphs {
			t.Errorf("%d graphs, want %d", got, graphs)
		}
	}
}

// addGraphs adds launches of graphs, each as long as a kernel of the report.
func addGraphs(t *testing.T, path string, n int64) {
	t.Helper()
	if n == 0 {
		return
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS
		SELECT start, end, deviceId, contextId, streamId, globalPid, correlationId, 1 AS graphId, 1 AS graphExecId
		FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT ?`, n); err != nil {
		t.Fatal(err)
	}
}
