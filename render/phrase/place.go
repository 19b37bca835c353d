package phrase

import (
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

// FailedPlace is where an allocation failed: in an iteration, else in a range outside of them.
func FailedPlace(t *align.Track, f *align.FailedAlloc) string {
	if it := t.IterationAt(f.Iteration); it != nil {
		return Place(it, f.Phase)
	}
	if f.Range != "" {
		return wording.Terminal(f.Range)
	}
	return outsideAll
}

// HoldingPlace is where memory was held: in an iteration, else in a phase of none, such as the setting up of the model.
func HoldingPlace(t *align.Track, h *tensor.Holding) string {
	if it := t.IterationAt(h.Iteration); it != nil {
		return Place(it, h.Phase)
	}
	if h.Phase != "" {
		return wording.Terminal(h.Phase)
	}
	return outsideAll
}

// CachePlace is where the allocator's cache was looked at, in the words of HoldingPlace.
func CachePlace(t *align.Track, c *tensor.Cache) string {
	return HoldingPlace(t, &tensor.Holding{Iteration: c.Iteration, Phase: c.Phase})
}

// TakerPlace is where a taker took it; empty for static memory, which lies in no phase.
func TakerPlace(t *align.Track, x *tensor.Taker) string {
	if x.Call == StaticTaker {
		return ""
	}
	return HoldingPlace(t, &tensor.Holding{Iteration: x.Iteration, Phase: x.Phase})
}
