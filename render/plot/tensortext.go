package plot

import (
	"fmt"
	"strings"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// tensorPeakText says how high each of the three levels comes, and what lies between them.
func (pic *picture) tensorPeakText(device *align.Level) string {
	alloc, resv := pic.level("allocated"), pic.level("reserved")
	if alloc == nil || resv == nil {
		return ""
	}
	s := fmt.Sprintf("%stensors hold %s (allocated) %s", pic.peakHead(alloc.PeakAt), wording.Bytes(alloc.Peak), pic.at(alloc.PeakAt))
	if w := pic.where(alloc.PeakAt); w != "" {
		s += ", " + w
	}
	s += fmt.Sprintf("; PyTorch reserves up to %s", wording.Bytes(resv.Peak))
	if gap := resv.Peak - alloc.Peak; gap > 0 {
		s += fmt.Sprintf(", %s more", wording.Bytes(gap))
	}
	least := ""
	if device.Partial {
		least = "at least "
	}
	s += fmt.Sprintf("; the device level peaks at %s%s", least, wording.Bytes(device.Peak))
	if t := pic.track.DeviceTotal; t > 0 {
		s += fmt.Sprintf(" (%s of the card's %s)", percent(device.Peak, t), wording.Bytes(t))
	}
	return s + "." + pic.inViewText("allocated", "tensors hold ")
}

// holdersText says what the tensors at the peak are, and what memory is none of PyTorch's.
func (pic *picture) holdersText() string {
	ten := pic.track.Tensors
	if ten == nil || pic.view.stack == "" || pic.view.stack == "kind" {
		return ""
	}
	shares := ten.Peak.ByCategory
	if pic.view.stack == "phase" {
		shares = ten.Peak.ByPhase
	}
	var s string
	if len(shares) > 0 && ten.Peak.Bytes > 0 {
		var parts []string
		for i, x := range shares {
			if i == 3 && len(shares) > 4 || x.Bytes < ten.Peak.Bytes/1000 && i > 0 {
				rest := int64(0)
				for _, y := range shares[i:] {
					rest += y.Bytes
				}
				parts = append(parts, fmt.Sprintf("%d others %s", len(shares)-i, wording.Bytes(rest)))
				break
			}
			parts = append(parts, fmt.Sprintf("%s %s (%s)", short(x.Name), wording.Bytes(x.Bytes), percent(x.Bytes, ten.Peak.Bytes)))
		}
		s = "At that peak"
		if pic.view.partial() {
			s = "At the run's peak"
		}
		if pic.view.stack == "phase" {
			s += ", by phase of birth"
		}
		if ten.From == tensor.ByDriver {
			s = "Without a caching allocator the driver's blocks are the tensors. " + s
		} else {
			s += ", as requested"
		}
		s += ": " + strings.Join(parts, ", ") + "."
	}
	if out := ten.Outside; out != nil && pic.view.level != "" {
		s += " " + pic.outsideText(out)
	}
	return strings.TrimSpace(s)
}

// outsideText says what the driver handed out to others than PyTorch's allocator.
func (pic *picture) outsideText(out *tensor.Outside) string {
	if out.Peak == 0 {
		return "No traced memory lies outside PyTorch."
	}
	s := "Outside PyTorch: " + wording.Bytes(out.Peak)
	if out.Bytes != out.Peak {
		s = fmt.Sprintf("Outside PyTorch: at most %s, %s at the end", wording.Bytes(out.Peak), wording.Bytes(out.Bytes))
	}
	// None of several that took about as much is the one that took most.
	const most = 3
	n := 0
	for n < min(len(out.Takers), most) && out.Takers[n].Bytes >= out.Takers[0].Bytes-out.Takers[0].Bytes/10 {
		n++
	}
	switch t := out.Takers; {
	case n == 0:
	case n == 1:
		s += ", most by " + takerCall(&t[0]) + pic.takerPlace(&t[0])
	default:
		// What they have in common is said once.
		call, it := true, t[0].Iteration >= 0 && t[0].Iteration < len(pic.track.Iterations)
		for i := range t[:n] {
			call = call && t[i].Call == t[0].Call
			it = it && t[i].Iteration == t[0].Iteration && t[i].Phase != ""
		}
		it = it && call
		s += ", most"
		if call {
			s += " by " + takerCall(&t[0])
		}
		if it {
			s += " in " + pic.named(&pic.track.Iterations[t[0].Iteration])
		}
		for i := range t[:n] {
			s += []string{": ", ", "}[min(i, 1)] + wording.Bytes(t[i].Bytes)
			if !call {
				s += " by " + takerCall(&t[i])
			}
			if it {
				s += " in phase " + short(t[i].Phase)
			} else {
				s += pic.takerPlace(&t[i])
			}
		}
	}
	return s + "."
}

func takerCall(t *tensor.Taker) string {
	if t.Call == "" {
		return "a call that is not in the report"
	}
	return short(t.Call)
}

// takerPlace says in which iteration and phase, or range, a taker took its blocks.
func (pic *picture) takerPlace(t *tensor.Taker) string {
	switch {
	case t.Iteration >= 0 && t.Iteration < len(pic.track.Iterations):
		s := " in " + pic.named(&pic.track.Iterations[t.Iteration])
		if t.Phase != "" {
			s += ", phase " + short(t.Phase)
		}
		return s
	case t.Phase != "":
		return " in range " + short(t.Phase)
	}
	return ""
}

// theoryText puts what the model needs by arithmetic beside what is measured.
func (pic *picture) theoryText() string {
	th := pic.track.Theory
	if th == nil {
		return ""
	}
	measured := map[string]int64{}
	if ten := pic.track.Tensors; ten != nil {
		for i := range ten.Categories {
			measured[ten.Categories[i].Name] = ten.Categories[i].Max
		}
	}
	part := func(name, category string, bytes int64) string {
		s := name + " " + wording.Bytes(bytes)
		if m, ok := measured[category]; ok {
			if m == bytes {
				return s + " (measured: the same)"
			}
			return s + " (measured: " + wording.Bytes(m) + ")"
		}
		return s + " (not measured)"
	}
	return fmt.Sprintf("Theory, %s parameters (%s, %s): %s, %s, %s.", thousands(th.Params), th.DType, th.Optimizer,
		part("they take", "parameter", th.Parameter), part("gradients", "gradient", th.Gradient), part("optimizer state", "optimizer state", th.State))
}

// thousands writes n with commas.
func thousands(n int64) string { return wording.Count(n) }
