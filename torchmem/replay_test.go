package torchmem_test

import (
	"testing"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/sizes"
	"nsysmem/torchmem/internal/snaptest"
)

// TestStateEqualsSnapshot compares the map at the end of each recording with the snapshot's own segments and blocks.
func TestStateEqualsSnapshot(t *testing.T) {
	t.Parallel()
	for _, rec := range snaptest.Runs(t, "..") {
		s := rec.Read(t)
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		m := r.StateAt(r.Events)
		snaptest.CheckMap(t, m)
		snaptest.CheckMap(t, r.StateAt(r.Events/2))
		bySegment := map[uint64]torchmem.MapSegment{}
		for _, g := range m {
			bySegment[g.Addr] = g
		}
		blocks := 0
		for i := range s.Segments {
			want := &s.Segments[i]
			got, ok := bySegment[want.Addr]
			if !ok || got.Size != want.Size || got.Small != want.Small || got.Expandable != want.Expandable || len(got.Blocks) != len(want.Blocks) {
				t.Errorf("%s: segment %#x: %+v, the snapshot has %d bytes in %d blocks", rec.Name, want.Addr, got, want.Size, len(want.Blocks))
				continue
			}
			for k, b := range want.Blocks {
				g := got.Blocks[k]
				if g.Addr != b.Addr || g.Size != b.Size || g.State != b.State {
					t.Errorf("%s: block %#x: %+v, the snapshot has %+v", rec.Name, b.Addr, g, b)
				}
				if g.Block >= 0 && r.Blocks[g.Block].Requested != b.Requested {
					t.Errorf("%s: block %#x: %d bytes requested, the snapshot has %d", rec.Name, b.Addr, r.Blocks[g.Block].Requested, b.Requested)
				}
				blocks++
			}
		}
		if len(m) != len(s.Segments) || blocks == 0 {
			t.Errorf("%s: %d segments, the snapshot has %d; %d blocks compared", rec.Name, len(m), len(s.Segments), blocks)
		}
	}
}

// TestReplayOfCutTrace drops the beginning of each trace, as a full ring buffer does. What is left must end as before,
// and the levels within must be the whole trace's wherever blocks' sizes can be told.
func TestReplayOfCutTrace(t *testing.T) {
	t.Parallel()
	for _, rec := range snaptest.Runs(t, "..", "cnn_default", "gpt_amp", "unet_2", "unet_4") {
		whole := rec.Replay(t)
		for _, part := range []int{3, 2} {
			s := rec.Read(t)
			cut := s.Traces[0].Len() * (part - 1) / part
			snaptest.Cut(s, cut)
			r, err := s.Replay(0)
			if err != nil {
				t.Fatal(err)
			}
			if d := r.Doubts; !d.Cut || d.UnmatchedFrees+d.LostFrees+d.SegmentFrees+d.Segments+d.Misplaced > 0 {
				t.Errorf("%s cut at %d: doubts %+v", rec.Name, cut, d)
			}
			i := 0
			for i < len(whole.Steps) && int(whole.Steps[i].Event) < cut {
				i++
			}
			a := whole.StartAllocated
			if i > 0 {
				a = whole.Steps[i-1].Allocated
			}
			if r.StartAllocated != a {
				t.Errorf("%s cut at %d: starts with %d bytes allocated, was %d", rec.Name, cut, r.StartAllocated, a)
			}
			for k, st := range r.Steps {
				w := whole.Steps[i+k]
				if int(st.Event)+cut != int(w.Event) || st.Reserved != w.Reserved || st.Allocated != w.Allocated {
					t.Errorf("%s cut at %d: step %d is %+v, was %+v", rec.Name, cut, k, st, w)
					break
				}
			}
			snaptest.CheckMap(t, r.StateAt(-1))
		}
	}
}

// TestCacheAtGrowth checks the sums of free blocks against the map at the same place.
func TestCacheAtGrowth(t *testing.T) {
	t.Parallel()
	for _, rec := range snaptest.Runs(t, "..", "cnn_default", "unet_0", "unet_2") {
		r := rec.Replay(t)
		if len(r.Growth) == 0 {
			t.Errorf("%s: no growth", rec.Name)
		}
		for _, c := range r.Growth {
			var free, largest, stuck int64
			for _, g := range r.StateAt(int(c.Event) - 1) {
				var in int64
				busy := false
				for _, b := range g.Blocks {
					if b.State == torchmem.Inactive {
						in += b.Size
						largest = max(largest, b.Size)
					} else {
						busy = true
					}
				}
				free += in
				if busy {
					stuck += in
				}
			}
			if c.Free != free || c.LargestFree != largest || c.Stuck != stuck || c.Reserved-c.Allocated != free {
				t.Errorf("%s: entry %d: %+v, the map has %d free, the largest %d, %d stuck", rec.Name, c.Event, c, free, largest, stuck)
			}
			if c.Request == 0 || c.LargestUsable >= sizes.Round(c.Request, &r.Settings.RoundupPower2) {
				t.Errorf("%s: entry %d: the driver was asked for %d bytes while a block of %d was free", rec.Name, c.Event, c.Request, c.LargestUsable)
			}
		}
	}
}

// FuzzReplay replays entries that make no sense together. Whatever they are, blocks must cover their segments, levels
// must be those of the map, and nothing may be counted that is not there.
func FuzzReplay(f *testing.F) {
	f.Add([]byte{4, 0, 0, 1, 0, 9, 1, 9, 9, 2, 0, 9, 3, 0, 9, 2, 9, 9, 3, 9, 9, 5, 0, 0}, uint8(0))
	f.Add([]byte{6, 0, 0, 6, 1, 0, 1, 0, 200, 2, 0, 200, 3, 0, 200, 7, 0, 0, 6, 0, 0, 1, 0, 9}, uint8(1))
	f.Add([]byte{1, 0, 9, 1, 0, 9, 3, 0, 9, 5, 0, 0, 4, 0, 0, 1, 0, 9, 8, 0, 9, 10, 0, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, have uint8) {
		var events []torchmem.TraceEvent
		const base = 1 << 30
		for i := 0; i+3 <= len(b); i += 3 {
			e := torchmem.TraceEvent{Action: torchmem.Action(b[i] % uint8(torchmem.UserDefined+1)), Time: int64(i) * 1000}
			switch e.Action {
			case torchmem.SegmentAlloc, torchmem.SegmentFree, torchmem.SegmentMap, torchmem.SegmentUnmap:
				e.Addr, e.Size = base+uint64(b[i+1]%8)*sizes.SmallSegment, int64(1+b[i+2]%3)*sizes.SmallSegment
			default:
				e.Addr, e.Size = base+uint64(b[i+1])*65536, int64(b[i+2])*20001
			}
			events = append(events, e)
		}
		s := &torchmem.Snapshot{Traces: []torchmem.Trace{torchmem.TraceOf(events)}}
		for k := range int(have % 4) {
			a := base + uint64(k)*sizes.SmallSegment
			s.Segments = append(s.Segments, torchmem.Segment{Addr: a, Size: sizes.SmallSegment, Small: k%2 == 0, Expandable: have&4 != 0,
				Blocks: []torchmem.SnapshotBlock{{Addr: a, Size: 1024, Requested: 1000, State: torchmem.Active}, {Addr: a + 1024, Size: sizes.SmallSegment - 1024}}})
		}
		r, err := s.Replay(0)
		if err != nil {
			return
		}
		end := r.Whole()
		var sum int64
		m := r.StateAt(r.Events)
		snaptest.CheckMap(t, m)
		for _, g := range m {
			sum += g.Size
		}
		if sum != end.ReservedEnd {
			t.Errorf("%d bytes reserved, the map has %d", end.ReservedEnd, sum)
		}
		sum = 0
		for _, i := range r.LiveAt(r.Events) {
			sum += r.Blocks[i].Counted
		}
		if sum != end.AllocatedEnd {
			t.Errorf("%d bytes allocated, the live blocks have %d", end.AllocatedEnd, sum)
		}
		for i, st := range r.Steps {
			if st.Allocated < 0 || st.Reserved < 0 || i > 0 && st.Time < r.Steps[i-1].Time {
				t.Errorf("step %d: %+v", i, st)
			}
		}
		for _, c := range append(r.Growth, r.Failures...) {
			if c.Free < 0 || c.Stuck < 0 || c.Stuck > c.Free || c.LargestUsable > c.LargestFree || c.LargestFree > c.Free {
				t.Errorf("cache %+v", c)
			}
		}
	})
}
