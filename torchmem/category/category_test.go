package category

import (
	"strings"
	"testing"

	"nsysmem/torchmem"
	"nsysmem/torchmem/internal/snaptest"
)

// livesOf labels the blocks of a recording by the phases in its truth, which are those of its NVTX ranges.
func livesOf(t *testing.T, rec snaptest.Run) (lives []Life, iterations []snaptest.Phase) {
	t.Helper()
	r := rec.Replay(t)
	type phase struct {
		snaptest.Phase
		call int
	}
	var inner []phase
	calls := map[[2]any]int{}
	for _, p := range rec.Phases {
		if strings.HasPrefix(p.Phase, "iteration") {
			iterations = append(iterations, p)
			continue
		}
		k := [2]any{p.Step, p.Phase}
		inner = append(inner, phase{p, calls[k]})
		calls[k]++
	}
	place := func(at int64) Place {
		p := Place{Iteration: -1}
		for i, it := range iterations {
			if at >= it.T0 {
				p.Iteration, p.Inside = i, at < it.T1
			}
		}
		for _, q := range inner {
			if at >= q.T0 && at < q.T1 {
				p.Role, p.Call = RoleOf(q.Phase.Phase), q.call
			}
		}
		return p
	}
	for _, b := range r.Blocks {
		l := Life{From: b.Birth, To: b.Death, Bytes: b.Requested}
		if b.Birth != torchmem.Never {
			l.Birth = place(b.Birth)
		}
		if b.Death != torchmem.Never {
			l.Death = place(b.Death)
		}
		lives = append(lives, l)
	}
	return lives, iterations
}

func TestCategoriesOfRecordings(t *testing.T) {
	t.Parallel()
	want := map[string][3]int64{ // parameter, optimizer state, gradient
		"cnn_default": {863176, 1721152, 860576},
		"gpt_amp":     {83992576, 167985152, 83992576},
	}
	for _, rec := range snaptest.Runs(t, "../..", "cnn_default", "gpt_amp", "unet_0", "unet_2") {
		lives, iterations := livesOf(t, rec)
		for _, middle := range []bool{false, true} {
			if middle {
				// As if recording had begun with the third iteration.
				var late []Life
				from := iterations[2].T0
				for _, l := range lives {
					if l.To != torchmem.Never && l.To < from {
						continue
					}
					if l.From < from {
						l.From = torchmem.Never
					}
					l.Birth.Iteration -= 2
					l.Death.Iteration -= 2
					late = append(late, l)
				}
				lives, iterations = late, iterations[2:]
			}
			cats := Of(lives, len(iterations))
			m := Max(lives, cats, iterations[1].T0, iterations[len(iterations)-1].T1)
			got := [3]int64{m[Parameter], m[OptimizerState], m[Gradient]}
			w, ok := want[rec.Name]
			if !ok {
				n := rec.Params
				if got[1] != 8*n || got[2] != 4*n || got[0] < 4*n {
					t.Errorf("%s: parameter, optimizer state, gradient %v for %d parameters", rec.Name, got, n)
				}
			} else if middle {
				// Running means and the like cannot be told from other things that were there.
				if got[1] != w[1] || got[2] != w[2] || got[0] != 4*rec.Params {
					t.Errorf("%s recorded from its middle: %v, want %v", rec.Name, got, w)
				}
			} else if got != w {
				t.Errorf("%s: parameter, optimizer state, gradient %v, want %v", rec.Name, got, w)
			}
			t.Logf("%s middle %v: %v", rec.Name, middle, m)
		}
	}
}

// program is a made-up training run: what each step allocates, by the life of each kind.
type program struct {
	lives []Life
	n     int
}

func at(it int, role Role) Place { return Place{Iteration: it, Inside: it >= 0, Role: role} }

// late is after the phases of an iteration.
func late(it int) Place { return Place{Iteration: it, Inside: true, Call: 8} }

// when is a time within a phase; k tells the places of one phase apart.
func when(p Place, k int64) int64 {
	return int64(p.Iteration+1)*10000 + int64(p.Role)*1000 + int64(p.Call)*1000 + k
}

func (p *program) add(bytes int64, birth Place, death ...Place) {
	p.n++
	l := Life{From: when(birth, int64(p.n%400)), To: torchmem.Never, Bytes: bytes, Birth: birth}
	if len(death) > 0 {
		l.Death = death[0]
		l.To = when(death[0], 500+int64(p.n%400))
	}
	p.lives = append(p.lives, l)
}

func TestCategoriesOfPrograms(t *testing.T) {
	t.Parallel()
	const steps = 5
	sizes := []int64{4000, 4000, 160, 36}
	const sum = 4000 + 4000 + 160 + 36
	type want struct{ parameter, state, gradient, unknown int64 }
	for _, c := range []struct {
		name  string
		build func(p *program)
		want
	}{
		{"sgd, zero_grad in the optimizer's phase", func(p *program) {
			for i := range steps {
				for _, s := range sizes {
					p.add(s, at(i, RoleBackward), at(i, RoleOptimizer))
				}
			}
		}, want{sum, 0, sum, 0}},
		{"sgd, zero_grad at the beginning of the next step", func(p *program) {
			for i := range steps {
				for _, s := range sizes {
					if i < steps-1 {
						p.add(s, at(i, RoleBackward), at(i+1, RoleOther))
					} else {
						p.add(s, at(i, RoleBackward))
					}
				}
			}
		}, want{sum, 0, sum, 0}},
		{"sgd with momentum", func(p *program) {
			for _, s := range sizes {
				p.add(s, at(0, RoleOptimizer))
			}
			for i := range steps {
				for _, s := range sizes {
					p.add(s, at(i, RoleBackward), at(i, RoleOptimizer))
				}
			}
		}, want{sum, sum, sum, 0}},
		{"gradients kept over steps, adam", func(p *program) {
			for _, s := range sizes {
				p.add(s, at(0, RoleBackward))
				p.add(s, at(0, RoleOptimizer))
				p.add(s, at(0, RoleOptimizer))
			}
		}, want{sum, 2 * sum, sum, 0}},
		{"workspaces, also of a parameter's size", func(p *program) {
			p.add(1<<20, at(0, RoleForward))
			p.add(1<<20, at(0, RoleBackward))
			p.add(4000, at(0, RoleBackward))
			for i := range steps {
				for _, s := range sizes {
					p.add(s, at(i, RoleBackward), at(i, RoleOptimizer))
				}
			}
		}, want{sum, 0, sum, 4000}},
		{"norm of the gradients kept until the next step", func(p *program) {
			for i := range steps {
				for _, s := range sizes {
					p.add(s, at(i, RoleBackward), at(i, RoleOptimizer))
				}
				if i < steps-1 {
					p.add(4, at(i, RoleOptimizer), at(i+1, RoleOptimizer))
				} else {
					p.add(4, at(i, RoleOptimizer))
				}
			}
		}, want{sum, 0, sum, 8}}, // two while one replaces the other,
		{"accumulation over two steps", func(p *program) {
			for i := 0; i+1 < steps; i += 2 {
				for _, s := range sizes {
					p.add(s, at(i, RoleBackward), at(i+1, RoleOptimizer))
				}
			}
		}, want{sum, 0, sum, 0}},
		{"optimizer without a phase", func(p *program) {
			for i := range steps {
				for _, s := range sizes {
					p.add(s, at(i, RoleBackward), late(i))
				}
			}
			for _, s := range sizes {
				p.add(s, late(0))
			}
		}, want{sum, sum, sum, 0}},
		{"optimizer state made before the first step", func(p *program) {
			for _, s := range sizes {
				p.add(s, at(-1, RoleOptimizer))
			}
		}, want{sum, sum, 0, 0}},
	} {
		p := &program{}
		for _, s := range sizes {
			p.add(s, at(-1, RoleOther))
		}
		c.build(p)
		for i := range steps {
			p.add(7000, at(i, RoleForward), at(i, RoleBackward))
			p.add(300, at(i, RoleData), at(i, RoleBackward))
			p.add(50, at(i, RoleForward), at(i, RoleForward))
			p.add(60, at(i, RoleBackward), at(i, RoleBackward))
		}
		cats := Of(p.lives, steps)
		m := Max(p.lives, cats, 10000, 10000*(steps+1))
		got := want{m[Parameter], m[OptimizerState], m[Gradient], m[Unknown]}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if m[Activation] != 7000 || m[Input] != 300 || m[AutogradDetail] != 60 || m[Temporary] != 50 {
			t.Errorf("%s: %v", c.name, m)
		}
	}
}

func TestRoleOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]Role{"forward/layer0": RoleForward, "Forward": RoleForward, "backward": RoleBackward,
		"train/bwd/loss": RoleBackward, "optimizer": RoleOptimizer, "optimizer_init": RoleOptimizer, "data": RoleData,
		"model_init": RoleOther, "": RoleOther, "(other)": RoleOther, "Optimizer.step#AdamW.step": RoleOptimizer} {
		if got := RoleOf(path); got != want {
			t.Errorf("%q: %d, want %d", path, got, want)
		}
	}
}

// TestSetsOfState asks for the state of a program that has gradients of a size without a parameter that was there early.
// There is room for no state then, whatever the order in which sizes are met.
func TestSetsOfState(t *testing.T) {
	t.Parallel()
	there := map[int64]int{512: 4, 1024: 6, 4096: 2}
	for gradients, want := range map[int64]int{0: 1, 8192: 0} {
		all := map[int64]int{512: 2, 1024: 2}
		if gradients > 0 {
			all[gradients] = 1
		}
		for range 100 { // a map has another order each time
			if got := setsOfState(there, all); got != want {
				t.Fatalf("gradients %v, early %v: %d sets of state, want %d", all, there, got, want)
			}
		}
	}
}

// TestTracedRecordings reads the stacks of recorded runs, whole and as if recording had begun with the third iteration:
// the snapshot has the stacks of blocks that were there then and are there still.
func TestTracedRecordings(t *testing.T) {
	t.Parallel()
	want := map[string][5]int64{ // parameter, optimizer state, gradient, workspace, unknown
		"cnn_default": {863176, 1721152, 860576, 65 << 20, 0},
		"gpt_amp":     {83992576, 167985152, 83992576, 66 << 20, 0},
	}
	for _, rec := range snaptest.Runs(t, "../..", "cnn_default", "gpt_amp") {
		for _, middle := range []bool{false, true} {
			snap := rec.Read(t)
			lives, iterations := livesOf(t, rec)
			if middle {
				from, n := iterations[2].T0, 0
				snap.Traces[0].Each(func(_ int, e *torchmem.TraceEvent) bool { n++; return e.Time < from })
				snaptest.Cut(snap, n-1)
				iterations = iterations[2:]
			}
			r, err := snap.Replay(0)
			if err != nil {
				t.Fatal(err)
			}
			if middle {
				lives = lives[:0]
				for _, b := range r.Blocks {
					l := Life{From: b.Birth, To: b.Death, Bytes: b.Requested}
					for i, it := range iterations {
						if b.Death >= it.T0 {
							l.Death.Iteration, l.Death.Inside = i, b.Death < it.T1
						}
					}
					lives = append(lives, l)
				}
			}
			told := Traced(RecordingOf(r), lives, len(iterations))
			m := Max(lives, told, iterations[1].T0, iterations[len(iterations)-1].T1)
			got, w := [5]int64{m[Parameter], m[OptimizerState], m[Gradient], m[Workspace], m[Unknown]}, want[rec.Name]
			if got != w {
				t.Errorf("%s, from the middle %v: %v, want %v", rec.Name, middle, got, w)
			}
		}
	}
}
