package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/render/plot/internal/canvas"
)

// render draws s and fails the test where that fails.
func render(t *testing.T, s *synth, format string, o Options) ([]byte, []findings.Warning) {
	t.Helper()
	windows, err := Windows(s.rep, s.track, o)
	if err != nil {
		t.Fatalf("Windows: %v", err)
	}
	var buf bytes.Buffer
	warnings, err := Write(&buf, format, s.rep, s.track, s.curves(windows), o)
	if err != nil {
		t.Fatalf("Write %s: %v", format, err)
	}
	return buf.Bytes(), warnings
}

func decode(t *testing.T, data []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// count is how many pixels are near a colour.
func count(img image.Image, want color.RGBA) int {
	n := 0
	pix := img.(*image.RGBA).Pix // what PNG gives for pictures without transparency
	for i := 0; i < len(pix); i += 4 {
		if alike(pix[i], want.R) && alike(pix[i+1], want.G) && alike(pix[i+2], want.B) {
			n++
		}
	}
	return n
}

func alike(a, b uint8) bool { return max(a, b)-min(a, b) < 12 }

func hasText(t *testing.T, svg []byte, want string) bool {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return false
		}
		if err != nil {
			t.Fatalf("svg is not well-formed: %v", err)
		}
		if c, ok := tok.(xml.CharData); ok && strings.Contains(string(c), want) {
			return true
		}
	}
}

// says fails the test where a picture lacks one of some texts.
func says(t *testing.T, what string, svg []byte, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !hasText(t, svg, text) {
			t.Errorf("%s does not say %q", what, text)
		}
	}
}

func TestSaysWhatTheEyeShouldFind(t *testing.T) {
	t.Parallel()
	s := stopped()
	svg, _ := render(t, s, "svg", Options{})
	says(t, "picture", svg,
		"unet_realoom.sqlite", "NVIDIA H200", "allocations traced",
		"Peak: 1.56 GiB of device allocations", "in iteration 7, phase backward",
		"+24 MiB an iteration", "Steady iterations (1–6)", "warm-up 0, truncated 7",
		"they follow each other on one thread", "22 cudaMalloc calls failed", "failed cudaMalloc (22)",
		"1 warning: the last iteration ends in backward", "1.5 GiB", "time (s) in the report",
		"peak 1.56 GiB in iteration 7, phase backward", "enlarged", "optimizer", "encoder",
	)
	if hasText(t, svg, "memory used") {
		t.Error("picture says \"memory used\": only what was traced is known")
	}
}

// halfSize lays a picture out as at its usual size, on a quarter of the pixels.
var halfSize = Options{Size: Size{W: 800, H: 500}, DPI: 50}

func TestColours(t *testing.T) {
	t.Parallel()
	img := decode(t, first(render(t, stopped(), "png", Options{})))
	if b := img.Bounds(); b.Dx() != 1600 || b.Dy() != 1000 {
		t.Errorf("picture is %dx%d, want 1600x1000", b.Dx(), b.Dy())
	}
	for name, c := range map[string]color.RGBA{"forward": canvas.Blue, "backward": canvas.Orange, "optimizer": canvas.Green, "data": canvas.Yellow} {
		if n := count(img, c); n < 500 {
			t.Errorf("%d pixels in the colour of %s", n, name)
		}
	}
	if n := count(img, failed); n < 100 {
		t.Errorf("%d pixels in the colour of failed allocations", n)
	}
	without := decode(t, first(render(t, training("x.sqlite", 8, 0), "png", halfSize)))
	if n := count(without, failed); n > 0 {
		t.Errorf("%d pixels in the colour of failed allocations where none failed", n)
	}
}

func first[A, B any](a A, _ B) A { return a }

// TestColumnsKeepExtremes puts one short peak among many events: its pixel column must show it.
func TestColumnsKeepExtremes(t *testing.T) {
	t.Parallel()
	c := align.Curve{Kind: "device", From: 0, To: 1_000_000}
	level := int64(0)
	for i := range int64(100_000) {
		level = 100 + i%2
		if i == 70_000 {
			level = 5000
		}
		if i == 30_000 {
			level = 1
		}
		c.Points = append(c.Points, align.Point{Time: i * 10, Low: level, High: level, Last: level})
	}
	s := newStairs(&c, canvas.Linear(0, 1_000_000), 500)
	if s.high != 5000 || s.columns[350].high != 5000 || s.topColumn() != 350 {
		t.Errorf("peak of 5000 at column 350: high %d, column %d, top column %d", s.high, s.columns[350].high, s.topColumn())
	}
	if s.low != 0 || s.columns[150].low != 1 {
		t.Errorf("low of 1 in column 150: %d", s.columns[150].low)
	}
	for i, col := range s.columns {
		if !col.any || col.low > 100 || col.high < 101 {
			t.Fatalf("column %d lost an extreme: %+v", i, col)
		}
	}
	if !s.dense() {
		t.Error("stairs with two levels in each column are dense")
	}
}

// TestPeakIsOnThePicture draws a spike of a microsecond in the middle of ten seconds: one column of the picture must hold
// a line up to the top, where the spike is.
func TestPeakIsOnThePicture(t *testing.T) {
	t.Parallel()
	s := newSynth("spike.sqlite")
	s.add("device", 0, mib)
	s.add("device", 5_000*ms, 1024*mib)
	s.add("device", 5_000*ms+1000, -1024*mib)
	s.add("device", 10_000*ms, mib)
	s.finish()
	img := decode(t, first(render(t, s, "png", Options{View: "timeline"})))
	var tall []int
	for x := range 1600 {
		n := 0
		for y := range 1000 {
			if img.(*image.RGBA).RGBAAt(x, y).R < 0x90 {
				n++
			}
		}
		if n > 500 {
			tall = append(tall, x)
		}
	}
	if len(tall) == 0 {
		t.Fatal("the spike is not on the picture")
	}
	for _, x := range tall {
		if x < 800 || x > 870 { // the middle of the plot lies right of the picture's by half the axis labels
			t.Errorf("a line up to the top at x %d", x)
		}
	}
}

func TestEdgeCases(t *testing.T) {
	t.Parallel()
	empty := newSynth("empty.sqlite").finish()

	one := newSynth("one.sqlite")
	one.add("device", 5_000*ms, 1)
	one.finish()

	zero := training("zero.sqlite", 3, 0)
	zero.events = map[align.LevelKind][]event{}
	for i := range zero.track.Iterations {
		it := &zero.track.Iterations[i]
		it.Memory = align.MemoryUse{PeakAt: it.Start}
		for j := range it.Phases {
			it.Phases[j].Memory = align.MemoryUse{}
		}
	}
	zero.finish()

	phases := newSynth("phases.sqlite")
	phases.add("device", 0, 100*mib)
	phases.finish()
	var many []phase
	for i := range 200 {
		many = append(many, phase{fmt.Sprintf("phase number %d with a long name", i), 1, int64(i) * 10 * ms, int64(i+1) * 10 * ms})
	}
	phases.iteration(0, 0, 2000*ms, false, false, many...)
	phases.finish()

	long := training(strings.Repeat("very-long-name-", 30)+".sqlite", 3, 0)
	name := strings.Repeat("n", 300)
	for i := range long.track.Iterations {
		long.track.Iterations[i].Phases[1].Path = name
	}
	long.track.Spans = nil
	long.track.Process, long.track.DeviceName = name, name
	long.track.IterationsFrom.Why = name
	long.rep.Warnings = []findings.Warning{{Code: "x", Text: strings.Repeat(name+" ", 10)}}

	instant := newSynth("instant.sqlite") // everything at one time
	instant.add("device", 7, 1<<40)
	instant.finish()
	instant.iteration(3, 7, 7, false, false)
	instant.rep.Source.Start, instant.rep.Source.End = 7, 7
	instant.finish()

	huge := newSynth("huge.sqlite")
	huge.add("device", 1000*ms, 1<<62)
	huge.finish()
	huge.iteration(0, 500*ms, 1500*ms, false, false)

	partial := training("partial.sqlite", 3, 0)
	partial.track.Levels[0].Partial = true
	partial.track.Levels[0].Baseline = 64

	noLevel := training("nolevel.sqlite", 3, 0)
	noLevel.track.Levels = nil

	full := training("full.sqlite", 3, 0)
	full.track.DeviceTotal = 2048 * mib

	truncatedOnly := newSynth("cut.sqlite")
	truncatedOnly.add("device", 10, mib)
	truncatedOnly.iteration(0, 0, 100, true, true)
	truncatedOnly.finish()

	ranges := newSynth("ranges.sqlite")
	ranges.add("device", 1000*ms, 300*mib)
	for i := range 40 {
		ranges.track.Ranges = append(ranges.track.Ranges, align.RangeUse{Name: fmt.Sprintf("stage %d", i), Start: int64(i) * 100 * ms, End: int64(i)*100*ms + 90*ms})
	}
	ranges.finish()

	negative := training("negative.sqlite", 5, -10*mib)

	cases := []struct {
		name string
		s    *synth
		o    Options
		says []string
	}{
		{"no events", empty, Options{}, []string{"No device memory was allocated", "No iterations were found: no family of ranges repeats"}},
		{"one event", one, Options{}, []string{"Peak: 1 B"}},
		{"all zero", zero, Options{}, []string{"No device memory was allocated"}},
		{"200 phases", phases, Options{}, []string{"more"}},
		{"long names", long, Options{}, []string{"nnn…"}},
		{"no time", instant, Options{}, []string{"1 TiB"}},
		{"huge", huge, Options{}, []string{"4 EiB"}},
		{"partial", partial, Options{}, []string{"at least", "lower bounds"}},
		{"no levels", noLevel, Options{}, []string{"No device memory"}},
		{"full card", full, Options{}, []string{"capacity of the card, 2 GiB"}},
		{"truncated alone", truncatedOnly, Options{}, []string{"no iteration is steady"}},
		{"ranges alone", ranges, Options{}, []string{"stage 0"}},
		{"shrinking", negative, Options{}, []string{"-10 MiB an iteration"}},
		{"160 iterations", training("many.sqlite", 160, mib), Options{Size: Size{W: 400, H: 300}}, []string{"a column"}},
		{"iterations alone", stopped(), Options{View: "iterations"}, []string{"truncated"}},
		{"steady alone", stopped(), Options{View: "steady"}, []string{"enlarged"}},
		{"tiny", stopped(), Options{Size: Size{W: 100, H: 100}}, nil},
		{"wide", stopped(), Options{Size: Size{W: 3000, H: 120}}, nil},
		{"tall", stopped(), Options{Size: Size{W: 120, H: 3000}}, nil},
		{"coarse", stopped(), Options{DPI: 10}, nil},
		{"fine", stopped(), Options{Size: Size{W: 4, H: 2.5, Unit: "in"}, DPI: 300}, nil},
		{"part of the time", stopped(), Options{From: 11_000 * ms, To: 12_000 * ms}, []string{"highest in view"}},
		{"a moment", stopped(), Options{From: 11_000 * ms, To: 11_000*ms + 500}, []string{"time (ns) after 11.000 s"}},
		{"some iterations", stopped(), Options{Iterations: &[2]int{2, 4}}, nil},
		{"since the first", stopped(), Options{SinceFirst: true}, []string{"since the first event in view, at 9.100 s"}},
		{"own title", stopped(), Options{Title: "My run"}, []string{"My run", "unet_realoom.sqlite"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.noScan = true
			pixels := c.o
			if c.o.Size == (Size{}) { // quicker: small, and its pixels twice as large
				c.o.Size = Size{W: 800, H: 500}
				if pixels.Size = c.o.Size; c.o.DPI == 0 {
					pixels.Size, pixels.DPI = Size{W: 400, H: 250}, 50
				}
			}
			img := decode(t, first(render(t, c.s, "png", pixels)))
			b := img.Bounds()
			if blank := count(img, canvas.White); blank == b.Dx()*b.Dy() || blank == 0 {
				t.Error("nothing is drawn")
			}
			svg := first(render(t, c.s, "svg", c.o))
			for _, bad := range []string{"NaN", "Inf"} {
				if bytes.Contains(svg, []byte(bad)) {
					t.Errorf("svg has %s", bad)
				}
			}
			hasText(t, svg, "\x00") // reads all of it
			says(t, "picture", svg, c.says...)
			pdf := first(render(t, c.s, "pdf", c.o))
			if !bytes.HasPrefix(pdf, []byte("%PDF-")) || !bytes.Contains(pdf[max(len(pdf)-64, 0):], []byte("%%EOF")) {
				t.Error("pdf is cut")
			}
			if dir := os.Getenv("NSYSMEM_LOOK"); dir != "" {
				png := first(render(t, c.s, "png", c.o))
				if err := os.WriteFile(filepath.Join(dir, "edge "+c.name+".png"), png, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	s := training("a<b>&\"'.sqlite", 2, 0)
	s.track.Process = "<script>alert(1)</script>\x00\x1b[31m\u202e"
	s.track.IterationsFrom.Why = "bytes \xff\xfe, <b> & ]]> style=\"font-family:Liberation Sans;"
	svg := first(render(t, s, "svg", Options{noScan: true}))
	if bytes.Contains(svg, []byte("<script")) {
		t.Error("svg has an element from the report")
	}
	if !hasText(t, svg, "a<b>&\"'.sqlite") || !hasText(t, svg, `style="font-family:Liberation Sans;`) {
		t.Error("text from the report is not drawn as it is")
	}
	render(t, s, "pdf", Options{noScan: true})
	render(t, s, "png", Options{Size: halfSize.Size, DPI: halfSize.DPI, noScan: true})
}

func TestSameEveryTime(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"png", "svg", "pdf"} {
		o := Options{Size: Size{W: 800, H: 500}}
		a, b := first(render(t, stopped(), format, o)), first(render(t, stopped(), format, o))
		if !bytes.Equal(a, b) {
			t.Errorf("two %s of one report differ", format)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := stopped()
	none := newSynth("none.sqlite").finish()
	font := filepath.Join(t.TempDir(), "font.ttf")
	if err := os.WriteFile(font, []byte("not a font"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s      *synth
		format string
		o      Options
		want   string
	}{
		{s, "gif", Options{}, `unknown format "gif"`},
		{s, "png", Options{View: "pie"}, `unknown view "pie"`},
		{s, "png", Options{From: 1, To: 2}, "the report runs from 0.000 s to 15.380 s"},
		{s, "png", Options{From: 16_000 * ms, To: 17_000 * ms}, "the report runs from"},
		{s, "png", Options{Iterations: &[2]int{9, 12}}, "the report has 0 to 7"},
		{s, "png", Options{Size: Size{W: 1e6, H: 1e6}}, "use at most"},
		{s, "png", Options{Size: Size{W: 10, H: 10}}, "use at least"},
		{s, "png", Options{DPI: 5}, "dpi"},
		{s, "png", Options{Font: font}, "TrueType"},
		{s, "png", Options{Font: "/nowhere/font.ttf"}, "no such file"},
		{none, "png", Options{View: "steady"}, "no iterations were found (no family of ranges repeats)"},
	} {
		if c.o.From == 1 {
			s.rep.Source.Start = 5
		}
		var buf bytes.Buffer
		windows, err := Windows(c.s.rep, c.s.track, c.o)
		if err == nil {
			_, err = Write(&buf, c.format, c.s.rep, c.s.track, c.s.curves(windows), c.o)
		}
		s.rep.Source.Start = 0
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "plot: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want one with %q", c.o, err, c.want)
		}
		if buf.Len() > 0 {
			t.Errorf("%+v: %d bytes written with an error", c.o, buf.Len())
		}
	}
	s.rep.Collected.Memory = false
	if _, err := Write(io.Discard, "png", s.rep, s.track, nil, Options{}); err == nil || !strings.Contains(err.Error(), "--cuda-memory-usage=true") {
		t.Errorf("report without memory events: %v", err)
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Size{
		"1600x1000": {W: 1600, H: 1000}, "40x25cm": {W: 40, H: 25, Unit: "cm"}, " 16 x 10 in ": {W: 16, H: 10, Unit: "in"}, "20.5x10.25cm": {W: 20.5, H: 10.25, Unit: "cm"},
	} {
		if got, err := ParseSize(strings.TrimSpace(in)); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", "0x100", "-1x2", "100", "1e9x2", "10x10mm"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %v", in, got)
		}
	}
	o := Options{Size: Size{W: 16, H: 10, Unit: "in"}, DPI: 100}
	if sheet, err := o.sheet(); err != nil || sheet.Columns != 1600 {
		t.Errorf("16 in at 100 dpi are %d px, %v", sheet.Columns, err)
	}
}

func TestPalette(t *testing.T) {
	t.Parallel()
	whole := training("x.sqlite", 5, 0)
	p := newPalette(whole.track)
	if p.color("forward") != canvas.Blue || p.color("backward") != canvas.Orange || p.color("optimizer") != canvas.Green || p.color("data") != canvas.Yellow {
		t.Error("well-known phases do not have their colours")
	}
	if p.color(align.OtherPhase) != other {
		t.Error("(other) is not grey")
	}
	if c := p.color("forward/encoder"); c == p.color("forward") || c == p.color("forward/decoder") {
		t.Error("nested phases have no tint of their own")
	}
	odd := &align.Track{Phases: []align.PhaseStat{{Path: "a/b", Depth: 1}, {Path: "a/b/c", Depth: 2}, {Path: "z", Depth: 1}, {Path: "Forward", Depth: 1}}}
	q := newPalette(odd)
	if q.parent("a/b/c") != "a/b" || q.top["a/b/c"] != "a/b" {
		t.Error("a slash within a name is taken for nesting")
	}
	if q.color("Forward") != canvas.Blue || q.color("z") == q.color("a/b") {
		t.Error("colours are shared")
	}
}

func TestTimeScale(t *testing.T) {
	t.Parallel()
	s := training("x.sqlite", 6, 0)
	its := s.iterations()
	if ts := scaleOf(9_000*ms, 15_000*ms, its); ts.Squeezed {
		t.Error("iterations that can be told apart are squeezed")
	}
	ts := scaleOf(0, 900_000*ms, its)
	if !ts.Squeezed {
		t.Fatal("iterations in 1/200 of the time are not told apart")
	}
	last := -1.0
	for at := int64(0); at <= 900_000*ms; at += 50 * ms {
		f := ts.Frac(at)
		if f < last || f < 0 || f > 1 {
			t.Fatalf("time runs backwards at %d: %g after %g", at, f, last)
		}
		last = f
	}
	if ts.Frac(0) != 0 || ts.Frac(900_000*ms) != 1 {
		t.Error("the ends are not at the ends")
	}
	if w := ts.Frac(its[3].End) - ts.Frac(its[3].Start); w < 0.08 {
		t.Errorf("an iteration of 6 has %g of the width", w)
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	s := training("x.sqlite", 100, mib)
	its := s.iterations()
	its[57].Memory.Peak = 1 << 40
	bs := (&view{}).barsOf(its, 30)
	if len(bs) > 30 {
		t.Fatalf("%d columns of 30", len(bs))
	}
	n, top := 0, int64(0)
	for _, b := range bs {
		n, top = n+b.n, max(top, b.peak)
	}
	if n != 100 || top != 1<<40 {
		t.Errorf("columns hold %d of 100 iterations, highest %d", n, top)
	}
}

func BenchmarkWrite(b *testing.B) {
	s := stopped()
	windows, err := Windows(s.rep, s.track, Options{})
	if err != nil {
		b.Fatal(err)
	}
	curves := s.curves(windows)
	for _, format := range []string{"png", "svg", "pdf"} {
		b.Run(format, func(b *testing.B) {
			for range b.N {
				if _, err := Write(io.Discard, format, s.rep, s.track, curves, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRealExports draws the exports in testdata as the command does.
func TestRealExports(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"cnn_default": {"468.31 MiB", "in iteration 0, phase backward (tie: optimizer)", "Steady iterations (1–7)", "NVIDIA H200", "flat at 468.31 MiB"},
		"cpp_mem":     {"145.98 MiB", "NVTX domain solver", "Managed memory peaks at 8 MiB", "managed", "pinned host", "pool size", "pool in use"},
	} {
		path := filepath.Join("..", "..", "testdata", file+".sqlite")
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		svg := drawExport(t, path, "svg", Options{})[file]
		says(t, "picture of "+file, svg, want...)
	}
}
