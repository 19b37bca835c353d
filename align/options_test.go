package align

import (
	"strings"
	"testing"

	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// TestWrongOptions: what the command line refuses is an error of the library too, and says which option it is.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	db, err := nsysdb.Open("../testdata/cpp_mem.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for want, opts := range map[string]Options{
		"exclude each other": {SameThread: true, Through: true},
		"unknown Infer 3":    {Infer: InferAlways + 1},
		"-1 parameters":      {Params: -1},
		"unknown type":       {Params: 1, Optimizer: "adam"},
		"unknown optimizer":  {Params: 1, DType: "float32", Optimizer: "best"},
		"no snapshot":        {SnapshotName: "x.pickle"},
		"iteration pattern":  {Iteration: "("},
	} {
		rep, err := Analyze(t.Context(), db, opts)
		if rep != nil || err == nil || !strings.HasPrefix(err.Error(), "align: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: report %v, error %v, want one that says %q", opts, rep != nil, err, want)
		}
	}
	good := Options{Params: 1, DType: "Float32", Optimizer: "adamw", Snapshot: &torchmem.Snapshot{}, SnapshotName: "x.pickle"}
	if _, err := good.check(); err != nil {
		t.Error(err)
	}
}
