package findings

import (
	"strings"
	"testing"

	"nsysmem/align/tensor"
)

func TestFragmentation(t *testing.T) {
	flat := func(int) int64 { return 0 }
	tr := leveled(4, flat)
	tr.Tensors.Growth = []tensor.Cache{
		{Iteration: -1, Request: 2 * mib, Free: mib},                                               // not enough
		{Iteration: 1, Phase: "forward", Request: mib / 2, Free: 64 * mib},                         // of the small pool
		{Iteration: 2, Phase: "forward", Request: 40 * mib, Free: 80 * mib, LargestFree: 24 * mib}, // a misfit
	}
	f := found(tr, "fragmentation")
	if f == nil || f.Severity != Warn || !strings.Contains(f.Text, "step 2, forward") || !strings.Contains(f.Advice, "expandable_segments") {
		t.Fatalf("finding %+v", f)
	}
	if e := f.Evidence.(Fragments); e.Misfits != 1 || e.SteadyMisfits != 1 || e.Segments != 3 || e.LargestFree != 24*mib {
		t.Errorf("evidence %+v", e)
	}
	tr.Iterations[2].Warmup = true
	if f := found(tr, "fragmentation"); f == nil || f.Severity != Info {
		t.Errorf("while it warms up: finding %+v", f)
	}
	tr.Levels[1].Peak = 110 * mib // little is wasted
	if f := found(tr, "fragmentation"); f != nil {
		t.Errorf("found %q where the cache is hardly larger than the tensors", f.Text)
	}
	c := tr.Tensors.Growth[2]
	tr.Tensors.Failures = []tensor.Holding{{Cache: &tr.Tensors.Growth[0]}, {Cache: &c}}
	if f := found(tr, "fragmentation"); f == nil || f.Severity != Error || f.Evidence.(Fragments).Failed != 1 {
		t.Errorf("finding %+v", f)
	}
}
