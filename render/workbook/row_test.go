package workbook

import (
	"slices"
	"testing"
)

// TestRow has cells that are as those above them, and cells that are not: of another kind, empty, longer and shorter rows.
func TestRow(t *testing.T) {
	t.Parallel()
	var r row
	for _, want := range [][]any{
		{int64(1), "a", 2.5, nil},
		{int64(1), "a", 2.5, nil},
		{int64(2), "a\ufffdb", 2.5, int64(7)},
		{1.0, nil, int64(2)},
		{int64(1), "a\ufffdb", 2.5, int64(7), "b"},
		{nil, "a", nil, int64(8), "b"},
	} {
		r.reset()
		for _, v := range want {
			switch v := v.(type) {
			case int64:
				put(&r, v)
			case float64:
				put(&r, v)
			case string:
				r.text(v)
			default:
				r.none()
			}
		}
		if !slices.Equal(r.cells(), want) {
			t.Errorf("%v, want %v", r.cells(), want)
		}
	}
	// A text that is cleaned stands below one that was so from the beginning, and above it.
	for _, text := range []string{"a\x01b", "a\ufffdb", "a\x02b"} {
		r.reset()
		r.text(text)
		if got := r.cells()[0]; got != "a\ufffdb" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
