package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/export"
	"nsysmem/internal/fixture"
	"nsysmem/render/tables"
	"nsysmem/render/workbook"
)

func TestNatural(t *testing.T) {
	want := []string{"R1", "r", "r-1", "r1", "r01", "r2", "r2a", "r2b10", "r10", "r99999999999999999999998", "r99999999999999999999999", "s"}
	// Where just leading zeros differ the plain order decides: "r01" before "r1".
	want[3], want[4] = want[4], want[3]
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, natural)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if naturalPath("a/z", "a.b/a") >= 0 {
		t.Error("a folder is not before one whose name goes on")
	}
	if naturalPath("job2/rank10", "job10/rank2") >= 0 {
		t.Error("job10 is before job2")
	}
}

func inputs(paths ...string) []Input {
	in := make([]Input, len(paths))
	for i, p := range paths {
		in[i].Path = p
	}
	return in
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"runs/a.sqlite runs/b.nsys-rep", "a b"},
		{"x/run.sqlite y/run.sqlite y/other.sqlite", "x_run y_run y_other"},
		{"1/x/run.sqlite 2/x/run.sqlite 2/y/run.sqlite", "1_x_run 2_x_run y_run"},
		{"run.sqlite run.nsys-rep", "run run-2"},
		{"a/Run.sqlite b/run.sqlite", "a_Run b_run"}, // one file where case does not count
		{"a$b.sqlite a%b.sqlite a_b-2.sqlite", "a_b a_b-3 a_b-2"},
		{"名前.sqlite ..hidden.sqlite", "名前 hidden"},
		{"con.sqlite COM1.x.sqlite dot..sqlite console.sqlite", "_con _COM1.x dot console"}, // for Windows
		{"ab_c.sqlite x/c.sqlite ab/c.sqlite", "ab_c x_c ab_c-2"},
	} {
		in := inputs(strings.Fields(c.paths)...)
		setNames(in)
		var got []string
		for i := range in {
			got = append(got, in[i].Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.paths, got, c.want)
		}
	}
	long := inputs("a/"+strings.Repeat("é", 200)+".sqlite", "b/"+strings.Repeat("é", 200)+"x.sqlite")
	setNames(long)
	if len(long[0].Name) > maxName || len(long[1].Name) > maxName || long[0].Name == long[1].Name {
		t.Errorf("long names: %v", long)
	}
}

func TestRanks(t *testing.T) {
	for _, c := range []struct{ paths, pattern, ranks, group string }{
		{"a/rank0.sqlite a/rank_11.sqlite a/Rank-2.sqlite", "", "0 11 2", "a/rank#"},
		{"a/r0/x.sqlite a/r1/x.sqlite", "", "0 1", "a/r#/x"},
		{"rank7/a.sqlite rank7/b.sqlite", "", "-1 -1", ""}, // all lie in it: it tells nothing apart
		{"job3/rank1.sqlite job4/rank1.sqlite", "", "1 1", "job3/rank#"},
		{"r1/rank0.sqlite r2/rank0.sqlite", "", "0 0", "r1/rank#"},
		{"cpp_r2.sqlite var1.sqlite rx.sqlite tr5.sqlite", "", "2 -1 -1 -1", "cpp_r#"},
		{"n1/g3.sqlite n1/g4.sqlite n2/g3.sqlite", `g(\d+)`, "3 4 3", "n1/g#"},
		{"n1/g3.sqlite n2/g3.sqlite", `n\d+`, "1 2", "#/g3"},
		{"rank99999999999999999999.sqlite", "", "-1", ""},
	} {
		var re *regexp.Regexp
		if c.pattern != "" {
			re = regexp.MustCompile(c.pattern)
		}
		in := inputs(strings.Fields(c.paths)...)
		setRanks(in, re)
		var got []string
		for i := range in {
			got = append(got, fmt.Sprint(in[i].Rank))
		}
		if strings.Join(got, " ") != c.ranks || in[0].Group != c.group {
			t.Errorf("%s by %q: ranks %q in %q, want %q in %q", c.paths, c.pattern, got, in[0].Group, c.ranks, c.group)
		}
	}
}

// TestShares checks on random batches that shares are disjoint, together the whole, and as even as the largest report lets
// them be.
func TestShares(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		in := make([]Input, random.IntN(60))
		var total, largest int64
		for i := range in {
			in[i] = Input{Name: fmt.Sprint(i), Size: random.Int64N(1 << uint(random.IntN(34)))}
			total += in[i].Size + perReport
			largest = max(largest, in[i].Size+perReport)
		}
		n := 1 + random.IntN(9)
		seen := map[string]int{}
		for i := 1; i <= n; i++ {
			var load int64
			shuffled := slices.Clone(in)
			random.Shuffle(len(shuffled), func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
			for _, r := range (Shard{i, n}).take(shuffled) {
				seen[r.Name]++
				load += r.Size + perReport
			}
			if load > total/int64(n)+largest {
				t.Fatalf("share %d of %d has %d of %d bytes, the largest report has %d", i, n, load, total, largest)
			}
		}
		for i := range in {
			if seen[in[i].Name] != 1 {
				t.Fatalf("report %s is in %d shares of %d", in[i].Name, seen[in[i].Name], n)
			}
		}
	}
}

// TestManyShares takes a share of more than memory could count.
func TestManyShares(t *testing.T) {
	in := []Input{{Name: "a", Size: 1}, {Name: "b", Size: 2}, {Name: "c", Size: -1}}
	var got []string
	for _, i := range []int{1, 2, 3, 4, math.MaxInt} {
		for _, r := range (Shard{i, math.MaxInt}).take(in) {
			got = append(got, fmt.Sprint(i, r.Name))
		}
	}
	if want := "[1b 2a 3c]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestShardFromEnv(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", "0/0"},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=1", "1/4"},
		{"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=5", "3/4"},
		{"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=4", "3/4"},
		{"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=3", "error"}, // --array=3,9
		{"SLURM_ARRAY_TASK_ID=x SLURM_ARRAY_TASK_COUNT=2", "error"},
		{"JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=8", "4/8"},
		{"JOB_COMPLETION_INDEX=3", "error"},
		{"JOB_COMPLETION_INDEX=8 JOB_COMPLETIONS=8", "error"},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		s, _, err := ShardFromEnv(func(k string) string { return env[k] })
		got := fmt.Sprintf("%d/%d", s.Index, s.Count)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.env, got, err, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, f := range []string{"runs/a/r10.sqlite", "runs/a/r2.sqlite", "runs/b.nsys-rep", "runs/c.sqlite", "runs/c.nsys-rep", "runs/notes.txt",
		"runs/.hidden.sqlite", "out/reports/x.sqlite", "list.txt"} {
		os.MkdirAll(filepath.Dir(f), 0o755)
		text := ""
		if f == "list.txt" {
			text = "# a comment\n\nruns/c.sqlite\nruns/a/*.sqlite\n"
		}
		if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "bin")
	os.Mkdir(bin, 0o755)
	os.WriteFile(filepath.Join(bin, "nsys"), []byte("#!/bin/sh\n"), 0o755)
	for _, c := range []struct{ args, path, want, warned string }{
		{"runs", "", "runs/a/r2.sqlite runs/a/r10.sqlite runs/c.sqlite", "1 .nsys-rep reports left out"},
		{"runs", bin, "runs/a/r2.sqlite runs/a/r10.sqlite runs/b.nsys-rep runs/c.sqlite", ""},
		{"@list.txt", "", "runs/a/r2.sqlite runs/a/r10.sqlite runs/c.sqlite", ""},
		{"runs/a/r?.sqlite runs/x*", "", "runs/a/r2.sqlite", "nothing matches"},
		{"runs/notes.txt missing.sqlite runs/b.nsys-rep", "", "missing.sqlite runs/b.nsys-rep runs/notes.txt", ""},
		{".", bin, "runs/a/r2.sqlite runs/a/r10.sqlite runs/b.nsys-rep runs/c.sqlite", ""},
	} {
		t.Setenv("PATH", c.path)
		warned := ""
		in, err := Find(strings.Fields(c.args), &Options{Out: "out", Warn: func(s string) { warned += s }})
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		var got []string
		for i := range in {
			got = append(got, in[i].Path)
		}
		if strings.Join(got, " ") != c.want || !strings.Contains(warned, c.warned) || c.warned == "" && warned != "" {
			t.Errorf("%s: got %q, warned %q", c.args, got, warned)
		}
	}
	in, err := Find([]string{"runs", "./runs/a", filepath.Join(dir, "runs", "c.sqlite")}, &Options{Out: "out"})
	if err != nil || len(in) != 4 {
		t.Errorf("a report named twice is done twice: %v, %v", in, err)
	}
	for text, want := range map[string]string{
		"\ufeffa.sqlite\r\n  b c.sqlite \r\n\r\n#x\r\nd.sqlite": "[a.sqlite b c.sqlite d.sqlite]",
		"\xff\xfea\x00.\x00s\x00":                               "UTF-16",
		"\xfe\xff\x00a":                                         "UTF-16",
		"a.sqlite\nb\x00.sqlite":                                "no text",
		"# nothing":                                             "no report",
		strings.Repeat("x", 2<<20):                              "too long",
	} {
		if err := os.WriteFile("windows.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var got []string
		in, err := Find([]string{"@windows.txt"}, &Options{Out: "out"})
		for i := range in {
			got = append(got, in[i].Path)
		}
		if fmt.Sprint(got) != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("list %.20q: %q, %v", text, got, err)
		}
	}
	if _, err := Find([]string{"@nothing.txt"}, &Options{Out: "out"}); err == nil {
		t.Error("a list that is missing is not told")
	}
}

// TestSpread compares with a plain count, in parts of every size.
func TestSpread(t *testing.T) {
	out := t.TempDir()
	if err := os.MkdirAll(stateDir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	p := plan{Schema: planSchema}
	for k := range 3 {
		r := &record{recordHead: recordHead{Input: Input{Name: fmt.Sprintf("r%d", k), Rank: int64(k), Group: "r#"}, Collected: align.Collected{Memory: k != 1, Kernels: true}}}
		its := []iteration{}
		for i := range 6 - k {
			its = append(its, iteration{Index: i + k, End: int64(10 + k), Memory: align.MemoryUse{Peak: int64(100*i + k)}})
		}
		its = append(its, iteration{Index: 5, Truncated: true, Memory: align.MemoryUse{Peak: 7}}) // counted anew
		r.Tracks = []track{{Rank: int64(k), Group: "r#", Iterations: len(its), Levels: []align.Level{{Kind: "device", Peak: int64(k)}}}}
		r.Iterations = [][]iteration{its}
		f, err := os.Create(r.record(out))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.write(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		p.Reports = append(p.Reports, r.Input)
	}
	defer func(old int) { spreadBytes = old }(spreadBytes)
	defer func(old int) { keepIterations = old }(keepIterations)
	for _, spreadBytes = range []int{1, 300, 1 << 20} {
		keepIterations = 9 // those of one run are kept, the others read again
		c, err := compare(out, &p)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.spreadGroups(); err != nil {
			t.Fatal(err)
		}
		if len(c.groups) != 1 || len(c.missing)+len(c.failed) > 0 {
			t.Fatalf("groups %v, missing %v", c.groups, c.missing)
		}
		var got []string
		for _, r := range c.groups[0].rows {
			pk, tm := r.have[tables.PeakSpread], r.have[tables.TimeSpread]
			got = append(got, fmt.Sprintf("%d.%d n%d peak %d:%d/%d/%d time %d:%d/%d/%d", r.key.before, r.key.index, r.n, pk.n, pk.low, pk.mid, pk.top, tm.n, tm.low, tm.mid, tm.top))
		}
		want := []string{
			"0.0 n1 peak 1:0/0/0 time 1:10/10/10",
			"0.1 n2 peak 1:100/100/100 time 2:10/10/11",
			"0.2 n3 peak 2:2/2/200 time 3:10/11/12",
			"0.3 n3 peak 2:102/102/300 time 3:10/11/12",
			"0.4 n3 peak 2:202/202/400 time 3:10/11/12",
			"0.5 n3 peak 2:302/302/500 time 3:10/11/12",
			"1.5 n3 peak 2:7/7/7 time 0:0/0/0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %d bytes:\n%s\nwant\n%s", spreadBytes, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		checkCharts(t, c)
	}
}

// checkCharts holds what the charts of a comparison show against the heads of the columns that they are meant to show.
func checkCharts(t *testing.T, c *comparison) {
	t.Helper()
	var failed error
	var b bytes.Buffer
	if err := workbook.WriteBook(&b, c.book(&failed), workbook.Options{TempDir: t.TempDir()}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	const want = `Device peak of each run
  Peak (MiB) over Run: 'Runs'!$J$2:$J$4 over 'Runs'!$A$2:$A$4
  End (MiB) over Run: 'Runs'!$L$2:$L$4 over 'Runs'!$A$2:$A$4
Highest level of each iteration, range over ranks: r#
  Peak, greatest (MiB) over Iteration: 'Spread over ranks'!$F$2:$F$8 over 'Spread over ranks'!$B$2:$B$8
  Peak, median (MiB) over Iteration: 'Spread over ranks'!$E$2:$E$8 over 'Spread over ranks'!$B$2:$B$8
  Peak, least (MiB) over Iteration: 'Spread over ranks'!$D$2:$D$8 over 'Spread over ranks'!$B$2:$B$8
`
	if got := fixture.Charts(t, b.Bytes()); got != want {
		t.Errorf("charts:\n%s\nwant\n%s", got, want)
	}
	f, err := excelize.OpenReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, k := range c.book(&failed).Tables {
		last, _ := excelize.CoordinatesToCellName(len(k.Grid.Heads), 1+max(k.Grid.Rows, 1))
		if got, err := f.GetSheetDimension(k.Sheet); err != nil || got != "A1:"+last {
			t.Errorf("sheet %q states %s, has A1:%s, %v", k.Sheet, got, last, err)
		}
	}
}

// TestPhaseOrder checks that phases of runs that lack some stand in an order that suits all.
func TestPhaseOrder(t *testing.T) {
	c := &comparison{}
	known := map[string]int{}
	for i, paths := range []string{"forward backward (other)", "data forward loss backward (other)", "optimizer", "data forward forward/l1 backward optimizer"} {
		var stats []align.PhaseStat
		for _, p := range strings.Fields(paths) {
			stats = append(stats, align.PhaseStat{Path: p})
		}
		c.addPhases(stats, i, known)
	}
	c.lastOther()
	var got []string
	for _, p := range c.phases {
		got = append(got, p.path)
	}
	if s := strings.Join(got, " "); s != "optimizer data forward forward/l1 loss backward (other)" {
		t.Errorf("order %s", s)
	}
}

// TestLabels checks that devices of different runs are never one because each process calls its own device 0.
func TestLabels(t *testing.T) {
	h := recordHead{Input: Input{Name: "a", Rank: -1}, Tracks: []track{{PID: 1, Rank: 0}, {PID: 2, Rank: 1}, {PID: 3, Rank: -1}, {PID: 4, Device: 1, Rank: -1}}}
	var got []string
	for i := range h.Tracks {
		got = append(got, h.label(i))
	}
	if s := strings.Join(got, ", "); s != "a rank 0, a rank 1, a p3 gpu0, a p4 gpu1" {
		t.Errorf("labels %s", s)
	}
}

// TestWorkerEnds checks that a process which ends in the middle of a report costs that report alone.
func TestWorkerEnds(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	in := inputs("a.sqlite", "b.sqlite", "c.sqlite")
	setNames(in)
	o := Options{Out: filepath.Join(dir, "out"), Jobs: 2, Worker: func(int) *exec.Cmd {
		return exec.Command(sh, "-c", "head -c 40 >/dev/null; echo 'fatal error: out of memory' >&2; exit 3")
	}}
	done, err := Run(context.Background(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Failed) != 3 || !strings.HasSuffix(done.Failed[0].Reason, "the process that read it ended: exit status 3: fatal error: out of memory") {
		t.Errorf("failed: %q", done.Failed)
	}
	merged, err := Merge(context.Background(), o.Out)
	if err != nil || len(merged.Failed) != 3 || len(merged.Missing) != 0 {
		t.Errorf("merged: %+v, %v", merged, err)
	}
}

// TestPlanPaths checks that a path which is no UTF-8 comes back from the list as it was.
func TestPlanPaths(t *testing.T) {
	o := Options{Out: t.TempDir()}
	if err := os.MkdirAll(stateDir(o.Out), 0o755); err != nil {
		t.Fatal(err)
	}
	in := inputs("runs/bad\xff_rank1.sqlite", "runs/名前.sqlite", `runs/"<&.sqlite`)
	setNames(in)
	setRanks(in, nil)
	if err := writePlan(in, &o); err != nil {
		t.Fatal(err)
	}
	p, err := readPlan(o.Out)
	if err != nil || !slices.Equal(p.Reports, in) {
		t.Errorf("got %v, %v, want %v", p.Reports, err, in)
	}
}

// TestKeepNames checks on random lists that names which are in use stay, that no two results share one, and that all shares
// of a batch come to the same plan, before and after the first of them has written it.
func TestKeepNames(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for range 40 {
		o := Options{Out: t.TempDir()}
		if err := os.MkdirAll(stateDir(o.Out), 0o755); err != nil {
			t.Fatal(err)
		}
		held := map[string]string{} // paths by name of what has a result
		for range 5 {
			var list []string
			for _, d := range []string{"a", "a/x", "b", "b/x"} {
				for _, f := range []string{"r1", "R1", "r2"} {
					if random.IntN(2) == 0 {
						list = append(list, d+"/"+f+".sqlite")
					}
				}
			}
			var first []byte
			for share := range 2 {
				in := inputs(list...)
				for i := range in {
					in[i].Size = int64(crc32.ChecksumIEEE([]byte(in[i].Path))) // each is another file
				}
				setNames(in)
				if p, err := readPlan(o.Out); err == nil {
					p.keepNames(o.Out, in)
				}
				if err := writePlan(in, &o); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(planPath(o.Out))
				if err != nil {
					t.Fatal(err)
				}
				if share == 0 {
					first = data
				} else if string(first) != string(data) {
					t.Fatalf("the second share has another plan:\n%s\n%s", first, data)
				}
				for i := range in {
					key := strings.ToLower(in[i].Name)
					if had, ok := held[key]; ok && had != in[i].Path {
						t.Fatalf("%s takes the name of %s", in[i].Path, had)
					}
					if random.IntN(3) == 0 { // this one is still to be done
						continue
					}
					held[key] = in[i].Path
					f, err := os.Create(in[i].record(o.Out))
					if err != nil {
						t.Fatal(err)
					}
					if err := (&record{recordHead: recordHead{Input: in[i], Outputs: []file{{"reports/x.json", 1}}}}).write(f); err != nil {
						t.Fatal(err)
					}
					f.Close()
				}
			}
		}
	}
}

// TestTwoAtOnce lets another process take away the stage of a report that is being done, or get in the way of its files: no
// failure of the report.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	in := inputs("a.sqlite")
	setNames(in)
	out := filepath.Join(t.TempDir(), "out")
	if err := os.MkdirAll(stateDir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("..", "testdata", "cpp_mem.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	in[0].Path = filepath.Join(t.TempDir(), "a.sqlite")
	if err := os.WriteFile(in[0].Path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, meanwhile := range map[string]func(){
		"another batch is at work": func() { removeStages(out, in[0].Name, 0) },
		"reports/a.json": func() { // the file cannot be made
			dirs, _ := filepath.Glob(filepath.Join(stateDir(out), "making", "a~*"))
			os.Mkdir(filepath.Join(dirs[0], "0.json"), 0o755)
		},
	} {
		o := Options{Out: out, Jobs: 1}
		o.Analyze = func(ctx context.Context, r *export.Report, given string, opts align.Options) (*findings.Report, error) {
			meanwhile()
			rep, err := align.Analyze(ctx, r.DB, opts)
			if err != nil {
				return nil, err
			}
			return findings.Of(rep), nil
		}
		reason, err := do(context.Background(), in[0], &o)
		if reason != nil || err == nil || !strings.Contains(filepath.ToSlash(err.Error()), want) || strings.Contains(err.Error(), "making") {
			t.Errorf("want %q: %v, %v", want, reason, err)
		}
		if _, err := os.Stat(in[0].record(out)); err == nil {
			t.Error("it has a record")
		}
	}
}

// TestUnwritable tells what cannot be written from what a writer has against it.
func TestUnwritable(t *testing.T) {
	s, err := newStage(t.TempDir(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.remove()
	var full *unwritable
	err = s.file("a.json", func(w io.Writer) error {
		w.(*fileWriter).f.Close()
		w.Write([]byte("x"))
		return errors.New("something else")
	})
	if !errors.As(err, &full) || err.Error() != `write "a.json": file already closed` {
		t.Errorf("a file that cannot be written: %v", err)
	}
	err = s.file("b.json", func(io.Writer) error { return errors.New("too many rows") })
	if errors.As(err, &full) || err.Error() != `write "b.json": too many rows` {
		t.Errorf("a writer that gives up: %v", err)
	}
}
