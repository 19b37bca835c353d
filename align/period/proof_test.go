package period

import (
	"fmt"
	"strings"
	"testing"
)

// layer is one layer of a large network: many kernels, and what it moves between host and device.
func layer(s *script, class Class, flags Flags) {
	for k := range 40 {
		s.raw(1, fmt.Sprint("kernel_", k), 100)
	}
	if class != Kernel {
		s.class(1, class, 4)
		s.ops[len(s.ops)-1].Flags |= flags
	}
}

// A recording that does not begin with its program may lie inside a pass: layers that are fed, read or alone are no steps
// then. From the program's beginning on the same is told, and so is a window that holds whole repetitions.
func TestWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		class  Class
		begins bool
		from   int // operations of a layer that come before the recording
		want   int
	}{
		{"weights are fed to each layer", HtoD, false, 13, 0},
		{"counts are read from each layer", DtoH, false, 13, 0},
		{"the whole program", HtoD, true, 0, 12},
		{"a window around whole rounds", HtoD, false, 0, 12},
	} {
		s := newScript(1)
		if c.begins {
			for range 3 {
				s.raw(1, "set_up", 1)
			}
		}
		for range 12 {
			layer(s, c.class, 0)
		}
		ops := s.ops[c.from : len(s.ops)-c.from]
		if r := Find(ops, c.begins); len(r.Iterations) != c.want {
			t.Errorf("%s: %d iterations, want %d: %s", c.name, len(r.Iterations), c.want, r.Why)
		}
	}
}

// A few bytes that go to the device are no input.
func TestTinyCopies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags Flags
		want  int
	}{{0, 12}, {Tiny, 0}} {
		s := newScript(1)
		s.raw(1, "set_up", 1)
		for range 12 {
			layer(s, HtoD, c.flags)
		}
		if r := Find(s.ops, true); len(r.Iterations) != c.want {
			t.Errorf("flags %d: %d iterations, want %d: %s", c.flags, len(r.Iterations), c.want, r.Why)
		}
	}
}

// Steps whose kernels come in turns are told one by one, but layers of steps are not told for them.
func TestSteps(t *testing.T) {
	t.Parallel()
	for turns := 1; turns <= 3; turns++ {
		s := newScript(1)
		s.raw(1, "set_up", 1)
		for i := range 24 {
			s.raw(1, "embed", 1)
			for l := range 6 {
				for k := range 10 {
					s.raw(1, fmt.Sprint("kernel_", k), 100)
				}
				if l == 0 {
					s.raw(1, fmt.Sprint("chosen_", i%turns), 1)
				}
			}
			s.raw(1, "head", 1)
		}
		r := Find(s.ops, true)
		if len(r.Iterations) != 24 || r.Confidence >= 0.9 {
			t.Errorf("in turns of %d: %d iterations, want 24, confidence %.2f, want less than 0.9: %s", turns, len(r.Iterations), r.Confidence, r.Why)
		}
	}
}

// What proves repetitions says how sure they are.
func TestProofs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class Class
		name  string // of the last kernel
		kinds int
		sure  bool
		high  bool
	}{
		{Kernel, "multi_tensor_apply_kernel adam", 40, true, true},
		{HtoD, "last", 40, true, true},
		{DtoH, "last", 40, false, false},
		{HtoD, "last", 2, true, false},
	} {
		s := newScript(1)
		s.raw(1, "set_up", 1)
		for range 12 {
			for k := range 40 {
				s.raw(1, fmt.Sprint("kernel_", k%c.kinds), 100)
			}
			s.raw(1, c.name, 100)
			if c.class != Kernel {
				s.class(1, c.class, 20)
			}
		}
		r := Find(s.ops, true)
		if len(r.Iterations) != 12 || r.Sure != c.sure || r.Confidence >= 0.9 != c.high {
			t.Errorf("%+v: %d iterations, confidence %.2f, sure %v: %s", c, len(r.Iterations), r.Confidence, r.Sure, r.Why)
		}
	}
}

// An optimizer that goes on behind the kernels that names tell does not end where they do; a first forward pass that tries
// out kernels does not make its beginning an optimizer.
func TestOptimizerBehindNames(t *testing.T) {
	t.Parallel()
	for _, tried := range []bool{false, true} {
		s := newScript(1)
		m := model{layers: 4, shape: 7, hint: true}
		for i := range 6 {
			s.begin()
			s.try = tried && i == 0
			m.forward(s, false)
			s.try = false
			m.backward(s)
			m.optimize(s)
			for range 60 {
				for _, k := range []string{"lerp", "addcmul", "sqrt", "addcdiv"} {
					if !tried {
						s.raw(1, k, 3)
					}
				}
			}
			s.done()
		}
		r := Find(s.ops, true)
		if s.check(t, r); t.Failed() {
			t.Fatalf("tried %v: %s", tried, strings.TrimSpace(r.Why))
		}
	}
}

// Where the recording begins behind the first input, and weights are copied between the optimizer's kernels and the next
// input, those may belong to either step: that is less sure. Input right behind the optimizer leaves no doubt.
func TestVagueStart(t *testing.T) {
	t.Parallel()
	for _, copied := range []int{0, 40} {
		s := newScript(1)
		for range 8 {
			for k := range copied {
				s.raw(1, "copy_weights", k)
			}
			s.class(1, HtoD, 100)
			for k := range 40 {
				s.raw(1, fmt.Sprint("forward_", k), 7)
			}
			for k := range 60 {
				s.raw(2, fmt.Sprint("backward_", k), 7)
			}
			for k := range 8 {
				s.raw(1, "multi_tensor_apply_kernel adam", k)
			}
		}
		r := Find(s.ops, true)
		if len(r.Iterations) != 8 || !r.Sure || r.Confidence >= 0.9 != (copied == 0) {
			t.Errorf("%d copies: %d iterations, confidence %.2f, sure %v: %s", copied, len(r.Iterations), r.Confidence, r.Sure, r.Why)
		}
	}
}

// Requests whose tokens are only read are told by their prefills; passes of a batch that have none stay passes.
func TestReadTokens(t *testing.T) {
	t.Parallel()
	pass := func(s *script, kind string, shape int) {
		s.raw(1, "embed"+kind, shape)
		for range 8 {
			for k := range 9 {
				s.raw(1, fmt.Sprint("kernel_", k, kind), shape)
			}
		}
		s.raw(1, "argmax", 1)
	}
	for _, prefilled := range []bool{true, false} {
		s := newScript(1)
		for range 30 {
			s.class(1, HtoD, 20)
		}
		want := 0
		for range 4 {
			if prefilled {
				want++
				pass(s, "_long", 300)
			}
			for range 16 {
				if !prefilled {
					want++
				}
				pass(s, "", 1)
				s.class(1, DtoH, 3)
			}
		}
		if r := Find(s.ops, true); len(r.Iterations) != want {
			t.Errorf("prefilled %v: %d iterations, want %d: %s", prefilled, len(r.Iterations), want, r.Why)
		}
	}
}
