package plot

import (
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// littleHost is the pinned memory, in bytes, below which a process without device memory is not worth a picture: a data
// loader has a few bytes, if any.
const littleHost = 1 << 20

// Worthless are the tracks, of all that a report has, whose picture would be empty, with the reason for each. A report has
// at least one track that is none of them, unless it has no tracks.
//
//  1. A device on which a process has static memory alone, where it works on another: exports name device 0 for the static
//     memory of modules, whichever device the process uses (observed in reports of two GPUs).
//  2. A process without device memory and GPU work, such as a data loader, where others have device memory.
func Worthless(tracks []*align.Track) map[*align.Track]string {
	works, memory := make(map[int64]bool), false
	for _, t := range tracks {
		works[t.PID] = works[t.PID] || !staticAlone(t)
		memory = memory || t.Total.Memory.Peak > 0
	}
	out := make(map[*align.Track]string)
	for _, t := range tracks {
		switch {
		case works[t.PID] && staticAlone(t):
			out[t] = fmt.Sprintf("it has only %d bytes of static memory there", t.Total.Memory.Peak)
		case memory && noDevice(t):
			out[t] = "it has no device memory and no GPU work there"
			if l := t.Level(align.LevelPinned); l != nil && l.Peak > 0 {
				out[t] += ", only " + wording.Bytes(l.Peak) + " of pinned host memory"
			}
		}
	}
	return out
}

// busy says that a track has GPU work.
func busy(t *align.Track) bool {
	g := &t.Total.GPU
	return g.Kernels+g.Graphs+g.Copies+g.Memsets > 0
}

func staticAlone(t *align.Track) bool {
	return !busy(t) && len(t.Levels) == 1 && t.Levels[0].Static == t.Levels[0].Allocs && t.Levels[0].Allocs > 0
}

// noDevice says that a track has neither GPU work nor memory but for a little on the host, nor calls that failed to get
// some.
func noDevice(t *align.Track) bool {
	return !busy(t) && t.Tensors == nil && t.Pool == nil && len(t.Failed) == 0 && !slices.ContainsFunc(t.Levels, func(l align.Level) bool {
		host := l.Kind == align.LevelPinned || l.Kind == align.LevelPageable
		return host && l.Peak >= littleHost || !host && (l.Peak > 0 || l.Allocs > 0)
	})
}
