package period

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"
)

// A script writes operations as a program would launch them.
type script struct {
	ops []Op
	now int64
	r   *rand.Rand
	at  []int // operations at which iterations begin
	end []int // operations after which they end
	// drop, add and swap are the chances that an operation is lost, followed by a stray one, or swapped with the next.
	drop, add, swap float64
	try             bool // kernels are tried out
	made            map[namedShape]Op
}

// A namedShape tells kernels apart. Names repeat, and to hash and classify them takes most of a script's time.
type namedShape struct {
	name  string
	shape int
}

func newScript(seed int64) *script {
	return &script{r: rand.New(rand.NewSource(seed)), now: 1000, made: map[namedShape]Op{}}
}

func (s *script) put(o Op) {
	o.Start, o.End = s.now, s.now+5
	s.now += 20
	s.ops = append(s.ops, o)
}

// op launches a kernel by name and shape on a thread, with the script's noise.
func (s *script) op(thread int32, name string, shape int) {
	if s.r.Float64() < s.drop {
		return
	}
	if s.r.Float64() < s.add {
		s.raw(thread, fmt.Sprint("stray", s.r.Intn(50)), 0)
	}
	if s.try {
		for i := range 60 {
			s.raw(thread, fmt.Sprint("tried", i%20, name), shape)
		}
	}
	s.raw(thread, name, shape)
	if n := len(s.ops); s.r.Float64() < s.swap && n > 1 {
		a, b := &s.ops[n-1], &s.ops[n-2]
		if a.Thread == b.Thread && a.Class == b.Class {
			a.Key, b.Key, a.Loose, b.Loose, a.Flags, b.Flags = b.Key, a.Key, b.Loose, a.Loose, b.Flags, a.Flags
		}
	}
}

func (s *script) raw(thread int32, name string, shape int) {
	id := namedShape{name, shape}
	o, ok := s.made[id]
	if !ok {
		key := hash(fmt.Sprint(name, "/", shape))
		o = Op{Loose: hash(name), Kind: KindOf(name), Key: key, Flags: FlagsOf(name, int64(shape))}
		s.made[id] = o
	}
	o.Thread = thread
	s.put(o)
}

func (s *script) class(thread int32, c Class, size int) {
	s.put(Op{Class: c, Loose: uint64(c) + 1<<40, Key: uint64(c)<<32 + uint64(size), Thread: thread})
}

func (s *script) begin() { s.at = append(s.at, len(s.ops)) }
func (s *script) done()  { s.end = append(s.end, len(s.ops)-1) }

// A model is a network with layers.
type model struct {
	layers int
	shape  int
	hint   bool // the optimizer's kernels have an optimizer's name
	feed   bool // batches are copied to the device
}

func (m model) data(s *script) {
	if m.feed {
		s.class(1, HtoD, 20)
		s.class(1, HtoD, 8)
	}
}

func (m model) forward(s *script, eval bool) {
	s.op(1, "embed", m.shape)
	for range m.layers {
		for _, k := range []string{"norm", "gemm_qkv", "attention", "gemm_out", "add", "norm", "gemm_up", "gelu", "gemm_down", "add"} {
			if eval && k == "attention" {
				k = "attention_eval"
			}
			s.op(1, k, m.shape)
		}
	}
	s.op(1, "gemm_head", m.shape)
	s.op(1, "softmax", m.shape)
	s.op(1, "nll", 1)
}

func (m model) backward(s *script) {
	s.raw(1, "FillFunctor", 1)
	s.op(2, "nll_back", m.shape)
	for range m.layers {
		for _, k := range []string{"add_back", "gemm_dx", "gemm_dw", "gelu_back", "gemm_dx", "gemm_dw", "norm_back", "attention_back", "gemm_dx", "gemm_dw"} {
			s.op(2, k, m.shape)
		}
	}
	s.op(2, "embed_back", m.shape)
}

func (m model) optimize(s *script) {
	name := "addcmul"
	if m.hint {
		name = "multi_tensor_apply_kernel adam"
	}
	for i := range 6 {
		s.op(1, fmt.Sprint(name, i), 40)
	}
}

// step launches what follows the data of a training step, which ends there.
func (m model) step(s *script) {
	m.forward(s, false)
	m.backward(s)
	m.optimize(s)
	s.done()
}

func (m model) setup(s *script) {
	for range 8 * m.layers {
		s.class(1, HtoD, 22)
	}
}

// check compares with where the script says that iterations begin.
func (s *script) check(t *testing.T, r Result) {
	t.Helper()
	checkResult(t, s.ops, r)
	t.Logf("%d of %d iterations, confidence %.3f, period %d, %s: %s", len(r.Iterations), len(s.at), r.Confidence, r.Period, r.Unit, r.Why)
	if len(r.Iterations) != len(s.at) {
		t.Errorf("%d iterations, want %d: %s", len(r.Iterations), len(s.at), r.Why)
		return
	}
	for k, it := range r.Iterations {
		if it.First != s.at[k] {
			t.Errorf("iteration %d begins at operation %d, want %d", k, it.First, s.at[k])
		}
		if k < len(s.end) && it.Last != s.end[k] {
			t.Errorf("iteration %d ends at operation %d, want %d", k, it.Last, s.end[k])
		}
	}
}

// slack allows cuts to be a few operations off, for scripts with noise at the cut itself.
func (s *script) slack(t *testing.T, r Result, most int) {
	t.Helper()
	checkResult(t, s.ops, r)
	t.Logf("%d of %d iterations, confidence %.3f, period %d, %s: %s", len(r.Iterations), len(s.at), r.Confidence, r.Period, r.Unit, r.Why)
	if len(r.Iterations) != len(s.at) {
		t.Errorf("%d iterations, want %d: %s", len(r.Iterations), len(s.at), r.Why)
		return
	}
	for k, it := range r.Iterations {
		if d := it.First - s.at[k]; d > most || d < -most {
			t.Errorf("iteration %d begins at operation %d, want %d", k, it.First, s.at[k])
		}
	}
}

func TestTraining(t *testing.T) {
	t.Parallel()
	type opts struct {
		steps, micro, evalEvery int
		noise                   float64
		vary, warm, evalFirst   bool
		try                     bool // the first forward pass tries out many kernels
		tryFrom                 bool // where it begins cannot be told then
		read                    bool // the loss of each micro-batch is read
		clip                    bool // gradients are clipped: kernels of an optimizer's name among others, and a read-back
		prefetch                bool // another thread copies batches to the device at any time
		half                    bool // it begins in the forward pass even
		middle                  bool // the recording begins in the middle of a step
		final                   bool // an evaluation follows the last step
	}
	for _, c := range []struct {
		name string
		m    model
		o    opts
	}{
		{"plain", model{6, 64, true, true}, opts{steps: 10, micro: 1}},
		{"two steps", model{6, 64, true, true}, opts{steps: 2, micro: 1}},
		{"three steps and warm-up", model{6, 64, true, true}, opts{steps: 3, micro: 1, warm: true}},
		{"data on the device", model{6, 64, true, false}, opts{steps: 10, micro: 1}},
		{"no optimizer names", model{6, 64, false, true}, opts{steps: 10, micro: 1, warm: true}},
		{"no names, no copies", model{6, 64, false, false}, opts{steps: 10, micro: 1}},
		{"micro-batches", model{6, 64, true, true}, opts{steps: 8, micro: 4}},
		{"micro-batches without names", model{6, 64, false, true}, opts{steps: 8, micro: 4}},
		{"micro-batches without names or copies", model{6, 64, false, false}, opts{steps: 8, micro: 4}},
		{"noise", model{6, 64, true, true}, opts{steps: 20, micro: 1, noise: 0.01}},
		{"noise and micro-batches", model{6, 64, true, true}, opts{steps: 20, micro: 3, noise: 0.01}},
		{"varying shapes", model{6, 64, true, true}, opts{steps: 20, micro: 1, vary: true}},
		{"varying shapes, micro-batches, warm-up", model{6, 64, true, true}, opts{steps: 20, micro: 2, vary: true, warm: true}},
		{"evaluation", model{6, 64, true, true}, opts{steps: 20, micro: 1, evalEvery: 5}},
		{"evaluation first and last", model{6, 64, true, true}, opts{steps: 20, micro: 1, evalEvery: 5, evalFirst: true, final: true}},
		{"evaluation without copies", model{6, 64, true, false}, opts{steps: 20, micro: 1, evalEvery: 5}},
		{"evaluation without names", model{6, 64, false, true}, opts{steps: 20, micro: 1, evalEvery: 5}},
		{"evaluation without names or copies", model{6, 64, false, false}, opts{steps: 20, micro: 1, evalEvery: 4}},
		{"evaluation every step", model{6, 64, true, true}, opts{steps: 12, micro: 1, evalEvery: 1}},
		{"everything", model{6, 64, true, true}, opts{steps: 20, micro: 3, evalEvery: 4, vary: true, warm: true, evalFirst: true, final: true}},
		{"from the middle", model{6, 64, true, true}, opts{steps: 10, micro: 1, middle: true}},
		{"from the middle of a forward pass", model{6, 64, true, true}, opts{steps: 10, micro: 1, middle: true, half: true}},
		{"kernels tried out", model{6, 64, true, true}, opts{steps: 10, micro: 1, try: true}},
		{"kernels tried out, micro-batches", model{6, 64, true, true}, opts{steps: 10, micro: 3, try: true}},
		{"kernels tried out, no copies", model{6, 64, true, false}, opts{steps: 10, micro: 1, try: true, tryFrom: true}},
		{"kernels tried out, no names", model{6, 64, false, true}, opts{steps: 10, micro: 1, try: true}},
		{"losses read", model{6, 64, true, true}, opts{steps: 10, micro: 3, read: true}},
		{"losses read, no names", model{6, 64, false, true}, opts{steps: 10, micro: 3, read: true}},
		{"gradients clipped", model{6, 64, true, true}, opts{steps: 10, micro: 2, clip: true}},
		{"prefetch by a thread", model{6, 64, true, false}, opts{steps: 10, micro: 1, prefetch: true}},
		{"one layer", model{1, 64, true, true}, opts{steps: 10, micro: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScript(1)
			m, o := c.m, c.o
			s.drop, s.add, s.swap = o.noise, o.noise, o.noise
			eval := func() {
				for range 3 {
					m.data(s)
					m.forward(s, true)
					s.class(1, DtoH, 3)
				}
			}
			if !o.middle {
				m.setup(s)
			} else {
				if o.half {
					m.forward(s, false)
					s.ops = s.ops[40:]
				}
				m.backward(s)
				m.optimize(s)
			}
			if o.evalFirst {
				eval()
			}
			for k := range o.steps {
				if o.prefetch {
					s.class(7, HtoD, 20)
				}
				s.begin()
				for range o.micro {
					if o.vary {
						m.shape = 64 + s.r.Intn(40)
					}
					m.data(s)
					if o.warm && k == 0 {
						s.class(1, Memset, 10)
						s.class(1, Memset, 4)
					}
					s.try = o.try && k == 0
					m.forward(s, false)
					s.try = false
					m.backward(s)
					if o.read {
						s.raw(1, "isnan", 1)
						s.class(1, DtoH, 1)
						s.raw(1, "sum_loss", 1)
					}
				}
				if o.clip {
					s.raw(1, "multi_tensor_apply_kernel norm", 40)
					s.raw(1, "stack", 1)
					s.raw(1, "norm_reduce", 1)
					s.class(1, DtoH, 2)
					s.raw(1, "multi_tensor_apply_kernel mul", 40)
				}
				if o.warm && k == 0 {
					for i := range 40 {
						s.raw(1, "FillFunctor", i+2)
					}
				}
				m.optimize(s)
				s.class(1, DtoH, 3)
				s.done()
				if o.evalEvery > 0 && (k+1)%o.evalEvery == 0 {
					if o.evalEvery == 1 || k+1 < o.steps || o.final {
						eval()
					}
				}
			}
			r := Find(s.ops, true)
			if o.tryFrom && len(r.Iterations) > 0 {
				s.at[0] = r.Iterations[0].First
			}
			if o.noise > 0 {
				s.slack(t, r, 4)
			} else {
				// The loss that is read after the last step or before an evaluation may be left out.
				for k := range s.end {
					if k < len(r.Iterations) && r.Iterations[k].Last == s.end[k]-1 {
						s.end[k]--
					}
				}
				s.check(t, r)
			}
			for k, it := range r.Iterations {
				n := map[string]int{}
				for _, p := range it.Phases {
					n[p.Name]++
				}
				feeds := 0
				if m.feed {
					feeds = o.micro
				}
				if n[dataPhase] != feeds || n[forwardPhase] != o.micro || n[backwardPhase] != o.micro || n[optimizerPhase] != 1 {
					t.Errorf("iteration %d: %v", k, n)
				}
			}
		})
	}
}

// TestTwoModels: two models are trained in turn, each with an optimizer: one iteration is both.
func TestTwoModels(t *testing.T) {
	t.Parallel()
	s := newScript(1)
	a, b := model{6, 64, true, true}, model{3, 32, true, false}
	a.setup(s)
	for range 10 {
		s.begin()
		a.data(s)
		a.forward(s, false)
		a.backward(s)
		a.optimize(s)
		for _, k := range []string{"noise", "conv1", "conv2", "conv3", "tanh", "disc1", "disc2", "mean"} {
			s.raw(1, k, 9)
		}
		for _, k := range []string{"mean_back", "disc2_back", "disc1_back", "tanh_back", "conv3_back", "conv2_back", "conv1_back"} {
			s.raw(2, k, 9)
		}
		b.optimize(s)
		s.done()
	}
	s.check(t, Find(s.ops, true))
}

// TestTruncated: a program that stops in a backward pass has a last step that is marked.
func TestTruncated(t *testing.T) {
	t.Parallel()
	s := newScript(1)
	m := model{6, 64, true, true}
	for k := range 5 {
		s.begin()
		m.data(s)
		m.forward(s, false)
		if k == 4 {
			s.raw(2, "nll_back", 64)
			break
		}
		m.backward(s)
		m.optimize(s)
	}
	r := Find(s.ops, true)
	s.check(t, r)
	if n := len(r.Iterations); n == 5 && !r.Iterations[4].Truncated || n > 3 && r.Iterations[3].Truncated {
		t.Errorf("truncated: %+v", r.Iterations)
	}
}

// TestHints: ranges of operators give phases where a single thread launches all.
func TestHints(t *testing.T) {
	t.Parallel()
	s := newScript(1)
	m := model{6, 64, true, true}
	for range 6 {
		s.begin()
		m.data(s)
		from := len(s.ops)
		m.forward(s, false)
		for i := from; i < len(s.ops); i++ {
			s.ops[i].Flags |= Forward
		}
		from = len(s.ops)
		m.backward(s)
		for i := from; i < len(s.ops); i++ {
			s.ops[i].Flags |= Backward
			s.ops[i].Thread = 1
		}
		m.optimize(s)
		s.done()
	}
	r := Find(s.ops, true)
	s.check(t, r)
	for k, it := range r.Iterations {
		if len(it.Phases) != 4 {
			t.Errorf("iteration %d: %+v", k, it.Phases)
		}
	}
}

func TestInference(t *testing.T) {
	t.Parallel()
	prefill := func(s *script, n int) {
		m := model{8, 1000 + n, false, false}
		s.raw(1, "embed", m.shape)
		for range m.layers {
			for _, k := range []string{"norm", "gemm_big", "rope", "flash_attention", "gemm_big", "add", "norm", "gemm_big", "silu", "gemm_big", "add"} {
				s.op(1, k, m.shape)
			}
		}
		s.raw(1, "lm_head", 1)
		s.raw(1, "argmax", 1)
	}
	decode := func(s *script, at int) {
		s.raw(1, "embed", 1)
		for range 8 {
			for _, k := range []string{"norm", "gemv", "rope", "split_attention", "gemv", "add", "norm", "gemv", "silu", "gemv", "add"} {
				shape := 1
				if k == "split_attention" {
					shape = 1 + at/16
				}
				s.op(1, k, shape)
			}
		}
		s.raw(1, "lm_head", 1)
		s.raw(1, "argmax", 1)
	}
	type opts struct {
		requests int
		feed     bool // prompts are copied to the device
		read     bool // tokens are copied to the host
		even     bool // all requests have as many steps
		noise    float64
	}
	for _, o := range []opts{
		{5, true, true, false, 0}, {5, true, false, false, 0}, {5, false, false, false, 0}, {5, false, true, true, 0},
		{8, true, true, true, 0}, {2, true, true, false, 0}, {3, false, false, false, 0}, {6, true, true, false, 0.005},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			t.Parallel()
			s := newScript(2)
			s.drop, s.add, s.swap = o.noise, o.noise, o.noise
			for range 60 {
				s.class(1, HtoD, 24)
			}
			var steps []int
			for range o.requests {
				s.begin()
				n := 20 + s.r.Intn(30)
				m := 12
				if !o.even {
					m = 8 + s.r.Intn(20)
				}
				steps = append(steps, m)
				if o.feed {
					s.class(1, HtoD, 7)
				}
				prefill(s, n)
				if o.read {
					s.class(1, DtoH, 3)
				}
				for k := range m {
					decode(s, n+k)
					if o.read {
						s.class(1, DtoH, 3)
					}
				}
				s.done()
			}
			r := Find(s.ops, true)
			if o.noise > 0 {
				s.slack(t, r, 4)
			} else {
				s.check(t, r)
			}
			for k, it := range r.Iterations {
				n := map[string]int{}
				for _, p := range it.Phases {
					n[p.Name]++
				}
				if k < len(steps) && (n[prefillPhase] != 1 || n[decodePhase] != steps[k]) {
					t.Errorf("request %d: phases %v, want %d decode steps", k, n, steps[k])
				}
			}
		})
	}
	t.Run("one request", func(t *testing.T) {
		t.Parallel()
		s := newScript(2)
		s.begin()
		prefill(s, 30)
		s.class(1, DtoH, 3)
		for k := range 20 {
			s.begin()
			decode(s, k)
			s.class(1, DtoH, 3)
		}
		s.check(t, Find(s.ops, true))
	})
	t.Run("batches", func(t *testing.T) {
		t.Parallel()
		s := newScript(2)
		m := model{12, 64, false, true}
		m.setup(s)
		for range 10 {
			s.begin()
			m.shape = 60 + s.r.Intn(9)
			m.data(s)
			m.forward(s, true)
			s.class(1, DtoH, 9)
			s.done()
		}
		s.check(t, Find(s.ops, true))
	})
	t.Run("batches without copies", func(t *testing.T) {
		t.Parallel()
		s := newScript(2)
		m := model{12, 64, false, false}
		for range 10 {
			s.begin()
			m.forward(s, true)
			s.done()
		}
		s.check(t, Find(s.ops, true))
	})
}

// TestGraphs: replays of a captured graph after eager warm-up.
func TestGraphs(t *testing.T) {
	t.Parallel()
	s := newScript(1)
	m := model{6, 64, true, true}
	m.setup(s)
	for range 3 {
		m.forward(s, false)
		m.backward(s)
		m.optimize(s)
	}
	for range 20 {
		s.begin()
		s.class(1, HtoD, 9)
		s.put(Op{Class: Graph, Key: 77, Loose: 77, Thread: 1})
		s.done()
	}
	s.check(t, Find(s.ops, true))
}

func TestSingleThread(t *testing.T) {
	t.Parallel()
	for _, noise := range []float64{0, 0.01} {
		t.Run(fmt.Sprint("solver ", noise), func(t *testing.T) {
			t.Parallel()
			s := newScript(3)
			s.drop, s.add, s.swap = noise, noise, noise
			for range 5 {
				s.raw(1, "init", 3)
			}
			for range 40 {
				s.begin()
				s.class(1, HtoD, 5)
				for range 10 {
					for _, k := range []string{"spmv", "dot", "axpy", "axpy", "dot", "scale"} {
						s.op(1, k, 100)
					}
				}
				s.class(1, DtoH, 2)
				s.done()
			}
			s.slack(t, Find(s.ops, true), 2)
		})
	}
	t.Run("training", func(t *testing.T) {
		t.Parallel()
		s := newScript(3)
		m := model{6, 64, true, true}
		m.setup(s)
		for range 10 {
			s.begin()
			for range 2 {
				m.data(s)
				m.forward(s, false)
				from := len(s.ops)
				m.backward(s)
				for i := from; i < len(s.ops); i++ {
					s.ops[i].Thread = 1
				}
			}
			m.optimize(s)
			s.done()
		}
		s.check(t, Find(s.ops, true))
	})
}

// TestNone: what does not repeat has no iterations.
func TestNone(t *testing.T) {
	t.Parallel()
	cases := map[string]func(s *script){
		"empty": func(*script) {},
		"all different": func(s *script) {
			for i := range 500 {
				s.raw(1, fmt.Sprint("k", i), i)
			}
		},
		"one pass of layers": func(s *script) {
			m := model{32, 64, false, true}
			m.setup(s)
			m.data(s)
			m.forward(s, true)
			s.class(1, DtoH, 4)
		},
		"one training step": func(s *script) {
			m := model{12, 64, true, true}
			m.setup(s)
			m.data(s)
			m.forward(s, false)
			m.backward(s)
			m.optimize(s)
		},
		"parameters": func(s *script) {
			for range 40 {
				for k := range 6 {
					s.class(1, HtoD, 10+k)
				}
			}
		},
		"a lone kernel": func(s *script) {
			for range 500 {
				s.raw(1, "k", 1)
			}
		},
		"three noisy repetitions": func(s *script) {
			for range 3 {
				for range 100 {
					s.raw(1, fmt.Sprint("k", s.r.Intn(30)), 1)
				}
				s.class(1, HtoD, 4)
			}
		},
		"noise on two threads": func(s *script) {
			for range 6 {
				for range 10 + s.r.Intn(100) {
					s.raw(1, fmt.Sprint("k", s.r.Intn(20)), 1)
				}
				for range 10 + s.r.Intn(100) {
					s.raw(2, fmt.Sprint("b", s.r.Intn(20)), 1)
				}
			}
		},
	}
	for _, names := range []int{3, 10, 100, 1000} {
		for _, copies := range []bool{false, true} {
			cases[fmt.Sprintf("noise of %d names, copies %v", names, copies)] = func(s *script) {
				for range 5000 {
					if copies && s.r.Intn(40) == 0 {
						s.class(1, Class(1+s.r.Intn(3)), s.r.Intn(20))
					}
					s.raw(1, fmt.Sprint("k", s.r.Intn(names)), s.r.Intn(4))
				}
			}
		}
	}
	for name, f := range cases {
		for seed := range int64(5) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				s := newScript(seed)
				f(s)
				r := Find(s.ops, true)
				checkResult(t, s.ops, r)
				if len(r.Iterations) > 0 {
					t.Errorf("%d iterations, confidence %.2f, period %d: %s", len(r.Iterations), r.Confidence, r.Period, r.Why)
				}
			})
		}
	}
}

func million(train bool) []Op {
	s := newScript(1)
	m := model{48, 64, true, true}
	for len(s.ops) < 1_000_000 {
		m.shape = 64 + s.r.Intn(8)
		m.data(s)
		m.forward(s, false)
		m.backward(s)
		m.optimize(s)
	}
	if !train {
		for i := range s.ops {
			s.ops[i].Thread = 1
		}
	}
	return s.ops[:1_000_000]
}

func BenchmarkMillion(b *testing.B) {
	for _, train := range []bool{true, false} {
		ops := million(train)
		b.Run(fmt.Sprintf("threads=%v", train), func(b *testing.B) {
			for b.Loop() {
				if r := Find(ops, true); len(r.Iterations) < 900 {
					b.Fatalf("%d iterations: %s", len(r.Iterations), r.Why)
				}
			}
		})
	}
	for name, put := range map[string]func(s *script){
		"noise of 1000 names": func(s *script) { s.raw(1, fmt.Sprint("k", s.r.Intn(1000)), s.r.Intn(9)) },
		"noise of 3 names":    func(s *script) { s.raw(1, fmt.Sprint("k", s.r.Intn(3)), 1) },
		"one kernel":          func(s *script) { s.raw(1, "k", 1) },
		"turns of one":        func(s *script) { s.raw(1, fmt.Sprint("k", s.r.Intn(9)), 1); s.raw(2, fmt.Sprint("b", s.r.Intn(9)), 1) },
		"turns of noise": func(s *script) {
			for th := range int32(2) {
				for range 1 + s.r.Intn(200) {
					s.raw(1+th, fmt.Sprint("k", th, s.r.Intn(5)), 1)
				}
			}
		},
		"short period": func(s *script) { s.raw(1, "a", 1); s.raw(1, "b", 1); s.class(1, DtoH, 1) },
		"damaged period": func(s *script) {
			s.drop, s.add, s.swap = 0.05, 0.05, 0.05
			s.class(1, HtoD, 3)
			for i := range 30 {
				s.op(1, fmt.Sprint("k", i), 1)
			}
		},
		"varying lengths": func(s *script) {
			m := sized{24, 32 + s.r.Intn(400), true, true}
			m.data(s)
			m.forward(s)
			m.loss(s)
			m.backward(s)
			m.optimize(s)
		},
		"varying requests": func(s *script) {
			m := sized{layers: 12, tokens: 32 + s.r.Intn(400)}
			s.class(1, HtoD, 10)
			m.forward(s)
			for k := range 20 + s.r.Intn(50) {
				decodeStep(s, 12, m.tokens+k)
			}
			s.class(1, DtoH, 8)
		},
		"many threads": func(s *script) { s.raw(int32(s.r.Intn(64)), fmt.Sprint("k", s.r.Intn(99)), 1) },
	} {
		b.Run(name, func(b *testing.B) {
			s := newScript(1)
			for len(s.ops) < 1_000_000 {
				put(s)
			}
			for b.Loop() {
				Find(s.ops, true)
			}
		})
	}
}

// TestFlagsOf: names as they stand in reports.
func TestFlagsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		blocks int64
		want   Flags
	}{
		{"void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListMetadata<(int)2>, at::native::<unnamed>::UnaryOpFunctor<float>>(T1, T2)", 22, Optimizer},
		{"void at::native::<unnamed>::multi_tensor_apply_kernel<TensorListMetadata, FusedAdamMathFunctor<float>>(T1)", 1, Optimizer},
		{"void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, std::array<char *, (unsigned long)1>>(int, T2, T3)", 1, fill},
		{"void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, std::array<char *, (unsigned long)1>>(int, T2, T3)", 2, 0},
		{"void at::native::reduce_kernel<(int)512, at::native::[lambda(float) (instance 1)]>(T3)", 1, 0},
		{"void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4, at::native::templates::cuda::normal_and_transform<float>>(long)", 8, drawn},
		{"void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4, at::native::templates::cuda::bernoulli_kernel<float>>(long)", 8, 0},
		{"void at::native::<unnamed>::fused_dropout_kernel_vec<float, float, unsigned int, (int)1, (int)4, bool>(T1)", 8, 0},
		{"", 0, 0},
	} {
		if got := FlagsOf(c.name, c.blocks); got != c.want {
			t.Errorf("FlagsOf(%q, %d) = %b, want %b", c.name, c.blocks, got, c.want)
		}
	}
}

// FuzzFind: any sequence gives a result that holds together.
func FuzzFind(f *testing.F) {
	f.Add([]byte("abcabcabcabcabc"))
	f.Add([]byte{0, 64, 0, 64, 0, 64, 128, 200, 7, 7, 7})
	f.Add([]byte("AAAABBBBAAAABBBBAAAABBBBAAAABBBBAAAABBBB"))
	f.Fuzz(func(t *testing.T, in []byte) {
		ops := make([]Op, 0, len(in))
		now := int64(0)
		for _, b := range in {
			o := Op{Loose: uint64(b & 7), Key: uint64(b & 15), Kind: uint64(b&7) / 2, Thread: int32(b >> 6), Stream: int32(b >> 5 & 3), Flags: Flags(b>>4) & 3}
			switch {
			case b&15 == 15:
				o.Class = HtoD
			case b&15 == 14:
				o.Class = DtoH
			case b&31 == 13:
				o.Class = Graph
			}
			now += int64(b & 3)
			o.Start = now
			if b&1 == 0 {
				o.End = now + int64(b)
			}
			ops = append(ops, o)
		}
		r := Find(ops, true)
		checkResult(t, ops, r)
		var m Memory
		for i, b := range in {
			switch at := ops[i].Start + int64(b>>6); {
			case b&3 == 0:
				m.Taken = append(m.Taken, at)
			case b&3 == 1:
				m.Driver = append(m.Driver, at)
			case b&3 == 2:
				m.Given = append(m.Given, Given{At: at, Born: at - int64(b)})
			}
		}
		slices.Sort(m.Taken)
		slices.Sort(m.Driver)
		slices.SortFunc(m.Given, func(a, b Given) int { return cmp.Compare(a.At, b.At) })
		r.CutByMemory(ops, m)
		checkOrder(t, ops, r)
	})
}

// TestChanging: the model grows in the middle of training, and again.
func TestChanging(t *testing.T) {
	t.Parallel()
	s := newScript(4)
	m := model{4, 64, true, true}
	m.setup(s)
	for k := range 30 {
		if k%10 == 9 {
			m.layers += 3
			m.shape += 16
		}
		s.begin()
		m.data(s)
		m.step(s)
	}
	s.check(t, Find(s.ops, true))
	// The same by one thread.
	for i := range s.ops {
		s.ops[i].Thread = 1
	}
	s.check(t, Find(s.ops, true))
}

// TestOptimizerInBackward: parameters are updated by the backward thread as soon as their gradient is there.
func TestOptimizerInBackward(t *testing.T) {
	t.Parallel()
	s := newScript(4)
	m := model{6, 64, false, true}
	m.setup(s)
	for range 10 {
		s.begin()
		m.data(s)
		m.forward(s, false)
		m.backward(s)
		s.raw(2, "fused_adam", 9)
		s.done()
	}
	r := Find(s.ops, true)
	s.check(t, r)
	for k, it := range r.Iterations {
		if len(it.Phases) != 3 || it.Phases[2].Name != backwardPhase {
			t.Errorf("iteration %d: %+v", k, it.Phases)
		}
	}
}

// TestWorkers: two threads that do the same are no forward and backward pass.
func TestWorkers(t *testing.T) {
	t.Parallel()
	s := newScript(4)
	for range 40 {
		for th := range int32(2) {
			s.class(th+1, HtoD, 5)
			for _, k := range []string{"conv", "relu", "pool", "conv", "relu", "fc", "softmax"} {
				s.raw(th+1, k, 8)
			}
			s.class(th+1, DtoH, 5)
		}
	}
	r := Find(s.ops, true)
	checkResult(t, s.ops, r)
	if len(r.Iterations) != 40 || len(r.Iterations[0].Phases) > 0 {
		t.Errorf("%d iterations: %s", len(r.Iterations), r.Why)
	}
}
