package findings

import (
	"strings"
	"testing"

	"nsysmem/align"
)

const gib = 1024 * mib

// filling makes a track with a peak on a card of a size.
func filling(peak, total int64) *align.Track {
	t := still()
	t.Total.Memory.Peak, t.Total.Memory.PeakAt, t.DeviceTotal, t.DeviceUUID = peak, 50, total, "GPU-1"
	return t
}

func TestNearCapacity(t *testing.T) {
	f := found(filling(6410*mib, 6451*mib), "near_capacity")
	if f == nil || f.Severity != Warn || f.Evidence != (NearCapacity{Peak: 6410 * mib, Total: 6451 * mib, Left: 41 * mib}) {
		t.Fatalf("finding %+v", f)
	}
	if want := "the card is nearly full: the peak is 6.26 GiB of its 6.30 GiB, which leaves 41 MiB"; f.Text != want {
		t.Errorf("%s, want %s", f.Text, want)
	}
	for _, c := range []struct {
		name        string
		peak, total int64
		near        bool
	}{
		{"60 % of a large card", 48 * gib, 80 * gib, false},
		{"94 % of a large card", 75 * gib, 80 * gib, false},
		{"95 % of a large card", 76 * gib, 80 * gib, true},
		{"a context's room of a small card", 6*gib - 512*mib, 6 * gib, true},
		{"more room on a small card", 6*gib - 520*mib, 6 * gib, false},
		{"60 % of a tiny card", 600 * mib, 1000 * mib, false},
		{"80 % of a tiny card", 800 * mib, 1000 * mib, true},
		{"all of it", 80 * gib, 80 * gib, true},
		{"more than there is", 81 * gib, 80 * gib, false},
		{"a card of unknown size", 80 * gib, 0, false},
	} {
		if got := found(filling(c.peak, c.total), "near_capacity") != nil; got != c.near {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	tr := filling(40*gib, 80*gib)
	tr.Pool = &align.Pool{PeakSize: 79 * gib, PeakUsed: 40 * gib}
	if f := found(tr, "near_capacity"); f == nil || f.Evidence.(NearCapacity).Left != gib {
		t.Errorf("a pool that fills the card: %+v", f)
	}
}

// TestNearCapacityTogether: what other processes hold on the card at that time counts, and one finding tells it.
func TestNearCapacityTogether(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(a, b *align.Track)
		others int64 // bytes; -1 where nothing is to be found
	}{
		{"at once", func(a, b *align.Track) {}, 37 * gib},
		{"of another card", func(a, b *align.Track) { b.DeviceUUID = "GPU-2" }, -1},
		{"of unknown cards", func(a, b *align.Track) { a.DeviceUUID, b.DeviceUUID = "", "" }, -1},
		{"that has ended", func(a, b *align.Track) { a.Total.Memory.PeakAt = 100000 }, -1},
		{"that has not begun", func(a, b *align.Track) { b.Iterations[0].Start = 60 }, -1},
		{"that cannot be on the card", func(a, b *align.Track) {
			a.Total.Memory.Peak = 78 * gib
			b.Iterations[0].Memory.Start, b.Iterations[0].Memory.End = 70*gib, 70*gib
		}, 0},
	} {
		a, b := filling(40*gib, 80*gib), filling(38*gib, 80*gib)
		b.PID = 8
		for i := range b.Iterations {
			it := &b.Iterations[i]
			it.Start, it.End, it.Memory.Start, it.Memory.End = int64(i)*100, int64(i)*100+90, 37*gib, 38*gib
		}
		c.spoil(a, b)
		var near []Finding
		for _, f := range Of(&align.Report{Tracks: []*align.Track{a, b}, Collected: align.Collected{Memory: true}}).Findings {
			if f.ID == "near_capacity" {
				near = append(near, f)
			}
		}
		switch {
		case c.others < 0:
			if len(near) > 0 {
				t.Errorf("%s: %s", c.name, near[0].Text)
			}
		case len(near) != 1 || near[0].Track != a || near[0].Evidence.(NearCapacity).Others != c.others:
			t.Errorf("%s: %+v", c.name, near)
		case (c.others > 0) != strings.Contains(near[0].Text, "other processes of the report held about 37 GiB then"):
			t.Errorf("%s: %s", c.name, near[0].Text)
		}
	}
}
