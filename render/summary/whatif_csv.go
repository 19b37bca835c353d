package summary

import (
	"io"

	"nsysmem/align/whatif"
)

// WriteWhatIfCSV writes a row for each setting, with a header, as WriteCSV does. The error is the writer's.
func WriteWhatIfCSV(w io.Writer, wi *whatif.Comparison) error {
	t := &csvTable{out: output{w: w}}
	for _, h := range []string{"snapshot", "device", "conf", "recorded", "default", "peak_reserved_bytes",
		"peak_reserved_low_bytes", "peak_reserved_high_bytes", "peak_allocated_bytes", "largest_gap_bytes", "segments",
		"cuda_mallocs", "capacity_bytes", "failed_requests", "cache_released", "smallest_capacity_bytes",
		"peak_iteration", "peak_phase", "peak_frame", "fails_iteration", "fails_phase", "fails_frame", "fails_request_bytes",
		"fails_free_cache_bytes", "fails_largest_free_bytes", "cache_at_allocated_peak_bytes"} {
		t.text(h)
	}
	t.end()
	for i := range wi.Settings {
		s := &wi.Settings[i]
		t.text(wi.Snapshot)
		t.int(int64(wi.Device))
		t.text(s.Conf)
		t.bool(s.IsRecorded)
		t.bool(s.IsDefault)
		for _, v := range []int64{s.PeakReserved, s.ReservedRange[0], s.ReservedRange[1], s.PeakAllocated, s.LargestGap,
			int64(s.Segments), int64(s.CUDAMallocs)} {
			t.int(v)
		}
		if l := s.Limited; l != nil {
			t.int(wi.Capacity)
			t.int(int64(l.Failed))
			t.int(int64(l.Retries))
		} else {
			t.empty()
			t.empty()
			t.empty()
		}
		t.int(s.SmallestCard)
		t.moment(wi, &s.Peak)
		if s.Failed() > 0 && len(s.Limited.Failures) > 0 {
			f := &s.Limited.Failures[0]
			t.moment(wi, &f.Moment)
			t.int(f.Request)
			t.int(f.FreeCache)
			t.int(f.LargestFree)
		} else {
			for range 6 {
				t.empty()
			}
		}
		t.int(s.CacheAtPeak)
		t.end()
		t.out.spill()
	}
	return t.out.close()
}

// moment writes iteration, phase and line of a place in the program.
func (t *csvTable) moment(wi *whatif.Comparison, m *whatif.Moment) {
	if wi.Track == nil {
		t.empty()
	} else if it := wi.Track.IterationAt(m.Iteration); it != nil {
		t.int(int64(it.Index))
	} else {
		t.empty()
	}
	t.text(m.Phase)
	t.text(m.Frame)
}
