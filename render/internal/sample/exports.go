package sample

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nsysmem/align"
	"nsysmem/nsysdb"
)

// Exports analyzes the real exports at hand: those in the repository's testdata, those in a folder shared beside the
// checkout, and those in the folder that NSYSMEM_EXPORTS names. Keys are file names. With names, only those.
func Exports(t testing.TB, only ...string) map[string]*align.Report {
	t.Helper()
	out := make(map[string]*align.Report)
	for _, dir := range folders() {
		files, err := filepath.Glob(filepath.Join(dir, "*.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := filepath.Base(f)
			if out[name] != nil || len(only) > 0 && !slices.Contains(only, name) {
				continue
			}
			db, err := nsysdb.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := align.Analyze(context.Background(), db, align.Options{Blocks: true, Kernels: true})
			db.Close()
			if err != nil {
				t.Fatal(err)
			}
			rep.Source.Path = name
			out[name] = rep
		}
	}
	if len(out) == 0 {
		t.Fatal("no exports in testdata")
	}
	return out
}

// folders are where real exports may lie.
func folders() []string {
	return []string{"../../testdata", "../../../shared/reports", os.Getenv("NSYSMEM_EXPORTS")}
}
