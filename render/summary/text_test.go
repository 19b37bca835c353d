package summary

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/internal/sample"
	"nsysmem/render/phrase"
)

func textOf(t *testing.T, rep *findings.Report, width int, color bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(&b, rep, width, color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func checkLines(t *testing.T, text string, width int) {
	t.Helper()
	for _, l := range strings.Split(text, "\n") {
		if n := wording.Width(stripColor(l)); n > width {
			t.Errorf("%d cells in %d: %s", n, width, l)
		}
		for _, r := range stripColor(l) {
			if wording.Steers(r) {
				t.Errorf("%q reaches the terminal in %q", r, l)
			}
		}
	}
}

func TestTextGolden(t *testing.T) {
	for _, width := range []int{60, 80, 200} {
		got := textOf(t, sample.Report(4), width, false)
		golden(t, fmt.Sprintf("sample%d.txt", width), []byte(got))
		checkLines(t, got, width)
	}
}

// TestTextTies: a tie reads in 80 columns, and is told where there is one alone.
func TestTextTies(t *testing.T) {
	t.Parallel()
	rep := sample.Report(4)
	if got := textOf(t, rep, 80, false); strings.Contains(got, "≈") {
		t.Errorf("a tie where there is none:\n%s", got)
	}
	it := &rep.Tracks[0].Iterations[0]
	it.Phases[0].Memory.Peak = it.Memory.Peak - 1
	by := it.PeakBy(align.LevelDevice)
	if len(by.Ties) != 1 {
		t.Fatalf("no tie: %+v", by)
	}
	got := strings.Join(strings.Fields(textOf(t, rep, 80, false)), " ")
	for _, want := range []string{" ≈ " + by.Phase + " ", "(≈ marks a tie, of peaks within 1 %: " + it.Name + " with " + by.Ties[0] + ")"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

func TestTextThinned(t *testing.T) {
	rep := sample.Report(500)
	rep.Tracks[0].Iterations[250].Memory.Peak = 1 << 40
	got := textOf(t, rep, 120, false)
	golden(t, "many120.txt", []byte(got))
	checkLines(t, got, 120)
	if !regexp.MustCompile(`(?m)^ +250 .* 1 TiB `).MatchString(got) {
		t.Error("the highest iteration is not shown")
	}
}

func TestTextHostile(t *testing.T) {
	rep := sample.Report(len(sample.Hostile))
	sample.Hurt(rep)
	rep.Source.Path = "x\x1b[2J\u202e/" + strings.Repeat("長い名前", 100)
	rep.Tracks[0].Process = "\x1b]0;gotcha\x07"
	rep.Tracks[0].Failed[0].Call = "a\nb"
	rep.Tracks[0].Ranges[0].Name = strings.Repeat("\u0301", 50) + "\u200d\x9b31m"
	rep.Findings[0].Severity = "\x1b[5m"
	for _, width := range []int{1, 40, 60, 80, 200} {
		checkLines(t, textOf(t, rep, width, false), max(width, minWidth))
		checkLines(t, textOf(t, rep, width, true), max(width, minWidth))
	}
}

func TestTextNotCollected(t *testing.T) {
	rep := sample.Report(3)
	rep.Collected = align.Collected{}
	got := textOf(t, rep, 200, false)
	golden(t, "nothing200.txt", []byte(got))
	if m := regexp.MustCompile(`\b0 (B|ns)|MiB`).FindString(strings.ReplaceAll(got, "rises by 1.00 MiB", "")); m != "" {
		t.Errorf("%q stands where nothing was collected", m)
	}
	for _, want := range []string{"--cuda-memory-usage=true", "n/a"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestTextEmpty(t *testing.T) {
	if got := textOf(t, &findings.Report{Report: &align.Report{}}, 80, false); !strings.Contains(got, "No process") {
		t.Errorf("got %q", got)
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := WriteMarkdown(&b, sample.Report(3)); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.md", b.Bytes())
	rep := sample.Report(len(sample.Hostile))
	sample.Hurt(rep)
	b.Reset()
	if err := WriteMarkdown(&b, rep); err != nil {
		t.Fatal(err)
	}
	var cells int
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(l, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(l, `\|`, ""), "|")
		if cells == 0 {
			cells = n
		}
		if n != cells {
			t.Errorf("%d cells where the head has %d: %s", n, cells, l)
		}
		if strings.Contains(l, "<b>") {
			t.Errorf("HTML passes: %s", l)
		}
	}
}

func TestCSV(t *testing.T) {
	rep := sample.Report(len(sample.Hostile))
	sample.Hurt(rep)
	rep.Tracks[0].Iterations[0].Memory.Net = -5
	rep.Collected.API = false
	var b bytes.Buffer
	if err := WriteCSV(&b, rep); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 5*(len(rep.Tracks[0].Iterations)+len(rep.Tracks[1].Iterations)); len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	col := map[string]int{}
	for i, h := range rows[0] {
		if _, twice := col[h]; twice {
			t.Errorf("column %q stands there twice", h)
		}
		col[h] = i
	}
	for i, name := range sample.Hostile {
		got := rows[1+5*i][col["iteration_name"]]
		if guarded := strings.HasPrefix(got, "'"); guarded != strings.ContainsAny(name[:1], "=+-@\t\r") {
			t.Errorf("name %q is written %q", name, got)
		}
	}
	first, phase := rows[1], rows[2]
	for name, want := range map[string]string{"memory_net_bytes": "-5", "memory_start_bytes": "104857603", "depth": "0", "path": "", "warmup": "1",
		"memory_failed_allocs": "", "api_sync_ns": "", "pinned_peak_bytes": "1048576", "gpu_kernels": "30"} {
		if got := first[col[name]]; got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if phase[col["depth"]] != "1" || phase[col["duration_ns"]] != "29000000" || phase[col["from"]] != "nvtx" {
		t.Errorf("phase row %q", phase)
	}
	for _, r := range rows[1:] {
		for _, name := range []string{"pid", "start_ns", "memory_peak_bytes", "gpu_busy_ns"} {
			if _, err := strconv.ParseInt(r[col[name]], 10, 64); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestPeakPhase(t *testing.T) {
	rep := sample.Report(4)
	tr := rep.Tracks[0]
	if got := tr.Iterations[1].PeakPhase("device"); got != "backward" {
		t.Errorf("PeakPhase = %q", got)
	}
	flat := tr.Iterations[1]
	flat.Memory.Need = 0
	if got := flat.PeakPhase("device"); got != align.AtStart {
		t.Errorf("PeakPhase of a flat iteration = %q", got)
	}
	it, by := tr.PeakPlace(&tr.Levels[0])
	if it == nil || it.Index != 3 || by.Phase != "backward" {
		t.Errorf("PeakPlace = %v, %q", it, by)
	}
	if it, _ := tr.PeakPlace(&align.Level{Kind: "device", PeakAt: 1}); it != nil {
		t.Errorf("a peak before all iterations is in %q", it.Name)
	}
}

func TestFailedRows(t *testing.T) {
	for _, c := range []struct{ n, shown int }{{0, 0}, {1, 1}, {9, 9}, {10, 8}, {22, 8}} {
		rows := thinFailed(c.n)
		if len(rows) != c.shown || c.n > 0 && (rows[0] != 0 || rows[len(rows)-1] != c.n-1) {
			t.Errorf("of %d: %v", c.n, rows)
		}
	}
	// The last ones, which ended the run, stand in text and Markdown.
	rep := sample.Report(3)
	tr := rep.Tracks[0]
	for i := range 20 {
		tr.Failed = append(tr.Failed, align.FailedAlloc{Time: int64(i), Call: "cudaMalloc", Return: 2, Iteration: -1, Range: fmt.Sprintf("range %d", i)})
	}
	var md bytes.Buffer
	if err := WriteMarkdown(&md, rep); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{textOf(t, rep, 120, false), md.String()} {
		if !strings.Contains(got, "range 19") || !strings.Contains(got, "… 14 more") || strings.Contains(got, "range 9") {
			t.Errorf("%s", got)
		}
	}
}

func TestInferredWords(t *testing.T) {
	rep := sample.Report(3)
	tr := rep.Tracks[0]
	tr.IterationsFrom = align.IterationsFrom{How: "kernels", Confidence: 0.8, Count: 3, Why: "why"}
	if got := phrase.IterationsFrom(tr); !strings.Contains(got, `named "iteration #" here`) || !strings.Contains(got, "how well the repeats match") {
		t.Error(got)
	}
	if got := phrase.Attribution(&rep.Collected, tr); !strings.Contains(got, "an inferred phase") {
		t.Error(got)
	}
	tr.IterationsFrom = align.IterationsFrom{How: "none", Why: "why"}
	if got := phrase.IterationsFrom(tr); !strings.Contains(got, "Mark iterations with NVTX ranges") {
		t.Error(got)
	}
	// Operators' ranges cannot be chosen.
	rep.Families = []align.Family{{PID: tr.PID, Pattern: "cub::X", Count: 9, Operator: true}}
	if got := textOf(t, rep, 120, false); strings.Contains(got, "choose with") {
		t.Error(got)
	}
	rep.Families[0].Operator = false
	if got := textOf(t, rep, 120, false); !strings.Contains(got, "choose with") {
		t.Error(got)
	}
}

// TestLibraries checks that who asked for device memory is said where call chains tell, once: not where memory outside PyTorch is
// told by library.
func TestLibraries(t *testing.T) {
	const head = "Device memory by the library that asked for it"
	both := func(rep *findings.Report) (said int) {
		var md bytes.Buffer
		if err := WriteMarkdown(&md, rep); err != nil {
			t.Fatal(err)
		}
		return strings.Count(textOf(t, rep, 100, false), head) + strings.Count(md.String(), head)
	}
	rep := sample.Report(4)
	if n := both(rep); n != 0 {
		t.Errorf("said %d times without chains", n)
	}
	rep.Tracks[0].Libraries = []tensor.Library{{Name: "cuFFT", Blocks: 1, Bytes: 5, AtPeak: 5, Live: 5}}
	if n := both(rep); n != 2 {
		t.Errorf("said %d times", n)
	}
	sample.Tensors(rep)
	if n := both(rep); n != 0 {
		t.Errorf("said %d times beside memory outside PyTorch", n)
	}
}
