package align

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nsysmem/align/tensor"
	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
)

// snapshotsOf reads snapshots, by their base names.
func snapshotsOf(t testing.TB, files ...string) []Snapshot {
	t.Helper()
	var out []Snapshot
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		snap, err := torchmem.Read(f, torchmem.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Snapshot{Name: filepath.Base(file), Data: snap})
	}
	return out
}

// used says which snapshot each track has, as "pid/device:file".
func used(rep *Report) string {
	var out []string
	for _, t := range rep.Tracks {
		if t.Tensors != nil {
			out = append(out, fmt.Sprintf("%d/%d:%s", t.PID, t.Device, t.Tensors.File))
		}
	}
	return strings.Join(out, " ")
}

// unused are the doubts about snapshots, as "code:name(other)".
func unused(rep *Report) string {
	var out []string
	for _, w := range rep.Warnings {
		if w.Code == SnapshotRival || w.Code == SnapshotLeftOut {
			out = append(out, fmt.Sprintf("%s:%s(%s)", w.Code, w.Name, w.Other))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestRanks lays a snapshot of each rank to its process, whatever the order, and compares the peaks with the meters.
func TestRanks(t *testing.T) {
	t.Parallel()
	report, files := fixture.Ranks(t, "..")
	snaps := snapshotsOf(t, files[:]...)
	const want = "1183/0:both.rank0.snapshot.pickle 1184/1:both.rank1.snapshot.pickle"
	rep := analyze(t, report, Options{Snapshots: snaps})
	if used(rep) != want || unused(rep) != "" {
		t.Fatalf("%s; said %s", used(rep), unused(rep))
	}
	for _, tr := range rep.Tracks {
		if tr.Tensors == nil {
			continue
		}
		rank := tr.PID - 1183
		if l := tr.Level(LevelAllocated); l == nil || l.Peak != fixture.RankPeaks[rank] || tr.Level(LevelReserved) == nil {
			t.Errorf("rank %d: %+v", rank, l)
		}
		if tr.Tensors.Peak.Bytes == 0 || len(tr.Tensors.Categories) < 4 {
			t.Errorf("rank %d: %d bytes held at the peak, categories %+v", rank, tr.Tensors.Peak.Bytes, tr.Tensors.Categories)
		}
	}
	other := analyze(t, report, Options{Snapshots: []Snapshot{snaps[1], snaps[0]}})
	if used(other) != want || !reflect.DeepEqual(other.Tracks[0].Levels, rep.Tracks[0].Levels) {
		t.Errorf("the other way round: %s", used(other))
	}
	const host = 1 << 24 // globalPid begins with the machine's number
	for pid, m := range timesOf(t, report, Options{Snapshots: snaps}, host|1183, host|1184) {
		if len(m.Driver) == 0 || len(m.Taken) < 10*len(m.Driver) {
			t.Errorf("process %d: %d blocks of the driver's, %d tensors", pid, len(m.Driver), len(m.Taken))
		}
	}
	if one := analyze(t, report, Options{Snapshots: snaps[1:]}); used(one) != strings.Fields(want)[1] || unused(one) != "" {
		t.Errorf("rank 1 alone: %s; said %s", used(one), unused(one))
	}
}

// TestRankOfAnother refuses the snapshot of a rank that is not in the report, though ranks go in step with each other.
func TestRankOfAnother(t *testing.T) {
	t.Parallel()
	report, files := fixture.Ranks(t, "..")
	alone := rewrite(t, report, func(db *sql.DB) error {
		_, err := db.Exec("DELETE FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE globalPid = (SELECT globalPid FROM PROCESSES WHERE pid = 1184)")
		return err
	})
	snaps := snapshotsOf(t, files[:]...)
	if _, err := analyzeErr(t, alone, Options{Snapshots: snaps[1:]}); err == nil || !strings.Contains(err.Error(), "another run, device or process") {
		t.Errorf("rank 1 with the memory of rank 0: %v", err)
	}
	rep := analyze(t, alone, Options{Snapshots: snaps})
	if used(rep) != "1183/0:both.rank0.snapshot.pickle" || unused(rep) != "snapshot_left_out:both.rank1.snapshot.pickle()" {
		t.Errorf("%s; said %s", used(rep), unused(rep))
	}
}

// TestRivals: of two snapshots of one track the better one is used, whatever the order, and the other is told.
func TestRivals(t *testing.T) {
	t.Parallel()
	report, files := fixture.Ranks(t, "..")
	early := filepath.Join(t.TempDir(), "a.pickle")
	fixture.Copy(t, files[0], early)
	snaps := snapshotsOf(t, files[0], early)
	// It was written in the middle of the run.
	var begin []torchmem.TraceEvent
	snaps[1].Data.Traces[0].Each(func(i int, e *torchmem.TraceEvent) bool {
		begin = append(begin, *e)
		return i < 1000
	})
	snaps[1].Data.Traces[0] = torchmem.TraceOf(begin)
	for _, order := range [][]Snapshot{{snaps[0], snaps[1]}, {snaps[1], snaps[0]}} {
		rep := analyze(t, report, Options{Snapshots: order})
		if used(rep) != "1183/0:both.rank0.snapshot.pickle" || unused(rep) != "snapshot_rival:a.pickle(both.rank0.snapshot.pickle)" {
			t.Errorf("%s; said %s", used(rep), unused(rep))
		}
	}
}

// TestForeignAmong: a snapshot of another run among others costs a warning, alone an error, and alone but optional nothing
// but the warning.
func TestForeignAmong(t *testing.T) {
	t.Parallel()
	report, files := fixture.Ranks(t, "..")
	snaps := snapshotsOf(t, files[0], "../testdata/cnn_default.snapshot.pickle")
	rep := analyze(t, report, Options{Snapshots: snaps})
	if used(rep) != "1183/0:both.rank0.snapshot.pickle" || unused(rep) != "snapshot_left_out:cnn_default.snapshot.pickle()" {
		t.Errorf("%s; said %s", used(rep), unused(rep))
	}
	foreign := snaps[1]
	second := foreign
	second.Name = "second.pickle"
	_, err := analyzeErr(t, report, Options{Snapshots: []Snapshot{foreign, second}})
	if err == nil || !strings.Contains(err.Error(), "cnn_default") || !strings.Contains(err.Error(), "second.pickle") || strings.Contains(err.Error(), "\n") {
		t.Errorf("two of another run: %v", err)
	}
	foreign.Optional = true
	for _, path := range []string{report, "../testdata/gpt_amp.sqlite", "../testdata/varlen.sqlite", "../testdata/streams.sqlite"} {
		for _, x := range []Snapshot{foreign, {Name: "damaged.pickle", Trouble: "permission denied", Optional: true}} {
			rep = analyze(t, path, Options{Snapshots: []Snapshot{x}})
			if used(rep) != "" || unused(rep) != "snapshot_left_out:"+x.Name+"()" || !reflect.DeepEqual(rep.Tracks, analyze(t, path, Options{}).Tracks) {
				t.Errorf("%s: %s: %s; said %s", path, x.Name, used(rep), unused(rep))
			}
		}
	}
}

// held is a snapshot without a trace, which is laid to a track by the segments that it holds: of each device so many from an
// address on.
func held(name string, devices map[int]uint64, n int) Snapshot {
	s := &torchmem.Snapshot{}
	for device, addr := range devices {
		for i := range n {
			s.Segments = append(s.Segments, torchmem.Segment{Device: device, Addr: addr + uint64(i)<<21, Size: 2 << 20})
		}
	}
	return Snapshot{Name: name, Data: s}
}

// TestLay lays snapshots to tracks whose ranks have their segments at the same addresses or at others.
func TestLay(t *testing.T) {
	t.Parallel()
	p, q := &process{pid: 7}, &process{pid: 8}
	track := func(p *process, device int64, addr uint64) laidTrack {
		var b takenBlocks
		for i := range 4 {
			b = append(b, tensor.DriverBlock{Start: int64(i), End: Never, Address: addr + uint64(i)<<21, Bytes: 2 << 20})
		}
		return laidTrack{trackKey{p, device}, b}
	}
	const x, y = 0x7f0000000000, 0x7e0000000000
	for _, c := range []struct {
		name   string
		tracks []laidTrack
		snaps  []Snapshot
		want   string // pid/device=name:device, of each track
		out    string // names of those left out
		rivals string
	}{
		{"one snapshot of two devices", []laidTrack{track(p, 0, x), track(p, 1, y)}, []Snapshot{held("s", map[int]uint64{0: x, 1: y}, 4)}, "7/0=s:0 7/1=s:1", "", ""},
		{"addresses alike, devices not", []laidTrack{track(p, 0, x), track(q, 1, x)}, []Snapshot{held("b", map[int]uint64{1: x}, 4), held("a", map[int]uint64{0: x}, 4)}, "7/0=a:0 8/1=b:1", "", ""},
		{"addresses and devices alike", []laidTrack{track(p, 0, x), track(q, 0, x)}, []Snapshot{held("a", map[int]uint64{0: x}, 4)}, "", "a", ""},
		{"the better of two", []laidTrack{track(p, 0, x)}, []Snapshot{held("a", map[int]uint64{0: x}, 2), held("b", map[int]uint64{0: x}, 4)}, "7/0=b:0", "", "a"},
		{"alike: the first by name", []laidTrack{track(p, 0, x)}, []Snapshot{held("b", map[int]uint64{0: x}, 4), held("a", map[int]uint64{0: x}, 4)}, "7/0=a:0", "", "b"},
		{"of no track", []laidTrack{track(p, 0, x)}, []Snapshot{held("a", map[int]uint64{0: y}, 4)}, "", "a", ""},
		{"without a device", []laidTrack{track(p, 0, x)}, []Snapshot{held("a", nil, 4)}, "", "a", ""},
		{"no track", nil, []Snapshot{held("a", map[int]uint64{0: x}, 4)}, "", "a", ""},
	} {
		src := &source{opts: Options{Snapshots: c.snaps}}
		got := src.lay(c.tracks, tensor.ReportTime{})
		var of, out, rivals []string
		for _, tr := range c.tracks {
			if l := got.of[tr.trackKey]; l != nil {
				of = append(of, fmt.Sprintf("%d/%d=%s:%d", tr.proc.pid, tr.device, l.snapshot.Name, l.match.Replay.Device))
			}
		}
		for _, l := range got.out {
			out = append(out, l.snapshot.Name)
		}
		for _, l := range got.rivals {
			rivals = append(rivals, l.snapshot.Name)
		}
		if a, b, r := strings.Join(of, " "), strings.Join(out, " "), strings.Join(rivals, " "); a != c.want || b != c.out || r != c.rivals {
			t.Errorf("%s: %q, left out %q, rivals %q", c.name, a, b, r)
		}
	}
}
