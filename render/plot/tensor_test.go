package plot

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/nsysdb"
	"nsysmem/render/plot/internal/canvas"
	"nsysmem/torchmem"
)

// recorded is a report of testdata with its snapshot.
type recorded struct {
	db    *nsysdb.DB
	rep   *findings.Report
	track *align.Track
}

func record(t testing.TB, name string, o align.Options) recorded {
	t.Helper()
	base := filepath.Join("..", "..", "testdata", name)
	f, err := os.Open(base + ".snapshot.pickle")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Snapshots = []align.Snapshot{{Name: filepath.Base(f.Name()), Data: snap}}
	db, err := nsysdb.Open(base + ".sqlite")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	o.Spans = true
	rep, err := align.Analyze(context.Background(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	return recorded{db, findings.Of(rep), rep.Tracks[0]}
}

func (r recorded) draw(t testing.TB, format string, o Options) []byte {
	t.Helper()
	windows, err := Windows(r.rep, r.track, o)
	if err != nil {
		t.Fatal(err)
	}
	curves, err := align.Curves(context.Background(), r.db, r.rep.Report, windows)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if _, err := Write(&buf, format, r.rep, r.track, curves, o); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// lookAt writes a picture to look at where NSYSMEM_LOOK names a folder.
func lookAt(t testing.TB, name string, png []byte) {
	if dir := os.Getenv("NSYSMEM_LOOK"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStackIsTheAllocatedLevel stacks a real run: in each column the layers must add up to the highest allocated level that
// the replay has in it, to the byte.
func TestStackIsTheAllocatedLevel(t *testing.T) {
	t.Parallel()
	r := record(t, "cnn_default", align.Options{})
	ten := r.track.Tensors
	for _, by := range []string{"category", "phase"} {
		stack := newStack(r.track, newPalette(r.track), &view{stack: by, from: r.rep.Source.Start, to: r.rep.Source.End})
		ts := canvas.Linear(r.track.Iterations[0].Start, r.track.Iterations[3].End)
		const n = 700
		s := stack.toColumns(ts, n)
		want := make([]int64, n)
		level, at := ten.Replay.StartAllocated, 0
		raise := func(to int) {
			for ; at < to; at++ {
				want[at+1] = level
			}
		}
		from, to := r.track.Iterations[0].Start, r.track.Iterations[3].End
		for _, step := range ten.Replay.Steps {
			when := ten.ReportTime(step.Time)
			if when > to {
				break
			}
			if when < from {
				level = step.Allocated
				want[0] = level
				continue
			}
			raise(min(int(ts.Frac(when)*n), n-1))
			level = step.Allocated
			want[at] = max(want[at], level)
		}
		raise(n - 1)
		top := s.sums[len(s.sums)-1]
		for i := range n {
			if top[i] != want[i] || s.cols[i].high != want[i] {
				t.Fatalf("by %s, column %d: layers add up to %d, level %d, want %d", by, i, top[i], s.cols[i].high, want[i])
			}
			for k := 1; k < len(s.sums); k++ {
				if s.sums[k][i] < s.sums[k-1][i] {
					t.Fatalf("by %s, column %d: layer %d has less than none", by, i, k)
				}
			}
		}
		if s.high != r.track.Tensors.Replay.Over(from+ten.Shift, to+ten.Shift).AllocatedPeak {
			t.Errorf("by %s: highest %d", by, s.high)
		}
	}
}

// TestStackByTime checks stacks of blocks without a trace against counting them one by one, with many equal stamps.
func TestStackByTime(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	names := []string{"parameter", "gradient", "activation"}
	for round := range 20 {
		ten := &tensor.Memory{From: "driver"}
		for i := range 300 {
			b := tensor.Block{Start: int64(i / 7), Counted: 1 + rng.Int64N(100), Category: names[rng.IntN(3)], Iteration: -1}
			if i < 5 {
				b.Start = align.Never
			}
			b.End = max(b.Start, 0) + rng.Int64N(12)
			if rng.IntN(9) == 0 {
				b.End = align.Never
			}
			ten.Blocks = append(ten.Blocks, b)
		}
		track := &align.Track{Tensors: ten}
		stack := newStack(track, newPalette(track), &view{stack: "category", to: 60})
		n := 1 + rng.IntN(90)
		ts := canvas.Linear(int64(round), 50)
		s := stack.toColumns(ts, n)
		live := func(b *tensor.Block, at int64, afterFrees bool) bool { // just after the allocations of a stamp, or its frees
			born := b.Start == align.Never || b.Start <= at
			dead := b.End != align.Never && (b.End < at || afterFrees && b.End == at)
			return born && !dead
		}
		sum := func(at int64, afterFrees bool) (all int64, by map[string]int64) {
			by = map[string]int64{}
			for i := range ten.Blocks {
				if b := &ten.Blocks[i]; live(b, at, afterFrees) {
					all += b.Counted
					by[b.Category] += b.Counted
				}
			}
			return all, by
		}
		for i := range n {
			// The column's level is the highest of those just before it and after each stamp within.
			var most int64
			for at := int64(-2); at <= 50; at++ {
				if c := min(int(ts.Frac(at)*float64(n)), n-1); at < int64(round) || c < i {
					most, _ = sum(at, true)
				} else if c == i {
					a, _ := sum(at, false)
					most = max(most, a)
				}
			}
			if got := s.sums[len(s.sums)-1][i]; got != most {
				t.Fatalf("round %d, column %d of %d: %d, want %d", round, i, n, got, most)
			}
		}
		_, by := sum(50, true)
		for k, l := range s.layers {
			got := s.sums[k][n-1]
			if k > 0 {
				got -= s.sums[k-1][n-1]
			}
			if last := s.cols[n-1]; last.high == last.low && got != by[l.name] {
				t.Errorf("round %d: %s ends with %d, want %d", round, l.name, got, by[l.name])
			}
		}
	}
}

// TestStackSpeed stacks more blocks than would fit on any picture.
func TestStackSpeed(t *testing.T) {
	t.Parallel()
	const n = 500_000
	ten := &tensor.Memory{From: "driver", Blocks: make([]tensor.Block, n)}
	for i := range ten.Blocks {
		ten.Blocks[i] = tensor.Block{Start: int64(i) * 10, End: int64(i)*10 + int64(i%977)*100, Counted: int64(i%1000) + 1, Category: tensor.CategoryNames[i%8], Iteration: -1}
	}
	track := &align.Track{Tensors: ten}
	stack := newStack(track, newPalette(track), &view{stack: "category", to: n * 10})
	began := time.Now()
	s := stack.toColumns(canvas.Linear(0, n*10), 1500)
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("%d blocks took %v", n, d)
	}
	if s.high == 0 || len(s.cols) != 1500 || !s.dense() && s.high < 1 {
		t.Error("nothing is stacked")
	}
}

func TestTensorPictures(t *testing.T) {
	t.Parallel()
	r := record(t, "cnn_default", align.Options{Params: 215144, DType: "float32", Optimizer: "adamw"})
	svg := r.draw(t, "svg", Options{noScan: true})
	says(t, "picture", svg,
		"Peak: tensors hold 262.80 MiB (allocated)", "PyTorch reserves up to 340 MiB, 77.20 MiB more", "device level peaks at 468.31 MiB",
		"activation 128.06 MiB (48.7 %)", "Outside PyTorch: 128.30 MiB, most by cudaMalloc in iteration 0: 64.15 MiB in phase backward,",
		"Theory, 215,144 parameters (float32, adamw): they take 840.41 KiB (measured: 842.95 KiB)", "optimizer state 1.64 MiB (measured: the same)",
		"Tensors (categories inferred):", "autograd detail", "unused cache", "outside PyTorch", "reserved by PyTorch", "device (all traced)",
		"Each iteration: allocated at start and end, and peak", "allocated: peak 262.80 MiB, +195.32 MiB over the start",
	)
	for _, bad := range []string{"NaN", "Inf"} {
		if bytes.Contains(svg, []byte(bad)) {
			t.Errorf("svg has %s", bad)
		}
	}
	png := r.draw(t, "png", Options{noScan: true, Size: Size{W: 900, H: 600}})
	lookAt(t, "stack", png)
	img := decode(t, png)
	for name, least := range map[string]int{"activation": 2000, "autograd detail": 100, "workspace": 2000} {
		if n := count(img, categoryColors[name]); n < least {
			t.Errorf("%d pixels in the colour of %s", n, name)
		}
	}
	none := r.draw(t, "svg", Options{noScan: true, Stack: "none"})
	if hasText(t, none, "unused cache") || !hasText(t, none, "flat at 468.31 MiB") {
		t.Error("the picture without a stack is not of the device level")
	}
	phase := r.draw(t, "svg", Options{noScan: true, Stack: "phase"})
	says(t, "picture by phase", phase, "Phases, of tensors where they were born:", "model_init", "At that peak, by phase of birth")
	if pdf := r.draw(t, "pdf", Options{noScan: true}); !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Error("no pdf")
	}
	if again := r.draw(t, "svg", Options{noScan: true}); !bytes.Equal(svg, again) {
		t.Error("two pictures of one report differ")
	}
}

// TestDriverStack stacks a run whose tensors are the driver's blocks, and the driver's kinds.
func TestDriverStack(t *testing.T) {
	t.Parallel()
	s := newSynth("nocache.sqlite")
	var blocks []tensor.Block
	add := func(start, end, bytes int64, category string, iteration int, phase string) {
		s.add("device", start, bytes)
		if end != align.Never {
			s.add("device", end, -bytes)
		}
		blocks = append(blocks, tensor.Block{Start: start, End: end, Bytes: bytes, Counted: bytes, Category: category, Iteration: iteration, Phase: phase})
		s.track.Blocks = append(s.track.Blocks, align.Block{Start: start, End: end, Bytes: bytes, Kind: "device", MemKind: "device"})
	}
	add(100*ms, align.Never, 300*mib, "parameter", -1, "model_init")
	for i := range int64(4) {
		add((1000+1000*i)*ms, (1600+1000*i)*ms, 500*mib, "activation", int(i), "forward")
	}
	s.track.Blocks = append(s.track.Blocks, align.Block{Start: 200 * ms, End: align.Never, Bytes: 100 * mib, Kind: "device", MemKind: "device static"})
	s.add("device", 200*ms, 100*mib)
	s.track.Tensors = &tensor.Memory{From: "driver", Blocks: blocks, Peak: tensor.Holding{Bytes: 800 * mib, ByCategory: []tensor.Share{{Name: "activation", Bytes: 500 * mib}, {Name: "parameter", Bytes: 300 * mib}}}}
	s.finish()
	for i := range int64(4) {
		s.iteration(int(i), (900+1000*i)*ms, (1900+1000*i)*ms, i == 0, false, phase{"forward", 1, (950 + 1000*i) * ms, (1700 + 1000*i) * ms})
	}
	s.track.Ranges = []align.RangeUse{{Name: "model_init", Start: 50 * ms, End: 300 * ms}}
	s.finish()
	svg := first(render(t, s, "svg", Options{noScan: true}))
	says(t, "picture", svg, "the driver's blocks are the tensors", "activation 500 MiB (62.5 %)", "each the driver's own block", "static memory and arrays")
	img := decode(t, first(render(t, s, "png", Options{noScan: true})))
	if a, p := count(img, categoryColors["activation"]), count(img, categoryColors["parameter"]); a < 5000 || p < 5000 {
		t.Errorf("%d pixels of activations, %d of parameters", a, p)
	}
	kind := first(render(t, s, "svg", Options{noScan: true, Stack: "kind"}))
	says(t, "picture by kind", kind, "Device memory by kind:", "device static")

	// Inferred names are told wherever they stand.
	s.track.IterationsFrom.How = "kernels"
	for i := range s.track.Iterations {
		s.track.Iterations[i].Phases[0].Inferred = true
	}
	svg = first(render(t, s, "svg", Options{noScan: true, Stack: "phase"}))
	says(t, "picture of inferred names", svg, "Phases (inferred), of tensors", "iterations and phases are inferred from GPU work", "(inferred) enlarged", "iteration (inferred from GPU work)")
}

func TestSegmentMap(t *testing.T) {
	t.Parallel()
	r := record(t, "cnn_default", align.Options{})
	svg := r.draw(t, "svg", Options{noScan: true, View: "segments"})
	says(t, "map", svg,
		"segments and blocks of PyTorch's allocator at 13.392 s", "At the peak of what tensors hold: 13.392 s, in iteration 1, phase backward",
		"Reserved: 340 MiB in 19 segments", "allocated: 262.80 MiB", "free in the cache: 77.20 MiB",
		"Large pool (requests over 1 MiB): 16 segments, 334 MiB", "Small pool (requests up to 1 MiB): 3 segments, 6 MiB", "largest free block", "free in the cache",
	)
	png := r.draw(t, "png", Options{noScan: true, View: "segments"})
	lookAt(t, "map", png)
	img := decode(t, png)
	act, grey := count(img, categoryColors["activation"]), count(img, categoryColors["workspace"])
	// Equal bytes are equal areas: 128 MiB of activations beside 65 MiB of workspaces, both nearly all in the large pool.
	if ratio := float64(act) / float64(grey); ratio < 1.7 || ratio > 2.3 {
		t.Errorf("activations have %.2f times the area of workspaces, want about 1.97", ratio)
	}
	for _, o := range []Options{{At: "reserved", Size: Size{W: 500, H: 300}}, {At: "time", AtTime: r.track.Iterations[2].Start, Size: Size{W: 500, H: 300}}, {At: "time", AtTime: 6_799 * ms, Size: Size{W: 500, H: 300}}, {Stack: "phase", Size: Size{W: 500, H: 300}}, {Size: Size{W: 300, H: 200}}, {Size: Size{W: 120, H: 2000}}} {
		o.View, o.noScan = "segments", true
		if img := decode(t, r.draw(t, "png", o)); count(img, canvas.White) == img.Bounds().Dx()*img.Bounds().Dy() {
			t.Errorf("%+v: nothing is drawn", o)
		}
	}
	if pdf := r.draw(t, "pdf", Options{noScan: true, View: "segments"}); !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Error("no pdf")
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{View: "segments", At: "oom"}, "the snapshot has none: use --at peak (13.392 s)"},
		{Options{View: "segments", At: "time", AtTime: 1e15}, "the snapshot's trace runs from 6.799 s to 13.459 s"},
		{Options{View: "segments", At: "time", AtTime: 1e9}, "the snapshot's trace runs from 6.799 s to 13.459 s"},
		{Options{View: "segments", At: "noon"}, `segments at "noon"`},
		{Options{View: "segments", Stack: "kind"}, "use --stack category or phase"},
		{Options{Stack: "size"}, `unknown stack "size"`},
	} {
		if _, err := Windows(r.rep, r.track, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.o, err, c.want)
		}
	}
	plain := training("x.sqlite", 2, 0)
	for _, o := range []Options{{View: "segments"}, {Stack: "category"}} {
		if _, err := Windows(plain.rep, plain.track, o); err == nil || !strings.Contains(err.Error(), "--snapshot") {
			t.Errorf("%+v without a snapshot: %v", o, err)
		}
	}
}

// pickle writes what a snapshot is made of, protocol 2.
func pickle(b []byte, v any) []byte {
	text := func(s string) {
		b = append(b, 'X')
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	switch v := v.(type) {
	case string:
		text(v)
	case int:
		b = append(b, 0x8A, 8)
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	case []any:
		b = append(b, ']', '(')
		for _, x := range v {
			b = pickle(b, x)
		}
		b = append(b, 'e')
	case map[string]any:
		b = append(b, '}', '(')
		for k, x := range v {
			text(k)
			b = pickle(b, x)
		}
		b = append(b, 'u')
	}
	return b
}

// failing is a run in n segments of 20 MiB whose cache is cut to pieces when it asks for more than any of them has.
func failing(t testing.TB, n int) *synth {
	const addr, seg = 0x7f0000000000, 20 * int(mib)
	var trace []any
	now := 1_000_000
	entry := func(action string, at, size int) {
		now += 10
		trace = append(trace, map[string]any{"action": action, "addr": at, "size": size, "stream": 0, "time_us": now})
	}
	for i := range n {
		at := addr + i*2*seg
		entry("segment_alloc", at, seg)
		entry("alloc", at, 6*int(mib))
		entry("alloc", at+6*int(mib), 8*int(mib))
		entry("alloc", at+14*int(mib), 6*int(mib))
		entry("free_requested", at+6*int(mib), 8*int(mib))
		if i%3 > 0 { // every third waits for a stream
			entry("free_completed", at+6*int(mib), 8*int(mib))
		}
	}
	entry("oom", 5*int(mib), 96*int(mib))
	entry("snapshot", 0, 0)
	data := append(pickle([]byte{0x80, 2}, map[string]any{"segments": []any{}, "device_traces": []any{trace}}), '.')
	snap, err := torchmem.Read(bytes.NewReader(data), torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := snap.Replay(0)
	if err != nil {
		t.Fatal(err)
	}
	s := newSynth("oom.sqlite")
	s.add("device", 1_000_000_000, int64(n*seg))
	s.finish()
	ten := &tensor.Memory{From: "snapshot", Replay: r}
	for _, b := range r.Blocks {
		ten.Blocks = append(ten.Blocks, tensor.Block{Start: b.Birth, End: b.Death, Address: b.Addr, Bytes: b.Requested, Counted: b.Counted, Category: "activation", Iteration: -1})
	}
	for _, f := range r.Failures {
		ten.Failures = append(ten.Failures, tensor.Holding{Time: f.Time, Request: f.Request, Cache: &tensor.Cache{Free: f.Free, LargestFree: f.LargestUsable, DeviceFree: f.DeviceFree}})
	}
	s.track.Tensors = ten
	return s
}

func TestFailedRequest(t *testing.T) {
	t.Parallel()
	s := failing(t, 12)
	o := Options{View: "segments", At: "oom", noScan: true}
	svg := first(render(t, s, "svg", o))
	says(t, "map", svg,
		"Just before the request that failed", "Reserved: 240 MiB in 12 segments", "Failed: a request for 96 MiB", "the largest free block of its stream and pool has 8 MiB, the cache 64 MiB in all",
		"the card had 5 MiB left", "the request that failed, 96 MiB, at the same scale", "32 MiB given back but still in use by a stream", "pending 8 MiB",
	)
	png := first(render(t, s, "png", o))
	lookAt(t, "oom", png)
	if n := count(decode(t, png), pendingColor); n < 1000 {
		t.Errorf("%d pixels in the colour of pending blocks", n)
	}

	many := failing(t, 5000)
	o.Size = Size{W: 900, H: 600}
	svg = first(render(t, many, "svg", o))
	if !hasText(t, svg, "5,000 segments too narrow for borders") {
		t.Error("a map of 5000 segments does not say that it is thinned")
	}
	o.Size, o.DPI = Size{W: 450, H: 300}, 50
	lookAt(t, "oom_many", first(render(t, many, "png", o)))
}

// TestShelves lays random segments out: each byte has one place within the width, and nothing overlaps.
func TestShelves(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		var segs []*tensor.MapSegment
		total := int64(0)
		for i := range 1 + rng.IntN(80) {
			size := mib << rng.IntN(9)
			total += size
			segs = append(segs, &tensor.MapSegment{Addr: uint64(i) << 40, Size: size})
		}
		n := 1 + rng.IntN(15)
		const w, gap = canvas.Length(900), canvas.Length(2)
		rows, perByte := fitShelves(segs, w, gap, n)
		if len(rows) > n {
			t.Fatalf("round %d: %d rows of %d", round, len(rows), n)
		}
		placed := int64(0)
		next := map[*tensor.MapSegment]int64{}
		for _, row := range rows {
			end := canvas.Length(0)
			for _, p := range row.parts {
				if p.x < end-0.01 {
					t.Fatalf("round %d: parts overlap", round)
				}
				end = p.x + canvas.Length(float64(p.to-p.from)*perByte)
				if end > w+0.5 {
					t.Fatalf("round %d: a part ends at %g of %g", round, end, w)
				}
				if next[p.seg] != p.from {
					t.Fatalf("round %d: a segment goes on at %d after %d", round, p.from, next[p.seg])
				}
				next[p.seg] = p.to
				placed += p.to - p.from
			}
		}
		if placed != total {
			t.Fatalf("round %d: %d of %d bytes placed", round, placed, total)
		}
	}
}

// TestCategoryColors keeps the colours apart from each other and from those of the well-known phases, also for readers who
// see no difference of red and green: by lightness, or by the blue channel.
func TestCategoryColors(t *testing.T) {
	t.Parallel()
	far := func(a, b color.RGBA) bool {
		light := func(c color.RGBA) int { return (299*int(c.R) + 587*int(c.G) + 114*int(c.B)) / 1000 }
		d := func(x, y int) int { return max(x-y, y-x) }
		return d(light(a), light(b)) > 14 || d(int(a.B), int(b.B)) > 40
	}
	for i, x := range tensor.CategoryNames {
		cx, ok := categoryColors[x]
		if !ok {
			t.Fatalf("%s has no colour", x)
		}
		for _, y := range tensor.CategoryNames[:i] {
			if !far(cx, categoryColors[y]) {
				t.Errorf("%s and %s look alike", x, y)
			}
		}
		for name, c := range wellKnown {
			if c == cx {
				t.Errorf("%s has the colour of phase %s", x, name)
			}
		}
	}
	if len(stackOrder) != len(tensor.CategoryNames) {
		t.Errorf("%d categories are stacked in order, there are %d", len(stackOrder), len(tensor.CategoryNames))
	}
	seen := fmt.Sprint(stackOrder)
	for _, name := range tensor.CategoryNames {
		if !strings.Contains(seen, name) {
			t.Errorf("%s has no place in the stack", name)
		}
	}
}
