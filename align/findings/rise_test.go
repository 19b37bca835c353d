package findings

import (
	"testing"

	"nsysmem/align"
)

// device is the device level of an iteration.
func device(it *align.Iteration) *align.MemoryUse { return &it.Memory }

// ending makes a track of one warm-up and an iteration for each further level, in MiB, at whose ends the device level
// lies there.
func ending(levels ...int64) *align.Track {
	t := leveled(len(levels), func(int) int64 { return 0 })
	for i, l := range levels {
		start := levels[max(i-1, 0)]
		t.Iterations[i].Memory = align.MemoryUse{Start: start * mib, End: l * mib, Net: (l - start) * mib}
	}
	return t
}

// teeth are so many levels of a saw-tooth that rises by 10 in each iteration and falls back every so many iterations,
// with a leak beneath of so much in each.
func teeth(n, period, phase int, leak int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = 1000 + int64((i+phase)%period)*10 + int64(i)*leak
	}
	return out
}

// times repeats a level.
func times(n int, level int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = level
	}
	return out
}

// steps rises by so much every so many iterations.
func steps(n, every int, by int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = 1000 + int64(i/every)*by
	}
	return out
}

func then(parts ...[]int64) (out []int64) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestRise(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels []int64 // MiB, at the ends of a warm-up and the steady iterations
		grown  int64   // MiB; 0 for no rise
		since  int
	}{
		{"leak in each step", steps(11, 1, 10), 100, 1},
		{"leak in each of 3", steps(4, 1, 10), 30, 1},
		{"leak in every third step", steps(13, 3, 10), 40, 3},
		{"leak in every fifth of 60", steps(61, 5, 1), 12, 5},
		{"leak that slows down", []int64{100, 150, 180, 200, 215, 225, 233, 239, 244, 248, 251}, 151, 1},
		{"leak that begins late", then(times(30, 100), steps(10, 1, 10)[1:]), 990, 30},
		{"leak after a step", then(times(1, 100), steps(12, 1, 5)), 955, 1},
		{"leak with a step down", []int64{100, 110, 120, 130, 125, 140, 150, 160, 170}, 70, 1},
		{"leak beneath a saw-tooth", teeth(40, 4, 0, 2), 108, 1},
		{"slow leak beneath a saw-tooth", teeth(24, 4, 0, 1), 20, 1}, // up to the last fall
		{"inputs that grow", []int64{100, 100, 130, 130, 170, 200, 200, 240, 300}, 200, 2},

		{"flat", times(10, 100), 0, 0},
		{"one step", then(times(5, 100), times(5, 200)), 0, 0},
		{"one step in the first", then(times(1, 100), times(9, 200)), 0, 0},
		{"one step in the last", then(times(9, 100), times(1, 200)), 0, 0},
		{"two steps in 60", then(times(20, 100), times(20, 150), times(20, 200)), 0, 0},
		{"a benchmark's two larger sizes", then(times(7, 260), []int64{310}, times(6, 320), []int64{460}, times(6, 500)), 0, 0},
		{"two iterations", steps(3, 1, 10), 0, 0},
		{"saw-tooth", teeth(40, 4, 0, 0), 0, 0},
		{"saw-tooth that ends at its top", teeth(40, 8, 0, 0), 0, 0},
		{"saw-tooth that begins at its top", teeth(11, 10, 9, 0), 0, 0},
		{"two teeth", teeth(20, 10, 0, 0), 0, 0},
		{"two teeth, the last one higher", append(teeth(20, 10, 0, 0), 1100, 1110), 0, 0},
		{"growth, then a plateau", then(steps(6, 1, 10), times(10, 1050)), 0, 0},
		{"growth, then noise", then(steps(6, 1, 100), []int64{1500, 1500, 1501, 1501, 1501, 1502, 1502, 1502}), 0, 0},
		{"growth, then a fall", append(steps(12, 1, 10), 1000, 1000), 0, 0},
		{"growth, then a fall in the last", append(steps(12, 1, 10), 1040), 0, 0},
		{"growth that is given up in part", then(steps(6, 1, 10), times(6, 1010)), 0, 0},
		{"fall", []int64{1000, 900, 800, 700, 600}, 0, 0},
	} {
		tr := ending(c.levels...)
		r, grows := riseOf(tr, 0, device)
		if grows != (c.grown > 0) {
			t.Errorf("%s: grows %v by %d MiB", c.name, grows, r.grown/mib)
		} else if grows && (r.grown != c.grown*mib || r.since.Index != c.since) {
			t.Errorf("%s: %d MiB since %d, want %d since %d", c.name, r.grown/mib, r.since.Index, c.grown, c.since)
		}
	}
}

// TestRiseSteady: warm-ups and iterations that were cut off tell nothing of growth.
func TestRiseSteady(t *testing.T) {
	tr := ending(100, 110, 120, 130)
	tr.Iterations[3].Truncated = true
	if _, grows := riseOf(tr, 0, device); grows {
		t.Error("two whole iterations and one that is cut off grow")
	}
	tr = ending(100, 110, 120, 130)
	tr.Iterations[1].Warmup = true
	if _, grows := riseOf(tr, 0, device); grows {
		t.Error("two warm-ups and two steady iterations grow")
	}
	if _, grows := riseOf(ending(100, 110, 120, 130), 0, device); !grows {
		t.Error("three steady iterations do not grow")
	}
	if _, grows := riseOf(&align.Track{}, 0, device); grows {
		t.Error("no iteration grows")
	}
}

// TestRiseText: where most iterations add nothing, the average is told and no median of 0.
func TestRiseText(t *testing.T) {
	for every, want := range map[int]string{
		1: "it grows by 120 MiB from step 1 to step 12, 10 MiB an iteration at the median",
		3: "it grows by 40 MiB from step 3 to step 12, 3.33 MiB an iteration on average",
	} {
		r, _ := riseOf(ending(steps(13, every, 10)...), 0, device)
		if got := r.text("it grows"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
