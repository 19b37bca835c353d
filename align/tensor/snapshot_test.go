package tensor

import (
	"os"
	"slices"
	"testing"

	"nsysmem/internal/fixture"
	"nsysmem/torchmem"
	"nsysmem/torchmem/category"
)

// steps is a timeline of iterations of one length, each of a forward and a backward pass.
type steps struct{ first, length int64 } // ns

func (s steps) step(at int64) int { return int((at - s.first) / s.length) }

func (s steps) Where(at int64) (int, string) {
	switch {
	case at < s.first:
		return -1, "setup"
	case (at-s.first)%s.length < s.length/2:
		return s.step(at), "forward"
	}
	return s.step(at), "backward"
}

func (s steps) Place(at int64) category.Place {
	i, path := s.Where(at)
	return category.Place{Iteration: i, Inside: i >= 0, Role: category.RoleOf(path)}
}

func (s steps) Lifetime(from, to int64) int {
	if to == Never {
		return 0
	}
	return s.step(to) - s.step(max(from, s.first))
}

func TestFromDriver(t *testing.T) {
	p := &Program{Timeline: steps{100, 100}, Iterations: 3, Steady: []Stretch{{200, 300}, {300, 400}}, Begin: 0}
	m := FromDriver(p, blockList{
		{Start: 10, End: Never, Address: 0x1000, Bytes: 100, Stream: 7},
		{Start: 20, End: Never, Address: 0x9000, Bytes: 1 << 20, Static: true},
		{Start: 110, End: 170, Address: 0x2000, Bytes: 10},
		{Start: 210, End: 270, Address: 0x2000, Bytes: 20},
		{Start: 310, End: 370, Address: 0x2000, Bytes: 10},
	}, 210)
	if m.From != ByDriver || len(m.Blocks) != 4 || m.Outside != nil || m.Stayed != nil {
		t.Fatalf("%+v", m)
	}
	if b := m.Blocks[0]; b.Bytes != 100 || b.Counted != 100 || b.Stream != 7 || b.Iteration != 1 || b.Phase != "forward" || b.EndIteration != -1 {
		t.Errorf("block %+v", b)
	}
	if m.Peak.Bytes != 120 || m.Peak.Iteration != 1 || m.Peak.Phase != "forward" {
		t.Errorf("peak %+v", m.Peak)
	}
	checkShares(t, m)
}

// TestFromSnapshot holds the laws of what tensors hold on a recorded run.
func TestFromSnapshot(t *testing.T) {
	f, err := os.Open(fixture.Find(t, "../..", "cnn_default.snapshot.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := snap.Replay(snap.Devices()[0])
	if err != nil {
		t.Fatal(err)
	}
	// The report begins with the trace, on a clock that is 5 ns behind.
	utc, length := r.From-5, (r.To-r.From)/4
	p := &Program{Timeline: steps{length, length}, Iterations: 3, Steady: []Stretch{{2 * length, 3 * length}, {3 * length, 4 * length}}}
	var driver blockList
	for i := range r.Segments {
		s := &r.Segments[i]
		driver = append(driver, DriverBlock{Start: s.Birth - utc - 5, End: Never, Address: s.Addr, Bytes: s.Size})
	}
	driver = append(driver, DriverBlock{Start: 1, End: Never, Address: 16, Bytes: 77})
	match := Compare(r, driver, ReportTime{UTC: utc, Last: r.To - utc})
	if !match.Good() || match.Clock.Offset != 5 {
		t.Fatalf("match %+v", match.Clock)
	}
	m := FromSnapshot(match, utc, p, driver)
	whole := r.Whole()
	if m.From != BySnapshot || len(m.Blocks) != len(r.Blocks) || m.Shift != r.From || m.AtReserved.Reserved != whole.ReservedPeak {
		t.Errorf("%d blocks of %d, shift %d, reserved %d of %d", len(m.Blocks), len(r.Blocks), m.Shift, m.AtReserved.Reserved, whole.ReservedPeak)
	}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if iter, phase := p.Where(b.Start); b.Start != Never && (b.Iteration != iter || b.Phase != phase) {
			t.Fatalf("block born at %d: %+v", b.Start, b)
		}
		if b.End == Never && b.EndIteration != -1 {
			t.Fatalf("block that is not given back: %+v", b)
		}
	}
	if m.Outside.Bytes != 77 || m.Outside.Peak != 77 || len(m.Outside.Takers) != 1 {
		t.Errorf("outside %+v", m.Outside)
	}
	checkShares(t, m)
	// The map at the peak holds what the meter says, in segments as large as reserved then.
	segs, at := m.MapAtPeak(true)
	reserved := int64(0)
	for i := range segs {
		reserved += segs[i].Size
	}
	if reserved != whole.ReservedPeak || at != m.AtReserved.Time || m.MapAtFailure(0) != nil || len(m.MapAt(at)) == 0 {
		t.Errorf("map of %d bytes at %d", reserved, at)
	}
}

// checkShares: shares of the peak add up to it, by whatever they are shared, and categories have what they are said to.
func checkShares(t *testing.T, m *Memory) {
	t.Helper()
	for name, shares := range map[string][]Share{"frame": m.Peak.ByFrame, "phase": m.Peak.ByPhase, "category": m.Peak.ByCategory} {
		sum := int64(0)
		for _, s := range shares {
			sum += s.Bytes
		}
		if sum != m.Peak.Bytes || sum == 0 {
			t.Errorf("by %s: %d bytes of %d", name, sum, m.Peak.Bytes)
		}
	}
	sum := int64(0)
	for _, c := range m.Categories {
		sum += c.AtPeak
	}
	if sum != m.Peak.Bytes {
		t.Errorf("categories hold %d bytes at the peak of %d", sum, m.Peak.Bytes)
	}
}

// TestWithoutSnapshot: the driver tells no stacks and no maps.
func TestWithoutSnapshot(t *testing.T) {
	m := &Memory{From: ByDriver}
	if segs, at := m.MapAtPeak(false); segs != nil || at != 0 || m.MapAt(1) != nil || m.MapAtFailure(0) != nil || m.ShortStack(1) != "" || m.ReportTime(Never) != Never {
		t.Errorf("map %v at %d", segs, at)
	}
}

// TestCategoryNames has a place for each category in the order in which they are shown.
func TestCategoryNames(t *testing.T) {
	t.Parallel()
	for k := category.Kind(0); k < category.NumKinds; k++ {
		if !slices.Contains(CategoryNames, k.String()) {
			t.Errorf("%s has no place", k)
		}
	}
	if len(CategoryNames) != int(category.NumKinds) {
		t.Errorf("%d names for %d categories", len(CategoryNames), category.NumKinds)
	}
}
