package torchmem

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nsysmem/internal/fixture"
)

// truth is what a training script read from PyTorch's own meters while its snapshot was recorded.
type truth struct {
	Conf   string
	Params int64
	Args   struct {
		Steps int
		Accum int
	}
	Truth []truthPhase
	Stats map[string]int64
}

type truthPhase struct {
	Step      int
	Phase     string
	T0, T1    int64
	Alloc0    int64
	Resv0     int64
	Alloc1    int64
	Resv1     int64
	PeakAlloc int64 `json:"peak_alloc"`
	PeakResv  int64 `json:"peak_resv"`
}

// recording is a snapshot with its truth.
type recording struct {
	name string
	path string
	truth
}

// recordings are the snapshots at hand that have a truth beside them. With names, only those: where there is none of them,
// the test is skipped.
func recordings(t testing.TB, names ...string) []recording {
	t.Helper()
	var out []recording
	for _, f := range fixture.Files(t, "..", "*.snapshot.pickle") {
		r := recording{name: strings.TrimSuffix(filepath.Base(f), ".snapshot.pickle"), path: f}
		if len(names) > 0 && !slices.Contains(names, r.name) {
			continue
		}
		text, err := os.ReadFile(strings.TrimSuffix(f, ".snapshot.pickle") + ".truth.json")
		if err != nil {
			continue
		}
		if err := json.Unmarshal(text, &r.truth); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out = append(out, r)
	}
	switch {
	case len(out) > 0:
	case len(names) == 0:
		t.Fatal("no snapshot in testdata has its truth")
	default:
		t.Skipf("none of %v in testdata, or in a folder that %s names", names, fixture.Folders)
	}
	return out
}

func (r recording) read(t testing.TB) *Snapshot {
	t.Helper()
	f, err := os.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Read(f, Options{})
	if err != nil {
		t.Fatalf("%s: %v", r.path, err)
	}
	return s
}

func (r recording) replay(t testing.TB) *Replay {
	t.Helper()
	rep, err := r.read(t).Replay(0)
	if err != nil {
		t.Fatalf("%s: %v", r.path, err)
	}
	return rep
}

func TestReplayEqualsMeters(t *testing.T) {
	phases := 0
	for _, rec := range recordings(t) {
		rep := rec.replay(t)
		if len(rec.Truth) == 0 {
			t.Errorf("%s: no phases in its truth", rec.name)
		}
		for _, p := range rec.Truth {
			u := rep.Over(p.T0, p.T1)
			// The meter of peaks starts anew with every phase: for one that holds others it knows the time since the last.
			since := rep.Over(lastWithin(rec.Truth, p), p.T1)
			u.AllocatedPeak, u.ReservedPeak = since.AllocatedPeak, since.ReservedPeak
			got := [4]int64{u.AllocatedEnd, u.ReservedEnd, u.AllocatedPeak, u.ReservedPeak}
			want := [4]int64{p.Alloc1, p.Resv1, p.PeakAlloc, p.PeakResv}
			if got != want || u.AllocatedStart != p.Alloc0 || u.ReservedStart != p.Resv0 {
				t.Errorf("%s: step %d %s: allocated, reserved and their peaks %v, the meters say %v", rec.name, p.Step, p.Phase, got, want)
			}
			phases++
		}
		if d := rep.Doubts; d != (Doubts{}) {
			t.Errorf("%s: doubts about a whole trace: %+v", rec.name, d)
		}
	}
	t.Logf("%d phases", phases)
}

// lastWithin is the start of the last phase that lies in p, or that of p.
func lastWithin(all []truthPhase, p truthPhase) int64 {
	t := p.T0
	for _, q := range all {
		if q.T0 > t && q.T1 < p.T1 {
			t = q.T0
		}
	}
	return t
}
