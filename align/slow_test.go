package align

import (
	"context"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"nsysmem/internal/amplify"
	"nsysmem/nsysdb"
)

// TestSlowWay makes sure that rows read from pages, in parts at once, give the report that rows read by SQLite, one after
// the other, give: for each export at hand, and for one long enough to be read in parts.
func TestSlowWay(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long.sqlite")
	if err := amplify.Report(context.Background(), "../testdata/gpt_amp.sqlite", long, 5, nil); err != nil {
		t.Fatal(err)
	}
	files := append([]string{long}, exports(t)...)
	if len(files) < 4 {
		t.Fatalf("%d exports, want more", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
			quick := wholeReport(t, file)
			runtime.GOMAXPROCS(1)
			slow := wholeReport(t, file, nsysdb.BySQLite)
			if !reflect.DeepEqual(quick, slow) {
				t.Error("the two ways to read give different reports")
			}
		})
	}
}

func wholeReport(t *testing.T, file string, way ...nsysdb.Option) *Report {
	t.Helper()
	db, err := nsysdb.Open(file, way...)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rep, err := Analyze(context.Background(), db, Options{Blocks: true, Kernels: true, Spans: true})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}
