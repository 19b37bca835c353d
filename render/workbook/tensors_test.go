package workbook

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nsysmem/align/findings"
	"nsysmem/internal/fixture"
	"nsysmem/render/internal/sample"
	"nsysmem/render/phrase"
)

var tensorSheets = []string{"Tensor levels", "Tensor phases", "Tensor phase rows", "Categories", "Who holds it", "Tensors", "Fragmentation", "Outside PyTorch", "Outside by library", "Memory by library"}

func tensorSample() *findings.Report {
	rep := sample.Report(4)
	sample.Tensors(rep)
	return rep
}

func TestTensorsGolden(t *testing.T) {
	t.Parallel()
	f := open(t, write(t, tensorSample()))
	checkTables(t, f)
	want := append(append(slices.Clone(sheetNames[:5]), tensorSheets...), sheetNames[5:]...)
	if got := f.GetSheetList(); !slices.Equal(got, want) {
		t.Errorf("sheets %q", got)
	}
	var b bytes.Buffer
	for _, l := range strings.SplitAfter(string(dump(t, f)), "== ") {
		sheet, _, _ := strings.Cut(l, "\n")
		if sheet == overviewSheet || slices.Contains(tensorSheets, sheet) {
			b.WriteString("== " + strings.TrimSuffix(l, "== "))
		}
	}
	sample.Golden(t, *update, "tensors.txt", b.Bytes())
}

func TestTensorsSameBytes(t *testing.T) {
	t.Parallel()
	first := write(t, tensorSample())
	for range 2 {
		if !bytes.Equal(write(t, tensorSample()), first) {
			t.Fatal("the same report gives other bytes")
		}
	}
}

// TestTensorRowLimit checks that the blocks go on in further sheets.
func TestTensorRowLimit(t *testing.T) {
	defer func(n int) { maxRows = n }(maxRows)
	maxRows = 11
	rep := tensorSample()
	ten := rep.Tracks[0].Tensors
	few := ten.Blocks
	for i := range 20 {
		b := few[i%len(few)]
		b.Address = uint64(i)
		ten.Blocks = append(ten.Blocks, b)
	}
	f := open(t, write(t, rep))
	checkTables(t, f)
	var got []string
	for _, sheet := range []string{"Tensors", "Tensors (2)", "Tensors (3)"} {
		got = append(got, columnOf(t, rows(t, f, sheet), "Address")...)
	}
	if len(got) != len(ten.Blocks) {
		t.Fatalf("%d rows for %d blocks", len(got), len(ten.Blocks))
	}
	for i := range got {
		if want := fmt.Sprintf("%#x", ten.Blocks[i].Address); got[i] != want {
			t.Errorf("row %d has the address %s, want %s", i, got[i], want)
		}
	}
}

// TestInferredSaid checks that every sheet with iterations or phases says so where they were not annotated.
func TestInferredSaid(t *testing.T) {
	t.Parallel()
	rep := tensorSample()
	sample.Infer(rep)
	f := open(t, write(t, rep))
	said := 0
	for _, sheet := range f.GetSheetList() {
		all := rows(t, f, sheet)
		if sheet == overviewSheet || sheet == "Warnings" || strings.HasSuffix(sheet, " by library") { // these have neither
			continue
		}
		col := slices.IndexFunc(all[0], func(h string) bool { return h == "From" || h == "Iterations from" })
		if col < 0 {
			t.Errorf("%s does not say where its iterations or phases are from", sheet)
			continue
		}
		place := slices.IndexFunc(all[0], func(h string) bool { return strings.HasSuffix(strings.ToLower(h), "iteration") })
		for _, r := range all[1:] {
			in := place < 0 || place < len(r) && r[place] != "" // outside of iterations, ranges of the program tell
			if in && col < len(r) && r[col] == "inferred" {
				said++
			} else if in && (col >= len(r) || r[col] != "") && !strings.Contains(sheet, "by phase") {
				t.Errorf("%s: row %q", sheet, r)
			}
		}
	}
	if said < 20 {
		t.Errorf("said in %d rows", said)
	}
}

// TestRuns compares the workbooks of real runs with what PyTorch's own meters said, and with the report.
func TestRuns(t *testing.T) {
	t.Parallel()
	for name, run := range sample.Runs(t) {
		if !fixture.Slow && name != "cnn_default.sqlite" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rep := run.Report
			tr := rep.Tracks[0]
			f := open(t, write(t, rep))
			checkTables(t, f)

			type key struct {
				step  int
				phase string
			}
			last := map[key]sample.Meter{}
			for _, m := range run.Meters {
				last[key{m.Step, m.Phase}] = m
			}
			all := rows(t, f, "Tensor phase rows")
			steps, phases := columnOf(t, all, "Iteration"), columnOf(t, all, "Phase")
			alloc, resv, mib := columnOf(t, all, "Allocated end (bytes)"), columnOf(t, all, "Reserved end (bytes)"), columnOf(t, all, "Allocated end (MiB)")
			compared := 0
			for i := range steps {
				step, err := strconv.Atoi(steps[i])
				if err != nil {
					t.Fatal(err)
				}
				m, ok := last[key{step, phases[i][strings.LastIndexByte(phases[i], '/')+1:]}]
				if !ok {
					continue
				}
				compared++
				if alloc[i] != strconv.FormatInt(m.Alloc, 10) || resv[i] != strconv.FormatInt(m.Reserved, 10) {
					t.Errorf("step %d %s ends with %s allocated, %s reserved, the meters say %+v", step, phases[i], alloc[i], resv[i], m)
				}
				if v, err := strconv.ParseFloat(mib[i], 64); err != nil || int64(math.Round(v*(1<<20))) != m.Alloc {
					t.Errorf("step %d %s: %s MiB, the meter says %d bytes", step, phases[i], mib[i], m.Alloc)
				}
			}
			if compared == 0 {
				t.Error("nothing was compared")
			}

			equal := func(sheet, head string, want []int64) {
				t.Helper()
				got := columnOf(t, rows(t, f, sheet), head)
				if len(got) != len(want) {
					t.Fatalf("%s: %d rows, want %d", sheet, len(got), len(want))
				}
				for i, w := range want {
					if got[i] != strconv.FormatInt(w, 10) {
						t.Fatalf("%s: %s in row %d is %s, want %d", sheet, head, i, got[i], w)
					}
				}
			}
			var peaks, unused, outside, taken []int64
			for i := range tr.Iterations {
				u := &tr.Iterations[i].Use
				g, _ := u.Gaps()
				peaks = append(peaks, u.Level("allocated").Peak)
				unused, outside = append(unused, g.Unused), append(outside, g.Outside)
			}
			equal("Tensor levels", "Allocated peak (bytes)", peaks)
			equal("Tensor levels", "Unused cache at end (bytes)", unused)
			equal("Tensor levels", "Outside PyTorch at end (bytes)", outside)
			ten := tr.Tensors
			var requested, counted []int64
			for i := range ten.Blocks {
				requested, counted = append(requested, ten.Blocks[i].Bytes), append(counted, ten.Blocks[i].Counted)
			}
			equal("Tensors", "Requested (bytes)", requested)
			equal("Tensors", "Counted (bytes)", counted)
			for i := range ten.Outside.Takers {
				taken = append(taken, ten.Outside.Takers[i].Live)
			}
			taken = append(taken, ten.Outside.Static)
			equal("Outside PyTorch", "Live at end (bytes)", taken)
			cats := rows(t, f, "Categories")
			names, highest, diff := columnOf(t, cats, "Category"), columnOf(t, cats, "Highest (bytes)"), columnOf(t, cats, "Difference (bytes)")
			for _, b := range phrase.BesideTheory(tr) {
				i := slices.Index(names, b.Category)
				if i < 0 || highest[i] != strconv.FormatInt(b.Measured, 10) || diff[i] != strconv.FormatInt(b.Difference(), 10) {
					t.Errorf("%s: %v %v, want %+v", b.Category, highest, diff, b)
				}
			}
			frames := columnOf(t, rows(t, f, "Tensors"), "Stack")
			if !slices.ContainsFunc(frames, func(s string) bool { return strings.Contains(s, ".py:") && strings.Contains(s, " < ") }) {
				t.Error("no stack on the sheet Tensors")
			}
		})
	}
}
