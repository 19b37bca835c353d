package inventory

import (
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/torchmem"
)

// TestAddSnapshots: of two snapshots of a device with one number, each goes with the track that it tells of; what is left
// out says why there, and among the warnings no more.
func TestAddSnapshots(t *testing.T) {
	t.Parallel()
	snap := func(addr uint64) *torchmem.Snapshot {
		return &torchmem.Snapshot{Segments: []torchmem.Segment{{Addr: addr, Size: 2 << 20}}}
	}
	a, b := snap(1<<30), snap(1<<31)
	track := func(pid int64, s *torchmem.Snapshot) *align.Track {
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		return &align.Track{PID: pid, Tensors: &tensor.Memory{From: tensor.BySnapshot, Replay: r}}
	}
	rep := findings.Of(&align.Report{Tracks: []*align.Track{track(8, b), track(7, a)},
		Warnings: []align.Warning{{Code: align.SnapshotLeftOut, Name: "c", Why: "permission denied"}, {Code: align.OpenRanges, Count: 1}}})
	out := &Report{Warnings: rep.Warnings}
	out.AddSnapshots([]align.Snapshot{{Name: "a", Data: a}, {Name: "b", Data: b}, {Name: "c"}}, rep)
	if len(out.Snapshots) != 3 {
		t.Fatalf("%+v", out.Snapshots)
	}
	for i, pid := range []int64{7, 8} {
		s := &out.Snapshots[i]
		if len(s.Devices) != 1 || s.Devices[0].Match == nil || s.Devices[0].Match.PID != pid || s.Trouble != "" || s.Settings == "" {
			t.Errorf("%+v", s)
		}
	}
	if c := &out.Snapshots[2]; c.Trouble != "permission denied" || len(c.Devices) > 0 || c.Settings != "" {
		t.Errorf("%+v", c)
	}
	codes := ""
	for _, w := range out.Warnings {
		codes += w.Code + " "
	}
	if len(out.Warnings) != len(rep.Warnings)-1 || codes == "" {
		t.Errorf("warnings %s", codes)
	}
}
