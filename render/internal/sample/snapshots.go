package sample

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
)

// A Run is a real export with PyTorch's snapshot of the same run, and what its script read from PyTorch's meters.
type Run struct {
	Report *findings.Report
	Params int64
	Meters []Meter
}

// A Meter is a reading at the end of a phase of one call.
type Meter struct {
	Step      int // -1 outside iterations
	Phase     string
	Alloc     int64 `json:"alloc1"`     // bytes
	Reserved  int64 `json:"resv1"`      // bytes
	AllocPeak int64 `json:"peak_alloc"` // bytes; since the start of the innermost phase
}

// Runs analyzes the real exports at hand that lie beside a snapshot. Keys are file names. Those of more than one device, whose readings have another form, are left out.
func Runs(t testing.TB) map[string]*Run {
	t.Helper()
	out := make(map[string]*Run)
	for _, f := range fixture.Files(t, root, "*.snapshot.pickle") {
		base := strings.TrimSuffix(f, ".snapshot.pickle")
		data, err := os.ReadFile(base + ".truth.json")
		if err != nil {
			continue
		}
		if _, err := os.Stat(base + ".sqlite"); err != nil {
			continue
		}
		var truth struct {
			Params int64
			Truth  []Meter
		}
		if json.Unmarshal(data, &truth) != nil || len(truth.Truth) == 0 {
			continue
		}
		r := &Run{Params: truth.Params, Meters: truth.Truth}
		if r.Report = analyzeRun(t, base, truth.Params); r.Report != nil {
			out[r.Report.Source.Path] = r
		}
	}
	if len(out) == 0 {
		t.Fatal("no snapshot in testdata")
	}
	return out
}

// analyzeRun is nil for runs on several devices.
func analyzeRun(t testing.TB, base string, params int64) *findings.Report {
	f, err := os.Open(base + ".snapshot.pickle")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Devices()) != 1 {
		return nil
	}
	return analyze(t, base+".sqlite", align.Options{Blocks: true, Kernels: true, Snapshots: []align.Snapshot{{Name: filepath.Base(f.Name()), Data: snap}}, Params: params,
		DType: "float32", Optimizer: "adamw"})
}
