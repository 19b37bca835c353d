package period

import (
	"fmt"
	"math/rand"
	"sync/atomic"
	"testing"
)

// A trainingProgram is a training program of some kind, by a seed.
type trainingProgram struct {
	model
	noise        float64
	steps, micro int
	every        int // steps from one evaluation to the next; 0 for none
	vary, warm   bool
}

func randomProgram(r *rand.Rand) trainingProgram {
	p := trainingProgram{model: model{1 + r.Intn(20), 64, r.Intn(4) > 0, r.Intn(4) > 0}}
	p.noise = []float64{0, 0.002, 0.01}[r.Intn(3)]
	p.steps, p.micro, p.every = 4+r.Intn(30), 1+r.Intn(4)*r.Intn(2), r.Intn(2)*(3+r.Intn(5))
	p.vary, p.warm = r.Intn(2) == 0, r.Intn(2) == 0
	return p
}

func (p trainingProgram) write(s *script) {
	s.drop, s.add, s.swap = p.noise, p.noise, p.noise
	p.setup(s)
	for k := range p.steps {
		s.begin()
		for range p.micro {
			if p.vary {
				p.shape = 64 + s.r.Intn(40)
			}
			p.data(s)
			if k == 0 && p.warm {
				s.class(1, Memset, 10)
			}
			p.forward(s, false)
			p.backward(s)
		}
		if k == 0 && p.warm {
			for i := range 40 {
				s.raw(1, "FillFunctor", i+2)
			}
		}
		p.optimize(s)
		s.class(1, DtoH, 3)
		if p.every > 0 && (k+1)%p.every == 0 {
			for range 3 {
				p.data(s)
				p.model.forward(s, true)
				s.class(1, DtoH, 3)
			}
		}
	}
}

// differs says how a result differs from where the script says that iterations begin; empty where it does not.
func (s *script) differs(r Result) string {
	if len(r.Iterations) != len(s.at) {
		return fmt.Sprintf("%d of %d %s", len(r.Iterations), len(s.at), r.Why)
	}
	off, why := 0, ""
	for k, it := range r.Iterations {
		if d := it.First - s.at[k]; d > 3 || d < -3 {
			off++
			why = fmt.Sprintf("%d off, iteration %d by %d", off, k, d)
		}
	}
	return why
}

// TestSeeds: training programs of all kinds. Where neither names nor copies tell, and operations differ at random, some
// cuts may be off.
func TestSeeds(t *testing.T) {
	t.Parallel()
	const all, groups = 300, 4
	var bad atomic.Int32
	t.Run("programs", func(t *testing.T) {
		for group := range int64(groups) {
			t.Run(fmt.Sprint(group), func(t *testing.T) {
				t.Parallel()
				for seed := group; seed < all; seed += groups {
					s := newScript(seed)
					p := randomProgram(s.r)
					p.write(s)
					r := Find(s.ops, true)
					checkResult(t, s.ops, r)
					why := s.differs(r)
					if why == "" {
						continue
					}
					bad.Add(1)
					t.Logf("seed %d %+v: %s", seed, p, why)
					if p.noise == 0 || p.hint && p.feed {
						t.Errorf("seed %d: %s", seed, why)
					}
				}
			})
		}
	})
	t.Logf("%d of %d differ", bad.Load(), all)
	if 20*bad.Load() > all {
		t.Errorf("%d of %d differ", bad.Load(), all)
	}
}
