package sample

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/fixture"
	"nsysmem/nsysdb"
)

// Exports analyzes the real exports at hand, as fixture.Files finds them. Keys are file names. With names, only those.
func Exports(t testing.TB, only ...string) map[string]*findings.Report {
	t.Helper()
	out := make(map[string]*findings.Report)
	for _, f := range fixture.Files(t, root, "*.sqlite") {
		name := filepath.Base(f)
		if len(only) > 0 && !slices.Contains(only, name) {
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
		out[name] = findings.Of(rep)
	}
	if len(out) == 0 {
		t.Fatalf("none of %q in testdata", only)
	}
	return out
}

// root is the way from a renderer's package to the repository.
const root = "../.."
