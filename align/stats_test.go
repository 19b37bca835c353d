package align

import "testing"

// lasting makes a track of iterations that last so long, and of a level that starts there, in bytes, and does not move in
// them. Its highest level is 1000.
func lasting(start int64, ns ...int64) *Track {
	t := &Track{Total: Use{Memory: MemoryUse{Peak: 1000}}}
	at := int64(0)
	for i, d := range ns {
		it := Iteration{Index: i, Start: at, End: at + d, Use: Use{Memory: MemoryUse{Start: start, End: start, Peak: 1000}}}
		t.Iterations = append(t.Iterations, it)
		at += d + 1
	}
	return t
}

// TestWarmupStarts: the first iterations in which a program starts are warm-up, whatever they leave behind.
func TestWarmupStarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		start   int64
		ns      []int64
		memory  bool
		cut     bool // the last is cut off
		warmups string
	}{
		{"compiles in the first", 0, []int64{500, 5, 5, 5, 5}, true, false, "w----"},
		{"compiles in the first two", 0, []int64{900, 600, 5, 5, 5}, true, false, "ww---"},
		{"holds a workspace before", 10, []int64{500, 5, 5, 5, 5}, true, false, "w----"},
		{"at most the first half", 0, []int64{900, 600, 5}, true, false, "w--"},
		{"takes ninety times as long", 0, []int64{450, 5, 5, 5, 5}, true, false, "-----"},
		{"does not start from nothing", 11, []int64{500, 5, 5, 5, 5}, true, false, "-----"},
		{"is slow in the middle", 0, []int64{5, 500, 5, 5, 5, 5}, true, false, "------"},
		{"is slow in the last", 0, []int64{5, 5, 5, 5, 500}, true, false, "-----"},
		{"takes no time", 0, []int64{5, 0, 0, 0}, true, false, "----"},
		{"is one", 0, []int64{500}, true, false, "-"},
		{"is cut off in the second", 0, []int64{500, 5}, true, true, "--"},
		{"without memory events, twice as long", 0, []int64{11, 5, 5, 5}, false, false, "w---"},
		{"without memory events, two start", 0, []int64{900, 600, 5, 5, 5}, false, false, "ww---"},
		{"without memory events, as long as twice", 0, []int64{10, 5, 5, 5}, false, false, "----"},
	} {
		tr := lasting(c.start, c.ns...)
		if !c.memory {
			tr = lasting(0, c.ns...)
			tr.Total = Use{}
		}
		tr.Iterations[len(c.ns)-1].Truncated = c.cut
		markWarmup(tr, c.memory)
		got := ""
		for i := range tr.Iterations {
			if tr.Iterations[i].Warmup {
				got += "w"
			} else {
				got += "-"
			}
		}
		if got != c.warmups {
			t.Errorf("a program that %s: %s, want %s", c.name, got, c.warmups)
		}
	}
}
