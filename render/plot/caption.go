package plot

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"nsysmem/align"
	"nsysmem/render/scale"
)

// caption says what the eye should find, a paragraph a thought, the most important first.
func (pic *picture) caption() []string {
	var out []string
	for _, s := range []string{pic.peakText(), pic.holdersText(), pic.theoryText(), pic.growthText(), pic.foundText(), pic.troubleText()} {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (pic *picture) peakText() string {
	lv := pic.level("device")
	if lv == nil || lv.Peak == 0 && lv.Allocs == 0 {
		return "No device memory was allocated in the recorded time; memory events were recorded."
	}
	if pic.view.level != "" {
		return pic.tensorPeakText(lv)
	}
	s := "Peak: "
	if lv.Partial {
		s += "at least "
	}
	s += scale.Bytes(lv.Peak) + " of device allocations at " + scale.Seconds(lv.PeakAt)
	if w := pic.where(lv.PeakAt); w != "" {
		s += ", " + w
	}
	if t := pic.track.DeviceTotal; t > 0 {
		s += fmt.Sprintf(" (%s of the card's %s)", percent(lv.Peak, t), scale.Bytes(t))
	}
	s += "."
	if lv.Partial {
		s += " The recording started when memory was live already, so that levels are lower bounds."
	}
	for _, kind := range []string{"managed", "pinned"} {
		if l := pic.level(kind); l != nil && l.Peak > lv.Peak/500 {
			s += fmt.Sprintf(" %s memory peaks at %s.", strings.ToUpper(kind[:1])+kind[1:], scale.Bytes(l.Peak))
		}
	}
	return s
}

func percent(part, whole int64) string {
	f := float64(part) / float64(whole) * 100
	if f < 0.1 {
		return "under 0.1 %"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " %"
}

// growthText says what stays behind after each steady iteration and what each needs.
func (pic *picture) growthText() string {
	var steady, warm, cut []int
	var nets, needs, device []int64
	for i := range pic.track.Iterations {
		it := &pic.track.Iterations[i]
		switch {
		case it.Truncated:
			cut = append(cut, it.Index)
		case it.Warmup:
			warm = append(warm, it.Index)
		default:
			steady = append(steady, it.Index)
			m := pic.view.use(&it.Use)
			nets, needs, device = append(nets, m.Net), append(needs, m.Need), append(device, it.Memory.Net)
		}
	}
	if len(pic.track.Iterations) == 0 {
		return ""
	}
	var s string
	if len(steady) == 0 {
		s = "Growth: unknown, no iteration is steady."
	} else {
		net, need := lowerMedian(nets), lowerMedian(needs)
		if pic.view.level != "" {
			s = pic.tensorGrowth(net, need, lowerMedian(device), list(steady))
		} else {
			s = levelGrowth(net, need, list(steady))
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

// levelGrowth says what the device level gains and needs an iteration, medians over the steady ones.
func levelGrowth(net, need int64, steady string) string {
	switch {
	case net == 0 && need == 0:
		return fmt.Sprintf("Growth: none; steady iterations (%s) neither keep nor need more than they start with (median).", steady)
	case net == 0:
		return fmt.Sprintf("Growth: none; steady iterations (%s) end where they start and need %s in between (median).", steady, scale.SignedBytes(need))
	}
	return fmt.Sprintf("Growth: %s an iteration; steady iterations (%s) need %s at their peak (medians).", scale.SignedBytes(net), steady, scale.SignedBytes(need))
}

// foundText says how the iterations were found, or why none were.
func (pic *picture) foundText() string {
	f := pic.track.IterationsFrom
	why := short2(f.Why, 160)
	n := f.Count
	if n == 0 {
		n = len(pic.track.Iterations)
	}
	name := ""
	if f.Pattern != "" {
		name = " “" + short(f.Pattern) + "”"
	}
	var s string
	switch {
	case len(pic.track.Iterations) == 0:
		s = "No iterations were found"
	case f.How == "kernels":
		s = fmt.Sprintf("Iterations: %d inferred from GPU work, confidence %.0f %%", n, f.Confidence*100)
	case why == "":
		s = fmt.Sprintf("Iterations: %d NVTX ranges%s", n, name)
	default:
		s, why = "Iterations: "+why, ""
	}
	if why != "" {
		s += ": " + why
	}
	if f.Domain != "" {
		s += " (NVTX domain " + short(f.Domain) + ")"
	}
	s = sentence(s)
	if len(f.Gaps) > 0 {
		s += " Numbers missing: " + list(f.Gaps) + "."
	}
	return s
}

// troubleText counts failed allocations and warnings, and gives the first of each.
func (pic *picture) troubleText() string {
	var s []string
	if failed := pic.track.Failed; len(failed) > 0 {
		text := fmt.Sprintf("%d %s failed, the first %s", len(failed), plural(failedCall(failed), len(failed)), pic.failedWhere(&failed[0]))
		s = append(s, sentence(text))
	}
	if f := pic.findings(); len(f) > 0 {
		text := "Finding: "
		if len(f) > 1 {
			text = fmt.Sprintf("%d findings, the first: ", len(f))
		}
		s = append(s, sentence(text+short2(f[0].Text, 200)))
	}
	if w := pic.rep.Warnings; len(w) > 0 {
		text := "1 warning: "
		if len(w) > 1 {
			text = fmt.Sprintf("%d warnings, the first: ", len(w))
		}
		s = append(s, sentence(text+short2(w[0].Text, 200)))
	}
	return strings.Join(s, " ")
}

// findings are those of this track that the caption does not say anyway.
func (pic *picture) findings() []align.Finding {
	var out []align.Finding
	for _, f := range pic.rep.Findings {
		pid, known := f.Evidence["pid"].(int64)
		device, _ := f.Evidence["device"].(int64)
		if known && (pid != pic.track.PID || device != pic.track.Device) || f.ID == "truncated" || f.ID == "flat_cache" && pic.track.Tensors != nil || f.ID == "failed_allocs" {
			continue
		}
		out = append(out, f)
	}
	return out
}

// sentence ends s with a full stop unless it has an end.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "!") {
		return s
	}
	return s + "."
}

func plural(name string, n int) string {
	switch {
	case strings.HasSuffix(name, "calls"):
	case strings.HasPrefix(name, "cu"):
		name += " call"
		fallthrough
	default:
		if n != 1 {
			name += "s"
		}
	}
	return name
}

func (pic *picture) failedWhere(f *align.FailedAlloc) string {
	if f.Iteration >= 0 && f.Iteration < len(pic.track.Iterations) {
		s := fmt.Sprintf("in iteration %d", pic.track.Iterations[f.Iteration].Index)
		if f.Phase != "" {
			s += ", phase " + short(f.Phase)
		}
		return s
	}
	if f.Range != "" {
		return "in range " + short(f.Range)
	}
	return "at " + scale.Seconds(f.Time)
}

// short2 is a sentence cut to at most n characters.
func short2(s string, n int) string {
	s = clean(s)
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func lowerMedian(v []int64) int64 {
	s := append([]int64(nil), v...)
	sort.Slice(s, func(a, b int) bool { return s[a] < s[b] })
	return s[(len(s)-1)/2]
}

// list writes numbers as ranges, such as "0–2, 7"; long lists are cut.
func list(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		switch {
		case j == i:
			parts = append(parts, strconv.Itoa(n[i]))
		case j == i+1:
			parts = append(parts, strconv.Itoa(n[i]), strconv.Itoa(n[j]))
		default:
			parts = append(parts, strconv.Itoa(n[i])+"–"+strconv.Itoa(n[j]))
		}
		i = j + 1
	}
	if len(parts) > 6 {
		parts = append(parts[:5], "…", parts[len(parts)-1])
	}
	return strings.Join(parts, ", ")
}
