package plot

import (
	"cmp"
	"fmt"
	"slices"

	"nsysmem/internal/wording"
)

// pictureTitle is the user's, or the report's name.
func (s *scene) pictureTitle() string {
	what := "device memory by iteration and phase"
	switch {
	case s.view.o.Title != "":
		return clean(s.view.o.Title)
	case s.memory != nil:
		what = "segments and blocks of PyTorch's allocator at " + wording.Seconds(s.memory.at)
	case len(s.track.Iterations) == 0:
		what = "device memory over time"
	}
	return clean(baseName(s.rep.Source.Path)) + ": " + what
}

// subtitle says whose memory it is, and that it is what was traced rather than what the card holds.
func (s *scene) subtitle() string {
	t := s.track
	text := fmt.Sprintf("%s (pid %d) on device %d", baseName(cmp.Or(t.Process, "process")), t.PID, t.Device)
	if t.DeviceName != "" {
		text += ", " + t.DeviceName
	}
	text += s.among()
	if s.memory != nil {
		text += " · from " + s.snapshot() + "; equal lengths are equal bytes within a pool"
	} else {
		text += " · allocations traced: what the program allocated, without the CUDA context and other processes"
		if s.track.HasTensorLevels() {
			text += " · tensors from " + s.snapshot()
		}
	}
	if s.view.o.Title != "" {
		text = baseName(s.rep.Source.Path) + " · " + text
	}
	return clean(text)
}

// snapshot names the memory snapshot that tells of tensors.
func (s *scene) snapshot() string {
	if f := s.track.Tensors.File; f != "" {
		return f
	}
	return "PyTorch's memory snapshot"
}

// among says which of a report's processes, or of a process's devices, this is; empty where there is one.
func (s *scene) among() string {
	all := s.rep.Tracks
	place, pids := slices.Index(all, s.track)+1, map[int64]bool{}
	for _, other := range all {
		pids[other.PID] = true
	}
	switch {
	case len(all) < 2 || place == 0:
		return ""
	case len(pids) == len(all):
		return fmt.Sprintf(" (process %d of %d in this report)", place, len(all))
	case len(pids) == 1:
		return fmt.Sprintf(" (one of the process's %d devices)", len(all))
	}
	return fmt.Sprintf(" (picture %d of %d of this report: one for each device of a process)", place, len(all))
}
