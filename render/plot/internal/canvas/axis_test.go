package canvas

import (
	"strings"
	"testing"
)

const (
	mib = int64(1) << 20
	ms  = int64(1e6)
)

func TestByteTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lo, hi int64
		want   string
	}{
		{0, 1700 * mib, "0 0.25 GiB 0.5 GiB 0.75 GiB 1 GiB 1.25 GiB 1.5 GiB"},
		{0, 140 << 30, "0 32 GiB 64 GiB 96 GiB 128 GiB"},
		{0, 3, "0 1 B 2 B 3 B"},
		{1000 * mib, 1100 * mib, "1008 MiB 1024 MiB 1040 MiB 1056 MiB 1072 MiB 1088 MiB"},
	} {
		var got []string
		for _, tick := range byteTicks(c.lo, c.hi, 8) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("ticks of %d to %d: %v, want %s", c.lo, c.hi, got, c.want)
		}
	}
	for _, hi := range []int64{0, 1, 1 << 62, 9e18} { // must end
		byteTicks(0, hi, 5)
	}
}

// TestTimeAxis: an axis has the unit that the number farthest from zero fills, and says where long numbers were cut.
func TestTimeAxis(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to int64
		unit     string
		title    string
	}{
		{470 * ms, 520 * ms, "ms", "time (ms) x"},
		{11_620 * ms, 11_690 * ms, "s", "time (s) x"},
		{0, 1_370_000, "ms", "time (ms) x"},
		{11_684*ms + 123_456, 11_684*ms + 223_456, "µs", "time (µs) after 11.6841 s"},
	} {
		a := NewTimeAxis(c.from, c.to, 0, 0, 10)
		if a.Unit != c.unit || a.Title("x") != c.title || len(a.Ticks) < 4 {
			t.Errorf("%d to %d: %+v, %q", c.from, c.to, a, a.Title("x"))
		}
	}
}

func TestShorterTitles(t *testing.T) {
	t.Parallel()
	h := Heading{Title: "A long title"}
	h.Shorter = []string{"A title"}
	h.Add(" (axis does not start at 0)", " (cut)")
	if h.Title != "A long title (axis does not start at 0)" || strings.Join(h.Shorter, "|") != "A long title (cut)|A title (cut)" {
		t.Errorf("%+v", h)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := strings.Join(wordsOf("it holds 3 MiB (22.5 %), at 4 ms."), "|"); got != "it|holds|3 MiB|(22.5 %),|at|4 ms." {
		t.Error(got)
	}
}
