package torchmem_test

import (
	"testing"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/snaptest"
)

func TestReplayEqualsMeters(t *testing.T) {
	t.Parallel()
	phases := 0
	for _, rec := range snaptest.Runs(t, "..") {
		rep := rec.Replay(t)
		if len(rec.Phases) == 0 {
			t.Errorf("%s: no phases in its truth", rec.Name)
		}
		for _, p := range rec.Phases {
			u := rep.Over(p.T0, p.T1)
			// The meter of peaks starts anew with every phase: for one that holds others it knows the time since the last.
			since := rep.Over(lastWithin(rec.Phases, p), p.T1)
			u.AllocatedPeak, u.ReservedPeak = since.AllocatedPeak, since.ReservedPeak
			got := [4]int64{u.AllocatedEnd, u.ReservedEnd, u.AllocatedPeak, u.ReservedPeak}
			want := [4]int64{p.Alloc1, p.Resv1, p.PeakAlloc, p.PeakResv}
			if got != want || u.AllocatedStart != p.Alloc0 || u.ReservedStart != p.Resv0 {
				t.Errorf("%s: step %d %s: allocated, reserved and their peaks %v, the meters say %v", rec.Name, p.Step, p.Phase, got, want)
			}
			phases++
		}
		if d := rep.Doubts; d != (torchmem.Doubts{}) {
			t.Errorf("%s: doubts about a whole trace: %+v", rec.Name, d)
		}
	}
	t.Logf("%d phases", phases)
}

// lastWithin is the start of the last phase that lies in p, or that of p.
func lastWithin(all []snaptest.Phase, p snaptest.Phase) int64 {
	t := p.T0
	for _, q := range all {
		if q.T0 > t && q.T1 < p.T1 {
			t = q.T0
		}
	}
	return t
}
