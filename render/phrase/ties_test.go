package phrase

import (
	"testing"

	"nsysmem/align"
)

// TestTies names the first iterations in which phases tie, and none where none does or the memory of one is unknown.
func TestTies(t *testing.T) {
	t.Parallel()
	iteration := func(name string, second int64) align.Iteration {
		row := func(peak, need int64) align.Use {
			return align.Use{Memory: align.MemoryUse{Start: peak - need, Peak: peak, Need: need}}
		}
		return align.Iteration{Name: name, Use: row(1000, 900), Phases: []align.Phase{
			{Path: "forward", Name: "forward", Depth: 1, Calls: 1, Use: row(1000, 900)},
			{Path: "backward", Name: "backward", Depth: 1, Calls: 1, Use: row(second, 20)}}}
	}
	tr := &align.Track{Iterations: []align.Iteration{iteration("a", 995), iteration("b", 900), iteration("c", 995), iteration("d", 995), iteration("e", 995)}}
	for _, c := range []struct {
		places []int
		want   string
	}{
		{[]int{0, 1}, "(≈ marks a tie, of peaks within 1 %: a with backward)"},
		{[]int{0, 1, 2, 3, 4}, "(≈ marks a tie, of peaks within 1 %: a with backward; c with backward; d with backward; 1 more)"},
		{[]int{1}, ""},
		{nil, ""},
	} {
		if got := Ties(tr, c.places, align.LevelDevice); got != c.want {
			t.Errorf("%v: %q, want %q", c.places, got, c.want)
		}
	}
	tr.Iterations[0].Lost.Memory = true
	if got := Ties(tr, []int{0}, align.LevelDevice); got != "" {
		t.Errorf("of unknown memory: %q", got)
	}
	if by := tr.Iterations[2].PeakBy(align.LevelDevice); by.Short() != "≈ forward" {
		t.Errorf("short %q", by.Short())
	}
	if by := tr.Iterations[1].PeakBy(align.LevelDevice); by.Short() != "forward" {
		t.Errorf("short without a tie %q", by.Short())
	}
}
