package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"nsysmem/internal/fixture"
)

// small are the reports of testdata that can be done.
var small = []string{"cnn_default", "cpp_mem", "cpp_mem_2023"}

// copies puts n reports into folders of eight ranks each.
func copies(t *testing.T, dir string, n int) {
	t.Helper()
	data := make([][]byte, len(small))
	for i, name := range small {
		var err error
		if data[i], err = os.ReadFile(filepath.Join("..", "..", "testdata", name+".sqlite")); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("job%d", i/8), fmt.Sprintf("rank%d.sqlite", i%8))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data[i%len(data)], 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// batchRun runs the command in this process and returns its exit code and what it wrote to stderr.
func batchRun(args ...string) (int, string) {
	var out, errs bytes.Buffer
	code := run(context.Background(), append([]string{"batch"}, args...), streams{out: &out, err: &errs})
	return code, out.String() + errs.String()
}

// sameTree fails unless two folders hold the same files with the same bytes.
func sameTree(t *testing.T, a, b string) {
	t.Helper()
	x, y := tree(t, a), tree(t, b)
	if len(x) == 0 {
		t.Errorf("%s is empty", a)
	}
	for name, data := range x {
		if other, ok := y[name]; !ok {
			t.Errorf("%s lacks %s", b, name)
		} else if !bytes.Equal(data, other) {
			t.Errorf("%s differs between %s and %s", name, a, b)
		}
	}
	for name := range y {
		if _, ok := x[name]; !ok {
			t.Errorf("%s has %s, which %s lacks", b, name, a)
		}
	}
}

func tree(t *testing.T, root string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(path, "making") {
			return nil // a process that is being killed may still remove what it made
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[rel], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// whole fails unless every file that has its final name is whole.
func whole(t *testing.T, out string) {
	t.Helper()
	if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
		return // it was killed before it began
	}
	for name, data := range tree(t, out) {
		var err error
		switch {
		case strings.HasPrefix(name, filepath.Join(".nsysmem", "making")):
		case strings.HasSuffix(name, ".json"):
			if !json.Valid(data) {
				err = fmt.Errorf("no JSON")
			}
		case strings.HasSuffix(name, ".parquet"):
			_, err = parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		case strings.HasSuffix(name, ".xlsx"):
			var f *excelize.File
			if f, err = excelize.OpenReader(bytes.NewReader(data)); err == nil {
				f.Close()
			}
		case strings.HasSuffix(name, ".png"):
			if !bytes.HasSuffix(data, []byte("IEND\xaeB`\x82")) {
				err = fmt.Errorf("no end")
			}
		}
		if err != nil {
			t.Errorf("%s is not whole: %v", name, err)
		}
	}
}

// TestBatchShares does a batch as one and in shares of different numbers, in any order, and compares every byte.
func TestBatchShares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copies(t, filepath.Join(dir, "runs"), 10)
	runs, one := filepath.Join(dir, "runs"), filepath.Join(dir, "one")
	// In a process, since one job leaves this one a single core too.
	if out, err := program(t, dir, "batch", runs, "-o", one, "--allocations", "-j", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, n := range []int{2, 3, 13} {
		out := filepath.Join(dir, fmt.Sprintf("of%d", n))
		for i := n; i >= 1; i-- {
			if code, said := batchRun(runs, "-o", out, "--allocations", "--shard", fmt.Sprintf("%d/%d", i, n)); code != 0 {
				t.Fatalf("share %d of %d: exit %d: %s", i, n, code, said)
			}
			if i == n { // the others are missing, and it says so
				code, said := batchRun("merge", out)
				if code != 1 || !strings.Contains(said, "missing") {
					t.Errorf("merge of one share: exit %d: %s", code, said)
				}
			}
		}
		if code, said := batchRun("merge", out); code != 0 {
			t.Fatalf("merge: exit %d: %s", code, said)
		}
		sameTree(t, one, out)
	}
}

// TestBatchResume changes one thing after the other and looks at what is done again.
func TestBatchResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copies(t, filepath.Join(dir, "runs"), 4)
	if err := os.WriteFile(filepath.Join(dir, "runs", "bad.sqlite"), []byte("not a report"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, out := filepath.Join(dir, "runs"), filepath.Join(dir, "out")
	again := func(what string, kept int, args ...string) {
		t.Helper()
		code, said := batchRun(append([]string{runs, "-o", out}, args...)...)
		if code != 1 || !strings.Contains(said, "1 report failed") {
			t.Errorf("%s: exit %d: %s", what, code, said)
		}
		want := fmt.Sprintf("%d of 5 reports are done from before", kept)
		if kept == 0 {
			want = "the batch is done: 4 reports\n"
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: want %q: %s", what, want, said)
		}
	}
	again("first", 0)
	again("nothing changed", 4) // the failure is tried again
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(runs, "job0", "rank1.sqlite"), old, old); err != nil {
		t.Fatal(err)
	}
	again("a report changed", 3)
	if err := os.Remove(filepath.Join(out, "reports", "rank2.json")); err != nil {
		t.Fatal(err)
	}
	again("an output was removed", 3)
	if err := os.WriteFile(filepath.Join(out, ".nsysmem", "rank0.record"), []byte("nsysmem batch rec"), 0o644); err != nil {
		t.Fatal(err)
	}
	again("a record is damaged", 3)
	again("more outputs", 0, "--allocations")
	again("those outputs again", 4, "--allocations")
	if _, err := os.Stat(filepath.Join(out, "data", "allocations", "run=rank0", "data.parquet")); err != nil {
		t.Error(err)
	}
	again("allocations not asked for any more", 4)
	if left, _ := filepath.Glob(filepath.Join(out, "data", "allocations", "*", "*")); len(left) != 4 {
		t.Errorf("allocations are lost, left: %q", left)
	}

	// What was made of a report that goes bad or is no longer named stays until it is to go.
	if err := os.WriteFile(filepath.Join(runs, "job0", "rank3.sqlite"), []byte("gone"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said := batchRun(filepath.Join(runs, "job0", "rank[123].sqlite"), "-o", out); code != 1 || !strings.Contains(said, "2 reports (2 from before)") {
		t.Errorf("exit %d: %s", code, said)
	}
	left, _ := filepath.Glob(filepath.Join(out, "data", "runs", "*", "*"))
	if len(left) != 4 {
		t.Errorf("data set has %v", left)
	}
	for range 2 { // the second time nothing is left to do
		if code, said := batchRun("merge", out, "--prune"); code != 1 || !strings.Contains(said, "1 report failed") {
			t.Errorf("prune: exit %d: %s", code, said)
		}
	}
	left, _ = filepath.Glob(filepath.Join(out, "data", "runs", "*"))
	if want := []string{filepath.Join(out, "data", "runs", "run=rank1"), filepath.Join(out, "data", "runs", "run=rank2")}; !slices.Equal(left, want) {
		t.Errorf("data set has %v, want %s", left, want)
	}
	if _, err := os.Stat(filepath.Join(out, "reports", "rank3.json")); err == nil {
		t.Error("a report that failed has a summary")
	}
}

// TestBatchLosesNothing calls batch on one folder with fewer outputs, other lists and other settings, and checks that
// nothing is gone, nothing that is there is done again, and nothing is compared that should not be.
func TestBatchLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	runs, more, moved, out, plain := in("runs"), in("more"), in("moved"), in("out"), in("plain")
	copies(t, runs, 3)
	copies(t, more, 1)
	call := func(what string, want string, args ...string) {
		t.Helper()
		if code, said := batchRun(append(args, "-o", out)...); code != 0 || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, want %q: %s", what, code, want, said)
		}
	}
	same := func(what string, before map[string][]byte, but ...string) {
		t.Helper()
		now := tree(t, out)
		for name, data := range before {
			own := strings.HasPrefix(name, "batch.") || name == filepath.Join(".nsysmem", "plan.json") // of the list
			for _, b := range but {
				own = own || strings.Contains(name, b)
			}
			if got, ok := now[name]; !ok {
				t.Errorf("%s: %s is gone", what, name)
			} else if !own && !bytes.Equal(got, data) {
				t.Errorf("%s: %s is another", what, name)
			}
		}
	}
	call("first", "is done: 3 reports\n", runs, "--plot", "--workbook", "--allocations")
	first := tree(t, out)
	for _, name := range []string{"rank0.png", "rank2.xlsx"} {
		if first[filepath.Join("reports", name)] == nil {
			t.Fatalf("no %s", name)
		}
	}
	call("fewer outputs", "3 reports (3 from before)", runs)
	same("fewer outputs", first)
	call("those again", "3 reports (3 from before)", runs, "--workbook")
	same("those again", first)
	call("another list", "1 report (1 from before)", filepath.Join(runs, "job0", "rank1.sqlite"))
	same("another list", first)

	// A file of the same name in another folder is another report.
	call("another report of one name", "1 report\n", more)
	same("another report of one name", first)
	if _, err := os.Stat(filepath.Join(out, "reports", "job0_rank0.json")); err != nil {
		t.Error(err)
	}
	call("all", "4 reports (4 from before)", runs, more)
	same("all", first)
	call("the first list", "3 reports (3 from before)", runs)
	same("the first list", first)

	// The same reports where the folder was moved.
	if err := os.Rename(runs, moved); err != nil {
		t.Fatal(err)
	}
	call("moved", "is done: 3 reports\n", moved)
	if now := tree(t, out); len(now) < len(first) || now[filepath.Join("reports", "rank1.png")] == nil || now[filepath.Join("reports", "job0_rank1.json")] != nil {
		t.Errorf("a report that was moved lost its name or its picture")
	}
	first = tree(t, out)

	// A report that has changed gets all that it had, and a process that ended while it was replaced changes nothing about that.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(moved, "job0", "rank2.sqlite"), old, old); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(out, ".nsysmem")
	if err := os.Rename(filepath.Join(state, "rank2.record"), filepath.Join(state, "rank2.earlier")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rank2.png", "rank1.xlsx"} { // one to be made again, one that the user removed
		if err := os.WriteFile(filepath.Join(out, "reports", name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(out, "reports", "rank1.xlsx")); err != nil {
		t.Fatal(err)
	}
	delete(first, filepath.Join("reports", "rank1.xlsx"))
	call("a report changed", "3 reports (2 from before)", moved)
	same("a report changed", first, "rank2.record")
	if _, err := os.Stat(filepath.Join(out, "reports", "rank1.xlsx")); err == nil {
		t.Error("a workbook that was removed and not asked for is there again")
	}

	// Other settings are refused before anything is done, and are those of the folder once that is said.
	before := tree(t, out)
	code, said := batchRun(moved, "-o", out, "--params", "1000")
	if code != exitUsage || !strings.Contains(said, "the defaults, now --params=1000") || !strings.Contains(said, "--redo") {
		t.Errorf("other settings: exit %d: %s", code, said)
	}
	if now := tree(t, out); len(now) != len(before) {
		t.Error("other settings: files changed")
	}
	same("other settings", before)
	call("other settings, to be done", "is done: 3 reports\n", moved, "--params", "1000", "--redo")
	same("other settings, to be done", before, "rank")
	call("those settings again", "3 reports (3 from before)", moved, "--params", "1000")

	// Pruned, it is as if nothing else had ever been there.
	call("prune", "removed results of 1 report", moved, "--params", "1000", "--prune")
	if code, said := batchRun(moved, "-o", plain, "--params", "1000", "--plot", "--workbook", "--allocations"); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	x, y := tree(t, out), tree(t, plain)
	for name := range y {
		if x[name] == nil && name != filepath.Join("reports", "rank1.xlsx") {
			t.Errorf("pruned: %s is gone", name)
		}
	}
	for name := range x {
		if y[name] == nil {
			t.Errorf("pruned: %s is left", name)
		}
	}
	if code, said := batchRun(moved, "-o", plain, "--shard", "1/2", "--prune"); code != exitUsage || !strings.Contains(said, "merge "+plain+" --prune") {
		t.Errorf("prune of a share: exit %d: %s", code, said)
	}
}

// TestBatchSlurmNothing: a script whose tasks would find nothing is told to be one.
func TestBatchSlurmNothing(t *testing.T) {
	dir := t.TempDir()
	copies(t, filepath.Join(dir, "runs"), 1)
	t.Chdir(dir)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"nothere"}, "nothere: there is no such report or folder here"},
		{[]string{"nothere/*.sqlite"}, "nothing matches"},
		{[]string{"runs", "nothere"}, "1 of 2 reports are not there as seen from here, the first: nothere"},
		{[]string{"runs"}, ""},
	} {
		var out, errs bytes.Buffer
		args := append(append([]string{"batch", "slurm"}, c.args...), "-o", "out", "--command", "nsysmem")
		if code := runCommand(&out, &errs, args...); code != 0 || !strings.HasPrefix(out.String(), "#!/bin/sh") {
			t.Errorf("%q: exit %d: %s", c.args, code, &errs)
		}
		if said := errs.String(); !strings.Contains(said, c.says) || c.says == "" && said != "" {
			t.Errorf("%q: %s", c.args, said)
		}
	}
}

// TestBatchTotals compares the workbook's figures with the summary of each report, the good reports of testdata and the
// one that has nothing.
func TestBatchTotals(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	code, said := batchRun(filepath.Join("..", "..", "testdata"), "-o", out, "-q")
	if code != 1 {
		t.Fatalf("exit %d: %s", code, said)
	}
	f, err := excelize.OpenFile(filepath.Join(out, "batch.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	failed := sheet(t, f, "Failures")
	if len(failed) != 1 || failed[0]["Run"] != "cnn_2022" || !strings.Contains(failed[0]["Reason"], "neither memory events nor GPU work were collected") {
		t.Errorf("failures: %v", failed)
	}
	runs := sheet(t, f, "Runs")
	its := sheet(t, f, "Iterations")
	rows := 0
	for _, run := range runs {
		var code int
		var buf, errs bytes.Buffer
		if code = runCommand(&buf, &errs, "summary", run["Report"], "--format", "json"); code != 0 {
			t.Fatalf("summary %s: exit %d: %s", run["Report"], code, &errs)
		}
		var s summaryJSON
		if err := json.Unmarshal(buf.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		tr := s.track(run["Process"], run["Device (as the process sees it)"])
		if tr == nil {
			t.Fatalf("%s: no track %s", run["Run"], run["Process"])
		}
		l := tr.Levels["device"]
		for head, want := range map[string]any{"Peak (bytes)": l.Peak, "End (bytes)": l.End, "Allocated (bytes)": l.Alloc, "Freed (bytes)": l.Free,
			"Allocs": l.Allocs, "Frees": l.Frees, "Kernels": tr.Total.GPU.Kernels, "Kernel time (ns)": tr.Total.GPU.NS, "Iterations": len(tr.Iterations), "Device UUID": tr.UUID} {
			if run[head] != fmt.Sprint(want) {
				t.Errorf("%s: %s is %s, the summary has %v", run["Run"], head, run[head], want)
			}
		}
		for _, it := range tr.Iterations {
			got := its[rows]
			rows++
			if got["Run"] != run["Run"] || got["Iteration"] != fmt.Sprint(it.Index) || got["Peak (bytes)"] != fmt.Sprint(it.Memory.Peak) || got["Net (bytes)"] != fmt.Sprint(it.Memory.Net) {
				t.Errorf("%s: iteration %d is %v", run["Run"], it.Index, got)
			}
		}
	}
	reports, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "*.sqlite"))
	if len(runs) < len(reports)-1 || len(runs) < len(small) || rows != len(its) || rows == 0 {
		t.Errorf("%d runs of %d reports, %d iterations of %d", len(runs), len(reports), rows, len(its))
	}
	whole(t, out)
}

type summaryJSON struct {
	Tracks []trackJSON
}

type trackJSON struct {
	PID    json.Number
	Device json.Number
	UUID   string `json:"device_uuid"`
	Levels map[string]struct {
		Peak   int64 `json:"peak_bytes"`
		End    int64 `json:"end_bytes"`
		Allocs int64
		Frees  int64
		Alloc  int64 `json:"alloc_bytes"`
		Free   int64 `json:"free_bytes"`
	}
	Iterations []struct {
		Index  int
		Memory struct {
			Peak int64 `json:"peak_bytes"`
			Net  int64 `json:"net_bytes"`
		}
	}
	Total struct {
		GPU struct {
			Kernels int64
			NS      int64 `json:"kernel_ns"`
		}
	}
}

func (s *summaryJSON) track(pid, device string) *trackJSON {
	for i := range s.Tracks {
		if s.Tracks[i].PID.String() == pid && s.Tracks[i].Device.String() == device {
			return &s.Tracks[i]
		}
	}
	return nil
}

func runCommand(out, errs *bytes.Buffer, args ...string) int {
	return run(context.Background(), args, streams{out: out, err: errs})
}

// sheet reads a table with raw values: a map of head to cell for each row.
func sheet(t *testing.T, f *excelize.File, name string) []map[string]string {
	t.Helper()
	rows, err := f.GetRows(name, excelize.Options{RawCellValue: true})
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range rows[1:] {
		m := make(map[string]string)
		for i, v := range r {
			m[rows[0][i]] = v
		}
		out = append(out, m)
	}
	return out
}

// TestBatchKilled kills a batch ten times at random moments, looks at what it left, and lets it end. The result is that
// of a batch that nobody disturbed.
func TestBatchKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for some seconds")
	}
	t.Parallel()
	n := 12
	if fixture.Slow {
		n = 400
	}
	dir := t.TempDir()
	copies(t, filepath.Join(dir, "runs"), n)
	begin := time.Now()
	undisturbed := program(t, dir, "batch", "runs", "-o", "one", "-q", "--allocations")
	if out, err := undisturbed.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(begin)
	if peak := peakMemory(undisturbed.ProcessState); peak > 400<<20 {
		t.Errorf("%d reports took %d MiB of memory", n, peak>>20)
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("%d reports take %v; seed %d", n, took, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	killed, interrupts := 0, 0
	for i := range 10 {
		cmd := program(t, dir, "batch", "runs", "-o", "out", "-q", "--allocations")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A tenth of the work each time, more or less, so that the last one still has something to do.
		time.Sleep(time.Duration(random.Float64() * 0.2 * float64(took)))
		if i%3 == 2 {
			cmd.Process.Signal(os.Interrupt)
			interrupts++
		} else {
			cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil {
			killed++
		}
		if _, err := os.Stat(filepath.Join(dir, "out")); err == nil { // else it was killed before it began
			whole(t, filepath.Join(dir, "out"))
		}
	}
	if killed == 0 {
		t.Error("it was never killed before it was done")
	}
	t.Logf("%d of 10 ended early, %d of the ten were interrupts", killed, interrupts)
	if out, err := program(t, dir, "batch", "runs", "-o", "out", "-q", "--allocations").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sameTree(t, filepath.Join(dir, "one"), filepath.Join(dir, "out"))
}

// TestBatchUse checks that wrong use is told before any work.
func TestBatchUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{}, {"x.sqlite"}, {"x.sqlite", "-o", dir, "--jobs", "0"}, {"x.sqlite", "-o", dir, "--shard", "0/3"}, {"x.sqlite", "-o", dir, "--shard", "4/3"},
		{"x.sqlite", "-o", dir, "--rank-pattern", "("}, {"x.sqlite", "-o", dir, "--iteration", "("}, {"x.sqlite", "-o", dir, "--snapshot", "s"},
		{"merge"}, {"slurm", "x", "-o", dir, "--tasks", "0"}, {"kubernetes", "x", "-o", dir},
	} {
		if code, said := batchRun(args...); code != exitUsage {
			t.Errorf("batch %q: exit %d: %s", args, code, said)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("something was written: %v", left)
	}
	if code, said := batchRun("merge", dir); code != exitFailed || !strings.Contains(said, "no batch was begun in it") {
		t.Errorf("merge of an empty folder: exit %d: %s", code, said)
	}
	if code, said := batchRun(dir, "-o", filepath.Join(dir, "o")); code != exitFailed || !strings.Contains(said, "no report") {
		t.Errorf("no reports: exit %d: %s", code, said)
	}
}

// TestBatchExports has a stand-in for nsys export what was not exported, and fail for one report.
func TestBatchExports(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	copies(t, filepath.Join(dir, "runs"), 2)
	for _, name := range []string{"a", "bad"} {
		// What nsys-rep files begin with decides what is said of them.
		if err := os.WriteFile(filepath.Join(dir, "runs", name+".nsys-rep"), []byte("NVTXT"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1 $2 $3 $4\" = 'export --type sqlite --output' ] || exit 9\ncase \"$6\" in *bad*) echo 'it is damaged'; exit 4;; esac\ncp %s/runs/job0/rank0.sqlite \"$5\"\n", dir)
	if err := os.WriteFile(filepath.Join(bin, "nsys"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Chdir(dir)
	code, said := batchRun("runs", "-o", "out")
	if code != 1 || !strings.Contains(said, "the batch is done: 3 reports") || !strings.Contains(said, "it is damaged") {
		t.Errorf("exit %d: %s", code, said)
	}
	if left, _ := filepath.Glob(filepath.Join("out", ".nsysmem", "making", "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
