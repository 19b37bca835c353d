package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// growthText says what stays behind after the steady iterations and what each needs.
func (t *captionText) growthText() string {
	if len(t.track.Iterations) == 0 {
		return ""
	}
	var steady []*align.Iteration
	var warm, cut []int
	for i := range t.track.Iterations {
		switch it := &t.track.Iterations[i]; {
		case it.Truncated:
			cut = append(cut, it.Index)
		case it.Warmup:
			warm = append(warm, it.Index)
		default:
			steady = append(steady, it)
		}
	}
	s := "Growth"
	if t.view.partial() {
		s += " over the whole run"
	}
	if len(steady) == 0 {
		s += ": unknown, no iteration is steady."
	} else {
		s += t.steadyGrowth(steady)
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

// steadyGrowth says what the levels gain over the steady iterations, and what these need.
func (t *captionText) steadyGrowth(steady []*align.Iteration) string {
	device, who := changesOf(steady, align.LevelDevice), "Steady"
	s := ": " + t.changesText(device) + t.peaksText(steady, device, "peaks")
	if kind := t.view.level; kind != "" {
		tensors := changesOf(steady, kind)
		s = ": tensors " + t.changesText(tensors) + t.peaksText(steady, tensors, "their peaks") + "; device level " + t.changesText(device)
		who = "Tensors of steady"
	}
	var needs []int64
	for _, it := range steady {
		needs = append(needs, t.view.use(&it.Use).Need)
	}
	over := "nothing over the start"
	if need := lowerMedian(needs); need != 0 {
		over = wording.SignedBytes(need) + " over the start"
	}
	if len(steady) == 1 {
		return s + fmt.Sprintf(". Need of the steady %s: %s.", t.named(steady[0]), over)
	}
	return s + fmt.Sprintf(". %s iterations (%s) need %s (median).", who, list(indexes(steady)), over)
}

// A change is what a level does over an iteration, from the end of the one before.
type change struct {
	index int
	bytes int64
}

// amount is how much changes, up or down.
func (c change) amount() int64 { return max(c.bytes, -c.bytes) }

// changes are what a level does over the steady iterations.
type changes struct {
	known  bool
	n      int      // iterations
	first  int      // index of the first of them
	median int64    // bytes
	sum    int64    // bytes; over all of them
	steps  []change // those worth their names where the median is 0, the largest first
	trifle int64    // bytes; what is not
}

// changesOf are the changes of a kind of level; not known where an iteration does not tell.
func changesOf(steady []*align.Iteration, kind align.LevelKind) changes {
	out := changes{known: true, n: len(steady), first: steady[0].Index}
	var all []change
	var bytes []int64
	end, peak := int64(0), int64(0)
	for i, it := range steady {
		m := it.Level(kind)
		if m == nil {
			return changes{}
		}
		if i == 0 {
			end = m.Start
		}
		c := change{it.Index, m.End - end}
		all, bytes = append(all, c), append(bytes, c.bytes)
		out.sum += c.bytes
		end, peak = m.End, max(peak, m.Peak)
	}
	out.median, out.trifle = lowerMedian(bytes), peak/trifle
	out.steps = slices.DeleteFunc(all, func(c change) bool { return c.amount() <= out.trifle })
	slices.SortStableFunc(out.steps, func(a, b change) int { return cmp.Compare(b.amount(), a.amount()) })
	return out
}

// none says that nothing stays behind.
func (c *changes) none() bool { return c.known && c.median == 0 && c.sum == 0 }

// changesText says what a level gains over the steady iterations. A median hides what one of them keeps for good, so that
// those that differ from it are named.
func (t *captionText) changesText(c changes) string {
	sum := wording.SignedBytes(c.sum)
	switch steps := c.steps; {
	case !c.known:
		return "unknown"
	case c.median != 0 && c.n == 1:
		return sum + " in " + t.numbered(c.first)
	case c.median != 0:
		return wording.SignedBytes(c.median) + " an iteration (median), " + sum + " in all"
	case len(steps) == 0 && c.sum == 0:
		return "none"
	case len(steps) == 0:
		return sum + " in all"
	case len(steps) == 1 && c.sum == steps[0].bytes:
		return sum + " once, in " + t.numbered(steps[0].index)
	case len(steps) == 1 && max(c.sum-steps[0].bytes, steps[0].bytes-c.sum) <= c.trifle:
		return sum + " in all, nearly all of it in " + t.numbered(steps[0].index)
	case c.sum == 0:
		sum = "none"
	}
	return sum + " in all: " + t.steps(c.steps)
}

// steps names the iterations in which a level changes.
func (t *captionText) steps(steps []change) string {
	const named = 3
	var parts []string
	for i, c := range steps {
		if i == named {
			parts = append(parts, fmt.Sprintf("%d more", len(steps)-named))
			break
		}
		in := fmt.Sprint(c.index)
		if i == 0 {
			in = t.numbered(c.index)
		}
		parts = append(parts, wording.SignedBytes(c.bytes)+" in "+in)
	}
	return strings.Join(parts, ", ")
}

// peaksText says how far the peaks of steady iterations are apart where nothing stays behind: a level that comes back to
// where it was may yet come higher each time. It is empty where they are about one.
func (t *captionText) peaksText(steady []*align.Iteration, c changes, name string) string {
	const about = 10 // one part of the highest in so many
	if len(steady) < 2 || !c.none() {
		return ""
	}
	first, last := t.view.use(&steady[0].Use).Peak, int64(0)
	low, high, rising := first, first, true
	for _, it := range steady {
		peak := t.view.use(&it.Use).Peak
		low, high, rising = min(low, peak), max(high, peak), rising && peak >= last
		last = peak
	}
	switch {
	case high-low <= high/about:
		return ""
	case rising:
		return fmt.Sprintf(", but %s rise from %s in %s to %s in %d", name, wording.Bytes(first), t.named(steady[0]), wording.Bytes(last), steady[len(steady)-1].Index)
	}
	return fmt.Sprintf(", but %s vary from %s to %s", name, wording.Bytes(low), wording.Bytes(high))
}
