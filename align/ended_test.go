package align

import (
	"slices"
	"testing"
)

// endedLoop is a process of five iterations of 1,000 ns each from 1,000 on, each with eight launches, and one allocation and
// free of device memory where it allocates. keep says which of its rows are recorded.
func endedLoop(s *script, pid int64, launches int, allocates bool, keep func(kind Events, at int64) bool) {
	t := tid(pid, 1)
	corr := int64(1)
	call := func(at int64, name string) {
		corr++
		if keep(EventsAPI, at) {
			s.rt(at, at+1, t, corr, name)
		}
	}
	mem := func(at, op int64) {
		if keep(EventsMemory, at) {
			s.mem(at, pid, 0, 0x100, 4096, 2, op, corr)
		}
	}
	for i := range int64(5) {
		from := 1000 * (i + 1)
		s.nv(from, from+900, "step "+string(rune('0'+i)), t)
		s.nv(from+10, from+500, "forward", t)
		s.nv(from+500, from+890, "backward", t)
		if i == 0 || allocates {
			call(from+20, "cudaMalloc_v3020")
			mem(from+20, 0)
		}
		for k := range int64(launches) {
			at := from + 30 + 800/int64(launches)*k
			call(at, "cudaLaunchKernel_v7000")
			if keep(EventsGPU, at) {
				s.kernel(at+5, at+10, 0, pid, corr)
			}
		}
		if allocates {
			call(from+880, "cudaFree_v3020")
			mem(from+880, 1)
		}
	}
}

// until keeps events up to a time, of some kinds, and all of others.
func until(end int64, kinds ...Events) func(Events, int64) bool {
	return func(kind Events, at int64) bool { return at <= end || !slices.Contains(kinds, kind) }
}

func always(Events, int64) bool { return true }

func TestTraceEnds(t *testing.T) {
	t.Parallel()
	all := Lost{Memory: true, Kernels: true, Copies: true, API: true}
	for name, c := range map[string]struct {
		end   int64
		kinds []Events // whose rows end
		lost  Lost     // of later iterations
		told  []Events // that the warning names
		last  int64    // ns; in the warning
		in    int      // iteration in which it is
		whole bool     // that one has all that it should
		level bool     // the level at the end is known
	}{
		"everything":            {3440, []Events{EventsAPI, EventsGPU, EventsMemory}, all, []Events{EventsAPI, EventsGPU, EventsMemory}, 3430, 2, false, false},
		"between two":           {3950, []Events{EventsAPI, EventsGPU, EventsMemory}, all, []Events{EventsAPI, EventsGPU, EventsMemory}, 3880, 2, true, false},
		"in the first":          {1440, []Events{EventsAPI, EventsGPU, EventsMemory}, all, []Events{EventsAPI, EventsGPU, EventsMemory}, 1430, 0, false, false},
		"calls":                 {3440, []Events{EventsAPI}, all, []Events{EventsAPI}, 3430, 2, false, true},
		"calls and kernels":     {3440, []Events{EventsAPI, EventsGPU}, all, []Events{EventsAPI, EventsGPU}, 3430, 2, false, true},
		"kernels":               {3440, []Events{EventsGPU}, Lost{Kernels: true, Copies: true}, []Events{EventsGPU}, 3435, 2, false, true},
		"memory while it grows": {3440, []Events{EventsMemory}, Lost{Memory: true}, []Events{EventsMemory}, 3020, 2, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			endedLoop(s, procP, 8, true, until(c.end, c.kinds...))
			rep := s.report(Options{Infer: InferOff})
			tr := onlyTrack(t, rep)
			for i := range tr.Iterations {
				it := &tr.Iterations[i]
				lost, cut := Lost{}, i == c.in && !c.whole
				if i > c.in {
					lost, cut = c.lost, true
				}
				if it.Lost != lost || it.Truncated != cut {
					t.Errorf("%s: lost %+v, truncated %v; want %+v, %v", it.Name, it.Lost, it.Truncated, lost, cut)
				}
				for k := range it.Phases {
					if p := &it.Phases[k]; i > c.in && p.Lost != lost {
						t.Errorf("%s %s: lost %+v, want %+v", it.Name, p.Path, p.Lost, lost)
					}
				}
			}
			w := Warning{Code: TraceEnded, PID: procP, Count: int64(4 - c.in), Events: c.told, Time: c.last, Name: tr.Iterations[c.in].Name}
			if got := endedWarnings(rep); len(got) != 1 || got[0].PID != w.PID || got[0].Count != w.Count || got[0].Time != w.Time ||
				got[0].Name != w.Name || !slices.Equal(got[0].Events, w.Events) {
				t.Errorf("warnings %+v, want %+v", got, w)
			}
			if l := tr.Level(LevelDevice); l.Ended == c.level {
				t.Errorf("the level's events ended: %v", l.Ended)
			}
		})
	}
}

// endedWarnings are the warnings of a report about a trace that ended.
func endedWarnings(rep *Report) []Warning {
	return slices.DeleteFunc(slices.Clone(rep.Warnings), func(w Warning) bool { return w.Code != TraceEnded })
}

func TestTraceGoesOn(t *testing.T) {
	t.Parallel()
	everything := []Events{EventsAPI, EventsGPU, EventsMemory}
	for name, make := range map[string]func(s *script){
		"all recorded":                       func(s *script) { endedLoop(s, procP, 8, true, always) },
		"a cache that asks for nothing more": func(s *script) { endedLoop(s, procP, 8, false, always) },
		"a single iteration without":         func(s *script) { endedLoop(s, procP, 8, true, until(4900, everything...)) },
		"few launches":                       func(s *script) { endedLoop(s, procP, 2, true, until(3950, everything...)) },
		"goes on on the CPU, calls at exit": func(s *script) {
			endedLoop(s, procP, 8, true, until(3950, everything...))
			s.rt(6500, 6501, tid(procP, 1), 999, "cuLibraryUnload")
		},
		"another thread waits for the GPU": func(s *script) {
			endedLoop(s, procP, 8, true, until(3950, everything...))
			s.rt(5500, 5501, tid(procP, 2), 999, "cudaEventQuery_v3020")
		},
		"launches fail after an error": failing,
		"calls that never left a memory event": func(s *script) {
			endedLoop(s, procP, 8, true, until(1000, EventsMemory))
			s.table("CUDA_GPU_MEMORY_USAGE_EVENTS")
		},
		"no kernel knows its launch": func(s *script) {
			endedLoop(s, procP, 8, false, always)
			for i := range s.kernels {
				s.kernels[i].corr = null
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			make(s)
			rep := s.report(Options{Infer: InferOff})
			if got := endedWarnings(rep); len(got) > 0 {
				t.Errorf("warnings %+v", got)
			}
			tr := onlyTrack(t, rep)
			for i := range tr.Iterations {
				if it := &tr.Iterations[i]; it.Lost != (Lost{}) || it.Truncated {
					t.Errorf("%s: lost %+v, truncated %v", it.Name, it.Lost, it.Truncated)
				}
			}
			if l := tr.Level(LevelDevice); l != nil && l.Ended {
				t.Error("the level's events ended")
			}
		})
	}
}

// Kernels may be missing in the middle: what the iterations launch tells how many. A few, or what a process that launches
// graphs captures, is no gap.
func TestKernelsMissing(t *testing.T) {
	t.Parallel()
	hole := func(from, to int64) func(Events, int64) bool {
		return func(kind Events, at int64) bool { return kind != EventsGPU || at < from || at > to }
	}
	for name, c := range map[string]struct {
		from, to int64 // of the gap
		graph    bool  // another launch is that of a graph
		cut      []int
		backward bool // of the first of those, the backward pass lost kernels too
	}{
		"from the beginning": {0, 3000, false, []int{0, 1}, true},
		"in the middle":      {2000, 4000, false, []int{1, 2}, true},
		"a part of one":      {2000, 2500, false, []int{1}, false},
		"a few":              {2000, 2200, false, nil, false},
		"captures":           {2000, 4000, true, nil, false},
		"none":               {0, 0, false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t)
			endedLoop(s, procP, 32, true, hole(c.from, c.to))
			if c.graph {
				s.rt(5890, 5891, tid(procP, 1), 9999, "cudaGraphLaunch_v10000")
			}
			rep := s.report(Options{Infer: InferOff})
			its := onlyTrack(t, rep).Iterations
			for i := range its {
				it, cut := &its[i], slices.Contains(c.cut, i)
				if it.Truncated != cut || it.Lost.Kernels != cut || it.Lost.Memory || it.Lost.API {
					t.Errorf("%s: truncated %v, lost %+v, want %v", it.Name, it.Truncated, it.Lost, cut)
				}
				for k := range it.Phases {
					p := &it.Phases[k]
					if lost := cut && (p.Name == "forward" || p.Name == "backward" && c.backward); p.Lost.Kernels != lost {
						t.Errorf("%s %s: lost %+v, want %v", it.Name, p.Path, p.Lost, lost)
					}
				}
			}
			var told []Warning
			for _, w := range rep.Warnings {
				if w.Code == KernelsLost {
					told = append(told, w)
				}
			}
			if len(c.cut) == 0 != (len(told) == 0) || len(told) > 0 && (told[0].Count != int64(len(c.cut)) || told[0].Name != its[c.cut[0]].Name) {
				t.Errorf("warnings %+v", told)
			}
		})
	}
}

// A process that allocates and has no memory event, where another has its own, has unknown memory. One that never allocates
// has none.
func TestMemoryOfOneProcessMissing(t *testing.T) {
	t.Parallel()
	for _, allocates := range []bool{true, false} {
		s := newScript(t)
		endedLoop(s, procP, 8, true, always)
		endedLoop(s, procQ, 8, true, func(kind Events, _ int64) bool { return kind != EventsMemory })
		if !allocates {
			s.rts = slices.DeleteFunc(s.rts, func(r rtRow) bool { return r.tid == tid(procQ, 1) && r.name != "cudaLaunchKernel_v7000" })
		}
		rep := s.report(Options{Infer: InferOff})
		for _, tr := range rep.Tracks {
			for i := range tr.Iterations {
				if it := &tr.Iterations[i]; it.Lost.Memory != (allocates && tr.PID == procQ) || it.Truncated {
					t.Errorf("allocates %v, process %d %s: lost %+v", allocates, tr.PID, it.Name, it.Lost)
				}
			}
		}
		if told := hasWarning(rep, string(MemoryLost)) != ""; told != allocates {
			t.Errorf("allocates %v: told %v", allocates, told)
		}
	}
}

// failing is a process all of whose launches fail from iteration 2 on.
func failing(s *script) {
	endedLoop(s, procP, 8, false, until(2990, EventsGPU))
	for i := range s.rts {
		if s.rts[i].start > 2990 {
			s.rts[i].ret = 700
		}
	}
}

// A trace ends for each process by itself.
func TestTraceEndsOfOneRank(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	endedLoop(s, procP, 8, true, until(3440, EventsAPI, EventsGPU, EventsMemory))
	endedLoop(s, procQ, 8, true, always)
	rep := s.report(Options{Infer: InferOff})
	if got := endedWarnings(rep); len(got) != 1 || got[0].PID != procP {
		t.Errorf("warnings %+v, want one of process %d", got, procP)
	}
	for _, tr := range rep.Tracks {
		dead := tr.PID == procP
		if it := &tr.Iterations[4]; it.Lost.Memory != dead || it.Truncated != dead {
			t.Errorf("process %d: lost %+v, truncated %v", tr.PID, it.Lost, it.Truncated)
		}
	}
}

// A single iteration without kernels tells enough where it launches much: the recording ended before the GPU was done. One
// that launches little may have been captured into a graph.
func TestTraceEndsBeforeTheLast(t *testing.T) {
	t.Parallel()
	for launches, lost := range map[int]bool{20: true, 8: false} {
		s := newScript(t)
		endedLoop(s, procP, launches, true, until(4990, EventsGPU))
		rep := s.report(Options{Infer: InferOff})
		its := onlyTrack(t, rep).Iterations
		if its[4].Lost.Kernels != lost || its[4].Truncated != lost || its[4].Lost.Memory || its[3].Truncated || len(endedWarnings(rep)) == 1 != lost {
			t.Errorf("%d launches: %+v, truncated %v, %v; warnings %+v", launches, its[4].Lost, its[4].Truncated, its[3].Truncated, endedWarnings(rep))
		}
	}
}
