package wording

import (
	"slices"
	"strings"
	"testing"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "layer0": 6, "é": 1, "e\u0301": 1, "日本": 4, "ｆｕｌｌ": 8, "x\u200dy": 2, "…": 1, "😀": 2} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"forward/layer0", 14, "forward/layer0"}, {"forward/layer0", 13, "forward/laye…"}, {"forward/layer0", 8, "forward…"},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"ab", 1, "…"}, {"ab", 0, "…"}, {"", 0, ""},
		{"ae\u0301x", 2, "a…"}, {"e\u0301xy", 2, "e\u0301…"},
	} {
		if got := Cut(c.s, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want []string
	}{
		{"", 10, nil}, {"one two", 7, []string{"one two"}}, {"one two", 6, []string{"one", "two"}},
		{"  one \n two  ", 20, []string{"one two"}}, {"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"a bcdefghij", 5, []string{"a", "bcdef", "ghij"}}, {"日本語の", 5, []string{"日本", "語の"}},
		{"abcde", 1, []string{"abcd", "e"}},
	} {
		got := Wrap(c.text, c.n)
		if !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
		for _, line := range got {
			if Width(line) > max(c.n, leastWrap) || strings.TrimSpace(line) != line {
				t.Errorf("Wrap(%q, %d) has the line %q", c.text, c.n, line)
			}
		}
	}
}
