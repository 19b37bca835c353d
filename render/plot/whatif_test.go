package plot

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/whatif"
	"nsysmem/internal/fixture"
	"nsysmem/nsysdb"
	"nsysmem/torchmem"
)

// growWhatIf compares settings for a run whose images grow, with its report or without.
func growWhatIf(t testing.TB, report bool, o whatif.Options) *whatif.Comparison {
	t.Helper()
	f, err := os.Open(fixture.Unpack(t, "../..", "unet_grow.snapshot.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if o.Snapshot, err = torchmem.Read(f, torchmem.Options{}); err != nil {
		t.Fatal(err)
	}
	o.Name, o.Device = "runs/unet_grow.snapshot.pickle", -1
	if report {
		db, err := nsysdb.Open(fixture.Unpack(t, "../..", "unet_grow.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rep, err := align.Analyze(context.Background(), db, align.Options{Snapshots: []align.Snapshot{{Data: o.Snapshot}}, Spans: true})
		if err != nil {
			t.Fatal(err)
		}
		o.Track = rep.Tracks[0]
	}
	w, err := whatif.Compare(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func drawWhatIf(t testing.TB, w *whatif.Comparison, format string, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := WriteWhatIf(&b, format, w, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIfSays(t *testing.T) {
	t.Parallel()
	w := growWhatIf(t, true, whatif.Options{Confs: []string{"expandable_segments:True", "max_split_size_mb:64"}, Capacity: 4608 << 20})
	svg := drawWhatIf(t, w, "svg", Options{})
	says(t, "picture", svg, "unet_grow.snapshot.pickle: reserved memory", "The default reserves 6.26 GiB at most, for 4.24 GiB of tensors", "expandable_segments:True would have reserved 4.48 GiB",
		"#1 (default), recorded", "cache at tensor peak", "1.45 GiB", "where a setting stops on it", "max_split_size_mb:64", "17.04 GiB", "stops in iteration 8, backward", "runs through", "a card of 4.50 GiB", "tensors (allocated)", "iteration", "backward", "time (s) in the report")
	if !bytes.Equal(svg, drawWhatIf(t, w, "svg", Options{})) {
		t.Error("two pictures of one comparison differ")
	}
	img := decode(t, drawWhatIf(t, w, "png", Options{noScan: true}))
	if img.Bounds().Dx() != 1600 || img.Bounds().Dy() != 1000 {
		t.Errorf("size %v", img.Bounds())
	}
	for k := range 3 {
		if n := count(img, settingPens[k].Color); n < 500 {
			t.Errorf("line %d has %d pixels", k, n)
		}
	}
	if n := count(img, failed); n < 20 {
		t.Errorf("the mark of a failed request has %d pixels", n)
	}
}

// TestSettingsTable: each figure stands under its head.
func TestSettingsTable(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	w := &whatif.Comparison{Replay: &torchmem.Replay{}, Capacity: 9 * gib, Settings: []whatif.Setting{{IsDefault: true}}}
	s := &w.Settings[0]
	s.Conf, s.PeakReserved, s.CacheAtPeak, s.CUDAMallocs, s.SmallestCard = "x", 1*gib, 2*gib, 3, 4*gib
	text := said(t, drawWhatIf(t, w, "svg", Options{noScan: true}))
	for _, want := range []string{
		"setting peak reserved cache at tensor peak cudaMallocs smallest card on 9 GiB ",
		"#1 x 1 GiB 2 GiB 3 4 GiB runs through ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q: %s", want, text)
		}
	}
}

// TestWhatIfMarks: each setting that stops has a mark on its own line, and a line behind another is told.
func TestWhatIfMarks(t *testing.T) {
	t.Parallel()
	w := growWhatIf(t, false, whatif.Options{Confs: []string{"max_split_size_mb:1024", "large_segment_size_mb:64", "max_split_size_mb:256", "max_split_size_mb:64"}, Capacity: 4710 << 20})
	svg := drawWhatIf(t, w, "svg", Options{})
	for text, want := range map[string]bool{"#2 max_split_size_mb:1024 (line as #1)": true, "#3 large_segment_size_mb:64 (line about as #1)": true, "#4 max_split_size_mb:256 (line": false,
		"#5 max_split_size_mb:64 (line": false, "#1, #2": true, "#5,": false, ", #4": false} {
		if hasText(t, svg, text) != want {
			t.Errorf("picture says %q: %v", text, !want)
		}
	}
	for i := range w.Settings {
		s := &w.Settings[i]
		if s.Failed() == 0 {
			continue
		}
		low, high := around(s, s.Limited.Failures[0].Moment.Event)
		if low > high || high > s.PeakReserved || high <= w.Capacity {
			t.Errorf("%q stops between %d and %d", s.Conf, low, high)
		}
	}
	if a, b := &w.Settings[0], &w.Settings[4]; difference(a, b) != difference(b, a) || difference(a, b) != b.Most.Reserved-b.Most.Base || difference(a, a) != 0 {
		t.Errorf("%d and %d apart, most %+v", difference(a, b), difference(b, a), b.Most)
	}
}

func TestWhatIfAlone(t *testing.T) {
	t.Parallel()
	w := growWhatIf(t, false, whatif.Options{Sweep: true})
	svg := drawWhatIf(t, w, "svg", Options{})
	for _, want := range []string{"entries of the trace, 6.517 s in all", "16 more settings are in the table, not drawn", "device 0, "} {
		if !hasText(t, svg, want) {
			t.Errorf("picture does not say %q", want)
		}
	}
	if hasText(t, svg, "request fails") {
		t.Error("picture has a legend for what cannot be in it")
	}
	w.Timed = false
	if svg := drawWhatIf(t, w, "svg", Options{}); !hasText(t, svg, "entries of the trace") {
		t.Error("a trace without times gets an axis of time")
	}
}

// TestWhatIfShapes draws in all formats, in sizes of all kinds, few and hostile settings.
func TestWhatIfShapes(t *testing.T) {
	t.Parallel()
	w := growWhatIf(t, true, whatif.Options{Sweep: true, Capacity: 4608 << 20})
	for _, size := range []Size{{W: 120, H: 100}, {W: 300, H: 900}, {W: 2000, H: 200}, {W: 800, H: 500}} {
		for _, format := range []string{"png", "svg", "pdf"} {
			if len(drawWhatIf(t, w, format, Options{Size: size, noScan: true})) == 0 {
				t.Errorf("nothing for %v in %s", size, format)
			}
		}
	}
	one := &whatif.Comparison{Snapshot: "\x1b[31m\u202e<&>", Replay: &torchmem.Replay{}, Settings: []whatif.Setting{{IsDefault: true}}}
	one.Settings[0].Conf = "\x00<b>"
	for _, format := range []string{"png", "svg", "pdf"} {
		drawWhatIf(t, one, format, Options{noScan: true})
	}
	hasText(t, drawWhatIf(t, one, "svg", Options{noScan: true}), "x") // well-formed
	var b bytes.Buffer
	for format, o := range map[string]Options{"gif": {}, "png": {Size: Size{W: 1, H: 1}}, "svg": {Font: "/no/such.ttf"}} {
		if _, err := WriteWhatIf(&b, format, one, o); err == nil || b.Len() > 0 {
			t.Errorf("%s with %+v: error %v, %d bytes", format, o, err, b.Len())
		}
	}
}

func TestLookWhatIf(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("NSYSMEM_LOOK")
	if dir == "" {
		t.Skip("set NSYSMEM_LOOK to a folder to get pictures to look at")
	}
	for name, c := range map[string]struct {
		w *whatif.Comparison
		o Options
	}{
		"whatif":       {growWhatIf(t, true, whatif.Options{Sweep: true, Capacity: 4608 << 20}), Options{}},
		"whatif-small": {growWhatIf(t, true, whatif.Options{Sweep: true, Capacity: 4608 << 20}), Options{Size: Size{W: 800, H: 500}}},
		"whatif-alone": {growWhatIf(t, false, whatif.Options{Confs: []string{"expandable_segments:True"}}), Options{}},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), drawWhatIf(t, c.w, "png", c.o), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
