package plot

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
)

// troubles counts failed allocations, findings and warnings, and gives the first of each.
func (t *captionText) troubles() []string {
	out := []string{t.failures(), t.findingsText()}
	// Warnings of another device of the process say so in their text alone.
	var own []string
	for _, w := range t.rep.Warnings {
		if text, ok := t.ownText(w.Text); ok && (w.PID == 0 || w.PID == t.track.PID) {
			own = append(own, text)
		}
	}
	switch len(own) {
	case 0:
		return out
	case 1:
		return append(out, sentence("1 warning: "+brief(own[0], 320)))
	}
	return append(out, sentence(fmt.Sprintf("%d warnings, the first: ", len(own))+brief(own[0], 320)))
}

// failures says how many allocating calls failed, where, and what was live then.
func (t *captionText) failures() string {
	calls := t.track.Failed
	if len(calls) == 0 {
		return ""
	}
	first, last := t.failedWhere(&calls[0]), t.failedWhere(&calls[len(calls)-1])
	switch {
	case len(calls) == 1:
	case last == first:
		first = "all " + first
	default:
		first = "the first " + first + ", the last " + last
	}
	s := sentence(fmt.Sprintf("%d %s failed, %s%s", len(calls), failedCalls(calls), first, t.failedLevel()))
	for _, f := range t.ownFindings() {
		if f.ID == "failed_allocs" && f.Advice != "" {
			s += " " + sentence(upper(brief(f.Advice, 240)))
		}
	}
	return s
}

// failedCalls is what the calls are called behind their number.
func failedCalls(calls []align.FailedAlloc) string {
	name := failedCall(calls)
	if strings.HasSuffix(name, "calls") {
		return name
	}
	if strings.HasPrefix(name, "cu") {
		name += " call"
	}
	if len(calls) != 1 {
		name += "s"
	}
	return name
}

// failedWhere says where a call failed: in a phase or range, or else when.
func (t *captionText) failedWhere(f *align.FailedAlloc) string {
	if w := t.in(f.Iteration, f.Phase, f.Range); w != "" {
		return w
	}
	return t.timeText(f.Time)
}

// failedLevel says how much was live when allocations failed, as far as the curve of the timeline tells.
func (t *captionText) failedLevel() string {
	c := curveOf(t.time, align.LevelDevice)
	if c == nil {
		return ""
	}
	low, high := int64(math.MaxInt64), int64(0)
	for i := range t.track.Failed {
		at := t.track.Failed[i].Time
		if at < c.From || at >= c.To {
			return ""
		}
		pt := align.Point{Low: c.Before, High: c.Before}
		if k := sort.Search(len(c.Points), func(k int) bool { return c.Points[k].Time > at }); k > 0 {
			pt = c.Points[k-1]
		}
		low, high = min(low, pt.Low), max(high, pt.High) // of a point that stands for a stretch, both may be
	}
	switch {
	case high == 0:
		return ""
	case low == high:
		return ", with " + wording.Bytes(low) + " traced as live"
	}
	return ", with " + wording.Bytes(low) + " to " + wording.Bytes(high) + " traced as live"
}

// Of findings: how many are named, and how many characters of them, and of what helps, are given.
const (
	findingsNamed = 3
	oneFinding    = 320
	eachFinding   = 170
	cureLength    = 180
)

// findingsText gives the findings in short, and what helps where one of them is more than a remark.
func (t *captionText) findingsText() string {
	var texts []string
	cure, cures := "", findings.ID("")
	for _, f := range t.ownFindings() {
		text, ok := t.ownText(f.Text)
		if !ok || t.saidAnyway(f.ID) {
			continue
		}
		texts = append(texts, text)
		// The advice on a level that grows sends to the other findings, which say why it does.
		if f.Severity != findings.Info && f.Advice != "" && (cure == "" || cures == "growth") {
			cure, cures = f.Advice, f.ID
		}
	}
	s := ""
	switch n := len(texts); n {
	case 0:
		return ""
	case 1:
		s = sentence("Finding: " + brief(texts[0], oneFinding))
	default:
		texts = texts[:min(n, findingsNamed)]
		for i, text := range texts {
			texts[i] = fmt.Sprintf("(%d) %s", i+1, briefClause(text, eachFinding))
		}
		s = sentence(fmt.Sprintf("%d findings: %s", n, strings.Join(texts, "; ")))
		if left := n - len(texts); left > 0 {
			s += fmt.Sprintf(" And %d more.", left)
		}
	}
	if cure != "" {
		s += " " + sentence("What helps: "+brief(cure, cureLength))
	}
	return s
}

// saidAnyway says that the caption tells what a finding says in a place of its own.
func (t *captionText) saidAnyway(id findings.ID) bool {
	return id == "truncated" || id == "failed_allocs" || id == "flat_cache" && t.track.Tensors != nil
}

// ownFindings are those of this track, and of the report.
func (t *captionText) ownFindings() []findings.Finding {
	var out []findings.Finding
	for _, f := range t.rep.Findings {
		if f.Track == nil || f.Track.PID == t.track.PID && f.Track.Device == t.track.Device {
			out = append(out, f)
		}
	}
	return out
}

// ownText is a text without the process and device that it begins with; ok is false where it is about another device.
func (t *captionText) ownText(text string) (own string, ok bool) {
	process := fmt.Sprintf("process %d ", t.track.PID)
	device := fmt.Sprintf("%sdevice %d: ", process, t.track.Device)
	if rest, ok := strings.CutPrefix(text, device); ok {
		return rest, true
	}
	return text, !strings.HasPrefix(text, process+"device ")
}
