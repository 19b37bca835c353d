package tensor

import (
	"reflect"
	"testing"
)

const mib = int64(1 << 20)

// TestStayed: what each iteration takes and the next one replaces has not stayed.
func TestStayed(t *testing.T) {
	var steady []Stretch
	var blocks []Block
	for i := range 8 {
		at := int64(i) * 100
		if i > 0 {
			steady = append(steady, Stretch{at, at + 90})
		}
		// A gradient that each step replaces, and what stays.
		blocks = append(blocks, Block{Start: at + 10, End: at + 110, Counted: 50 * mib, Phase: "backward", Frame: "t.py:9 step"})
		if i >= 2 {
			blocks = append(blocks, Block{Start: at + 5, End: Never, Bytes: 3 * mib, Counted: 3 * mib, Phase: "forward", Frame: "t.py:7 keep"})
		}
	}
	blocks[len(blocks)-2].End = Never
	want := []Stayed{{Phase: "forward", Frame: "t.py:7 keep", Blocks: 6, Bytes: 18 * mib}}
	if got := stayedOf(steady, blocks); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := stayedOf(nil, blocks); len(got) > 0 {
		t.Errorf("%+v without iterations", got)
	}
	for i := range blocks {
		if b := &blocks[i]; b.Phase == "forward" {
			b.Phase, b.End = "backward", b.Start+80
		}
	}
	if got := stayedOf(steady, blocks); len(got) > 0 {
		t.Errorf("%+v where no block stays", got)
	}
}
