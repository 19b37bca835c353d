package summary

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"nsysmem/align/caller"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/internal/sample"
	"nsysmem/render/inventory"
	"nsysmem/render/phrase"
	"nsysmem/render/tables"
)

func tensorSample() *findings.Report {
	rep := sample.Report(4)
	sample.Tensors(rep)
	return rep
}

func TestTensorsGolden(t *testing.T) {
	rep := tensorSample()
	for _, width := range []int{60, 80, 200} {
		got := textOf(t, rep, width, false)
		golden(t, fmt.Sprintf("tensors%d.txt", width), []byte(got))
		checkLines(t, got, width)
	}
	var b bytes.Buffer
	if err := WriteMarkdown(&b, rep); err != nil {
		t.Fatal(err)
	}
	golden(t, "tensors.md", b.Bytes())
	data, _ := jsonOf(t, rep)
	golden(t, "tensors.json", data)
}

// TestTensorsHostile checks that frames, calls and settings reach a terminal only escaped.
func TestTensorsHostile(t *testing.T) {
	rep := tensorSample()
	ten := rep.Tracks[0].Tensors
	for i := range ten.Peak.ByFrame {
		ten.Peak.ByFrame[i].Name = sample.Hostile[7+i]
	}
	ten.Peak.Phase, ten.Conf, ten.Outside.Takers[0].Call = "\x1b[2J", "\x1b[5m\u009b2J\x7f|x", "a\nb"
	ten.Outside.Takers[0].Caller, ten.Outside.Libraries[0].Name = caller.Caller{Library: "\x1b[5m", Function: "f\u202e|\n"}, "\x1b[5m|x\n"
	rep.Tracks[0].Failed[0].Caller = ten.Outside.Takers[0].Caller
	ten.Categories[0].Name = "\u202ex"
	for _, width := range []int{1, 60, 200} {
		checkLines(t, textOf(t, rep, width, false), max(width, minWidth))
	}
	var b bytes.Buffer
	if err := WriteMarkdown(&b, rep); err != nil {
		t.Fatal(err)
	}
	rep.Findings = append(rep.Findings, findings.Finding{ID: "x", Evidence: struct {
		Name string `json:"name"`
	}{"\u009b\u202e"}})
	var j bytes.Buffer
	if err := WriteJSON(&j, rep); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(j.Bytes()) || !strings.Contains(j.String(), `\u009b2J\u007f`) || !strings.Contains(j.String(), `\u009b\u202e`) {
		t.Error("JSON is not valid, or lacks what it escapes")
	}
	for _, r := range b.String() + j.String() {
		if r != '\n' && wording.Steers(r) {
			t.Fatalf("%q reaches the terminal", r)
		}
	}
}

// TestInferredSaid checks that every table of iterations or phases says so where they were not annotated.
func TestInferredSaid(t *testing.T) {
	rep := tensorSample()
	sample.Infer(rep)
	for _, width := range []int{60, 200} {
		text := textOf(t, rep, width, false)
		for _, part := range strings.Split(text, "\n\n") {
			head := strings.SplitN(part, "\n", 2)[0]
			for _, h := range []string{"Iterations", "Phases", "Three levels", "Who holds", "Requests that", "Memory outside", "Fragmentation", "Failed allocations"} {
				if strings.HasPrefix(head, h) && !strings.HasPrefix(head, "Iterations:") && !strings.Contains(part, "inferred") {
					t.Errorf("width %d: %q does not say that it is inferred", width, head)
				}
			}
		}
	}
	var b bytes.Buffer
	if err := WriteCSV(&b, rep); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range rows[0] {
		for _, r := range rows[1:] {
			if h == "from" && r[i] != "inferred" {
				t.Errorf("row %q", r)
			}
		}
	}
}

// TestRuns compares what PyTorch's own meters said in real runs with JSON, and JSON with CSV and text.
func TestRuns(t *testing.T) {
	for name, run := range sample.Runs(t) {
		t.Run(name, func(t *testing.T) {
			rep := run.Report
			_, v := jsonOf(t, rep)
			var b bytes.Buffer
			if err := WriteCSV(&b, rep); err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			col := map[string]int{}
			for i, h := range rows[0] {
				col[h] = i
			}
			next := 1
			same := func(row any) map[string]string {
				r := rows[next]
				next++
				got := map[string]string{}
				for _, level := range []string{"memory", "allocated", "reserved", "gaps"} {
					for key, want := range at(t, row, level).(map[string]any) {
						head := level + "_" + key
						if level == "gaps" {
							head = key
						}
						i, ok := col[head]
						text := "" // unknown: what the allocator holds has no failed requests of its own
						if key != "failed_allocs" || level != "reserved" {
							text = string(want.(json.Number))
						} else if want != nil {
							t.Fatalf("reserved has %v failed requests", want)
						}
						if !ok || r[i] != text {
							t.Fatalf("row %d: %s is not %v", next, head, want)
						}
						got[head] = r[i]
					}
				}
				if gap := parsed(t, got["reserved_end_bytes"]) - parsed(t, got["allocated_end_bytes"]); parsed(t, got["unused_end_bytes"]) != gap {
					t.Errorf("row %d: unused %s, want %d", next, got["unused_end_bytes"], gap)
				}
				return got
			}
			type key struct {
				step  int
				phase string
			}
			last, peak := map[key]sample.Meter{}, map[key]int64{}
			for _, m := range run.Meters {
				k := key{m.Step, m.Phase}
				last[k] = m
				peak[k] = max(peak[k], m.AllocPeak)
			}
			compared := 0
			its := at(t, v, "tracks", 0, "iterations").([]any)
			for _, it := range its {
				step, _ := at(t, it, "index").(json.Number).Int64()
				same(it)
				phases := at(t, it, "phases").([]any)
				for _, p := range phases {
					got := same(p)
					path := at(t, p, "path").(string)
					k := key{int(step), at(t, p, "name").(string)}
					m, ok := last[k]
					if !ok {
						continue
					}
					compared++
					if got["allocated_end_bytes"] != strconv.FormatInt(m.Alloc, 10) || got["reserved_end_bytes"] != strconv.FormatInt(m.Reserved, 10) {
						t.Errorf("step %d %s ends with %s allocated, %s reserved, the meters say %+v", step, path, got["allocated_end_bytes"], got["reserved_end_bytes"], m)
					}
					inner := false
					for _, q := range phases {
						inner = inner || strings.HasPrefix(at(t, q, "path").(string), path+"/")
					}
					if !inner && got["allocated_peak_bytes"] != strconv.FormatInt(peak[k], 10) {
						t.Errorf("step %d %s peaks at %s, the meter says %d", step, path, got["allocated_peak_bytes"], peak[k])
					}
				}
			}
			if next != len(rows) || compared == 0 {
				t.Errorf("%d of %d rows, %d readings compared", next, len(rows), compared)
			}

			text := textOf(t, rep, 300, false)
			tr := rep.Tracks[0]
			for _, want := range []string{
				wording.Count(tr.Tensors.Outside.Bytes+tr.Tensors.Outside.Static) + " bytes",
				wording.Bytes(tr.Tensors.Peak.Bytes),
				wording.Bytes(tr.Iterations[len(tr.Iterations)-1].Level("allocated").Peak),
				phrase.Clock(tr.Tensors.Clock),
			} {
				if !strings.Contains(text, want) {
					t.Errorf("the text has no %q", want)
				}
			}
			// What lies outside PyTorch is one figure, by its takers and as what the levels leave.
			if g, ok := tr.Iterations[len(tr.Iterations)-1].Use.Gaps(); !ok || g.Outside != tr.Tensors.Outside.Bytes+tr.Tensors.Outside.Static {
				t.Errorf("traced less reserved is %d, outside %+v", g.Outside, tr.Tensors.Outside)
			}
			for i, c := range phrase.BesideTheory(tr) {
				j := at(t, v, "tracks", 0, "theory", "beside", i)
				for key, want := range map[string]int64{"expected_bytes": c.Expected, "measured_bytes": c.Measured, "difference_bytes": c.Difference()} {
					if got := string(at(t, j, key).(json.Number)); got != strconv.FormatInt(want, 10) {
						t.Errorf("%s: %s is %s, want %d", c.Category, key, got, want)
					}
				}
				k := strings.ReplaceAll(c.Category, " ", "_")
				if _, ok := at(t, v, "tracks", 0, "categories").(map[string]any)[k]; !ok && c.Measured == 0 {
					continue
				}
				if got := string(at(t, v, "tracks", 0, "categories", k, "max_bytes").(json.Number)); got != strconv.FormatInt(c.Measured, 10) {
					t.Errorf("%s: %s, want %d", k, got, c.Measured)
				}
				if !strings.Contains(text, wording.Count(c.Measured)) {
					t.Errorf("the text has no %s", wording.Count(c.Measured))
				}
			}
			for _, width := range []int{60, 80, 200} {
				checkLines(t, textOf(t, rep, width, false), width)
			}
		})
	}
}

func parsed(t *testing.T, s string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSnapshotInfo(t *testing.T) {
	info := sampleInfo()
	info.Snapshots = []inventory.Snapshot{{File: "s.pickle", Size: 5 << 20, Settings: "expandable_segments:True", Annotations: 12, Devices: []tables.SnapshotDevice{
		{Device: 0, Entries: 23_600, From: 5_000, To: 7_000_005_000, Blocks: 7_960, Segments: 29, Reserved: 656 << 20, Allocated: 300 << 20, Peak: 608 << 20,
			Match: &tables.SnapshotMatch{PID: 734, Device: 0, Clock: "19 of 19"}},
		{Device: 1, Cut: true, Trouble: "torchmem: a trace of 3 entries is too long"}}, Trouble: "it is of another run"}}
	for _, width := range []int{60, 120} {
		var b bytes.Buffer
		if err := WriteInfo(&b, info, width, false); err != nil {
			t.Fatal(err)
		}
		checkLines(t, b.String(), width)
		for _, want := range []string{"23,600", "expandable_segments:True", "process 734", "another run", "max_entries", "19 of 19"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("width %d: no %q in\n%s", width, want, b.String())
			}
		}
	}
	var b bytes.Buffer
	if err := WriteInfoJSON(&b, info); err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	if got := at(t, v, "snapshot", "devices", 0, "match", "pid"); got != 734.0 {
		t.Errorf("pid %v", got)
	}
	if got := at(t, v, "snapshot", "devices", 1, "match"); got != nil {
		t.Errorf("match %v", got)
	}
	if got := at(t, v, "snapshot", "devices", 1, "blocks"); got != nil {
		t.Errorf("blocks %v of a device that cannot be replayed, want null", got)
	}
}
