package plot

import (
	"fmt"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/render/scale"
)

// steps is a program of one step of 10 ms after another: each takes 64 MiB and gives it back, and keeps of it what keep
// says. The first is a warm-up.
func steps(keep ...int64) *synth {
	s := newSynth("steps.sqlite")
	s.add("device", 1*ms, 100*mib)
	for i, k := range keep {
		at := int64(10*(i+1)) * ms
		s.add("device", at+2*ms, 64*mib+k)
		s.add("device", at+6*ms, -64*mib)
	}
	for i := range keep {
		at := int64(10*(i+1)) * ms
		s.iteration(i, at, at+10*ms, i == 0, false, phase{"forward", 1, at + ms, at + 4*ms}, phase{"backward", 1, at + 4*ms, at + 9*ms})
	}
	return s.finish()
}

// TestGrowthSaysSteps: a median of what iterations keep hides one that keeps something for good.
func TestGrowthSaysSteps(t *testing.T) {
	for _, c := range []struct {
		keep []int64
		want string
	}{
		{[]int64{0, 0, 0, 0}, "Growth: none. Steady iterations (1–3) need +64 MiB over the start (median)."},
		{[]int64{9 * mib, 0, 0, 5 * mib, 0, 0}, "Growth: +5 MiB once, in iteration 3. Steady iterations (1–5)"},
		{[]int64{0, 0, -8 * mib, 8 * mib, 0, 0}, "Growth: none in all: -8 MiB in iteration 2, +8 MiB in 3."},
		{[]int64{0, 0, 30 * mib, 0, 1000, 0}, "Growth: +30.00 MiB in all, nearly all of it in iteration 2."},
		{[]int64{0, 0, 30 * mib, 0, 10 * mib, 0}, "Growth: +40 MiB in all: +30 MiB in iteration 2, +10 MiB in 4."},
		{[]int64{0, 3 * mib, 3 * mib, 3 * mib}, "Growth: +3 MiB an iteration (median), +9 MiB in all."},
		{[]int64{0, 0, 100, 0}, "Growth: +100 B in all."},
		{[]int64{0, 7 * mib}, "Growth: +7 MiB in iteration 1. Need of the steady iteration 1: +71 MiB over the start."},
		{[]int64{0}, "Growth: unknown, no iteration is steady."},
	} {
		svg, _ := render(t, steps(c.keep...), "svg", Options{})
		if !hasText(t, svg, c.want) {
			t.Errorf("%v: the picture does not say %q", c.keep, c.want)
		}
	}
}

// TestTypicalIteration: the one enlarged keeps what most do, though another's need is the median.
func TestTypicalIteration(t *testing.T) {
	svg, _ := render(t, steps(0, 0, 1*mib, 0, 0, 0), "svg", Options{})
	if !hasText(t, svg, "(typical of 5 steady)") || hasText(t, svg, "Iteration 2 enlarged") {
		t.Error("the iteration that keeps something is enlarged, or no reason is given")
	}
}

// TestInView: where a part is shown, the label names the highest level of that part and its place, the caption both.
func TestInView(t *testing.T) {
	s := steps(0, 20*mib, -20*mib, 0, 0, 0)
	for _, c := range []struct {
		o    Options
		want []string
		not  string
	}{
		{Options{}, []string{"Peak: 184 MiB of device allocations at 22.0 ms, in iteration 1, phase forward", "peak 184 MiB in iteration 1, phase forward"}, "whole run"},
		{Options{Iterations: &[2]int{3, 8}}, []string{"Peak of the whole run, not in view: 184 MiB", "In view: at most 164 MiB, at 42.0 ms, in iteration 3, phase forward.",
			"highest in view 164 MiB in iteration 3, phase forward", "Growth over the whole run", "Shown: 3–5; there is no 6–8."}, ""},
		{Options{Iterations: &[2]int{1, 2}}, []string{"Peak of the whole run, in view: 184 MiB", "peak 184 MiB in iteration 1", "Shown: 1, 2."}, "In view:"},
		{Options{From: 47 * ms, To: 59 * ms}, []string{"highest in view 164 MiB in iteration 4, phase forward", "at 52.0 ms"}, ""},
		{Options{From: 47 * ms, To: 49 * ms}, []string{"flat at 100 MiB"}, ""},
		{Options{Iterations: &[2]int{4, 5}, View: "iterations"}, []string{"In view: at most 164 MiB, at 0.052 s, in iteration 4, phase forward."}, "Tensors"},
		{Options{SinceFirst: true}, []string{"184 MiB of device allocations 21.0 ms after the first event in view"}, ""},
	} {
		svg, _ := render(t, s, "svg", c.o)
		for _, want := range c.want {
			if !hasText(t, svg, want) {
				t.Errorf("%+v: the picture does not say %q", c.o, want)
			}
		}
		if c.not != "" && hasText(t, svg, c.not) {
			t.Errorf("%+v: the picture says %q", c.o, c.not)
		}
	}
	if _, doubts := render(t, s, "svg", Options{Iterations: &[2]int{3, 8}}); len(doubts) != 1 || !strings.Contains(doubts[0].Text, "there is no 6–8") {
		t.Errorf("%+v", doubts)
	}
	if _, doubts := render(t, s, "svg", Options{From: 40 * ms, To: 1 << 50}); len(doubts) != 1 || doubts[0].Code != "time_clipped" {
		t.Errorf("%+v", doubts)
	}
}

func TestMissing(t *testing.T) {
	its := []*align.Iteration{{Index: 3}, {Index: 4}, {Index: 7}}
	for want, c := range map[string][2]int{"": {3, 4}, "5–6": {3, 7}, "1–2": {1, 4}, "2, 5–6, 8–20": {2, 20}} {
		var in []*align.Iteration
		for _, it := range its {
			if it.Index >= c[0] && it.Index <= c[1] {
				in = append(in, it)
			}
		}
		if got := missing(c, in); got != want {
			t.Errorf("%v: %q is missing, want %q", c, got, want)
		}
	}
}

// TestOwnWarnings: a picture tells of its own process and of the report, not of others.
func TestOwnWarnings(t *testing.T) {
	s := training("cnn.sqlite", 4, 0)
	pid, device := s.track.PID, s.track.Device
	s.rep.Warnings = []align.Warning{
		{PID: pid + 1, Code: "x", Text: "of another process"},
		{PID: pid, Code: "x", Text: fmt.Sprintf("process %d device %d: of another device", pid, device+1)},
		{PID: pid, Code: "x", Text: fmt.Sprintf("process %d device %d: its own, %s", pid, device, strings.Repeat("words, ", 60))},
		{Code: "x", Text: "of the report"},
	}
	s.rep.Findings = []align.Finding{{PID: pid + 1, ID: "x", Text: "a stranger's"}, {PID: pid, ID: "x", Text: "found here"}}
	svg, _ := render(t, s, "svg", Options{})
	for _, want := range []string{"2 warnings, the first: its own, words", "words …", "Finding: found here."} {
		if !hasText(t, svg, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	for _, not := range []string{"another", "stranger", "….", ", …"} {
		if hasText(t, svg, not) {
			t.Errorf("the picture says %q", not)
		}
	}
}

// TestLegendOfWhatIsDrawn: no colour is explained that is not in the picture.
func TestLegendOfWhatIsDrawn(t *testing.T) {
	s := newSynth("ranges.sqlite")
	s.add("device", 10*ms, mib)
	s.track.Ranges = []align.RangeUse{{Name: "many calls", Calls: 60, Start: ms, End: 19 * ms}, {Name: "load", Calls: 1, Start: 5 * ms, End: 15 * ms}}
	svg, _ := render(t, s.finish(), "svg", Options{})
	if hasText(t, svg, "many calls") || !hasText(t, svg, "load") {
		t.Error("ranges in the legend and on the lane differ")
	}
	svg, _ = render(t, steps(0, 0, 0), "svg", Options{})
	if hasText(t, svg, align.OtherPhase) {
		t.Error("no peak is set by (other), but it is in the legend")
	}
}

// TestShorterTitles: a narrow panel's title says less rather than being cut.
func TestShorterTitles(t *testing.T) {
	s := steps(0, 0, 0, 0)
	for _, w := range []float64{1600, 900, 700, 500} {
		svg, _ := render(t, s, "svg", Options{Size: Size{W: w, H: 600}, DPI: 100})
		if !hasText(t, svg, "Iteration 2") || !hasText(t, svg, "Each iteration") || hasText(t, svg, "Iteration 2 enlarged (typical of 3 s…") {
			t.Errorf("%g: a title is missing or cut", w)
		}
	}
	h := head{title: "A long title"}
	h.shorter = []string{"A title"}
	h.add(" (axis does not start at 0)", " (cut)")
	if h.title != "A long title (axis does not start at 0)" || strings.Join(h.shorter, "|") != "A long title (cut)|A title (cut)" {
		t.Errorf("%+v", h)
	}
}

func TestWords(t *testing.T) {
	if got := strings.Join(wordsOf("it holds 3 MiB (22.5 %), at 4 ms."), "|"); got != "it|holds|3 MiB|(22.5 %),|at|4 ms." {
		t.Error(got)
	}
	for s, want := range map[string]string{"short": "short", "one two, three four five": "one two …", "abcdefghijklmnopqrstuvwxyz": "abcdefghij …"} {
		if got := short2(s, 12); got != want {
			t.Errorf("%q is cut to %q, want %q", s, got, want)
		}
	}
	if got := sentence("cut off …"); got != "cut off …" {
		t.Error(got)
	}
}

// TestAxisAndClockAgree: a time in a sentence has the unit of the axis and is finer than its marks.
func TestAxisAndClockAgree(t *testing.T) {
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
		a := newTimeAxis(c.from, c.to, 0, 0, 10)
		if a.unit != c.unit || a.title("x") != c.title || len(a.ticks) < 4 {
			t.Errorf("%d to %d: %+v, %q", c.from, c.to, a, a.title("x"))
		}
	}
	for _, c := range []struct {
		ns, step int64
		unit     string
		want     string
	}{{504_751_000, 100_000, "ms", "504.8 ms"}, {11_632_400_000, 100_000, "s", "11.6324 s"}, {7, 1, "ns", "7 ns"}, {1500, 1000, "µs", "2 µs"}} {
		if got := scale.Clock(c.ns, c.unit, c.step); got != c.want {
			t.Errorf("%d: %q, want %q", c.ns, got, c.want)
		}
	}
}
