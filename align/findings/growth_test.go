package findings

import (
	"fmt"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/tensor"
)

const mib = int64(1 << 20)

// leveled makes a track of so many iterations, 100 ns each, of which the first is warm-up; end gives the level at their ends.
func leveled(n int, end func(i int) int64) *align.Track {
	t := &align.Track{Tensors: &tensor.Memory{From: "snapshot"},
		Levels: []align.Level{{Kind: "allocated", Peak: 100 * mib}, {Kind: "reserved", Peak: 200 * mib}}}
	for i := range n {
		before := end(i - 1)
		u := align.MemoryUse{Start: before, End: end(i), Net: end(i) - before}
		t.Iterations = append(t.Iterations, align.Iteration{Index: i, Name: fmt.Sprintf("step %d", i), Start: int64(i) * 100, End: int64(i)*100 + 90, Warmup: i == 0,
			Use: align.Use{Other: []align.LevelUse{{Level: "allocated", MemoryUse: u}}}})
	}
	return t
}

// found is the finding of a kind on the only track of a report with memory events; nil for none.
func found(t *align.Track, id ID) *Finding {
	rep := Of(&align.Report{Tracks: []*align.Track{t}, Collected: align.Collected{Memory: true}})
	for i := range rep.Findings {
		if rep.Findings[i].ID == id {
			return &rep.Findings[i]
		}
	}
	return nil
}

// rising makes a track of six iterations whose device level grows by 10 MiB in each steady one; peak gives the allocated
// level's peak.
func rising(peak func(i int) int64) *align.Track {
	t := leveled(6, func(int) int64 { return 20 * mib })
	t.Total.Memory.Peak = 200 * mib
	for i := range t.Iterations {
		it := &t.Iterations[i]
		it.Other[0].Peak = peak(i)
		start := int64(90+10*i) * mib
		it.Memory = align.MemoryUse{Start: start, End: start + 10*mib, Net: 10 * mib, Peak: start + 10*mib}
		it.Other = append(it.Other, align.LevelUse{Level: "reserved", MemoryUse: align.MemoryUse{Start: start - 4*mib, End: start + 6*mib}})
	}
	return t
}

func TestGrowth(t *testing.T) {
	tr := rising(func(int) int64 { return 0 })
	tr.Tensors, tr.DeviceTotal = nil, 0
	tr.Stayed = []tensor.Stayed{{Phase: "forward", Blocks: 5, Bytes: 40 * mib}, {Bytes: 6 * mib}, {Phase: "backward", Bytes: 3 * mib}, {Phase: "optimizer", Bytes: mib}}
	f := found(tr, "growth")
	if f == nil {
		t.Fatal("no finding")
	}
	e := f.Evidence.(Growth)
	if e.Parts = nil; e != (Growth{Grown: 50 * mib, Median: 10 * mib, Since: 1, Phase: "forward", PhaseBytes: 40 * mib}) {
		t.Errorf("evidence %+v", e)
	}
	want := "the device level grows by 50 MiB from step 1 to step 5, 10 MiB an iteration at the median: 40 MiB in blocks born in forward, 6 MiB in no range, 3 MiB in backward"
	if !strings.HasPrefix(f.Text, want) || strings.Contains(f.Text, "optimizer") || !strings.Contains(f.Advice, "these iterations, Phase forward and") {
		t.Errorf("%s → %s", f.Text, f.Advice)
	}
	// A level is no rise that goes up in half of the steps, or by next to nothing, or is seen in two steps only.
	for name, spoil := range map[string]func(){
		"trifle":    func() { tr.Total.Memory.Peak = 50 * mib * trifle },
		"too short": func() { tr.Iterations = tr.Iterations[:3] },
		"half of them": func() {
			for i := 1; i < 6; i += 2 {
				tr.Iterations[i].Memory.End = tr.Iterations[i].Memory.Start
			}
		},
	} {
		tr = rising(func(int) int64 { return 0 })
		if spoil(); found(tr, "growth") != nil {
			t.Errorf("%s: it is found to grow", name)
		}
	}
}

func TestGrowthParts(t *testing.T) {
	for _, c := range []struct {
		name                 string
		peak                 func(i int) int64
		outside              int64 // that the last iteration takes outside PyTorch
		need, cache          int64
		says, advice, silent string
	}{
		{"need", func(i int) int64 { return int64(40+20*i) * mib }, 0, 50 * mib, 0, "from 40 MiB before step 1 to 140 MiB in step 5, which explains all of the growth", "gets larger", "cache"},
		{"both", func(i int) int64 { return int64(40+6*i) * mib }, 0, 30 * mib, 20 * mib, "30 MiB of the growth, 20 MiB is cache", "gets larger", "outside"},
		{"cache", func(int) int64 { return 40 * mib }, 0, 0, 50 * mib, "does not rise (40 MiB): 50 MiB is cache", "nsysmem whatif", "gets larger"},
		{"outside", func(int) int64 { return 40 * mib }, 10 * mib, 0, 40 * mib, "40 MiB is cache that lies in pieces, 10 MiB was taken outside", "Memory outside PyTorch", "gets larger"},
	} {
		tr := rising(c.peak)
		tr.Iterations[5].Other[1].End -= c.outside
		f := found(tr, "growth")
		if f == nil {
			t.Fatalf("%s: no finding", c.name)
		}
		if e := f.Evidence.(Growth); e.Need != c.need || e.Cache != c.cache || e.Outside != c.outside {
			t.Errorf("%s: %+v", c.name, e.Parts)
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

// TestGrowthSendsOn: where other findings say more of a growing level, its advice sends there.
func TestGrowthSendsOn(t *testing.T) {
	tr := rising(func(int) int64 { return 40 * mib })
	for i := range tr.Iterations {
		tr.Iterations[i].Other[0].Start, tr.Iterations[i].Other[0].End = int64(i)*mib, int64(i+1)*mib
	}
	tr.Tensors.Stayed = []tensor.Stayed{{Phase: "forward", Blocks: 5, Bytes: 5 * mib}}
	tr.Tensors.Growth = []tensor.Cache{{Iteration: 2, Request: 40 * mib, Free: 80 * mib, LargestFree: 24 * mib}}
	f := found(tr, "growth")
	if f == nil || !strings.Contains(f.Advice, "the finding on them") || !strings.Contains(f.Advice, "the finding on the cache") {
		t.Errorf("finding %+v", f)
	}
}
