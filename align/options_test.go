package align

import (
	"strings"
	"testing"

	"nsysmem/nsysdb"
)

// TestWrongOptions asks for what cannot be: each is an error of Analyze that says so, and none a report of something else.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	db, err := nsysdb.Open("../testdata/cpp_mem.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for want, o := range map[string]Options{
		"unknown Threads 3": {Threads: 3},
		"unknown Infer 9":   {Infer: 9},
		"-1 parameters":     {Params: -1},
		"\"float12\"":       {Params: 1, DType: "float12", Optimizer: "adamw"},
		"\"lion9\"":         {Params: 1, DType: "float32", Optimizer: "lion9"},
		"missing closing ]": {Iteration: "step ["},
	} {
		if rep, err := Analyze(t.Context(), db, o); err == nil || rep != nil || !strings.HasPrefix(err.Error(), "align: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: report %v, error %v, want one with %q", o, rep != nil, err, want)
		}
	}
	if _, err := Analyze(t.Context(), db, Options{Iteration: `step \d+`, Params: 1, DType: "float32", Optimizer: "adamw"}); err != nil {
		t.Error(err)
	}
}
