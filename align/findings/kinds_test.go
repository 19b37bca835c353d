package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/tensor"
)

// still makes a track of four iterations in which nothing happens to the device level.
func still() *align.Track {
	t := &align.Track{PID: 7, Device: 1, Total: align.Use{Memory: align.MemoryUse{Peak: 100 * mib}}}
	for i := range 4 {
		t.Iterations = append(t.Iterations, align.Iteration{Index: i, Name: fmt.Sprintf("step %d", i), Warmup: i == 0})
	}
	return t
}

func TestFlatCache(t *testing.T) {
	f := found(still(), "flat_cache")
	if f == nil || f.Severity != Info || f.Evidence != (FlatCache{SteadyIterations: 3}) || !strings.Contains(f.Text, "over 3 steady iterations") {
		t.Fatalf("finding %+v", f)
	}
	for name, move := range map[string]func(*align.Track){
		"tensors are known": func(t *align.Track) { t.Tensors = &tensor.Memory{From: "driver"} },
		"events":            func(t *align.Track) { t.Iterations[2].Memory.Allocs, t.Iterations[2].Memory.Frees = 2, 2 },
		"a net change":      func(t *align.Track) { t.Iterations[2].Memory.Net = -2 * mib },
		"no memory":         func(t *align.Track) { t.Total.Memory.Peak = 0 },
		"one step":          func(t *align.Track) { t.Iterations = t.Iterations[:2] },
	} {
		tr := still()
		if move(tr); found(tr, "flat_cache") != nil {
			t.Errorf("%s: it is called flat", name)
		}
	}
	// A snapshot that tells of the process on another device tells that there is no cache on this one; of another
	// process it tells nothing.
	for pid, want := range map[int64]bool{7: false, 8: true} {
		other := &align.Track{PID: pid, Tensors: &tensor.Memory{From: "snapshot"}}
		rep := Of(&align.Report{Collected: align.Collected{Memory: true}, Tracks: []*align.Track{still(), other}})
		if got := slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.ID == "flat_cache" }); got != want {
			t.Errorf("a snapshot of process %d: flat %t, want %t", pid, got, want)
		}
	}
}

func TestFailedAllocs(t *testing.T) {
	tr := still()
	if f := found(tr, "failed_allocs"); f != nil {
		t.Errorf("found %q where none failed", f.Text)
	}
	tr.Failed = []align.FailedAlloc{{Time: 3, Return: 1, Iteration: -1}, {Time: 9, Return: 1, Iteration: 2, Phase: "forward"}}
	check := func(total int64, advice string) {
		t.Helper()
		tr.DeviceTotal = total
		f := found(tr, "failed_allocs")
		if f == nil || f.Severity != Error || f.Text != "2 allocations failed, the last in step 2, forward" || f.Evidence != (FailedAllocs{2, 9}) || !strings.Contains(f.Advice, advice) {
			t.Errorf("want advice %q: %+v", advice, f)
		}
	}
	check(1000*mib, "none of them says that memory ran out")
	tr.Failed[0].Return = 2
	check(1000*mib, "100 MiB at most on a card of 1000 MiB")
	check(150*mib, "the card was full")
	check(0, "the card was full") // its size is not known
}

func TestTruncated(t *testing.T) {
	tr := still()
	if found(tr, "truncated") != nil {
		t.Error("found where none is")
	}
	tr.Iterations[3].Truncated = true
	if f := found(tr, "truncated"); f == nil || f.Text != "step 3 is cut off and left out of medians" || f.Evidence != (Truncated{3}) {
		t.Errorf("finding %+v", f)
	}
}

// TestWhose: of several tracks each text says which it is about, and without memory events only what needs none is found.
func TestWhose(t *testing.T) {
	a, b := still(), still()
	b.PID, b.Iterations[3].Truncated = 8, true
	rep := &align.Report{Tracks: []*align.Track{a, b}}
	all := Of(rep).Findings
	if len(all) != 1 || all[0].Track != b || all[0].PID() != 8 || !strings.HasPrefix(all[0].Text, "process 8 device 1: step 3 is") {
		t.Errorf("findings %+v", all)
	}
	rep.Collected.Memory = true
	ids := ""
	for _, f := range Of(rep).Findings {
		ids += fmt.Sprint(f.PID(), " ", f.ID, "; ")
	}
	if want := "7 flat_cache; 8 flat_cache; 8 truncated; "; ids != want {
		t.Errorf("%s, want %s", ids, want)
	}
}

// TestFacts checks keys and order of the figures behind a finding.
func TestFacts(t *testing.T) {
	tr := still()
	facts := func(e Evidence) string {
		keys := ""
		for _, x := range (&Finding{Track: tr, Evidence: e}).Facts() {
			keys += fmt.Sprint(x.Key, "=", x.Value, " ")
		}
		return keys
	}
	if got, want := facts(Growth{Since: 3}), "device=1 grown_bytes=0 median_bytes=0 phase= phase_bytes=0 pid=7 since=3 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := facts(Growth{Parts: &Parts{Need: 5}}); !strings.Contains(got, " need_bytes=5 outside_bytes=0 phase= ") {
		t.Errorf("with parts: %s", got)
	}
	if got, want := facts(nil), "device=1 pid=7 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&Finding{ID: "x"}).Facts(); got != nil {
		t.Errorf("of the whole report: %v", got)
	}
}
