package plot

import (
	"fmt"
	"slices"
	"strings"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// tensorPeak says how high each of the three levels comes, and what lies between them.
func (t *captionText) tensorPeak(device *align.Level) string {
	alloc, reserved := t.track.Level(align.LevelAllocated), t.track.Level(align.LevelReserved)
	if alloc == nil || reserved == nil {
		return ""
	}
	s := fmt.Sprintf("%stensors hold %s (allocated) %s; PyTorch reserves up to %s", t.peakHead(alloc.PeakAt), wording.Bytes(alloc.Peak),
		t.whenText(alloc.PeakAt), wording.Bytes(reserved.Peak))
	if gap := reserved.Peak - alloc.Peak; gap > 0 {
		s += fmt.Sprintf(", %s more", wording.Bytes(gap))
		if pools := t.track.Level(align.LevelGraphs); pools != nil {
			s += fmt.Sprintf(" (private pools of CUDA graphs have up to %s free)", wording.Bytes(pools.Peak))
		}
	}
	s += "; the device level peaks at "
	if device.Least() {
		s += "at least "
	}
	return s + wording.Bytes(device.Peak) + t.ofCard(device.Peak) + "." + t.inViewText(align.LevelAllocated, "tensors hold ")
}

// holders says what the tensors at the peak are, and what memory is none of PyTorch's.
func (t *captionText) holders() string {
	ten := t.track.Tensors
	if ten == nil || !t.view.stacksTensors() {
		return ""
	}
	shares, by := ten.Peak.ByCategory, ""
	if t.view.stack == "phase" {
		shares, by = ten.Peak.ByPhase, ", by phase of birth"
	}
	s := ""
	if len(shares) > 0 && ten.Peak.Bytes > 0 {
		s = "At that peak"
		if t.view.partial() {
			s = "At the run's peak"
		}
		s += by
		if ten.From == tensor.ByDriver {
			s = "Without a caching allocator the driver's blocks are the tensors. " + s
		} else {
			s += ", as requested"
		}
		s += ": " + sharesText(shares, ten.Peak.Bytes) + "."
	}
	if out := ten.Outside; out != nil && t.view.level != "" {
		s += " " + t.outsideText(out)
	}
	return strings.TrimSpace(s)
}

// sharesText names the largest shares of a whole, and sums the others up.
func sharesText(shares []tensor.Share, whole int64) string {
	const named, least = 3, 1000 // one part of the whole in so many
	var parts []string
	for i, x := range shares {
		if i == named && len(shares) > named+1 || x.Bytes < whole/least && i > 0 {
			rest := int64(0)
			for _, y := range shares[i:] {
				rest += y.Bytes
			}
			parts = append(parts, fmt.Sprintf("%d others %s", len(shares)-i, wording.Bytes(rest)))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", short(x.Name), wording.Bytes(x.Bytes), percent(x.Bytes, whole)))
	}
	return strings.Join(parts, ", ")
}

// outsideText says what the driver handed out to others than PyTorch's allocator.
func (n *names) outsideText(out *tensor.Outside) string {
	if out.Peak == 0 {
		return "No traced memory lies outside PyTorch."
	}
	s := "Outside PyTorch: " + wording.Bytes(out.Peak)
	if out.Bytes != out.Peak {
		s = fmt.Sprintf("Outside PyTorch: at most %s, %s at the end", wording.Bytes(out.Peak), wording.Bytes(out.Bytes))
	}
	// None of several that took about as much is the one that took most.
	const most, about = 3, 10 // less by one part in so many
	takers := out.Takers[:min(len(out.Takers), most)]
	if i := slices.IndexFunc(takers, func(t tensor.Taker) bool { return t.Bytes < takers[0].Bytes-takers[0].Bytes/about }); i >= 0 {
		takers = takers[:i]
	}
	switch len(takers) {
	case 0:
		return s + "."
	case 1:
		return s + ", most by " + takerCall(&takers[0]) + n.takerPlace(&takers[0]) + "."
	}
	return s + ", most" + n.takersText(takers) + "."
}

// takersText says who took about as much each. What they have in common is said once.
func (n *names) takersText(takers []tensor.Taker) string {
	first := &takers[0]
	differs := func(f func(t *tensor.Taker) bool) bool {
		return slices.ContainsFunc(takers, func(t tensor.Taker) bool { return f(&t) })
	}
	call := !differs(func(t *tensor.Taker) bool { return t.Call != first.Call })
	it := call && first.Iteration >= 0 && first.Iteration < len(n.track.Iterations) &&
		!differs(func(t *tensor.Taker) bool { return t.Iteration != first.Iteration || t.Phase == "" })
	s := ""
	if call {
		s += " by " + takerCall(first)
	}
	if it {
		s += " in " + n.named(&n.track.Iterations[first.Iteration])
	}
	var parts []string
	for i := range takers {
		t := &takers[i]
		part := wording.Bytes(t.Bytes)
		if !call {
			part += " by " + takerCall(t)
		}
		if it {
			part += " in phase " + short(t.Phase)
		} else {
			part += n.takerPlace(t)
		}
		parts = append(parts, part)
	}
	return s + ": " + strings.Join(parts, ", ")
}

// takerCall names the call of a taker. A report may hold the memory event without the call.
func takerCall(t *tensor.Taker) string {
	if t.Call == "" {
		return "a call that is not in the report"
	}
	return short(t.Call)
}

// takerPlace says in which iteration and phase, or range, a taker took its blocks.
func (n *names) takerPlace(t *tensor.Taker) string {
	if w := n.in(t.Iteration, t.Phase, t.Phase); w != "" {
		return " " + w
	}
	return ""
}

// theoryText puts what the model needs by arithmetic beside what is measured.
func (t *captionText) theoryText() string {
	th := t.track.Theory
	if th == nil {
		return ""
	}
	measured := map[string]int64{}
	if ten := t.track.Tensors; ten != nil {
		for _, c := range ten.Categories {
			measured[c.Name] = c.Max
		}
	}
	part := func(name, category string, bytes int64) string {
		s := name + " " + wording.Bytes(bytes)
		switch m, ok := measured[category]; {
		case !ok:
			return s + " (not measured)"
		case m == bytes:
			return s + " (measured: the same)"
		default:
			return s + " (measured: " + wording.Bytes(m) + ")"
		}
	}
	return fmt.Sprintf("Theory, %s parameters (%s, %s): %s, %s, %s.", wording.Count(th.Params), th.DType, th.Optimizer,
		part("they take", "parameter", th.Parameter), part("gradients", "gradient", th.Gradient), part("optimizer state", "optimizer state", th.State))
}
