package plot

import (
	"fmt"
	"sort"

	"nsysmem/align"
	"nsysmem/align/findings"
)

const (
	mib = int64(1) << 20
	ms  = int64(1e6)
)

// synth builds reports from events, so that levels, iterations and curves agree with each other.
type synth struct {
	rep    *findings.Report
	track  *align.Track
	events map[align.LevelKind][]event // by kind, in time order
}

type event struct {
	t     int64
	delta int64
}

func newSynth(name string) *synth {
	t := &align.Track{PID: 470, Process: "python3", DeviceName: "NVIDIA H200", DeviceTotal: 150109880320}
	return &synth{
		rep: &findings.Report{Report: &align.Report{
			Source:    align.Source{Path: "/data/" + name, Start: 0, End: 20_000 * ms},
			Collected: align.Collected{Memory: true, NVTX: true, Kernels: true, API: true},
			Tracks:    []*align.Track{t},
		}},
		track:  t,
		events: map[align.LevelKind][]event{},
	}
}

func (s *synth) add(kind align.LevelKind, t, delta int64) {
	s.events[kind] = append(s.events[kind], event{t, delta})
}

// at is the level just before t.
func (s *synth) at(kind align.LevelKind, t int64) int64 {
	level := int64(0)
	for _, e := range s.events[kind] {
		if e.t < t {
			level += e.delta
		}
	}
	return level
}

func (s *synth) use(a, b int64) align.Use {
	m := align.MemoryUse{Start: s.at("device", a), End: s.at("device", b)}
	m.Net, m.Peak, m.PeakAt = m.End-m.Start, m.Start, a
	level := m.Start
	for _, e := range s.events["device"] {
		if e.t >= a && e.t < b {
			level += e.delta
			if level > m.Peak {
				m.Peak, m.PeakAt = level, e.t
			}
		}
	}
	m.Need = m.Peak - m.Start
	return align.Use{Memory: m}
}

type phase struct {
	path  string
	depth int
	a, b  int64
}

// iteration adds an iteration; all events must be there before.
func (s *synth) iteration(index int, a, b int64, warm, cut bool, phases ...phase) {
	it := align.Iteration{Index: index, Name: fmt.Sprintf("iteration %d", index), Start: a, End: b, Warmup: warm, Truncated: cut, Use: s.use(a, b)}
	for _, ph := range phases {
		it.Phases = append(it.Phases, align.Phase{Path: ph.path, Name: ph.path, Depth: ph.depth, Calls: 1, Start: ph.a, End: ph.b, Use: s.use(ph.a, ph.b)})
		s.track.Spans = append(s.track.Spans, align.Span{Iteration: len(s.track.Iterations), Path: ph.path, Depth: ph.depth, Start: ph.a, End: ph.b})
	}
	it.Phases = append(it.Phases, align.Phase{Path: align.OtherPhase, Name: align.OtherPhase, Depth: 1, Start: a, End: b})
	s.track.Iterations = append(s.track.Iterations, it)
}

// iterations are those of the track, as a view has them.
func (s *synth) iterations() []*align.Iteration {
	var its []*align.Iteration
	for i := range s.track.Iterations {
		its = append(its, &s.track.Iterations[i])
	}
	return its
}

// finish fills the levels in.
func (s *synth) finish() *synth {
	s.track.Levels = nil
	for _, kind := range []align.LevelKind{align.LevelDevice, align.LevelManaged, align.LevelPinned} {
		ev := s.events[kind]
		sort.SliceStable(ev, func(i, j int) bool { return ev[i].t < ev[j].t })
		if len(ev) == 0 && kind != "device" {
			continue
		}
		l := align.Level{Kind: kind}
		for _, e := range ev {
			l.End += e.delta
			if e.delta > 0 {
				l.Allocs++
			} else {
				l.Frees++
			}
			if l.End > l.Peak {
				l.Peak, l.PeakAt = l.End, e.t
			}
		}
		s.track.Levels = append(s.track.Levels, l)
	}
	if n := len(s.track.Iterations); n > 0 {
		s.track.IterationsFrom = align.IterationsFrom{How: "nvtx", Pattern: "iteration #", Confidence: 1, Count: n,
			Why: "they follow each other on one thread and hold 98 % of the launches"}
	} else {
		s.track.IterationsFrom = align.IterationsFrom{How: "none", Why: "no family of ranges repeats"}
	}
	return s
}

// curves are what align.Curves would give: at most w.Points points a curve, each with its stretch's low and high.
func (s *synth) curves(windows []align.Window) [][]align.Curve {
	var out [][]align.Curve
	for _, w := range windows {
		var set []align.Curve
		for _, kind := range []align.LevelKind{"device", "managed", "pinned", "pool size", "pool used"} {
			ev := s.events[kind]
			if len(ev) == 0 && kind != "device" {
				continue
			}
			c := align.Curve{Kind: kind, From: w.From, To: w.To, Before: s.at(kind, w.From)}
			level, bucket := c.Before, int64(-1)
			for _, e := range ev {
				if e.t < w.From || e.t > w.To {
					continue
				}
				level += e.delta
				b := int64(float64(e.t-w.From) / float64(w.To-w.From) * float64(w.Points))
				if n := len(c.Points); b == bucket && n > 0 {
					p := &c.Points[n-1]
					p.Low, p.High, p.Last = min(p.Low, level), max(p.High, level), level
					continue
				}
				bucket = b
				c.Points = append(c.Points, align.Point{Time: e.t, Low: level, High: level, Last: level})
			}
			set = append(set, c)
		}
		out = append(out, set)
	}
	return out
}

// training is a run of n iterations with the usual phases, nested ranges, growth and a set-up range before.
func training(name string, n int, grow int64) *synth {
	s := newSynth(name)
	start := 10_000 * ms
	s.add("device", start-900*ms, 200*mib)
	type plan struct{ a, d, f, b, e int64 }
	var plans []plan
	t := start
	for i := range n {
		long := 500 * ms
		if i == 0 {
			long = 1500 * ms
		}
		p := plan{t, t + long/20, t + long*4/10, t + long*8/10, t + long}
		plans = append(plans, p)
		for k := range 8 {
			s.add("device", p.d+int64(k)*(p.f-p.d)/8+1, 96*mib)
		}
		s.add("device", p.f+1, 64*mib)
		for k := range 8 {
			s.add("device", p.f+2+int64(k)*(p.b-p.f)/8, -96*mib)
		}
		s.add("device", p.b-1, -64*mib)
		if i == 0 {
			s.add("device", p.b+long/20, 400*mib)
		}
		if grow != 0 {
			s.add("device", p.e-2, grow)
		}
		t += long + 10*ms
	}
	s.finish()
	for i, p := range plans {
		half := (p.f - p.d) / 2
		s.iteration(i, p.a, p.e, i == 0, false,
			phase{"data", 1, p.a, p.d}, phase{"forward", 1, p.d, p.f},
			phase{"forward/encoder", 2, p.d, p.d + half}, phase{"forward/decoder", 2, p.d + half, p.f},
			phase{"forward/encoder/attention", 3, p.d, p.d + half/2},
			phase{"backward", 1, p.f, p.b}, phase{"optimizer", 1, p.b, p.e - 5*ms})
	}
	s.track.Ranges = []align.RangeUse{{Name: "model_init", Start: start - 1000*ms, End: start - 300*ms}, {Name: "optimizer_init", Start: start - 200*ms, End: start - 50*ms}}
	s.rep.Source.End = t + 300*ms
	return s.finish()
}

// stopped is a run that fails to allocate and ends in the middle of its last iteration.
func stopped() *synth {
	s := training("unet_realoom.sqlite", 8, 24*mib)
	last := &s.track.Iterations[7]
	last.Truncated = true
	for k := range 22 {
		it := 5 + k%3
		f := &s.track.Iterations[it]
		s.track.Failed = append(s.track.Failed, align.FailedAlloc{Time: f.Start + int64(k+2)*15*ms, Call: "cudaMalloc", Return: 2, Iteration: it, Phase: "forward/decoder"})
	}
	sort.Slice(s.track.Failed, func(i, j int) bool { return s.track.Failed[i].Time < s.track.Failed[j].Time })
	s.rep.Warnings = []findings.Warning{{Code: "truncated", Text: "the last iteration ends in backward, without the optimizer that the others have"}}
	return s
}
