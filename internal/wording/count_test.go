package wording

import (
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n              int64
		plain, changed string
	}{
		{0, "0", "0"}, {7, "7", "+7"}, {999, "999", "+999"}, {1000, "1,000", "+1,000"}, {-999, "-999", "-999"},
		{-1234567, "-1,234,567", "-1,234,567"}, {math.MinInt64, "-9,223,372,036,854,775,808", "-9,223,372,036,854,775,808"},
	} {
		if got := Count(c.n); got != c.plain {
			t.Errorf("Count(%d) = %q, want %q", c.n, got, c.plain)
		}
		if got := SignedCount(c.n); got != c.changed {
			t.Errorf("SignedCount(%d) = %q, want %q", c.n, got, c.changed)
		}
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "n/a"}, {0, 5, "0 %"}, {5, 5, "100 %"}, {1, 8, "12.5 %"}, {8, 1, "800.0 %"}, {-1, 2, "-50.0 %"},
		{1, 1_000_000, "<0.1 %"}, {999_999, 1_000_000, ">99.9 %"},
	} {
		if got := Share(c.part, c.whole); got != c.want {
			t.Errorf("Share(%d, %d) = %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 blocks", 1: "1 block", 2: "2 blocks", 2000: "2000 blocks"} {
		if got := Plural(n, "block"); got != want {
			t.Errorf("Plural(%d) = %q, want %q", n, got, want)
		}
	}
	if one, many := Noun(1, "call"), Noun(0, "call"); one != "call" || many != "calls" {
		t.Errorf("Noun gives %q and %q", one, many)
	}
}

func TestCapital(t *testing.T) {
	for s, want := range map[string]string{"": "", "peak at": "Peak at", "GPU": "GPU", "étape": "étape"} {
		if got := Capital(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestAnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		want  string
	}{{nil, ""}, {[]string{"a"}, "a"}, {[]string{"a", "b"}, "a and b"}, {[]string{"a", "b", "c"}, "a, b and c"}} {
		if got := And(c.words); got != c.want {
			t.Errorf("%q: %q, not %q", c.words, got, c.want)
		}
	}
}
