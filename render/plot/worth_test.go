package plot

import (
	"strings"
	"testing"

	"nsysmem/align"
)

// TestWorthless checks which tracks get no picture, and which do although they look alike.
func TestWorthless(t *testing.T) {
	t.Parallel()
	track := func(pid, device, peak int64, levels ...align.Level) *align.Track {
		tr := &align.Track{PID: pid, Device: device, Levels: append([]align.Level{{Kind: align.LevelDevice, Peak: peak, Allocs: peak}}, levels...)}
		tr.Total.Memory.Peak = peak
		return tr
	}
	pinned := func(bytes int64) align.Level { return align.Level{Kind: align.LevelPinned, Peak: bytes, Allocs: 1} }
	trainer := track(1, 0, 500)
	trainer.Total.GPU.Kernels = 9
	copies, failed, managed, static := track(2, 0, 0), track(2, 0, 0), track(2, 0, 0, align.Level{Kind: align.LevelManaged, Peak: 5}), track(1, 1, 5)
	copies.Total.GPU.Copies = 1
	failed.Failed = make([]align.FailedAlloc, 1)
	static.Levels[0].Static = static.Levels[0].Allocs
	for name, c := range map[string]struct {
		tracks []*align.Track
		want   string // why the last one gets none; empty where it gets one
	}{
		"a data loader":                 {[]*align.Track{trainer, track(2, 0, 0, pinned(8))}, "no device memory and no GPU work there, only 8 B of pinned"},
		"a process without any":         {[]*align.Track{trainer, track(2, 0, 0)}, "no device memory and no GPU work there"},
		"static memory on another GPU":  {[]*align.Track{trainer, static}, "only 5 bytes of static memory"},
		"much pinned memory":            {[]*align.Track{trainer, track(2, 0, 0, pinned(1<<30))}, ""},
		"managed memory":                {[]*align.Track{trainer, managed}, ""},
		"copies":                        {[]*align.Track{trainer, copies}, ""},
		"allocations that failed":       {[]*align.Track{trainer, failed}, ""},
		"device memory without kernels": {[]*align.Track{trainer, track(2, 0, 5, pinned(8))}, ""},
		"nobody has device memory":      {[]*align.Track{track(1, 0, 0), track(2, 0, 0, pinned(8))}, ""},
		"alone":                         {[]*align.Track{track(2, 0, 0, pinned(8))}, ""},
	} {
		got := Worthless(c.tracks)
		why := got[c.tracks[len(c.tracks)-1]]
		if (why == "") != (c.want == "") || !strings.Contains(why, c.want) || len(got) > 1 {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
}
