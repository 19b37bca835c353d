package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/internal/sample"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	sample.Golden(t, *update, name, got)
}

func jsonOf(t *testing.T, rep *findings.Report) ([]byte, map[string]any) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, rep); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b.Bytes()))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, b.Bytes())
	}
	return b.Bytes(), v
}

// at follows keys and indexes into decoded JSON.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("%v: no object before %q", path, p)
			}
			if v, ok = m[p]; !ok {
				t.Fatalf("%v: no key %q", path, p)
			}
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

func TestJSONGolden(t *testing.T) {
	b, _ := jsonOf(t, sample.Report(3))
	golden(t, "sample.json", b)
}

func TestJSONContract(t *testing.T) {
	_, v := jsonOf(t, sample.Report(3))
	for _, c := range []struct {
		path []any
		want any
	}{
		{[]any{"schema"}, "nsysmem.summary/1"},
		{[]any{"report", "start_utc_ns"}, json.Number("1760000000000000000")},
		{[]any{"collected", "cuda_api"}, true},
		{[]any{"tracks", 0, "device_total_bytes"}, json.Number("150109880320")},
		{[]any{"tracks", 0, "levels", "device", "baseline_bytes"}, json.Number("3")},
		{[]any{"tracks", 0, "levels", "pool", "peak_used_bytes"}, json.Number("41943040")},
		{[]any{"tracks", 0, "iterations", 0, "warmup"}, true},
		{[]any{"tracks", 0, "iterations", 2, "truncated"}, true},
		{[]any{"tracks", 0, "iterations", 0, "memory", "need_bytes"}, json.Number("314572800")},
		{[]any{"tracks", 0, "iterations", 0, "pinned", "peak_bytes"}, json.Number("1048576")},
		{[]any{"tracks", 0, "iterations", 0, "phases", 1, "path"}, "forward/layer0"},
		{[]any{"tracks", 0, "iterations", 0, "phases", 1, "calls"}, json.Number("2")},
		{[]any{"tracks", 0, "iterations", 0, "phases", 2, "from"}, "inferred"},
		{[]any{"tracks", 0, "phases", 0, "median", "memory", "peak_at_ns"}, nil},
		{[]any{"tracks", 0, "phases", 0, "max", "gpu", "kernel_ns"}, json.Number("123450")},
		{[]any{"tracks", 0, "ranges", 0, "api", "sync_ns"}, json.Number("5000000")},
		{[]any{"tracks", 0, "iterations_from", "candidates", 1, "pattern"}, "layer#"},
		{[]any{"tracks", 0, "failed_allocs", 0, "iteration_name"}, "iteration 2"},
		{[]any{"tracks", 0, "failed_allocs", 1, "iteration"}, nil},
		{[]any{"tracks", 0, "attribution", "other_thread"}, json.Number("57")},
		{[]any{"findings", 0, "evidence", "bytes_per_iteration"}, json.Number("1048576")},
		{[]any{"findings", 1, "advice"}, nil},
		{[]any{"warnings", 0, "code"}, "diagnostic"},
	} {
		if got := at(t, v, c.path...); got != c.want {
			t.Errorf("%v = %v, want %v", c.path, got, c.want)
		}
	}
	if n := len(at(t, v, "tracks", 1, "iterations_from", "candidates").([]any)); n != 0 {
		t.Errorf("the second process has %d candidates of the first", n)
	}
}

func TestJSONNotCollected(t *testing.T) {
	rep := sample.Report(2)
	rep.Collected = align.Collected{}
	rep.Source = align.Source{}
	rep.Tracks[0].Process, rep.Tracks[0].DeviceName, rep.Tracks[0].DeviceTotal = "", "", 0
	_, v := jsonOf(t, rep)
	for _, path := range [][]any{
		{"report", "nsys_version"}, {"report", "start_utc_ns"}, {"tracks", 0, "process"}, {"tracks", 0, "device_total_bytes"},
		{"tracks", 0, "iterations", 0, "memory"}, {"tracks", 0, "iterations", 0, "gpu"}, {"tracks", 0, "iterations", 0, "api"},
		{"tracks", 0, "iterations", 0, "phases", 0, "memory"}, {"tracks", 0, "phases", 0, "median", "memory"},
		{"tracks", 0, "ranges", 0, "gpu"}, {"tracks", 0, "attribution"},
	} {
		if got := at(t, v, path...); got != nil {
			t.Errorf("%v = %v, want null", path, got)
		}
	}
	if got := at(t, v, "report", "path"); got != "" {
		t.Errorf("path = %v", got)
	}
	if got := at(t, v, "tracks", 0, "levels"); !reflect.DeepEqual(got, map[string]any{}) {
		t.Errorf("levels = %v, want {}", got)
	}

	rep.Collected = align.Collected{Memory: true, Kernels: true}
	_, v = jsonOf(t, rep)
	for _, path := range [][]any{{"tracks", 0, "iterations", 0, "memory", "failed_allocs"}, {"tracks", 0, "levels", "device", "failed_allocs"},
		{"tracks", 0, "iterations", 0, "gpu", "h2d_bytes"}} {
		if got := at(t, v, path...); got != nil {
			t.Errorf("%v = %v, want null", path, got)
		}
	}
}

// TestJSONLost checks that what is unknown of one iteration is null there, and that levels of a snapshot stay known.
func TestJSONLost(t *testing.T) {
	rep := sample.Report(3)
	tr := rep.Tracks[0]
	it := &tr.Iterations[2]
	it.Truncated, it.Lost = true, align.Lost{Memory: true, Kernels: true}
	it.Phases[0].Lost = align.Lost{API: true}
	it.Use.Other = append(it.Use.Other, align.LevelUse{Level: align.LevelAllocated, MemoryUse: align.MemoryUse{End: 77}})
	tr.Levels[0].Partial, tr.Levels[0].Ended = false, true
	_, v := jsonOf(t, rep)
	for _, c := range []struct {
		path []any
		want bool // it is known
	}{
		{[]any{"iterations", 2, "memory"}, false}, {[]any{"iterations", 2, "pinned"}, false}, {[]any{"iterations", 2, "gpu", "kernels"}, false},
		{[]any{"iterations", 2, "gpu", "h2d_bytes"}, true}, {[]any{"iterations", 2, "api"}, true},
		{[]any{"iterations", 2, "allocated", "end_bytes"}, true}, {[]any{"iterations", 2, "phases", 0, "api"}, false},
		{[]any{"iterations", 2, "phases", 0, "memory"}, true}, {[]any{"iterations", 1, "memory"}, true},
		{[]any{"total", "memory"}, false}, {[]any{"levels", "device", "end_bytes"}, false}, {[]any{"levels", "device", "peak_bytes"}, true}, {[]any{"levels", "pinned", "end_bytes"}, true},
	} {
		if got := at(t, v, append([]any{"tracks", 0}, c.path...)...); (got != nil) != c.want {
			t.Errorf("%v = %v, known %v", c.path, got, c.want)
		}
	}
}

func TestJSONHostile(t *testing.T) {
	rep := sample.Report(len(sample.Hostile))
	sample.Hurt(rep)
	rep.Findings[0].Evidence = struct {
		NaN func() `json:"nan"`
	}{}
	b, v := jsonOf(t, rep)
	for i, name := range sample.Hostile {
		if got, want := at(t, v, "tracks", 0, "iterations", i, "name"), strings.ToValidUTF8(name, "\ufffd"); got != want {
			// Every byte that is not UTF-8 counts for itself.
			if want = strings.ReplaceAll(want, "bad\ufffd", "bad\ufffd\ufffd"); got != want {
				t.Errorf("name %q came back as %q", name, got)
			}
		}
	}
	for _, c := range string(b) {
		if c != '\n' && wording.Steers(c) {
			t.Fatalf("%q reaches the terminal", c)
		}
	}
	if got := at(t, v, "findings", 0, "evidence", "nan"); got != nil {
		t.Errorf("evidence = %v", got)
	}
}

type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// TestWriteError checks that every format tells when its writer fails, at the first write or a later one.
func TestWriteError(t *testing.T) {
	rep := sample.Report(600)
	for name, write := range map[string]func(*failing) error{
		"json":     func(w *failing) error { return WriteJSON(w, rep) },
		"csv":      func(w *failing) error { return WriteCSV(w, rep) },
		"markdown": func(w *failing) error { return WriteMarkdown(w, rep) },
		"text":     func(w *failing) error { return WriteText(w, rep, 80, false) },
	} {
		if err := write(&failing{n: 0}); err == nil {
			t.Errorf("%s: no error from a full disk", name)
		}
	}
	if err := WriteJSON(&failing{n: 3}, rep); err == nil {
		t.Error("json: no error from a disk that fills up later")
	}
}

func TestJSONAllocations(t *testing.T) {
	few, many := sample.Report(10), sample.Report(1010)
	count := func(rep *findings.Report) float64 {
		return testing.AllocsPerRun(3, func() {
			if err := WriteJSON(discard{}, rep); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := count(few), count(many); b-a > 20 {
		t.Errorf("1000 iterations more cost %v allocations more", b-a)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkJSON(b *testing.B) {
	rep := sample.Report(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteJSON(discard{}, rep); err != nil {
			b.Fatal(err)
		}
	}
}
