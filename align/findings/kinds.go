package findings

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/tensor"
)

// kinds are the kinds of findings, in the order in which they are shown.
var kinds = []struct {
	id     ID
	memory bool // it is about memory, and nothing is found where memory events were not collected
	find   func(*subject) []Finding
}{
	{"growth", true, growth},
	{"growth_allocated", true, growthAllocated},
	{"fragmentation", true, fragmentation},
	{"flat_cache", true, flatCache},
	{"failed_allocs", true, failedAllocs},
	{"near_capacity", true, nearCapacity},
	{"truncated", false, truncated},
}

// A subject is a track with what several kinds of findings ask of it.
type subject struct {
	*align.Track
	rep    *align.Report
	kept   *Kept      // tensors that stay from step to step; nil for none
	pieces *Fragments // free memory that did not serve; nil for none
}

func newSubject(rep *align.Report, t *align.Track) *subject {
	return &subject{Track: t, rep: rep, kept: keptOf(t), pieces: fragmentsOf(t)}
}

// snapshot is what a snapshot tells of the track's tensors; nil without one.
func (s *subject) snapshot() *tensor.Memory { return snapshotOf(s.Track) }

func snapshotOf(t *align.Track) *tensor.Memory {
	if t.Tensors == nil || t.Tensors.From != tensor.BySnapshot {
		return nil
	}
	return t.Tensors
}

// find looks for each kind of finding on each track. Of several tracks, a text says first which it is about.
func find(rep *align.Report) []Finding {
	var out []Finding
	for _, t := range rep.Tracks {
		s := newSubject(rep, t)
		for _, k := range kinds {
			if k.memory && !rep.Collected.Memory {
				continue
			}
			for _, f := range k.find(s) {
				f.Track, f.ID = t, k.id
				if len(rep.Tracks) > 1 {
					f.Text = fmt.Sprintf("process %d device %d: %s", t.PID, t.Device, f.Text)
				}
				out = append(out, f)
			}
		}
	}
	return out
}

// peakOf is the highest level of a kind, in bytes; 0 where the track has no such level.
func peakOf(t *align.Track, kind align.LevelKind) int64 {
	if l := t.Level(kind); l != nil {
		return l.Peak
	}
	return 0
}
