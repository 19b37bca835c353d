package summary

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"nsysmem/align/tensor"
	"nsysmem/align/whatif"
	"nsysmem/internal/wording"
	"nsysmem/render/internal/sample"
	"nsysmem/torchmem"
)

// whatIf is a comparison of four settings on a card that two of them do not run on.
func whatIf(track bool) *whatif.Comparison {
	w := &whatif.Comparison{Snapshot: "runs/s.pickle", Replay: &torchmem.Replay{}, Allocations: 1234, From: 1e6, To: 900e6, Timed: true, Known: true, Measured: 7 << 30,
		Capacity: 6 << 30, Outside: 50 << 20, HasOutside: track, Notes: []string{"a note"}, CannotKnow: []string{"time is not modelled"}}
	if track {
		w.Track = sample.Report(4).Tracks[0]
	}
	at := func(it int, phase, frame string) whatif.Moment {
		return whatif.Moment{Event: 77, Time: 5e6, Iteration: it, Phase: phase, Frame: frame}
	}
	add := func(conf string, peak int64, failed int) {
		s := whatif.Setting{Peak: at(2, "backward", ""), Gap: at(1, "forward", "train.py:5 step"), SmallestCard: peak - 1<<30}
		s.Conf, s.PeakReserved, s.ReservedRange, s.PeakAllocated = conf, peak, [2]int64{peak, peak}, peak/2
		s.LargestGap, s.CacheAtPeak, s.Segments, s.CUDAMallocs = peak/3, peak/8, 40, 55
		s.Limited = &whatif.Limits{Capacity: w.Capacity - w.Outside, PeakReserved: min(peak, 6<<30), CUDAMallocs: 60, Retries: 1, Failed: failed}
		for range failed {
			f := whatif.Failure{Moment: at(3, "forward/layer0", "train.py:9 forward")}
			f.Request, f.Rounded, f.FreeCache, f.LargestFree, f.Reserved, f.Allocated = 100<<20, 128<<20, 300<<20, 72<<20, 5<<30, 4<<30
			s.Limited.Failures = append(s.Limited.Failures, f)
		}
		s.Growth = []tensor.Share{{Name: "forward", Blocks: 3, Bytes: peak}}
		if len(w.Settings) > 0 {
			s.First = &whatif.Apart{Moment: at(0, "forward", ""), Reserved: 2 << 20, Base: 4 << 20}
			s.Most = &whatif.Apart{Moment: at(3, "backward", ""), Reserved: peak, Base: 7 << 30}
		}
		if track {
			for i := range w.Track.Iterations {
				s.Iterations = append(s.Iterations, peak-int64(i)<<20)
			}
		}
		w.Settings = append(w.Settings, s)
	}
	add("", 7<<30, 2)
	add("expandable_segments:True", 5<<30, 0)
	add("roundup_power2_divisions:[64:8,256:4,1024:2,>:1]", 8<<30, 1)
	add("max_split_size_mb:64", 9<<30, 0)
	w.Settings[0].IsDefault, w.Settings[0].IsRecorded = true, true
	w.Settings[2].ReservedRange = [2]int64{8 << 30, 8<<30 + 64<<20}
	w.Settings[2].Notes = []string{"why there is a range"}
	return w
}

func whatIfText(t *testing.T, w *whatif.Comparison, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteWhatIf(&b, w, width, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWhatIfText(t *testing.T) {
	text := whatIfText(t, whatIf(true), 200)
	for _, want := range []string{"1,234 allocations", "recorded with the default setting", "(default) [recorded]", "8 GiB to 8.06 GiB", "smallest card", "cache at tensor peak", "896 MiB", "with room enough", "Peak reserved is on a card with room enough", "On a card of 6 GiB",
		"expandable_segments:True runs through, and gives its whole cache back once", "(default) [recorded] stops in iteration 3, forward/layer0 (train.py:9 forward): asks for 100 MiB (128 MiB rounded) while 300 MiB lie free in the cache, the largest piece 72 MiB",
		"less 50 MiB measured outside PyTorch", "Peak reserved by iteration", "iteration 0, forward", "-2 MiB", "#3: why there is a range", "a note", "time is not modelled"} {
		if !strings.Contains(text, want) {
			t.Errorf("text does not say %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"Order:", "No other setting", "(after LINE)"} {
		if strings.Contains(text, not) {
			t.Errorf("text says %q", not)
		}
	}
	alone := whatIfText(t, whatIf(false), 200)
	if strings.Contains(alone, "Peak reserved by iteration") || !strings.Contains(alone, "5.000 ms (train.py:9 forward)") {
		t.Errorf("without a report:\n%s", alone)
	}
}

// TestWhatIfTextExplains what a reader cannot know: the order, a place without a line, and that there is more to try.
func TestWhatIfTextExplains(t *testing.T) {
	w := whatIf(false)
	w.Ranked = true
	w.Settings[0].Limited.Failures[0].Frame = "after train.py:7 step"
	text := whatIfText(t, w, 300)
	for _, want := range []string{"Order: those that run through on 6 GiB, by peak reserved; then those that stop, by the smallest card",
		"stops at 5.000 ms (where no Python line runs, as in a backward pass; the last one to ask for memory before is train.py:7 step): asks for", "(after LINE): no Python line runs there", "stops at  ", "first at  "} {
		if !strings.Contains(text, want) {
			t.Errorf("text does not say %q:\n%s", want, text)
		}
	}
	w.Capacity = 0
	if text := whatIfText(t, w, 300); !strings.Contains(text, "Order: by peak reserved.") || strings.Contains(text, "room enough") {
		t.Errorf("without a capacity:\n%s", text)
	}
	w.Settings = w.Settings[:1]
	if text := whatIfText(t, w, 300); !strings.Contains(text, "--sweep tries") {
		t.Errorf("one row, and no word of more:\n%s", text)
	}
}

// TestWhatIfTextMany keeps it short where many settings differ from the base.
func TestWhatIfTextMany(t *testing.T) {
	w := whatIf(true)
	for i := range 20 {
		s := w.Settings[1]
		s.Conf = "max_split_size_mb:" + strconv.Itoa(100+i)
		s.PeakReserved += int64(i) << 20
		w.Settings = append(w.Settings, s)
	}
	text := whatIfText(t, w, 200)
	from := strings.Index(text, "Where reserved memory differs")
	part := text[from : from+strings.Index(text[from:], "\n\n")]
	if n := strings.Count(part, "\n"); n != whatIfColumns+1 || !strings.Contains(part, "and 17 more, which --format json has") {
		t.Errorf("%d lines:\n%s", n, part)
	}
}

// TestWhatIfTextNames gives a name a line of its own where it would be cut, and says it once.
func TestWhatIfTextNames(t *testing.T) {
	const name = "roundup_power2_divisions:[64:8,256:4,1024:2,>:1]"
	w := whatIf(true)
	for width, want := range map[int]string{80: "\n  #3 " + name + "\n", 200: "\n  3  " + name + "  "} {
		text := whatIfText(t, w, width)
		table := text[:strings.Index(text, "On a card of")]
		if strings.Count(table, want) != 1 || strings.Count(table, "roundup") != 1 {
			t.Errorf("width %d:\n%s", width, table)
		}
		for _, head := range []string{"peak reserved", "cache at tensor peak", "failed", "smallest card"} {
			if !strings.Contains(table, head) {
				t.Errorf("width %d: no %q:\n%s", width, head, table)
			}
		}
	}
}

// TestWhatIfTextWidth keeps lines within the width and every setting whole somewhere.
func TestWhatIfTextWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120, 200} {
		for _, track := range []bool{true, false} {
			text := whatIfText(t, whatIf(track), width)
			for _, l := range strings.Split(text, "\n") {
				if wording.Width(l) > width {
					t.Errorf("width %d: %q", width, l)
				}
			}
			joined := strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), " ", "")
			for _, want := range []string{"roundup_power2_divisions:[64:8,256:4,1024:2,>:1]", "max_split_size_mb:64", "(default)[recorded]"} {
				if !strings.Contains(joined, want) {
					t.Errorf("width %d does not name %q:\n%s", width, want, text)
				}
			}
		}
	}
}

// TestWhatIfHostile keeps names from steering the terminal.
func TestWhatIfHostile(t *testing.T) {
	w := whatIf(true)
	for i, h := range sample.Hostile {
		s := &w.Settings[i%len(w.Settings)]
		s.Peak.Frame, s.Peak.Phase, w.Snapshot = h, h, h
		if s.First != nil {
			s.First.Phase, s.Most.Frame = h, h
		}
		if s.Failed() > 0 {
			s.Limited.Failures[0].Phase = h
		}
		var csv, js bytes.Buffer
		if err := WriteWhatIfCSV(&csv, w); err != nil {
			t.Fatal(err)
		}
		if err := WriteWhatIfJSON(&js, w); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(js.Bytes()) {
			t.Errorf("%q: no JSON: %s", h, js.Bytes())
		}
		for _, out := range []string{whatIfText(t, w, 80), csv.String(), js.String()} {
			for _, r := range out {
				if r != '\n' && wording.Steers(r) {
					t.Fatalf("%q: %U is in the output", h, r)
				}
			}
		}
	}
}

func TestWhatIfJSON(t *testing.T) {
	w := whatIf(true)
	var b bytes.Buffer
	if err := WriteWhatIfJSON(&b, w); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema   string
		Capacity int64 `json:"capacity_bytes"`
		Settings []struct {
			Conf      *string
			Peak      int64    `json:"peak_reserved_bytes"`
			Range     [2]int64 `json:"peak_reserved_range_bytes"`
			Allocated int64    `json:"peak_allocated_bytes"`
			Gap       int64    `json:"largest_gap_bytes"`
			Cache     int64    `json:"cache_at_allocated_peak_bytes"`
			Segments  int64
			Mallocs   int64 `json:"cuda_mallocs"`
			Failed    int64 `json:"failed_requests"`
			Smallest  int64 `json:"smallest_capacity_bytes"`
			At        struct {
				Iteration *int64
				Phase     *string
			} `json:"peak_at"`
			Iterations []struct {
				Index int64
				Peak  int64 `json:"peak_reserved_bytes"`
			}
			AtCapacity struct {
				Failures []map[string]any
			} `json:"at_capacity"`
			First map[string]any `json:"differs_first"`
		}
		CannotKnow []string `json:"cannot_know"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, b.Bytes())
	}
	if !strings.HasPrefix(b.String(), `{"schema":"nsysmem.whatif/1"`) || len(got.Settings) != len(w.Settings) || got.Capacity != w.Capacity || len(got.CannotKnow) != 1 {
		t.Fatalf("%s", b.Bytes())
	}
	for i, s := range got.Settings {
		x := &w.Settings[i]
		if s.Conf == nil || *s.Conf != x.Conf || s.Peak != x.PeakReserved || s.Range != x.ReservedRange || s.Allocated != x.PeakAllocated || s.Gap != x.LargestGap || s.Cache != x.CacheAtPeak ||
			s.Segments != int64(x.Segments) || s.Mallocs != int64(x.CUDAMallocs) || s.Failed != int64(x.Failed()) || s.Smallest != x.SmallestCard {
			t.Errorf("%+v is not %+v", s, x)
		}
		if *s.At.Iteration != 2 || *s.At.Phase != "backward" || len(s.Iterations) != len(x.Iterations) || len(s.AtCapacity.Failures) != x.Failed() || (s.First == nil) != (x.First == nil) {
			t.Errorf("%+v", s)
		}
	}
	if f := got.Settings[0].AtCapacity.Failures[0]; f["iteration"] != 3.0 || f["phase"] != "forward/layer0" || f["request_bytes"] != float64(100<<20) || f["free_cache_bytes"] != float64(300<<20) {
		t.Errorf("%v", f)
	}
	// What is unknown is null.
	w = whatIf(false)
	w.Capacity, w.Known, w.Settings[0].Limited, w.Settings[0].Peak.Phase = 0, false, nil, ""
	b.Reset()
	if err := WriteWhatIfJSON(&b, w); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"recorded_conf":null`, `"capacity_bytes":null`, `"outside_pytorch_bytes":null`, `"iteration":null,"phase":null`, `"at_capacity":null`, `"failed_requests":0`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.Bytes())
		}
	}
}

func TestWhatIfCSV(t *testing.T) {
	w := whatIf(true)
	var b bytes.Buffer
	if err := WriteWhatIfCSV(&b, w); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(w.Settings) {
		t.Fatalf("%d rows", len(rows))
	}
	col := map[string]int{}
	for i, h := range rows[0] {
		col[h] = i
	}
	for i := range w.Settings {
		s, r := &w.Settings[i], rows[i+1]
		want := map[string]string{"conf": s.Conf, "cache_at_allocated_peak_bytes": strconv.FormatInt(s.CacheAtPeak, 10), "peak_reserved_bytes": strconv.FormatInt(s.PeakReserved, 10), "failed_requests": strconv.Itoa(s.Failed()), "peak_iteration": "2",
			"peak_phase": "backward", "smallest_capacity_bytes": strconv.FormatInt(s.SmallestCard, 10), "fails_phase": "", "peak_reserved_high_bytes": strconv.FormatInt(s.ReservedRange[1], 10)}
		if s.Failed() > 0 {
			want["fails_phase"], want["fails_iteration"], want["fails_free_cache_bytes"] = "forward/layer0", "3", strconv.Itoa(300<<20)
		}
		for k, v := range want {
			if c, ok := col[k]; !ok || r[c] != v {
				t.Errorf("row %d: %s is %q, want %q", i, k, r[c], v)
			}
		}
	}
}
