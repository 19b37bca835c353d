package findings

import (
	"reflect"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/tensor"
)

func TestGrowthAllocated(t *testing.T) {
	level := func(i int) int64 { return int64(max(i-1, 0)) * 3 * mib } // 3 MiB a step from step 2 on
	tr := leveled(8, level)
	for i := range tr.Iterations {
		at := tr.Iterations[i].Start
		// A gradient that each step replaces, and what stays.
		tr.Tensors.Blocks = append(tr.Tensors.Blocks, tensor.Block{Start: at + 10, End: at + 110, Counted: 50 * mib, Phase: "backward", Frame: "t.py:9 step"})
		if i >= 2 {
			tr.Tensors.Blocks = append(tr.Tensors.Blocks, tensor.Block{Start: at + 5, End: align.Never, Bytes: 3 * mib, Counted: 3 * mib, Lifetime: 7 - i, Phase: "forward", Frame: "t.py:7 keep"})
		}
	}
	tr.Tensors.Stayed = []tensor.Stayed{{Phase: "forward", Frame: "t.py:7 keep", Blocks: 6, Bytes: 18 * mib}}
	f := found(tr, "growth_allocated")
	if f == nil {
		t.Fatal("no finding")
	}
	e := f.Evidence.(Kept)
	e.rise = rise{}
	if want := (Kept{Grown: 18 * mib, Median: 3 * mib, Since: 2, Phase: "forward", Frame: "t.py:7 keep", Blocks: 6, PhaseBytes: 18 * mib}); !reflect.DeepEqual(e, want) {
		t.Errorf("evidence %+v, want %+v", e, want)
	}
	if want := "Lifetime of more than 1 iteration, born in phase forward, Frame t.py:7 keep: 4 blocks of 12 MiB"; !strings.Contains(f.Advice, want) {
		t.Errorf("advice %q, want %q", f.Advice, want)
	}
	if !strings.Contains(f.Text, "born in forward at t.py:7 keep") {
		t.Errorf("text %q", f.Text)
	}

	// Blocks that only get larger, as with a growing sequence, are no leak; nor is a level that goes up and down.
	tr.Tensors.Stayed[0].Bytes = 8 * mib
	if f := found(tr, "growth_allocated"); f != nil {
		t.Errorf("found %q where no block stays", f.Text)
	}
	if f := found(leveled(8, func(i int) int64 { return int64(i&1) * mib }), "growth_allocated"); f != nil {
		t.Errorf("found %q where the level goes up and down", f.Text)
	}
}
