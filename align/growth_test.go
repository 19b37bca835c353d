package align

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const mib = int64(1 << 20)

// leveled makes a track of so many iterations, 100 ns each, of which the first is warm-up; end gives the level at their ends.
func leveled(n int, end func(i int) int64) *Track {
	t := &Track{Tensors: &Tensors{From: "snapshot"}, Levels: []Level{{Kind: "allocated", Peak: 100 * mib}, {Kind: "reserved", Peak: 200 * mib}}}
	for i := range n {
		before := end(i - 1)
		u := MemoryUse{Start: before, End: end(i), Net: end(i) - before}
		t.Iterations = append(t.Iterations, Iteration{Index: i, Name: fmt.Sprintf("step %d", i), Start: int64(i) * 100, End: int64(i)*100 + 90, Warmup: i == 0,
			Use: Use{Other: []LevelUse{{Level: "allocated", MemoryUse: u}}}})
	}
	return t
}

func findingsOf(t *Track) map[string]*Finding {
	a := &analysis{rep: &Report{Tracks: []*Track{t}}}
	a.growthAllocated(t)
	a.fragmentation(t)
	out := make(map[string]*Finding)
	for i := range a.rep.Findings {
		out[a.rep.Findings[i].ID] = &a.rep.Findings[i]
	}
	return out
}

func TestGrowthAllocated(t *testing.T) {
	level := func(i int) int64 { return int64(max(i-1, 0)) * 3 * mib } // 3 MiB a step from step 2 on
	tr := leveled(8, level)
	for i := range tr.Iterations {
		at := tr.Iterations[i].Start
		// A gradient that each step replaces, and what stays.
		tr.Tensors.Blocks = append(tr.Tensors.Blocks, TensorBlock{Start: at + 10, End: at + 110, Counted: 50 * mib, Phase: "backward", Frame: "t.py:9 step"})
		if i >= 2 {
			tr.Tensors.Blocks = append(tr.Tensors.Blocks, TensorBlock{Start: at + 5, End: Never, Bytes: 3 * mib, Counted: 3 * mib, Lifetime: 7 - i, Phase: "forward", Frame: "t.py:7 keep"})
		}
	}
	tr.Tensors.Blocks[len(tr.Tensors.Blocks)-2].End = Never
	f := findingsOf(tr)["growth_allocated"]
	if f == nil {
		t.Fatal("no finding")
	}
	for key, want := range map[string]any{"grown_bytes": 18 * mib, "median_bytes": 3 * mib, "since": 2, "phase": "forward", "frame": "t.py:7 keep", "blocks": 6} {
		if got := f.Evidence[key]; got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if want := "Lifetime of more than 1 iteration, born in phase forward, Frame t.py:7 keep: 4 blocks of 12 MiB"; !strings.Contains(f.Advice, want) {
		t.Errorf("advice %q, want %q", f.Advice, want)
	}
	if !strings.Contains(f.Text, "born in forward at t.py:7 keep") {
		t.Errorf("text %q", f.Text)
	}

	// The same blocks that only get larger, as with a growing sequence, are no leak; nor is a level that goes up and down.
	for i := range tr.Tensors.Blocks {
		if b := &tr.Tensors.Blocks[i]; b.Phase == "forward" {
			b.Phase, b.End = "backward", b.Start+100
		}
	}
	if f := findingsOf(tr)["growth_allocated"]; f != nil {
		t.Errorf("found %q where no block stays", f.Text)
	}
	if f := findingsOf(leveled(8, func(i int) int64 { return int64(i&1) * mib }))["growth_allocated"]; f != nil {
		t.Errorf("found %q where the level goes up and down", f.Text)
	}
}

// rising makes a track of six iterations whose device level grows by 10 MiB in each steady one; peak gives the allocated
// level's peak.
func rising(peak func(i int) int64) *Track {
	t := leveled(6, func(int) int64 { return 20 * mib })
	t.Total.Memory.Peak = 200 * mib
	for i := range t.Iterations {
		it := &t.Iterations[i]
		it.Other[0].Peak = peak(i)
		start := int64(90+10*i) * mib
		it.Memory = MemoryUse{Start: start, End: start + 10*mib, Net: 10 * mib, Peak: start + 10*mib}
		it.Other = append(it.Other, LevelUse{Level: "reserved", MemoryUse: MemoryUse{Start: start - 4*mib, End: start + 6*mib}})
	}
	return t
}

func TestGrowthParts(t *testing.T) {
	for _, c := range []struct {
		name                 string
		peak                 func(i int) int64
		outside              int64 // that the last iteration takes outside PyTorch
		need, cache          int64
		says, advice, silent string
	}{
		{"need", func(i int) int64 { return int64(40+20*i) * mib }, 0, 50 * mib, 0, "from 40 MiB before step 1 to 140 MiB in step 5; of the growth, all is that", "gets larger", "cache"},
		{"both", func(i int) int64 { return int64(40+6*i) * mib }, 0, 30 * mib, 20 * mib, "30 MiB is that, 20 MiB is cache", "gets larger", "outside"},
		{"cache", func(int) int64 { return 40 * mib }, 0, 0, 50 * mib, "does not rise (40 MiB): 50 MiB is cache", "nsysmem whatif", "gets larger"},
		{"outside", func(int) int64 { return 40 * mib }, 10 * mib, 0, 40 * mib, "40 MiB is cache that lies in pieces, 10 MiB was taken outside", "Memory outside PyTorch", "gets larger"},
	} {
		tr := rising(c.peak)
		tr.Iterations[5].Other[1].End -= c.outside
		a := &analysis{rep: &Report{Tracks: []*Track{tr}, Collected: Collected{Memory: true}}}
		if i := a.growth(tr); i >= 0 {
			f := &a.rep.Findings[i]
			f.Advice = growthAdvice(tr, f.Evidence, a.growthAllocated(tr), a.fragmentation(tr))
		}
		f := hasFinding(a.rep, "growth")
		if f == nil {
			t.Fatalf("%s: no finding", c.name)
		}
		if f.Evidence["need_bytes"] != c.need || f.Evidence["cache_bytes"] != c.cache || f.Evidence["outside_bytes"] != c.outside {
			t.Errorf("%s: %v", c.name, f.Evidence)
		}
		if !strings.Contains(f.Text, c.says) || strings.Contains(f.Text+f.Advice, c.silent) || !strings.Contains(f.Advice, c.advice) {
			t.Errorf("%s: %s → %s", c.name, f.Text, f.Advice)
		}
		// Advice names no finding that is not there.
		if strings.Contains(f.Advice, "finding") {
			t.Errorf("%s: %s", c.name, f.Advice)
		}
	}
}

func TestFragmentation(t *testing.T) {
	flat := func(int) int64 { return 0 }
	tr := leveled(4, flat)
	tr.Tensors.Growth = []Cache{
		{Iteration: -1, Request: 2 * mib, Free: mib},                                               // not enough
		{Iteration: 1, Phase: "forward", Request: mib / 2, Free: 64 * mib},                         // of the small pool
		{Iteration: 2, Phase: "forward", Request: 40 * mib, Free: 80 * mib, LargestFree: 24 * mib}, // a misfit
	}
	f := findingsOf(tr)["fragmentation"]
	if f == nil || f.Severity != "warn" || f.Evidence["misfits"] != 1 || f.Evidence["steady_misfits"] != 1 || f.Evidence["largest_free_bytes"] != 24*mib ||
		!strings.Contains(f.Text, "step 2, forward") || !strings.Contains(f.Advice, "expandable_segments") {
		t.Errorf("finding %+v", f)
	}
	tr.Levels[1].Peak = 110 * mib // little is wasted
	if f := findingsOf(tr)["fragmentation"]; f != nil {
		t.Errorf("found %q where the cache is hardly larger than the tensors", f.Text)
	}
	c := tr.Tensors.Growth[2]
	tr.Tensors.Failures = []Holding{{Cache: &tr.Tensors.Growth[0]}, {Cache: &c}}
	if f := findingsOf(tr)["fragmentation"]; f == nil || f.Severity != "error" || f.Evidence["failed"] != 1 {
		t.Errorf("finding %+v", f)
	}
}

// TestSnapshotFindings checks the findings on recorded runs.
func TestSnapshotFindings(t *testing.T) {
	want := map[string]map[string]bool{
		"cnn_default": {"fragmentation": false, "growth_allocated": false, "flat_cache": false},
		"gpt_amp":     {"fragmentation": false, "growth_allocated": false},
		"unet_grow":   {"fragmentation": true, "growth_allocated": false},
		"leak":        {"fragmentation": false, "growth_allocated": true},
		"seq_grow":    {"fragmentation": true, "growth_allocated": false},
		"varlen_nvtx": {"growth_allocated": false},
	}
	seen := 0
	for _, export := range exports(t) {
		w := want[strings.TrimSuffix(filepath.Base(export), ".sqlite")]
		snap := readSnapshot(t, export)
		if w == nil || snap == nil {
			continue
		}
		rep := analyze(t, export, Options{Snapshot: snap})
		for id, found := range w {
			seen++
			if f := hasFinding(rep, id); (f != nil) != found {
				t.Errorf("%s: %s is %v, want found %v", export, id, f, found)
			}
		}
	}
	if seen == 0 {
		t.Error("no recorded run with a snapshot")
	}
}
