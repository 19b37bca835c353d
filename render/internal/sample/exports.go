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
		out[name] = analyze(t, f, align.Options{Blocks: true, Kernels: true})
	}
	if len(out) == 0 {
		t.Fatalf("none of %q in testdata", only)
	}
	return out
}

// analyze analyzes an export, which the report names without its folder.
func analyze(t testing.TB, path string, opts align.Options) *findings.Report {
	t.Helper()
	db, err := nsysdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rep, err := align.Analyze(context.Background(), db, opts)
	if err != nil {
		t.Fatal(err)
	}
	rep.Source.Path = filepath.Base(path)
	return findings.Of(rep)
}

// root is the way from a renderer's package to the repository.
const root = "../.."

// Compared is a real export whose ranges are compared with what is inferred.
func Compared(t testing.TB) *findings.Report {
	t.Helper()
	path := fixture.Find(t, root, "cnn_default.sqlite")
	if path == "" {
		t.Fatal("no cnn_default.sqlite in testdata")
	}
	return analyze(t, path, align.Options{Blocks: true, Kernels: true, Infer: align.InferAlways})
}
