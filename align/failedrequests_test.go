package align

import (
	"slices"
	"testing"

	"nsysmem/torchmem"
)

// TestFailedRequests has a request fail within a phase of a recorded run, and one before its first iteration: the level
// allocated counts them, for the phase too; the reserved and the device level do not. The run itself has none.
func TestFailedRequests(t *testing.T) {
	t.Parallel()
	const export = "../testdata/cnn_default.sqlite"
	snap := readSnapshot(t, export)
	plain := analyze(t, export, Options{Snapshots: []Snapshot{{Data: snap}}}).Tracks[0]
	if l := plain.Level(LevelAllocated); l == nil || l.FailedAllocs != 0 {
		t.Fatalf("a run without failures: %+v", l)
	}
	it := &plain.Iterations[3]
	at := slices.IndexFunc(it.Phases, func(p Phase) bool { return p.Path == "backward" })
	if at < 0 {
		t.Fatal("no backward")
	}
	shift := plain.Tensors.Shift
	middle := (it.Phases[at].Start+it.Phases[at].End)/2 + shift

	var events []torchmem.TraceEvent
	oom := func(time int64) {
		events = append(events, torchmem.TraceEvent{Action: torchmem.OOM, Time: time, Size: 1 << 40, Addr: 5 << 20})
	}
	done := false
	snap.Traces[0].Each(func(i int, e *torchmem.TraceEvent) bool {
		if !done && e.Time >= middle {
			oom(middle)
			done = true
		}
		events = append(events, *e)
		if i == 0 {
			oom(e.Time)
		}
		return true
	})
	snap.Traces[0] = torchmem.TraceOf(events)
	tr := analyze(t, export, Options{Snapshots: []Snapshot{{Data: snap}}}).Tracks[0]
	for kind, want := range map[LevelKind]int64{LevelAllocated: 2, LevelReserved: 0, LevelDevice: 0} {
		equal(t, "failed of "+string(kind), tr.Level(kind).FailedAllocs, want)
	}
	equal(t, "failed of the run", tr.Total.Level(LevelAllocated).FailedAllocs, 2)
	for i := range tr.Iterations {
		it := &tr.Iterations[i]
		want := int64(0)
		if i == 3 {
			want = 1
		}
		equal(t, "failed of iteration "+it.Name, it.Level(LevelAllocated).FailedAllocs, want)
		for j := range it.Phases {
			p := &it.Phases[j]
			want := int64(0)
			if i == 3 && j == at {
				want = 1
			}
			equal(t, "failed of "+it.Name+" "+p.Path, p.Level(LevelAllocated).FailedAllocs, want)
			equal(t, "failed calls of "+it.Name+" "+p.Path, p.Memory.FailedAllocs, 0)
		}
	}
}
