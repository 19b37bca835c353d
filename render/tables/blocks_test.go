package tables

import (
	"reflect"
	"testing"

	"nsysmem/align"
)

// TestStaticFolded: static memory of modules has a line for each iteration and phase, all other blocks a line of their own.
func TestStaticFolded(t *testing.T) {
	block := func(kind string, start, end, bytes int64, iteration int, phase string) align.Block {
		return align.Block{Start: start, End: end, Bytes: bytes, MemKind: kind, Iteration: iteration, Phase: phase}
	}
	never := int64(align.Never)
	in := []align.Block{
		block("device", 1, 9, 512, 0, "forward"),
		block("device static", 2, never, 1, 0, "forward"),
		block("device static", 3, never, 20, 0, "forward"),
		block("device", 4, never, 512, 0, "forward"),
		block("device static", 5, never, 3, 0, "backward"),
		block("device static", 6, 8, 4, 0, "forward"),
		block("device static", 7, 9, 5, 0, "forward"),
		block("managed static", 7, never, 6, 0, "forward"),
	}
	folded := func(b align.Block, n int) align.Block {
		b.Folded = n
		return b
	}
	want := []align.Block{in[0], in[3], in[7],
		folded(block("device static", 2, never, 21, 0, "forward"), 2),
		in[4], // of one block the line is the block
		folded(block("device static", 6, 9, 9, 0, "forward"), 2)}
	if got := StaticFolded(in); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if got := StaticFolded(in[:1]); !reflect.DeepEqual(got, in[:1]) {
		t.Errorf("without static memory: %+v", got)
	}
	row := &blockRow{Item: &want[3]}
	if got := blockNote(row); got != "2 blocks of modules, loaded as they are first used; not freed" || isBlock(row) {
		t.Errorf("note %q", got)
	}
	if got := blockNote(&blockRow{Item: &want[0]}); got != "" {
		t.Errorf("note of a block %q", got)
	}
}
