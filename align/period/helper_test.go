package period

import (
	"fmt"
	"testing"
)

// A helper is a thread that launches kernels of its own, as an average of the parameters or a preparation of batches.
type helper struct {
	often   float64 // chance that it launches something after an operation of another thread
	most    int     // kernels at once
	foreach bool    // its kernels have an optimizer's name
	copies  bool    // it copies to the device
	joined  int     // kernels that it launches after each optimizer, while the main thread waits
}

// weave puts a helper's operations among a script's, and corrects where iterations begin and end.
func (h helper) weave(s *script) {
	old, at, end := s.ops, s.at, s.end
	s.ops, s.at, s.end = nil, nil, nil
	s.now = 1000
	launch := func(n int) {
		for range n {
			switch {
			case h.copies && s.r.Intn(4) == 0:
				s.class(9, HtoD, 12)
			case h.foreach:
				s.raw(9, fmt.Sprint("multi_tensor_apply_kernel lerp", s.r.Intn(3)), 9)
			default:
				s.raw(9, fmt.Sprint("average", s.r.Intn(12)), 9)
			}
		}
	}
	nextAt, nextEnd := 0, 0
	for i, o := range old {
		if nextAt < len(at) && at[nextAt] == i {
			s.at = append(s.at, len(s.ops))
			nextAt++
		}
		s.put(o)
		if nextEnd < len(end) && end[nextEnd] == i {
			s.end = append(s.end, len(s.ops)-1)
			nextEnd++
			launch(h.joined)
		}
		if s.r.Float64() < h.often {
			launch(1 + s.r.Intn(h.most))
		}
	}
}

// TestHelper: a helper's kernels are no backward pass, whenever it launches them.
func TestHelper(t *testing.T) {
	t.Parallel()
	for _, h := range []helper{
		{joined: 3}, {joined: 40}, {joined: 200}, {joined: 3, foreach: true},
		{often: 0.02, most: 3}, {often: 0.3, most: 2}, {often: 0.02, most: 40}, {often: 0.05, most: 4, copies: true},
		{often: 0.05, most: 2, foreach: true}, {often: 0.05, most: 3, joined: 20},
	} {
		for _, m := range []model{{6, 64, true, true}, {6, 64, false, true}, {6, 64, true, false}} {
			for _, micro := range []int{1, 3} {
				for seed := range int64(3) {
					t.Run(fmt.Sprintf("%+v %+v %d %d", h, m, micro, seed), func(t *testing.T) {
						t.Parallel()
						s := newScript(seed)
						m.setup(s)
						back := map[int]int{} // kernels of the backward thread by iteration
						for k := range 10 {
							s.begin()
							for range micro {
								m.data(s)
								m.forward(s, false)
								n := len(s.ops)
								m.backward(s)
								back[k] += len(s.ops) - n
							}
							m.optimize(s)
							s.done()
						}
						h.weave(s)
						r := Find(s.ops, true)
						s.check(t, r)
						for k, it := range r.Iterations {
							n, calls := 0, 0
							for _, p := range it.Phases {
								if p.Name != backwardPhase {
									continue
								}
								calls++
								for i := p.First; i <= p.Last; i++ {
									n += one(s.ops[i].Thread != 9)
								}
							}
							if calls != micro || n != back[k] {
								t.Errorf("iteration %d: %d backward passes with %d kernels, want %d with %d", k, calls, n, micro, back[k])
							}
						}
					})
				}
			}
		}
	}
}

// TestSideStream: a batch that is prepared on a stream of its own is data, on whatever stream the copies of others are.
func TestSideStream(t *testing.T) {
	t.Parallel()
	s := newScript(1)
	m := model{6, 64, true, false}
	for range 8 {
		s.begin()
		from := len(s.ops)
		s.class(1, HtoD, 20)
		for _, k := range []string{"mean", "sub", "std", "div"} {
			s.raw(1, k, 64)
		}
		s.class(1, HtoD, 8)
		for i := from; i < len(s.ops); i++ {
			s.ops[i].Stream = 13
		}
		m.step(s)
	}
	r := Find(s.ops, true)
	s.check(t, r)
	for k, it := range r.Iterations {
		if p := it.Phases[0]; p.Name != dataPhase || p.Last-p.First+1 != 6 {
			t.Errorf("iteration %d: %+v", k, p)
		}
	}
	// Two streams that share the passes, as one a device, prepare nothing.
	for i := range s.ops {
		s.ops[i].Stream = 7
		if i%2 == 0 || s.ops[i].Class == HtoD {
			s.ops[i].Stream = 9
		}
	}
	for k, it := range Find(s.ops, true).Iterations {
		if p := it.Phases[0]; p.Name != dataPhase || p.Last != p.First {
			t.Errorf("two streams, iteration %d: %+v", k, p)
		}
	}
}

// TestFactor: a factor on the loss is where the program pauses least; without a pause it is part of the backward call.
func TestFactor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after int64
		backward      bool
	}{{1000, 100, true}, {100, 1000, false}, {100, 120, true}} {
		s := newScript(1)
		m := model{6, 64, true, true}
		for range 8 {
			s.begin()
			m.data(s)
			m.forward(s, false)
			s.now += c.before
			s.raw(1, "mul", 1)
			s.now += c.after
			s.raw(1, "FillFunctor", 1)
			s.raw(2, "mul", 1)
			for i := range 40 {
				s.raw(2, fmt.Sprint("back", i%7), 64)
			}
			m.optimize(s)
			s.done()
		}
		r := Find(s.ops, true)
		s.check(t, r)
		for k, it := range r.Iterations {
			p := it.Phases[2]
			if mul := s.ops[p.First].Loose == hash("mul"); p.Name != backwardPhase || mul != c.backward {
				t.Errorf("%+v, iteration %d: factor in backward %v", c, k, mul)
			}
		}
	}
}

// TestFewSteps: few repetitions are less sure than many of the same.
func TestFewSteps(t *testing.T) {
	t.Parallel()
	last := 0.0
	for n := 2; n <= 5; n++ {
		s := newScript(1)
		m := model{6, 64, true, true}
		m.setup(s)
		for range n {
			s.begin()
			m.data(s)
			m.step(s)
		}
		r := Find(s.ops, true)
		s.check(t, r)
		if r.Confidence < last || n <= 4 && r.Confidence == last {
			t.Errorf("%d steps: confidence %.2f after %.2f", n, r.Confidence, last)
		}
		last = r.Confidence
	}
}
