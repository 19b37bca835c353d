package period

import (
	"fmt"
	"testing"
)

// TestSeeds: training programs of all kinds. Where neither names nor copies tell, and operations differ at random, some
// cuts may be off.
func TestSeeds(t *testing.T) {
	bad, all := 0, 0
	for seed := range int64(300) {
		s := newScript(seed)
		m := model{1 + s.r.Intn(20), 64, s.r.Intn(4) > 0, s.r.Intn(4) > 0}
		noise := []float64{0, 0.002, 0.01}[s.r.Intn(3)]
		s.drop, s.add, s.swap = noise, noise, noise
		steps, micro, ev, vary, warm := 4+s.r.Intn(30), 1+s.r.Intn(4)*s.r.Intn(2), s.r.Intn(2)*(3+s.r.Intn(5)), s.r.Intn(2) == 0, s.r.Intn(2) == 0
		m.setup(s)
		for k := range steps {
			s.begin()
			for range micro {
				if vary {
					m.shape = 64 + s.r.Intn(40)
				}
				m.data(s)
				if k == 0 && warm {
					s.class(1, Memset, 10)
				}
				m.forward(s, false)
				m.backward(s)
			}
			if k == 0 && warm {
				for i := range 40 {
					s.raw(1, "FillFunctor", i+2)
				}
			}
			m.optimize(s)
			s.class(1, DtoH, 3)
			if ev > 0 && (k+1)%ev == 0 {
				for range 3 {
					m.data(s)
					m.forward(s, true)
					s.class(1, DtoH, 3)
				}
			}
		}
		r := Find(s.ops)
		checkResult(t, s.ops, r)
		all++
		why := ""
		if len(r.Iterations) != len(s.at) {
			why = fmt.Sprintf("%d of %d %s", len(r.Iterations), len(s.at), r.Why)
		} else {
			off := 0
			for k, it := range r.Iterations {
				if d := it.First - s.at[k]; d > 3 || d < -3 {
					off++
					why = fmt.Sprintf("%d off, iteration %d by %d", off, k, d)
				}
			}
		}
		if why != "" && (noise == 0 || m.hint && m.feed) {
			t.Errorf("seed %d: %s", seed, why)
		}
		if why != "" {
			bad++
			t.Logf("seed %d %+v noise %v steps %d micro %d eval %d vary %v warm %v: %s", seed, m, noise, steps, micro, ev, vary, warm, why)
		}
	}
	t.Logf("%d of %d differ", bad, all)
	if 20*bad > all {
		t.Errorf("%d of %d differ", bad, all)
	}
}
