package period

import (
	"fmt"
	"math"
	"testing"
)

// steps are two iterations of one launch a phase: data at 100, forward at 200, backward at 300 and optimizer at 400 ns,
// then the same 1,000 ns later. A call that launches takes 10 ns.
func steps() ([]Op, Result) {
	var ops []Op
	var r Result
	for k := range 2 {
		it := Iteration{First: len(ops), Last: len(ops) + 3}
		for i, name := range []string{dataPhase, forwardPhase, backwardPhase, optimizerPhase} {
			start := int64(1000*k + 100*(i+1))
			n := len(ops)
			ops = append(ops, Op{Start: start, End: start + 10})
			it.Phases = append(it.Phases, Phase{Name: name, First: n, Last: n, Start: start - 90, End: start + 10})
		}
		it.Start, it.Earliest, it.End = ops[it.First].Start, ops[it.First].Start-90, ops[it.Last].end()
		it.Phases[0].Start = it.Start
		r.Iterations = append(r.Iterations, it)
	}
	a, b := &r.Iterations[0], &r.Iterations[1]
	b.Earliest = a.End
	a.End = b.Start
	a.Phases[3].End = b.Start
	return ops, r
}

// cuts are where phases begin, and where each iteration and its last phase end.
func cuts(r Result) string {
	s := ""
	for _, it := range r.Iterations {
		for _, p := range it.Phases {
			s += fmt.Sprint(p.Start, " ")
		}
		s += fmt.Sprintf("(%d) %d; ", it.Phases[len(it.Phases)-1].End, it.End)
	}
	return s
}

func TestCutByMemory(t *testing.T) {
	t.Parallel()
	given := func(at, born int64) Given { return Given{At: at, Born: born} }
	for _, c := range []struct {
		name string
		m    Memory
		want string
	}{
		{"at the launch, where nothing is taken", Memory{},
			"100 200 300 400 (1100) 1100; 1100 1200 1300 1400 (1410) 1410; "},
		{"at the first allocation after the launch before", Memory{Taken: []int64{50, 150, 160, 350, 1050, 1150, 1250}},
			"50 150 300 350 (1050) 1050; 1050 1150 1250 1400 (1410) 1410; "},
		{"not at an allocation before the call that launches ends", Memory{Taken: []int64{205, 310}},
			"100 200 300 310 (1100) 1100; 1100 1200 1300 1400 (1410) 1410; "},
		{"at a block of the driver's that comes just before the tensor", Memory{Taken: []int64{250}, Driver: []int64{240}},
			"100 200 240 400 (1100) 1100; 1100 1200 1300 1400 (1410) 1410; "},
		{"not at frees", Memory{Given: []Given{given(220, 150), given(250, 150)}},
			"100 200 300 400 (1100) 1100; 1100 1200 1300 1400 (1410) 1410; "},
		{"what sets the program up is not of the first step", Memory{Taken: []int64{20, 30, 40, 50, 1050}},
			"50 200 300 400 (1050) 1050; 1050 1200 1300 1400 (1410) 1410; "},
		{"of the first step is as much as of others", Memory{Taken: []int64{20, 30, 40, 50, 1050, 1060}},
			"40 200 300 400 (1050) 1050; 1050 1200 1300 1400 (1410) 1410; "},
		{"the last step ends after as many frees as others have", Memory{Given: []Given{
			given(450, 350), given(460, 350), given(1450, 1350), given(1460, 1350), given(1500, -50)}},
			"100 200 300 400 (1100) 1100; 1100 1200 1300 1400 (1461) 1461; "},
		{"not after an allocation", Memory{Taken: []int64{1455}, Given: []Given{
			given(450, 350), given(460, 350), given(1450, 1350), given(1460, 1350)}},
			"100 200 300 400 (1100) 1100; 1100 1200 1300 1400 (1451) 1451; "},
		{"the optimizer ends before batch and loss are given back", Memory{Given: []Given{
			given(450, 350), given(600, 250), given(610, 150)}},
			"100 200 300 400 (600) 1100; 1100 1200 1300 1400 (1410) 1410; "},
		{"but not before what was taken earlier is", Memory{Given: []Given{given(600, -50), given(610, math.MinInt64)}},
			"100 200 300 400 (1100) 1100; 1100 1200 1300 1400 (1410) 1410; "},
	} {
		ops, r := steps()
		r.CutByMemory(ops, c.m)
		if got := cuts(r); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		checkOrder(t, ops, r)
	}
}

// TestCutApart: an iteration that something else follows ends after its frees; one that is cut off stays as it is.
func TestCutApart(t *testing.T) {
	t.Parallel()
	m := Memory{Given: []Given{{450, 350}, {1450, 1350}}}
	ops, r := steps()
	r.Iterations[0].End, r.Iterations[0].Phases[3].End = 410, 410
	r.Iterations[1].Truncated = true
	r.CutByMemory(ops, m)
	if got, want := cuts(r), "100 200 300 400 (451) 451; 1100 1200 1300 1400 (1410) 1410; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var none Result
	none.CutByMemory(nil, m)
	if none.Iterations != nil {
		t.Error("iterations of nothing")
	}
}

// TestDrawnData: a batch that is drawn on the device is a data phase where a forward pass begins with it, and none where the
// network draws numbers later.
func TestDrawnData(t *testing.T) {
	t.Parallel()
	const draw = "distribution_elementwise_grid_stride_kernel normal_and_transform"
	for _, first := range []bool{true, false} {
		s := newScript(1)
		m := model{6, 64, true, false}
		for range 8 {
			s.begin()
			if first {
				s.op(1, draw, 64)
				s.op(1, draw, 1)
			}
			s.op(1, "stem", 64)
			if !first {
				s.op(1, draw, 64)
			}
			m.step(s)
		}
		r := Find(s.ops, true)
		s.check(t, r)
		for _, it := range r.Iterations {
			p := it.Phases[0]
			if drawn := p.Name == dataPhase; drawn != first || drawn && p.Last-p.First+1 != 2 {
				t.Errorf("drawn first %t: the first phase is %s with %d operations", first, p.Name, p.Last-p.First+1)
			}
		}
	}
}
