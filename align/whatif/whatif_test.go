package whatif

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/internal/fixture"
	"nsysmem/nsysdb"
	"nsysmem/torchmem"
	"nsysmem/torchmem/allocator"
)

// root is the way to the repository.
const root = "../.."

func unpackSnapshot(t testing.TB, name string) *torchmem.Snapshot {
	t.Helper()
	return readSnapshot(t, fixture.Unpack(t, root, name))
}

func readSnapshot(t testing.TB, path string) *torchmem.Snapshot {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// growTrack is a run whose images grow from step to step, so that the cache fragments, joined with its snapshot.
func growTrack(t testing.TB) (*torchmem.Snapshot, *align.Track) {
	t.Helper()
	snap := unpackSnapshot(t, "unet_grow.snapshot.pickle")
	db, err := nsysdb.Open(fixture.Unpack(t, root, "unet_grow.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rep, err := align.Analyze(context.Background(), db, align.Options{Snapshots: []align.Snapshot{{Data: snap}}, Spans: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Tracks) != 1 || rep.Tracks[0].Tensors == nil {
		t.Fatalf("%d tracks", len(rep.Tracks))
	}
	return snap, rep.Tracks[0]
}

func abs(v int64) int64 { return max(v, -v) }

func simulate(t testing.TB, o Options) *Comparison {
	t.Helper()
	w, err := Compare(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, w)
	return w
}

// check are the laws of a comparison.
func check(t testing.TB, w *Comparison) {
	t.Helper()
	def, rec := 0, 0
	base := &w.Settings[w.Base()]
	for i := range w.Settings {
		s := &w.Settings[i]
		if s.IsDefault {
			def++
		}
		if s.IsRecorded {
			rec++
			if s.Conf != w.Recorded {
				t.Errorf("recorded with %q, the row says %q", w.Recorded, s.Conf)
			}
		}
		if s.IsRecorded && s.PeakReserved == w.Measured {
			// The run's own trace says what lay unused when tensors held most.
			most := torchmem.Step{Allocated: w.Replay.StartAllocated, Reserved: w.Replay.StartReserved}
			for _, step := range w.Replay.Steps {
				if step.Allocated > most.Allocated {
					most = step
				}
			}
			if got := most.Reserved - most.Allocated; s.CacheAtPeak != got || s.PeakAllocated != most.Allocated {
				t.Errorf("%q: %d bytes of cache at %d allocated, the trace has %d at %d", s.Conf, s.CacheAtPeak, s.PeakAllocated, got, most.Allocated)
			}
		}
		if s.CacheAtPeak < 0 || s.CacheAtPeak > s.LargestGap {
			t.Errorf("%q: %d bytes of cache at the peak of tensors, %d at most", s.Conf, s.CacheAtPeak, s.LargestGap)
		}
		if s.PeakAllocated > s.PeakReserved || s.LargestGap > s.PeakReserved || s.ReservedRange[0] > s.PeakReserved || s.ReservedRange[1] < s.PeakReserved {
			t.Errorf("%q: allocated %d, reserved %d in %v, gap %d", s.Conf, s.PeakAllocated, s.PeakReserved, s.ReservedRange, s.LargestGap)
		}
		if s.ReservedRange[0] != s.ReservedRange[1] && !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "lowest address") }) {
			t.Errorf("%q: a range and no reason", s.Conf)
		}
		if w.Capacity > 0 {
			if l := s.Limited; l == nil || l.PeakReserved > w.Capacity-w.Outside || (l.Failed == 0) != (len(l.Failures) == 0) || l.Failed == 0 != (w.Capacity >= s.SmallestCard) {
				t.Errorf("%q at %d, needs %d: %+v", s.Conf, w.Capacity, s.SmallestCard, l)
			}
		}
		var grown int64
		for _, g := range s.Growth {
			grown += g.Bytes
		}
		if grown < s.PeakReserved-w.Replay.StartReserved {
			t.Errorf("%q: phases took %d bytes, the peak is %d", s.Conf, grown, s.PeakReserved)
		}
		same := s == base || slices.EqualFunc(s.Curve, base.Curve, func(a, b allocator.CurvePoint) bool { return a.Event == b.Event && a.Reserved == b.Reserved })
		if same && s.First != nil || !same && s.First == nil && s.PeakReserved != base.PeakReserved || (s.First == nil) != (s.Most == nil) {
			t.Errorf("%q: differs first %+v, most %+v", s.Conf, s.First, s.Most)
		}
		if s.First != nil && (s.First.Reserved == s.First.Base || abs(s.First.Reserved-s.First.Base) > abs(s.Most.Reserved-s.Most.Base) || s.Most.Reserved > s.PeakReserved || s.Most.Base > base.PeakReserved) {
			t.Errorf("%q: differs first %+v, most %+v", s.Conf, s.First, s.Most)
		}
	}
	if def != 1 || rec > 1 || rec == 0 && w.Known && len(w.Notes) == 0 {
		t.Errorf("%d rows of the defaults, %d of the recorded setting", def, rec)
	}
}

// TestTruth compares with what PyTorch itself reserved in runs of the same programs under the other settings.
func TestTruth(t *testing.T) {
	for _, c := range []struct {
		file     string
		capacity int64
		want     map[string]int64
	}{
		{"unet_grow.snapshot.pickle", 0, map[string]int64{
			"": 6723469312, "max_split_size_mb:64": 18295554048, "expandable_segments:True": 4815060992,
			"roundup_power2_divisions:4": 6054477824, "garbage_collection_threshold:0.6,max_split_size_mb:128": 15393095680}},
		{"seq_0.snapshot.pickle", 0, map[string]int64{
			"": 3420454912, "max_split_size_mb:128": 3927965696, "expandable_segments:True": 2581594112, "roundup_power2_divisions:4": 3403677696,
			"garbage_collection_threshold:0.8": 3420454912, "max_split_size_mb:64,roundup_power2_divisions:8": 5007998976}},
		// With a limit of the process, one run gave its cache back once, the other collected garbage.
		{"seq_0.snapshot.pickle", 150109880320, map[string]int64{"per_process_memory_fraction:0.0185": 2730491904,
			"garbage_collection_threshold:0.8,per_process_memory_fraction:0.0185": 2707423232}},
	} {
		o := Options{Snapshot: unpackSnapshot(t, c.file), Name: c.file, Device: -1, Capacity: c.capacity}
		for conf := range c.want {
			if conf != "" {
				o.Confs = append(o.Confs, conf)
			}
		}
		slices.Sort(o.Confs)
		w := simulate(t, o)
		found := 0
		for i := range w.Settings {
			s := &w.Settings[i]
			want, ok := c.want[s.Conf]
			if !ok {
				continue
			}
			found++
			got := s.PeakReserved
			if c.capacity > 0 {
				got = s.Limited.PeakReserved
			}
			if got != want {
				t.Errorf("%s under %q: %d bytes reserved at most, PyTorch had %d", c.file, s.Conf, got, want)
			}
			if r := s.ReservedRange; c.capacity == 0 && (r[0] > want || r[1] < want || r[1]-r[0] > want*3/100) {
				t.Errorf("%s under %q: range %v for %d", c.file, s.Conf, r, want)
			}
		}
		if found != len(c.want) {
			t.Errorf("%s: %d of %d settings are in the table", c.file, found, len(c.want))
		}
		if w.Measured != w.Settings[w.Base()].PeakReserved {
			t.Errorf("%s: the trace says %d, the model %d", c.file, w.Measured, w.Settings[w.Base()].PeakReserved)
		}
	}
}

// TestQuestion asks the question that starts most of this work: enough is free, and yet the request fails.
func TestQuestion(t *testing.T) {
	snap, track := growTrack(t)
	o := Options{Snapshot: snap, Name: "unet_grow", Track: track, Confs: []string{"expandable_segments:True"}}
	w := simulate(t, o)
	def, exp := &w.Settings[0], &w.Settings[1]
	if !def.IsDefault || !def.IsRecorded || exp.SmallestCard >= def.SmallestCard || w.Outside != track.Tensors.Outside.Peak+track.Tensors.Outside.Static || w.Outside < 50696 {
		t.Fatalf("default %v, recorded %v, needs %d and %d, %d outside", def.IsDefault, def.IsRecorded, def.SmallestCard, exp.SmallestCard, w.Outside)
	}
	if def.Failed()+exp.Failed() != 0 {
		t.Error("requests fail without a capacity")
	}
	o.Capacity = (def.SmallestCard + exp.SmallestCard) / 2
	w = simulate(t, o)
	def, exp = &w.Settings[0], &w.Settings[1]
	if exp.Failed() != 0 || def.Failed() == 0 {
		t.Fatalf("%d requests fail by default, %d with expandable segments", def.Failed(), exp.Failed())
	}
	f := def.Limited.Failures[0]
	if f.Iteration < 0 || track.Iterations[f.Iteration].Index != 8 || f.Phase != "backward" {
		t.Errorf("fails in %d, %q", f.Iteration, f.Phase)
	}
	if f.FreeCache <= f.Request || f.LargestFree >= f.Rounded || f.Reserved > def.Limited.Capacity {
		t.Errorf("%+v", f)
	}
	if it := &track.Iterations[f.Iteration]; f.Time < it.Start || f.Time >= it.End {
		t.Errorf("fails at %d, iteration from %d to %d", f.Time, it.Start, it.End)
	}
	// A little more than the smallest card is enough, a little less is not.
	for _, c := range []struct {
		capacity int64
		fails    bool
	}{{def.SmallestCard, false}, {def.SmallestCard - 2<<20, true}} {
		o.Capacity = c.capacity
		if s := &simulate(t, o).Settings[0]; s.Failed() > 0 != c.fails {
			t.Errorf("with %d bytes %d requests fail", c.capacity, s.Failed())
		}
	}
	o.Capacity = w.Outside
	if _, err := Compare(context.Background(), o); err == nil {
		t.Error("a card that others fill")
	}
}

// TestIterations compares with the level that the recorded run itself had in each iteration.
func TestIterations(t *testing.T) {
	snap, track := growTrack(t)
	w := simulate(t, Options{Snapshot: snap, Track: track, Sweep: true})
	base := &w.Settings[w.Base()]
	for i := range track.Iterations {
		it := &track.Iterations[i]
		k := slices.IndexFunc(it.Other, func(u align.LevelUse) bool { return u.Level == "reserved" })
		if k < 0 || base.Iterations[i] != it.Other[k].Peak {
			t.Errorf("%s: %d bytes, the run had %+v", it.Name, base.Iterations[i], it.Other)
		}
	}
	for i := range w.Settings {
		s := &w.Settings[i]
		if slices.Max(s.Iterations) != s.PeakReserved {
			t.Errorf("%q: peak %d, iterations %v", s.Conf, s.PeakReserved, s.Iterations)
		}
		if s.Peak.Iteration != len(track.Iterations)-1 || s.Peak.Phase == "" {
			t.Errorf("%q: peak at %+v", s.Conf, s.Peak)
		}
	}
	if n := len(w.Settings); n < 20 || n > 30 || !w.Ranked {
		t.Errorf("a sweep of %d settings", n)
	}
	if w.Settings[0].Conf != "expandable_segments:True" {
		t.Errorf("%q is first", w.Settings[0].Conf)
	}
	for i := 1; i < len(w.Settings); i++ {
		if w.Settings[i].PeakReserved < w.Settings[i-1].PeakReserved {
			t.Errorf("%q after %q", w.Settings[i].Conf, w.Settings[i-1].Conf)
		}
	}
}

// TestRank puts those that run first.
func TestRank(t *testing.T) {
	snap, track := growTrack(t)
	w := simulate(t, Options{Snapshot: snap, Track: track, Sweep: true, Capacity: 4608 << 20})
	failed := false
	for i := range w.Settings {
		if f := w.Settings[i].Failed() > 0; failed && !f {
			t.Errorf("%q runs and comes after one that does not", w.Settings[i].Conf)
		} else {
			failed = f
		}
	}
	if !failed || w.Settings[0].Failed() > 0 {
		t.Error("all run, or none")
	}
	for n := 1; n < 12; n++ {
		c := w.Chosen(n)
		if len(c) > max(n, 3) || c[0] != w.Base() || !slices.ContainsFunc(c, func(i int) bool { return w.Settings[i].IsDefault }) {
			t.Errorf("of %d: %v", n, c)
		}
		seen := map[int]bool{}
		for _, i := range c {
			if seen[i] {
				t.Errorf("%v has one twice", c)
			}
			seen[i] = true
		}
	}
}

// TestAlone names lines and times where there is no report.
func TestAlone(t *testing.T) {
	w := simulate(t, Options{Snapshot: unpackSnapshot(t, "seq_0.snapshot.pickle"), Name: "seq_0", Device: 0, Sweep: true, Capacity: 2400 << 20})
	for i := range w.Settings {
		s := &w.Settings[i]
		if !strings.Contains(s.Peak.Frame, "train.py:") || s.Peak.Iteration != -1 || s.Peak.Time <= 0 || s.Peak.Time > w.To {
			t.Errorf("%q: peak at %+v", s.Conf, s.Peak)
		}
		if s.Iterations != nil || strings.Contains(s.Peak.Frame, "/home/") {
			t.Errorf("%q: %+v", s.Conf, s.Peak)
		}
	}
	if w.HasOutside || len(w.CannotKnow) < 3 {
		t.Errorf("outside %v, cannot know %q", w.HasOutside, w.CannotKnow)
	}
}

func TestRows(t *testing.T) {
	snap := unpackSnapshot(t, "unet_grow.snapshot.pickle")
	w := simulate(t, Options{Snapshot: snap, Device: -1, Confs: []string{"max_split_size_mb:64", " max_split_size_mb:64", "", "expandable_segments:False"}})
	var got []string
	for i := range w.Settings {
		got = append(got, w.Settings[i].Conf)
	}
	if want := []string{"", "max_split_size_mb:64", "expandable_segments:False"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if w.Settings[2].First != nil {
		t.Error("the default differs from itself")
	}
	for _, o := range []Options{{Snapshot: snap, Device: 1}, {Snapshot: snap, Device: -1, Confs: []string{"nonsense:1"}}, {Snapshot: &torchmem.Snapshot{}, Device: -1},
		{Snapshot: snap, Track: &align.Track{}}, {Snapshot: &torchmem.Snapshot{Segments: []torchmem.Segment{{Addr: 1 << 30, Size: 2 << 20}}}, Device: -1}} {
		if _, err := Compare(context.Background(), o); err == nil {
			t.Errorf("no error for %+v", o)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Compare(ctx, Options{Snapshot: snap, Device: -1, Sweep: true}); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	calls := 0
	if _, err := Compare(context.Background(), Options{Snapshot: snap, Device: -1, Capacity: 8 << 30, Progress: func(done, total int) {
		if calls++; done != calls || total != 2 {
			t.Errorf("%d of %d at call %d", done, total, calls)
		}
	}}); err != nil || calls != 2 {
		t.Error(err, calls)
	}
}

// TestOthers holds the laws on every snapshot at hand.
func TestOthers(t *testing.T) {
	for _, file := range fixture.Files(t, root, "*.sqlite") {
		path := fixture.Find(t, root, strings.TrimSuffix(filepath.Base(file), ".sqlite")+".snapshot.pickle")
		if path == "" {
			continue
		}
		snap := readSnapshot(t, path)
		for _, d := range snap.Devices() {
			w := simulate(t, Options{Snapshot: snap, Name: file, Device: d, Sweep: true})
			if w.Measured != w.Settings[w.Base()].PeakReserved {
				t.Errorf("%s device %d: the trace says %d, the model %d", file, d, w.Measured, w.Settings[w.Base()].PeakReserved)
			}
		}
	}
}
