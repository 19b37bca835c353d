package phrase

import (
	"cmp"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// outsideAll is the place of what happened in no iteration.
const outsideAll = "outside iterations"

// Place names an iteration and a phase of it in few words, such as "iteration 3, backward".
func Place(it *align.Iteration, phase string) string {
	if it == nil {
		return outsideAll
	}
	s := wording.Terminal(it.Name)
	if phase != "" {
		s += ", " + wording.Terminal(phase)
	}
	return s
}

// At names where something is by the place of an iteration in the track (-1 for none) and the path of a phase, which may be
// one outside of iterations, such as the setting up of the model.
func At(t *align.Track, iteration int, phase string) string {
	return within(t, iteration, phase, phase)
}

// FailedPlace is where an allocation failed: in an iteration, else in a range outside of them.
func FailedPlace(t *align.Track, f *align.FailedAlloc) string {
	return within(t, f.Iteration, f.Phase, f.Range)
}

// within is At with what is said outside of iterations.
func within(t *align.Track, iteration int, phase, outside string) string {
	if it := t.IterationAt(iteration); it != nil {
		return Place(it, phase)
	}
	return wording.Terminal(cmp.Or(outside, outsideAll))
}

// TakerPlace is where a taker took it; empty for static memory, which lies in no phase.
func TakerPlace(t *align.Track, x *tensor.Taker) string {
	if x.Call == staticTaker {
		return ""
	}
	return At(t, x.Iteration, x.Phase)
}
