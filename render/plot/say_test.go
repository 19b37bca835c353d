package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
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
	t.Parallel()
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
	t.Parallel()
	svg, _ := render(t, steps(0, 0, 1*mib, 0, 0, 0), "svg", Options{})
	if !hasText(t, svg, "(typical of 5 steady)") || hasText(t, svg, "Iteration 2 enlarged") {
		t.Error("the iteration that keeps something is enlarged, or no reason is given")
	}
}

// TestInView: where a part is shown, the label names the highest level of that part and its place, the caption both.
func TestInView(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	its := []*align.Iteration{{Index: 3}, {Index: 4}, {Index: 7}}
	for want, c := range map[string][2]int{"": {3, 4}, "5–6": {3, 7}, "1–2": {1, 4}, "2, 5–6, 8–20": {2, 20}} {
		var in []*align.Iteration
		for _, it := range its {
			if it.Index >= c[0] && it.Index <= c[1] {
				in = append(in, it)
			}
		}
		if got := missingText(c, in); got != want {
			t.Errorf("%v: %q is missing, want %q", c, got, want)
		}
	}
}

// TestOwnWarnings: a picture tells of its own process and of the report, not of others.
func TestOwnWarnings(t *testing.T) {
	t.Parallel()
	s := training("cnn.sqlite", 4, 0)
	pid, device := s.track.PID, s.track.Device
	s.rep.Warnings = []findings.Warning{
		{PID: pid + 1, Code: "x", Text: "of another process"},
		{PID: pid, Code: "x", Text: fmt.Sprintf("process %d device %d: of another device", pid, device+1)},
		{PID: pid, Code: "x", Text: fmt.Sprintf("process %d device %d: its own, %s", pid, device, strings.Repeat("words, ", 60))},
		{Code: "x", Text: "of the report"},
	}
	s.rep.Findings = []findings.Finding{{Track: &align.Track{PID: pid + 1}, ID: "x", Text: "a stranger's"}, {Track: s.track, ID: "x", Text: "found here"}}
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
	t.Parallel()
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
	t.Parallel()
	s := steps(0, 0, 0, 0)
	for _, w := range []float64{1600, 900, 700, 500} {
		svg, _ := render(t, s, "svg", Options{Size: Size{W: w, H: 600}, DPI: 100})
		if !hasText(t, svg, "Iteration 2") || !hasText(t, svg, "Each iteration") || hasText(t, svg, "Iteration 2 enlarged (typical of 3 s…") {
			t.Errorf("%g: a title is missing or cut", w)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"short": "short", "one two, three four five": "one two …", "abcdefghijklmnopqrstuvwxyz": "abcdefghij …"} {
		if got := brief(s, 12); got != want {
			t.Errorf("%q is cut to %q, want %q", s, got, want)
		}
	}
	if got := sentence("cut off …"); got != "cut off …" {
		t.Error(got)
	}
}

// TestClock: a time in a sentence has the unit of the axis and is finer than its marks.
func TestClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ns, step int64
		unit     string
		want     string
	}{{504_751_000, 100_000, "ms", "504.8 ms"}, {11_632_400_000, 100_000, "s", "11.6324 s"}, {7, 1, "ns", "7 ns"}, {1500, 1000, "µs", "2 µs"}} {
		if got := wording.Clock(c.ns, c.unit, c.step); got != c.want {
			t.Errorf("%d: %q, want %q", c.ns, got, c.want)
		}
	}
}

// said is all the text of a picture, its lines joined by blanks, since captions break where they must.
func said(t *testing.T, svg []byte) string {
	t.Helper()
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if err != nil {
			return b.String()
		}
		if c, ok := tok.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			b.WriteString(string(c) + " ")
		}
	}
}

// TestPeaksThatRise: a level that comes back each time may yet come higher.
func TestPeaksThatRise(t *testing.T) {
	t.Parallel()
	hills := func(heights ...int64) *synth {
		s := newSynth("hills.sqlite")
		s.add("device", 1*ms, 100*mib)
		for i, h := range heights {
			at := int64(10*(i+1)) * ms
			s.add("device", at+2*ms, h*mib)
			s.add("device", at+6*ms, -h*mib)
		}
		for i := range heights {
			at := int64(10*(i+1)) * ms
			s.iteration(i, at, at+10*ms, i == 0, false, phase{"forward", 1, at + ms, at + 4*ms})
		}
		return s.finish()
	}
	for _, c := range []struct {
		heights []int64
		want    string
	}{
		{[]int64{10, 100, 200, 200, 924}, "Growth: none, but peaks rise from 200 MiB in iteration 1 to 1 GiB in 4. Steady"},
		{[]int64{10, 100, 400, 200}, "Growth: none, but peaks vary from 200 MiB to 500 MiB. Steady"},
		{[]int64{10, 100, 105, 101}, "Growth: none. Steady"},
		{[]int64{10, 100}, "Growth: none. Need"},
	} {
		svg, _ := render(t, hills(c.heights...), "svg", Options{})
		if text := said(t, svg); !strings.Contains(text, c.want) {
			t.Errorf("%v: want %q: %s", c.heights, c.want, text)
		}
	}
}

// TestFindingsInShort: all findings are there, and the cure that one of them has.
func TestFindingsInShort(t *testing.T) {
	t.Parallel()
	s := steps(0, 0, 0)
	long := strings.Repeat("that is so, ", 40)
	s.rep.Findings = []findings.Finding{
		{ID: "growth", Severity: "warn", Text: "it grows", Advice: "see the others"},
		{ID: "fragmentation", Severity: "warn", Text: "the cache is fragmented, " + long, Advice: "try expandable segments"},
		{ID: "flat_cache", Severity: "info", Text: "it is flat", Advice: "record a snapshot"},
		{ID: "more", Severity: "info", Text: "a fourth"},
		{ID: "other", Track: &align.Track{PID: 9}, Severity: "error", Text: "of another process", Advice: "leave it"},
	}
	svg, _ := render(t, s, "svg", Options{})
	text := said(t, svg)
	for _, want := range []string{"4 findings: (1) it grows; (2) the cache is fragmented, that is so", "that is so …; (3) it is flat. And 1 more. What helps: try expandable segments."} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q: %s", want, text)
		}
	}
	for _, not := range []string{"another process", "see the others", "record a snapshot"} {
		if strings.Contains(text, not) {
			t.Errorf("it says %q", not)
		}
	}
	s.rep.Findings = s.rep.Findings[2:3]
	svg, _ = render(t, s, "svg", Options{})
	if text := said(t, svg); !strings.Contains(text, "Finding: it is flat.") || strings.Contains(text, "What helps") {
		t.Errorf("one remark: %s", text)
	}
}

// TestFailedLevel: where allocations failed, the caption says how much was live then, and what the report makes of it.
func TestFailedLevel(t *testing.T) {
	t.Parallel()
	s := steps(0, 0, 8*mib, 0)
	s.track.Failed = []align.FailedAlloc{
		{Time: 23 * ms, Call: "cudaMalloc", Return: 2, Iteration: 1, Phase: "forward"},
		{Time: 32 * ms, Call: "cudaMalloc", Return: 2, Iteration: 2, Phase: "forward"}, // just then the level rises
		{Time: 47 * ms, Call: "cudaMalloc", Return: 2, Iteration: 3, Phase: "backward"},
	}
	s.rep.Findings = []findings.Finding{{ID: "failed_allocs", Severity: "error", Text: "3 allocations failed", Advice: "another process held the rest"}}
	want := "3 cudaMalloc calls failed, the first in iteration 1, phase forward, the last in iteration 3, phase backward, with 108 MiB to 172 MiB traced as live. Another process held the rest."
	svg, _ := render(t, s, "svg", Options{})
	if text := said(t, svg); !strings.Contains(text, want) {
		t.Errorf("want %q: %s", want, text)
	}
	svg, _ = render(t, s, "svg", Options{From: 31 * ms, To: 49 * ms}) // of the first nothing is known there
	if text := said(t, svg); strings.Contains(text, "traced as live") || !strings.Contains(text, "3 cudaMalloc calls failed") {
		t.Errorf("a part of the run: %s", text)
	}
}

// TestWord: iterations are called what the program calls them.
func TestWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ names, want string }{
		{"iteration 0,iteration 1", "iteration"}, {"step 0,step 1", "step"}, {"request#07,request#08", "request"},
		{"ProfilerStep#10,ProfilerStep#11", "ProfilerStep"}, {"train_step_3,train_step_4", "train_step"}, {"Epoch 1 step 10,Epoch 1 step 11", "Epoch 1 step"},
		{"train,train", "iteration"}, {"0,1", "iteration"}, {"step 0,batch 1", "iteration"}, {"the step of a name that goes on 1", "iteration"}, {"a/b 1", "iteration"},
	} {
		track := &align.Track{}
		for i, name := range strings.Split(c.names, ",") {
			at := len(name) - len(strings.TrimLeft(name[strings.LastIndexAny(name, "# _")+1:], "0"))
			index, err := strconv.Atoi(name[at:])
			if err != nil {
				index = i
			}
			track.Iterations = append(track.Iterations, align.Iteration{Index: index, Name: name})
		}
		if got := wordOf(track); got != c.want {
			t.Errorf("%s: %q, want %q", c.names, got, c.want)
		}
	}
	s := steps(0, 9*mib, 0, 0)
	for i := range s.track.Iterations {
		s.track.Iterations[i].Name = fmt.Sprint("request ", i)
	}
	svg, _ := render(t, s, "svg", Options{})
	text := said(t, svg)
	for _, want := range []string{"+9 MiB once, in request 1.", "in request 1, phase forward", "from the start of request 2", "Request 2 enlarged"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q: %s", want, text)
		}
	}
	if strings.Contains(text, "iteration 1") {
		t.Errorf("a request is called an iteration: %s", text)
	}
}

// TestAmong: a process is not mistaken for a device.
func TestAmong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tracks [][2]int64
		want   string
	}{
		{[][2]int64{{1, 0}}, ""},
		{[][2]int64{{1, 0}, {2, 0}}, " (process 2 of 2 in this report)"},
		{[][2]int64{{1, 0}, {1, 1}}, " (one of the process's 2 devices)"},
		{[][2]int64{{1, 0}, {1, 1}, {2, 0}}, " (picture 3 of 3 of this report: one for each device of a process)"},
	} {
		rep := &findings.Report{Report: &align.Report{}}
		for _, tr := range c.tracks {
			rep.Tracks = append(rep.Tracks, &align.Track{PID: tr[0], Device: tr[1]})
		}
		pic := &scene{rep: rep, names: names{track: rep.Tracks[len(rep.Tracks)-1]}}
		if got := pic.among(); got != c.want {
			t.Errorf("%v: %q, want %q", c.tracks, got, c.want)
		}
	}
}

// TestTakers: of several that took as much none is said to be the one that took most.
func TestTakers(t *testing.T) {
	t.Parallel()
	n := &names{track: &align.Track{Iterations: []align.Iteration{{Index: 0}, {Index: 1}}}, word: "step"}
	took := func(call string, it int, phase string, n int64) tensor.Taker {
		return tensor.Taker{Call: call, Iteration: it, Phase: phase, Blocks: 1, Bytes: n}
	}
	for _, c := range []struct {
		takers []tensor.Taker
		want   string
	}{
		{nil, "."},
		{[]tensor.Taker{took("cudaMalloc", 0, "forward", 90), took("cudaMalloc", 0, "backward", 80)}, ", most by cudaMalloc in step 0, phase forward."},
		{[]tensor.Taker{took("cudaMalloc", 0, "forward", 90), took("cudaMalloc", 0, "backward", 81)}, ", most by cudaMalloc in step 0: 90 B in phase forward, 81 B in phase backward."},
		{[]tensor.Taker{took("cudaMalloc", 0, "forward", 90), took("cudaMalloc", 1, "", 90), took("cudaMalloc", -1, "init", 9)}, ", most by cudaMalloc: 90 B in step 0, phase forward, 90 B in step 1."},
		{[]tensor.Taker{took("cudaMalloc", 0, "forward", 90), took("cuMemCreate", -1, "init", 90)}, ", most: 90 B by cudaMalloc in step 0, phase forward, 90 B by cuMemCreate in range init."},
	} {
		if got := n.outsideText(&tensor.Outside{Bytes: 180, Peak: 180, Takers: c.takers}); got != "Outside PyTorch: 180 B"+c.want {
			t.Errorf("%v: %q, want %q", c.takers, got, c.want)
		}
	}
}

// TestStuck: of an expandable segment whole pages go back, of others nothing while a block of theirs is live.
func TestStuck(t *testing.T) {
	t.Parallel()
	blocks := func(addr uint64, sizes ...int64) (out []tensor.MapBlock) { // in MiB; negative for free ones
		for _, n := range sizes {
			b := tensor.MapBlock{Addr: addr, Size: max(n, -n) * mib, Block: -1}
			if b.State = tensor.BlockLive; n < 0 {
				b.State = tensor.BlockFree
			}
			addr += uint64(b.Size)
			out = append(out, b)
		}
		return out
	}
	large := tensor.MapSegment{Addr: 1 << 30, Size: 100 * mib, Expandable: true, Blocks: blocks(1<<30, 15, -30, 15, -40)} // 20 to 40 and 60 to 100
	small := tensor.MapSegment{Addr: 1 << 40, Size: 10 * mib, Expandable: true, Small: true, Blocks: blocks(1<<40, 1, -4, 5)}
	fixed := tensor.MapSegment{Addr: 1 << 50, Size: 20 * mib, Blocks: blocks(1<<50, -10, 10)}
	empty := tensor.MapSegment{Addr: 1 << 51, Size: 20 * mib, Blocks: blocks(1<<51, -20)}
	for _, c := range []struct {
		segments []tensor.MapSegment
		stuck    int64
		want     string
	}{
		{[]tensor.MapSegment{large}, 10, "10 MiB share a page with live blocks and cannot go back to the driver; 60 MiB are whole pages, which can"},
		{[]tensor.MapSegment{small}, 2, "2 MiB share a page with live blocks and cannot go back to the driver; 2 MiB are whole pages"},
		{[]tensor.MapSegment{fixed, empty}, 10, "10 MiB lie beside live blocks, so that they cannot go back"},
		{[]tensor.MapSegment{fixed, large}, 20, "20 MiB share a segment, or a page of an expandable one, with live blocks"},
		{[]tensor.MapSegment{empty}, 0, ""},
	} {
		m := &segmentMap{segments: c.segments}
		m.count(&stack{})
		if got := m.stuckText(); m.stuck != c.stuck*mib || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("stuck %d MiB, %q, want %d, %q", m.stuck/mib, got, c.stuck, c.want)
		}
	}
}

// TestMiddle: the lower of two is not called their median.
func TestMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runs []int
		want string
	}{
		{[]int{1, 1}, "Highest level of each iteration: median, and range over ranks"},
		{[]int{2, 1}, "Highest level of each iteration: the lower of two, and range over ranks"},
		{[]int{3, 3}, "Highest level of each iteration: median, and range over ranks"},
		{[]int{4, 3}, "Highest level of each iteration: median (of an even number the lower middle one), and range over ranks"},
	} {
		r := &Runs{Over: "ranks", Lines: []RunLine{{Label: "a"}}}
		for i, n := range c.runs {
			r.Lines[0].Points = append(r.Lines[0].Points, RunPoint{Iteration: int64(i), Low: 1, Mid: 1, High: 2, Runs: n})
		}
		var b bytes.Buffer
		if err := WriteRuns(&b, "svg", r, Options{noScan: true}); err != nil {
			t.Fatal(err)
		}
		if text := said(t, b.Bytes()); !strings.Contains(text, c.want) {
			t.Errorf("%v: want %q: %s", c.runs, c.want, text)
		}
	}
}
