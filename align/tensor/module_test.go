package tensor

import (
	"slices"
	"testing"
)

// TestFoldModules folds layers that repeat, and leaves alone numbers that are only places in a sequence.
func TestFoldModules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   []Share
		want []Share
	}{
		{"repeated blocks", []Share{{"h.0.mlp.act", 1, 10}, {"h.1.mlp.act", 2, 20}, {"h.0", 1, 5}, {"h.1", 1, 6}, {"head", 1, 7}},
			[]Share{{"h.*.mlp.act × 2", 3, 30}, {"h.* × 2", 2, 11}, {"head", 1, 7}}},
		{"a sequence of different layers", []Share{{"0", 1, 10}, {"1", 1, 20}, {"net.2", 1, 5}, {"net.3", 1, 4}},
			[]Share{{"1", 1, 20}, {"0", 1, 10}, {"net.2", 1, 5}, {"net.3", 1, 4}}},
		{"one block alone", []Share{{"h.0.act", 1, 10}, {"h.0.fc", 1, 20}}, []Share{{"h.0.fc", 1, 20}, {"h.0.act", 1, 10}}},
		{"blocks within blocks", []Share{{"h.0.e.0.w", 1, 1}, {"h.0.e.1.w", 1, 1}, {"h.1.e.0.w", 1, 1}, {"h.1.e.1.w", 1, 1}},
			[]Share{{"h.*.e.*.w × 4", 4, 4}}},
		{"names that are no paths", []Share{{"", 1, 3}, {"..", 1, 2}, {"7.", 1, 1}, {NoModule, 1, 9}},
			[]Share{{NoModule, 1, 9}, {"", 1, 3}, {"..", 1, 2}, {"7.", 1, 1}}},
	} {
		if got := FoldModules(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
