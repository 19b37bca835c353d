package align

import "testing"

// TestBelieve checks that events and calls count for more than what the export says was to be recorded.
func TestBelieve(t *testing.T) {
	t.Parallel()
	nothing := func(Events, int64) bool { return false }
	calls := func(kind Events, _ int64) bool { return kind == EventsAPI }
	work := func(kind Events, _ int64) bool { return kind != EventsMemory }
	for name, c := range map[string]struct {
		keep         func(Events, int64) bool
		cuda, memory string // settings of the recording
		ret          int64  // that calls return
		want         Collected
	}{
		"all, whatever the settings":    {always, "false", "false", 0, Collected{Memory: true, NVTX: true, Kernels: true, API: true, Copies: true}},
		"calls alone":                   {calls, "true", "false", 0, Collected{NVTX: true, API: true, Launches: 40}},
		"calls alone, all wanted":       {calls, "true", "true", 0, Collected{NVTX: true, API: true, Launches: 40, Allocs: 5}},
		"calls that fail":               {calls, "true", "true", 2, Collected{NVTX: true, API: true, Memory: true}},
		"memory wanted, none came":      {work, "true", "true", 0, Collected{NVTX: true, API: true, Kernels: true, Copies: true, Allocs: 5}},
		"nothing, though it was wanted": {nothing, "true", "true", 0, Collected{NVTX: true, Memory: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			endedLoop(s, procP, 8, true, c.keep)
			for i := range s.rts {
				s.rts[i].ret = c.ret
			}
			s.capture("PROCESS_1:COLLECT_CUDA_TRACE", c.cuda)
			s.capture("COLLECT_GPU_MEMORY_USAGE", c.memory)
			rep := s.report(Options{Infer: InferOff})
			if rep.Collected != c.want {
				t.Errorf("collected %+v, want %+v", rep.Collected, c.want)
			}
			if tracks := len(rep.Tracks); (c.want.API || c.want.Kernels) != (tracks == 1) {
				t.Errorf("%d tracks", tracks)
			}
		})
	}
}
