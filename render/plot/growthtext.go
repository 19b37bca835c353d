package plot

import (
	"fmt"
	"sort"
	"strings"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// growthText says what stays behind after the steady iterations and what each needs.
func (pic *picture) growthText() string {
	var steady []*align.Iteration
	var warm, cut []int
	for i := range pic.track.Iterations {
		switch it := &pic.track.Iterations[i]; {
		case it.Truncated:
			cut = append(cut, it.Index)
		case it.Warmup:
			warm = append(warm, it.Index)
		default:
			steady = append(steady, it)
		}
	}
	if len(pic.track.Iterations) == 0 {
		return ""
	}
	s := "Growth"
	if pic.view.partial() {
		s += " over the whole run"
	}
	if len(steady) == 0 {
		s += ": unknown, no iteration is steady."
	} else {
		var needs []int64
		for _, it := range steady {
			needs = append(needs, pic.view.use(&it.Use).Need)
		}
		need, who := lowerMedian(needs), "Steady"
		if pic.view.level == "" {
			s += ": " + pic.growth(steady, "device") + pic.peaks(steady, "peaks")
		} else {
			s += ": tensors " + pic.growth(steady, pic.view.level) + pic.peaks(steady, "their peaks") + "; device level " + pic.growth(steady, "device")
			who = "Tensors of steady"
		}
		over := wording.SignedBytes(need) + " over the start"
		if need == 0 {
			over = "nothing over the start"
		}
		if len(steady) == 1 {
			s += fmt.Sprintf(". Need of the steady %s: %s.", pic.named(steady[0]), over)
		} else {
			s += fmt.Sprintf(". %s iterations (%s) need %s (median).", who, list(indexes(steady)), over)
		}
	}
	var left []string
	if len(warm) > 0 {
		left = append(left, "warm-up "+list(warm))
	}
	if len(cut) > 0 {
		left = append(left, "truncated "+list(cut))
	}
	if len(left) > 0 {
		s += " Left out of medians: " + strings.Join(left, ", ") + "."
	}
	return s
}

// peaks says how far the peaks of steady iterations are apart where nothing stays behind: a level that comes back to
// where it was may yet come higher each time. It is empty where they are about one.
func (pic *picture) peaks(steady []*align.Iteration, name string) string {
	kind := pic.view.level
	if kind == "" {
		kind = "device"
	}
	if len(steady) < 2 || !strings.HasPrefix(pic.growth(steady, kind), "none") {
		return ""
	}
	first, last := pic.view.use(&steady[0].Use).Peak, int64(0)
	low, high, rising := first, first, true
	for _, it := range steady {
		peak := pic.view.use(&it.Use).Peak
		low, high, rising = min(low, peak), max(high, peak), rising && peak >= last
		last = peak
	}
	switch {
	case high-low <= high/10:
		return ""
	case rising:
		return fmt.Sprintf(", but %s rise from %s in %s to %s in %d", name, wording.Bytes(first), pic.named(steady[0]), wording.Bytes(last), steady[len(steady)-1].Index)
	}
	return fmt.Sprintf(", but %s vary from %s to %s", name, wording.Bytes(low), wording.Bytes(high))
}

// A change is what a level does over an iteration, from the end of the one before.
type change struct {
	index int
	bytes int64
}

// trifle is the part of a level's peak below which a change of one iteration is not worth its name.
const trifle = 1000

// growth says what a level gains over the steady iterations. A median hides what one of them keeps for good, so that
// those that differ from it are named.
func (pic *picture) growth(steady []*align.Iteration, kind align.LevelKind) string {
	var all []change
	var bytes []int64
	sum, end, peak := int64(0), int64(0), int64(0)
	for _, it := range steady {
		m := it.Level(kind)
		if m == nil {
			return "unknown"
		}
		if len(all) == 0 {
			end = m.Start
		}
		all, bytes = append(all, change{it.Index, m.End - end}), append(bytes, m.End-end)
		sum += m.End - end
		end, peak = m.End, max(peak, m.Peak)
	}
	median := lowerMedian(bytes)
	if median != 0 {
		if len(all) == 1 {
			return fmt.Sprintf("%s in %s", wording.SignedBytes(sum), pic.numbered(all[0].index))
		}
		return wording.SignedBytes(median) + " an iteration (median), " + wording.SignedBytes(sum) + " in all"
	}
	var steps []change
	for _, c := range all {
		if max(c.bytes, -c.bytes) > peak/trifle {
			steps = append(steps, c)
		}
	}
	sort.SliceStable(steps, func(i, j int) bool {
		return max(steps[i].bytes, -steps[i].bytes) > max(steps[j].bytes, -steps[j].bytes)
	})
	const named = 3
	var parts []string
	for i, c := range steps {
		if i == named {
			parts = append(parts, fmt.Sprintf("%d more", len(steps)-named))
			break
		}
		in := fmt.Sprintf("in %d", c.index)
		if i == 0 {
			in = "in " + pic.numbered(c.index)
		}
		parts = append(parts, wording.SignedBytes(c.bytes)+" "+in)
	}
	switch {
	case len(steps) == 0 && sum == 0:
		return "none"
	case len(steps) == 0:
		return wording.SignedBytes(sum) + " in all"
	case len(steps) == 1 && sum == steps[0].bytes:
		return fmt.Sprintf("%s once, in %s", wording.SignedBytes(sum), pic.numbered(steps[0].index))
	case len(steps) == 1 && max(sum-steps[0].bytes, steps[0].bytes-sum) <= peak/trifle:
		return fmt.Sprintf("%s in all, nearly all of it in %s", wording.SignedBytes(sum), pic.numbered(steps[0].index))
	case sum == 0:
		return "none in all: " + strings.Join(parts, ", ")
	}
	return wording.SignedBytes(sum) + " in all: " + strings.Join(parts, ", ")
}
