package plot

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
)

// caption says what the eye should find, a paragraph a thought, the most important first.
func (pic *picture) caption() []string {
	var out []string
	for _, s := range append([]string{pic.peakText(), pic.holdersText(), pic.theoryText(), pic.growthText(), pic.foundText()}, pic.troubles()...) {
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
	s := pic.peakHead(lv.PeakAt)
	if lv.Partial {
		s += "at least "
	}
	s += wording.Bytes(lv.Peak) + " of device allocations " + pic.at(lv.PeakAt)
	if w := pic.where(lv.PeakAt); w != "" {
		s += ", " + w
	}
	if t := pic.track.DeviceTotal; t > 0 {
		s += fmt.Sprintf(" (%s of the card's %s)", percent(lv.Peak, t), wording.Bytes(t))
	}
	s += "." + pic.inViewText("device", "")
	if lv.Partial {
		s += " The recording started when memory was live already, so that levels are lower bounds."
	}
	for _, kind := range []align.LevelKind{align.LevelManaged, align.LevelPinned} {
		if l := pic.level(kind); l != nil && l.Peak > lv.Peak/500 {
			s += fmt.Sprintf(" %s%s memory peaks at %s.", strings.ToUpper(string(kind[:1])), kind[1:], wording.Bytes(l.Peak))
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
	case f.Inferred():
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
	return s + pic.shownText()
}

// troubles counts failed allocations, findings and warnings, and gives the first of each.
func (pic *picture) troubles() []string {
	var out []string
	if failed := pic.track.Failed; len(failed) > 0 {
		first, last := pic.failedWhere(&failed[0]), pic.failedWhere(&failed[len(failed)-1])
		switch {
		case len(failed) == 1:
		case last == first:
			first = "all " + first
		default:
			first = "the first " + first + ", the last " + last
		}
		s := sentence(fmt.Sprintf("%d %s failed, %s%s", len(failed), plural(failedCall(failed), len(failed)), first, pic.failedLevel()))
		for _, f := range pic.ownFindings() {
			if f.ID == "failed_allocs" && f.Advice != "" {
				s += " " + sentence(upper(short2(f.Advice, 240)))
			}
		}
		out = append(out, s)
	}
	if s := pic.findingsText(); s != "" {
		out = append(out, s)
	}
	var warnings []string
	for _, w := range pic.rep.Warnings {
		if w.PID == 0 || w.PID == pic.track.PID {
			warnings = append(warnings, w.Text)
		}
	}
	// Those of another device of the process say so in their text alone.
	var own []string
	for _, text := range warnings {
		if text, ok := pic.own(text); ok {
			own = append(own, text)
		}
	}
	switch head := "1 warning: "; {
	case len(own) > 1:
		head = fmt.Sprintf("%d warnings, the first: ", len(own))
		fallthrough
	case len(own) == 1:
		out = append(out, sentence(head+short2(own[0], 320)))
	}
	return out
}

// findingsText gives the findings in short, and what helps where one of them is more than a remark.
func (pic *picture) findingsText() string {
	const named = 3
	var texts []string
	cure, cures := "", findings.ID("")
	for _, f := range pic.findings() {
		text, ok := pic.own(f.Text)
		if !ok {
			continue
		}
		texts = append(texts, text)
		// The advice on a level that grows sends to the other findings, which say why it does.
		if f.Severity != findings.Info && f.Advice != "" && (cure == "" || cures == "growth") {
			cure, cures = f.Advice, f.ID
		}
	}
	s := ""
	switch n := len(texts); {
	case n == 0:
		return ""
	case n == 1:
		s = sentence("Finding: " + short2(texts[0], 320))
	default:
		for i, text := range texts[:min(n, named)] {
			texts[i] = fmt.Sprintf("(%d) %s", i+1, shortClause(text, 170))
		}
		s = sentence(fmt.Sprintf("%d findings: %s", n, strings.Join(texts[:min(n, named)], "; ")))
		if n > named {
			s += fmt.Sprintf(" And %d more.", n-named)
		}
	}
	if cure != "" {
		s += " " + sentence("What helps: "+short2(cure, 180))
	}
	return s
}

// failedLevel says how much was live when allocations failed, as far as the curve of the timeline tells.
func (pic *picture) failedLevel() string {
	var c *align.Curve
	for i := range pic.time {
		if pic.time[i].Kind == "device" {
			c = &pic.time[i]
		}
	}
	if c == nil {
		return ""
	}
	low, high := int64(math.MaxInt64), int64(0)
	for i := range pic.track.Failed {
		at := pic.track.Failed[i].Time
		if at < c.From || at >= c.To {
			return ""
		}
		k := sort.Search(len(c.Points), func(k int) bool { return c.Points[k].Time > at }) - 1
		if k < 0 {
			low, high = min(low, c.Before), max(high, c.Before)
			continue
		}
		low, high = min(low, c.Points[k].Low), max(high, c.Points[k].High) // of a point that stands for a stretch, both may be
	}
	switch {
	case high == 0:
		return ""
	case low == high:
		return ", with " + wording.Bytes(low) + " traced as live"
	}
	return ", with " + wording.Bytes(low) + " to " + wording.Bytes(high) + " traced as live"
}

// own is a text without the process and device that it begins with; ok is false where it is about another device.
func (pic *picture) own(text string) (own string, ok bool) {
	process := fmt.Sprintf("process %d ", pic.track.PID)
	device := fmt.Sprintf("%sdevice %d: ", process, pic.track.Device)
	if rest, ok := strings.CutPrefix(text, device); ok {
		return rest, true
	}
	return text, !strings.HasPrefix(text, process+"device ")
}

// findings are those of this track that the caption does not say anyway.
func (pic *picture) findings() []findings.Finding {
	var out []findings.Finding
	for _, f := range pic.ownFindings() {
		if f.ID == "truncated" || f.ID == "flat_cache" && pic.track.Tensors != nil || f.ID == "failed_allocs" {
			continue
		}
		out = append(out, f)
	}
	return out
}

// ownFindings are all of this track.
func (pic *picture) ownFindings() []findings.Finding {
	var out []findings.Finding
	for _, f := range pic.rep.Findings {
		if t := f.Track; t != nil && (t.PID != pic.track.PID || t.Device != pic.track.Device) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// sentence ends s with a full stop unless it has an end.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "…") {
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
		s := "in " + pic.named(&pic.track.Iterations[f.Iteration])
		if f.Phase != "" {
			s += ", phase " + short(f.Phase)
		}
		return s
	}
	if f.Range != "" {
		return "in range " + short(f.Range)
	}
	return pic.at(f.Time)
}

// short2 is a sentence cut to at most n characters, between words where there are any.
func short2(s string, n int) string {
	s = clean(s)
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	cut := string(r[:n-2])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 && r[n-2] != ' ' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " .,;:–(") + " …"
}

// shortClause is short2, but ends with a whole clause where one ends late enough.
func shortClause(s string, n int) string {
	cut := short2(s, n)
	if cut == clean(s) {
		return cut
	}
	if i := strings.LastIndexAny(cut, ",;:"); i > len(cut)/2 && strings.HasPrefix(cut[i+1:], " ") {
		cut = cut[:i] + " …"
	}
	return cut
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
