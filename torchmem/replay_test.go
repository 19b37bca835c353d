package torchmem

import "testing"

// checkMap tells when blocks do not cover their segments without gaps.
func checkMap(t *testing.T, m []MapSegment) {
	t.Helper()
	end := uint64(0)
	for i, g := range m {
		if i > 0 && g.Addr < end {
			t.Errorf("segment %#x begins within the one before", g.Addr)
		}
		at := g.Addr
		for k, b := range g.Blocks {
			if b.Addr != at || b.Size <= 0 {
				t.Errorf("segment %#x: block %d at %#x of %d bytes, expected at %#x", g.Addr, k, b.Addr, b.Size, at)
				return
			}
			at += uint64(b.Size)
		}
		if at != g.Addr+uint64(g.Size) {
			t.Errorf("segment %#x: blocks end at %#x, the segment at %#x", g.Addr, at, g.Addr+uint64(g.Size))
		}
		end = at
	}
}

// TestStateEqualsSnapshot compares the map at the end of each recording with the snapshot's own segments and blocks.
func TestStateEqualsSnapshot(t *testing.T) {
	for _, rec := range recordings(t) {
		s := rec.read(t)
		r, err := s.Replay(0)
		if err != nil {
			t.Fatal(err)
		}
		m := r.StateAt(r.Events)
		checkMap(t, m)
		checkMap(t, r.StateAt(r.Events/2))
		bySegment := map[uint64]MapSegment{}
		for _, g := range m {
			bySegment[g.Addr] = g
		}
		blocks := 0
		for i := range s.Segments {
			want := &s.Segments[i]
			got, ok := bySegment[want.Addr]
			if !ok || got.Size != want.Size || got.Small != want.Small || got.Expandable != want.Expandable || len(got.Blocks) != len(want.Blocks) {
				t.Errorf("%s: segment %#x: %+v, the snapshot has %d bytes in %d blocks", rec.name, want.Addr, got, want.Size, len(want.Blocks))
				continue
			}
			for k, b := range want.Blocks {
				g := got.Blocks[k]
				if g.Addr != b.Addr || g.Size != b.Size || g.State != b.State {
					t.Errorf("%s: block %#x: %+v, the snapshot has %+v", rec.name, b.Addr, g, b)
				}
				if g.Block >= 0 && r.Blocks[g.Block].Requested != b.Requested {
					t.Errorf("%s: block %#x: %d bytes requested, the snapshot has %d", rec.name, b.Addr, r.Blocks[g.Block].Requested, b.Requested)
				}
				blocks++
			}
		}
		if len(m) != len(s.Segments) || blocks == 0 {
			t.Errorf("%s: %d segments, the snapshot has %d; %d blocks compared", rec.name, len(m), len(s.Segments), blocks)
		}
	}
}

// TestReplayOfCutTrace drops the beginning of each trace, as a full ring buffer does. What is left must end as before,
// and the levels within must be the whole trace's wherever blocks' sizes can be told.
func TestReplayOfCutTrace(t *testing.T) {
	for _, rec := range recordings(t, "cnn_default", "gpt_amp", "unet_2", "unet_4") {
		whole := rec.replay(t)
		for _, part := range []int{3, 2} {
			s := rec.read(t)
			cut := s.Traces[0].n * (part - 1) / part
			s.Traces[0].ranges[0].from += cut
			s.Traces[0].ranges[0].n -= cut
			s.Traces[0].n -= cut
			r, err := s.Replay(0)
			if err != nil {
				t.Fatal(err)
			}
			if d := r.Doubts; !d.Cut || d.UnmatchedFrees+d.LostFrees+d.SegmentFrees+d.Segments+d.Misplaced > 0 {
				t.Errorf("%s cut at %d: doubts %+v", rec.name, cut, d)
			}
			i := 0
			for i < len(whole.Steps) && int(whole.Steps[i].Event) < cut {
				i++
			}
			a, _ := whole.levels(i)
			if r.StartAllocated != a {
				t.Errorf("%s cut at %d: starts with %d bytes allocated, was %d", rec.name, cut, r.StartAllocated, a)
			}
			for k, st := range r.Steps {
				w := whole.Steps[i+k]
				if int(st.Event)+cut != int(w.Event) || st.Reserved != w.Reserved || st.Allocated != w.Allocated {
					t.Errorf("%s cut at %d: step %d is %+v, was %+v", rec.name, cut, k, st, w)
					break
				}
			}
			checkMap(t, r.StateAt(-1))
		}
	}
}

// TestCacheAtGrowth checks the sums of free blocks against the map at the same place.
func TestCacheAtGrowth(t *testing.T) {
	for _, rec := range recordings(t, "cnn_default", "unet_0", "unet_2") {
		r := rec.replay(t)
		if len(r.Growth) == 0 {
			t.Errorf("%s: no growth", rec.name)
		}
		for _, c := range r.Growth {
			var free, largest, stuck int64
			for _, g := range r.StateAt(int(c.Event) - 1) {
				var in int64
				busy := false
				for _, b := range g.Blocks {
					if b.State == Inactive {
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
				t.Errorf("%s: entry %d: %+v, the map has %d free, the largest %d, %d stuck", rec.name, c.Event, c, free, largest, stuck)
			}
			if c.Request == 0 || c.LargestUsable >= roundSize(c.Request, &r.Settings.RoundupPower2) {
				t.Errorf("%s: entry %d: the driver was asked for %d bytes while a block of %d was free", rec.name, c.Event, c.Request, c.LargestUsable)
			}
		}
	}
}

// traceOf is a trace of the given entries.
func traceOf(events []TraceEvent) Trace {
	st := &eventStore{}
	for _, e := range events {
		st.add(e)
	}
	return Trace{store: st, ranges: []eventRange{{0, st.n, 0}}, n: st.n}
}

// FuzzReplay replays entries that make no sense together. Whatever they are, blocks must cover their segments, levels
// must be those of the map, and nothing may be counted that is not there.
func FuzzReplay(f *testing.F) {
	f.Add([]byte{4, 0, 0, 1, 0, 9, 1, 9, 9, 2, 0, 9, 3, 0, 9, 2, 9, 9, 3, 9, 9, 5, 0, 0}, uint8(0))
	f.Add([]byte{6, 0, 0, 6, 1, 0, 1, 0, 200, 2, 0, 200, 3, 0, 200, 7, 0, 0, 6, 0, 0, 1, 0, 9}, uint8(1))
	f.Add([]byte{1, 0, 9, 1, 0, 9, 3, 0, 9, 5, 0, 0, 4, 0, 0, 1, 0, 9, 8, 0, 9, 10, 0, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, have uint8) {
		var events []TraceEvent
		const base = 1 << 30
		for i := 0; i+3 <= len(b); i += 3 {
			e := TraceEvent{Action: Action(b[i] % uint8(numActions)), Time: int64(i) * 1000}
			switch e.Action {
			case SegmentAlloc, SegmentFree, SegmentMap, SegmentUnmap:
				e.Addr, e.Size = base+uint64(b[i+1]%8)*smallSeg, int64(1+b[i+2]%3)*smallSeg
			default:
				e.Addr, e.Size = base+uint64(b[i+1])*65536, int64(b[i+2])*20001
			}
			events = append(events, e)
		}
		s := &Snapshot{Traces: []Trace{traceOf(events)}}
		for k := range int(have % 4) {
			a := base + uint64(k)*smallSeg
			s.Segments = append(s.Segments, Segment{Addr: a, Size: smallSeg, Small: k%2 == 0, Expandable: have&4 != 0,
				Blocks: []SnapshotBlock{{Addr: a, Size: 1024, Requested: 1000, State: Active}, {Addr: a + 1024, Size: smallSeg - 1024}}})
		}
		r, err := s.Replay(0)
		if err != nil {
			return
		}
		_, reserved := r.levels(len(r.Steps))
		var sum int64
		m := r.StateAt(r.Events)
		checkMap(t, m)
		for _, g := range m {
			sum += g.Size
		}
		if sum != reserved {
			t.Errorf("%d bytes reserved, the map has %d", reserved, sum)
		}
		allocated, _ := r.levels(len(r.Steps))
		sum = 0
		for _, i := range r.LiveAt(r.Events) {
			sum += r.Blocks[i].Counted
		}
		if sum != allocated {
			t.Errorf("%d bytes allocated, the live blocks have %d", allocated, sum)
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
