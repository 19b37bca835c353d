package main

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nsysmem/internal/fixture"
)

// withFiles is a folder with empty files of some names.
func withFiles(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBeside checks which files beside a report are taken for its snapshots, and in which order.
func TestBeside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ report, files, want string }{
		{"run.sqlite", "run.snapshot.pickle run.pickle run.snapshot.pickle.gz", "run.snapshot.pickle"},
		{"run.sqlite", "run.pickle run.snapshot.pickle.zip", "run.snapshot.pickle.zip"},
		{"run.sqlite", "run.pickle.zip run.pickle.gz", "run.pickle.gz"},
		{"run.nsys-rep", "run.pickle", "run.pickle"},
		{"run", "run.pickle", "run.pickle"},
		{"run.sqlite", "run.rank10.snapshot.pickle run.rank2.pickle run.rank2.snapshot.pickle.gz run.pickle", "run.pickle run.rank2.snapshot.pickle.gz run.rank10.snapshot.pickle"},
		{"run.sqlite", "run.rank0.pickle run.rank1.pickle run.rank1.sqlite", "run.rank0.pickle"}, // that of rank 1 belongs to its own report
		{"run.rank1.sqlite", "run.rank0.pickle run.rank1.pickle", "run.rank1.pickle"},
		{"r[1]*.sqlite", "r[1]*.pickle r1x.pickle", "r[1]*.pickle"},
		{"run.sqlite", "run2.pickle run.txt run.snapshot run.pickle.bak run.snapshot.pickle.tmp xrun.pickle run.rankx.pickle run.model.pickle Run.pickle run-rank1.pickle", ""},
		{"run.snapshot.pickle", "run.snapshot.pickle", ""}, // it is none of its own
		{"other.sqlite", "run.pickle", ""},
	} {
		dir := withFiles(t, append(strings.Fields(c.files), c.report)...)
		var got []string
		for _, f := range (&neighbours{}).snapshots(filepath.Join(dir, c.report)) {
			got = append(got, filepath.Base(f))
			if filepath.Dir(f) != dir {
				t.Errorf("%s is in another folder", f)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s beside %s: got %q, want %q", c.report, c.files, got, c.want)
		}
	}
	if got := (&neighbours{}).snapshots(filepath.Join(t.TempDir(), "nowhere", "run.sqlite")); len(got) > 0 {
		t.Errorf("in no folder: %q", got)
	}
}

// TestSnapshotName: a base name will do where it tells files apart.
func TestSnapshotName(t *testing.T) {
	t.Parallel()
	all := []string{"a/s.pickle", "b/s.pickle", "b/t.pickle"}
	for i, want := range []string{"a/s.pickle", "b/s.pickle", "t.pickle"} {
		if got := snapshotName(all[i], all); got != want {
			t.Errorf("%s: %q, want %q", all[i], got, want)
		}
	}
}

// told is what a summary in JSON says of snapshots.
type told struct {
	Tracks []struct {
		PID        int64
		Device     int64
		Levels     map[string]struct{ Peak_bytes int64 }
		Categories map[string]any
		Tensors    *struct{ File string }
	}
	Warnings []struct{ Code, Text string }
}

// codes are the codes of the warnings about snapshots.
func (s *told) codes() string {
	var out []string
	for _, w := range s.Warnings {
		if strings.HasPrefix(w.Code, "snapshot_") {
			out = append(out, w.Code)
		}
	}
	return strings.Join(out, " ")
}

func summaryOf(t *testing.T, args ...string) *told {
	t.Helper()
	code, out, errs := command(t, append([]string{"summary", "-f", "json"}, args...)...)
	if code != exitDone || errs != "" {
		t.Fatalf("%q: exit %d: %s", args, code, errs)
	}
	got := &told{}
	if err := json.Unmarshal([]byte(out), got); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestFound: a snapshot beside a report is used, and every output says which; --snapshot none leaves it out.
func TestFound(t *testing.T) {
	t.Parallel()
	path := sample(t, "cnn_default")
	_, before, _ := command(t, "summary", path)
	beside := filepath.Join(filepath.Dir(path), "run.snapshot.pickle")
	fixture.Copy(t, cnnSnapshot, beside)
	got := summaryOf(t, path)
	if got.Tracks[0].Tensors == nil || got.Tracks[0].Tensors.File != "run.snapshot.pickle" || got.Tracks[0].Categories["activation"] == nil || got.codes() != "" {
		t.Errorf("%+v", got)
	}
	for _, format := range []string{"text", "md"} {
		if _, out, _ := command(t, "summary", path, "-f", format); !strings.Contains(out, "device 0 from run.snapshot.pickle") {
			t.Errorf("%s does not name the snapshot", format)
		}
	}
	if code, without, _ := command(t, "summary", path, "--snapshot", "none"); code != exitDone || without != before {
		t.Errorf("exit %d, --snapshot none: %s", code, without)
	}
	picture := filepath.Join(t.TempDir(), "p.svg")
	if code, _, errs := command(t, "plot", path, "--view", "segments", "-o", picture); code != exitDone {
		t.Errorf("plot: exit %d: %s", code, errs)
	}
	if data, err := os.ReadFile(picture); err != nil || !strings.Contains(string(data), "run.snapshot.pickle") {
		t.Errorf("the picture does not name the snapshot: %v", err)
	}
	if code, _, errs := command(t, "report", path, "--whatif", "--snapshot", "none", "-o", picture+".xlsx"); code != exitUsage || !strings.Contains(errs, "none lies beside") {
		t.Errorf("report --whatif without: exit %d: %s", code, errs)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 2 {
		t.Errorf("beside the report: %v", left)
	}
}

// TestFoundAmiss: whatever lies beside a report and is no snapshot of it costs one warning and nothing else; named, it is an
// error.
func TestFoundAmiss(t *testing.T) {
	t.Parallel()
	snap, err := os.ReadFile(cnnSnapshot)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) func(name string) error {
		return func(name string) error { return os.WriteFile(name, data, 0o666) }
	}
	for what, put := range map[string]func(name string) error{
		"another run's":   write(snap),
		"cut off":         write(snap[:len(snap)/2]),
		"empty":           write(nil),
		"no snapshot":     write([]byte("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00}\x94.")),
		"a text":          write([]byte("hello")),
		"a folder":        func(name string) error { return os.Mkdir(name, 0o777) },
		"a link to none":  func(name string) error { return os.Symlink("nowhere", name) },
		"a link to self":  func(name string) error { return os.Symlink(filepath.Base(name), name) },
		"an unknown link": func(name string) error { return os.Symlink(filepath.Join(name, "x"), name) },
	} {
		path := sample(t, "cpp_mem")
		name := filepath.Join(filepath.Dir(path), "run.pickle")
		_, before, _ := command(t, "summary", path, "-f", "csv")
		if err := put(name); err != nil {
			t.Logf("%s: %v", what, err)
			continue
		}
		got := summaryOf(t, path)
		if got.codes() != "snapshot_left_out" || got.Tracks[0].Tensors == nil || got.Tracks[0].Tensors.File != "" { // the driver tells of its tensors
			t.Errorf("%s: warnings %+v", what, got.Warnings)
		}
		for _, w := range got.Warnings {
			if w.Code == "snapshot_left_out" && (!strings.Contains(w.Text, `"run.pickle"`) || strings.Contains(w.Text, filepath.Dir(path))) {
				t.Errorf("%s: %s", what, w.Text)
			}
		}
		if code, after, _ := command(t, "summary", path, "-f", "csv"); code != exitDone || before != after {
			t.Errorf("%s: exit %d, or other figures", what, code)
		}
		if code, out, errs := command(t, "info", path); code != exitDone || !strings.Contains(out, "left out") {
			t.Errorf("%s: info: exit %d: %s", what, code, errs)
		}
		if code, _, errs := command(t, "summary", path, "--snapshot", name); code != exitFailed || !strings.Contains(errs, "run.pickle") {
			t.Errorf("%s, named: exit %d: %s", what, code, errs)
		}
		if code, _, errs := command(t, "report", path, "--whatif", "-o", filepath.Join(t.TempDir(), "x.xlsx")); code != exitLacking {
			t.Errorf("%s: report --whatif: exit %d: %s", what, code, errs)
		}
	}
}

// TestUnreadable: a snapshot beside a report that this user may not read costs a warning.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := sample(t, "cnn_default")
	name := filepath.Join(filepath.Dir(path), "run.pickle")
	fixture.Copy(t, cnnSnapshot, name)
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	if got := summaryOf(t, path); got.codes() != "snapshot_left_out" {
		t.Errorf("%+v", got.Warnings)
	}
}

// TestManySnapshots lays a snapshot of each rank to its process, in every command that takes them.
func TestManySnapshots(t *testing.T) {
	t.Parallel()
	report, snaps := fixture.Ranks(t, "../..")
	given := []string{"--snapshot", snaps[1], "--snapshot", snaps[0]}
	for _, args := range [][]string{{report}, append([]string{report}, given...), append([]string{report, "--snapshot", snaps[0]}, given...)} {
		got, seen := summaryOf(t, args...), 0
		for _, tr := range got.Tracks {
			if tr.Tensors == nil {
				continue
			}
			rank := tr.PID - 1183
			seen++
			if tr.Tensors.File != filepath.Base(snaps[rank]) || tr.Levels["allocated"].Peak_bytes != fixture.RankPeaks[rank] || len(tr.Categories) < 4 {
				t.Errorf("%q: %+v", args, tr)
			}
		}
		if seen != 2 || got.codes() != "" {
			t.Errorf("%q: %d tracks have tensors; %+v", args, seen, got.Warnings)
		}
	}
	dir := t.TempDir()
	if code, _, errs := command(t, append([]string{"plot", report, "--view", "segments", "-o", dir}, given...)...); code != exitDone {
		t.Errorf("plot: exit %d: %s", code, errs)
	}
	if code, _, errs := command(t, append([]string{"report", report, "--whatif", "-o", dir}, given...)...); code != exitDone {
		t.Errorf("report: exit %d: %s", code, errs)
	}
	for _, name := range []string{"both.p1183-gpu0.png", "both.p1184-gpu1.png", "both.xlsx"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if z, err := zip.OpenReader(filepath.Join(dir, "both.xlsx")); err != nil {
		t.Error(err)
	} else {
		z.Close()
	}
	var held struct {
		Snapshot  struct{ File string }
		Snapshots []struct {
			File    string
			Devices []struct{ Match struct{ PID, Device int64 } }
		}
	}
	_, out, _ := command(t, append([]string{"info", report, "-f", "json"}, given...)...)
	if err := json.Unmarshal([]byte(out), &held); err != nil {
		t.Fatal(err)
	}
	if len(held.Snapshots) != 2 || held.Snapshot.File != held.Snapshots[0].File || held.Snapshots[0].File != filepath.Base(snaps[1]) ||
		held.Snapshots[0].Devices[0].Match.PID != 1184 || held.Snapshots[1].Devices[0].Match.PID != 1183 {
		t.Errorf("info: %+v", held)
	}
	code, _, errs := command(t, "summary", report, "--snapshot", snaps[0], "--snapshot", "none")
	if code != exitUsage || !strings.Contains(errs, "./none") {
		t.Errorf("none with another: exit %d: %s", code, errs)
	}
	if code, _, errs := command(t, "summary", report, "--snapshot", cnnSnapshot, "-q"); code != exitFailed || !strings.Contains(errs, "another run") {
		t.Errorf("of another run: exit %d: %s", code, errs)
	}
}

// TestBatchFound: batch uses the snapshot beside each report, and does a report again whose snapshot is new or has changed,
// and no other.
func TestBatchFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs, out := filepath.Join(dir, "runs"), filepath.Join(dir, "out")
	if err := os.Mkdir(runs, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cnn_default", "cpp_mem"} {
		fixture.Copy(t, filepath.Join("..", "..", "testdata", name+".sqlite"), filepath.Join(runs, name+".sqlite"))
	}
	do := func(kept string, args ...string) *told {
		t.Helper()
		code, said := batchRun(append([]string{runs, "-o", out}, args...)...)
		if code != exitDone || !strings.Contains(said, "2 reports"+kept) {
			t.Fatalf("%q: exit %d: %s", args, code, said)
		}
		data, err := os.ReadFile(filepath.Join(out, "reports", "cnn_default.json"))
		if err != nil {
			t.Fatal(err)
		}
		got := &told{}
		if err := json.Unmarshal(data, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := do(""); got.Tracks[0].Tensors != nil {
		t.Errorf("without a snapshot: %+v", got)
	}
	snap := filepath.Join(runs, "cnn_default.pickle")
	fixture.Copy(t, cnnSnapshot, snap)
	if got := do(" (1 from before)"); got.Tracks[0].Tensors == nil || got.Tracks[0].Tensors.File != "cnn_default.pickle" {
		t.Errorf("with a snapshot: %+v", got)
	}
	do(" (2 from before)")
	if err := os.Chtimes(snap, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	do(" (1 from before)")
	if code, said := batchRun(runs, "-o", out, "--snapshot", "none"); code != exitUsage || !strings.Contains(said, "--redo") {
		t.Errorf("other settings: exit %d: %s", code, said)
	}
	if got := do("", "--snapshot", "none", "--redo"); got.Tracks[0].Tensors != nil {
		t.Errorf("--snapshot none: %+v", got)
	}
	do(" (2 from before)", "--snapshot", "none")
	if err := os.Remove(snap); err != nil {
		t.Fatal(err)
	}
	do(" (2 from before)", "--snapshot", "none")
	if code, said := batchRun("slurm", runs, "-o", out, "--snapshot", "none"); code != exitDone || !strings.Contains(said, "--snapshot=none") {
		t.Errorf("slurm: exit %d: %s", code, said)
	}
}
