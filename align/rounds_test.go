package align

import (
	"fmt"
	"testing"

	"nsysmem/nsysdb"
)

// A program lays out ranges and launches on one thread, one after the other.
type program struct {
	*script
	now  int64
	corr int64
}

// in opens a range, draws what is in it, and closes it.
func (d *program) in(name string, inside func()) {
	start := d.now
	d.now += 10
	inside()
	d.now += 10
	d.nv(start, d.now, name, tid(procP, 1))
	d.now += 10
}

// work launches kernels.
func (d *program) work(n int) {
	for range n {
		d.corr++
		d.launch(d.now, tid(procP, 1), d.corr, d.now+5, d.now+10)
		d.now += 20
	}
}

// named launches a kernel of a name.
func (d *program) named(name string) {
	d.work(1)
	d.kernels[len(d.kernels)-1].name = name
}

// copied copies between host and device.
func (d *program) copied(kind, bytes int64) {
	d.corr++
	d.rt(d.now, d.now+1, tid(procP, 1), d.corr, "cudaMemcpyAsync_v3020")
	d.copies = append(d.copies, gpuRow{start: d.now + 5, end: d.now + 10, pid: procP, corr: d.corr, kind: kind, bytes: bytes})
	d.now += 20
}

// Which ranges are iterations, by what holds of them. Each rule has a program in which it acts, and one in which it must
// not. The GPU work is not asked, so that the ranges alone decide.
func TestRounds(t *testing.T) {
	t.Parallel()
	times := func(n int, f func(i int)) func() {
		return func() {
			for i := range n {
				f(i)
			}
		}
	}
	for _, c := range []struct {
		name string
		draw func(d *program)
		want int
	}{
		{"a step with a word for it", func(d *program) {
			times(4, func(i int) { d.in(fmt.Sprint("step ", i), func() { d.work(10) }) })()
		}, 4},
		{"steps that hold a small part of the launches between them", func(d *program) {
			times(4, func(i int) { d.in(fmt.Sprint("step ", i), func() { d.work(1) }); d.work(9) })()
		}, 0},
		{"steps with an evaluation as long after each", func(d *program) {
			times(4, func(i int) { d.in(fmt.Sprint("step ", i), func() { d.work(10) }); d.work(10) })()
		}, 4},
		{"parts of a layer", func(d *program) {
			times(12, func(i int) { d.in("attention", func() { d.work(2) }); d.work(20) })()
		}, 0},
		{"layers of one pass", func(d *program) {
			d.in("forward pass", times(12, func(i int) { d.in(fmt.Sprint("layer ", i), func() { d.work(10) }) }))
		}, 0},
		{"steps of a recurrence inside a pass", func(d *program) {
			d.in("forward pass", times(12, func(i int) { d.in(fmt.Sprint("step ", i), func() { d.work(10) }) }))
		}, 0},
		{"steps inside a range that stands once", func(d *program) {
			d.in("training", times(4, func(i int) { d.in(fmt.Sprint("step ", i), func() { d.work(10) }) }))
		}, 4},
		{"layers without a range around them", func(d *program) {
			times(12, func(i int) { d.in(fmt.Sprint("layer ", i), func() { d.work(10) }) })()
		}, 0},
		{"rounds without a word that hold both passes", func(d *program) {
			times(4, func(i int) {
				d.in("round and round", func() {
					d.in("forward", func() { d.work(5) })
					d.in("backward", func() { d.work(5) })
				})
			})()
		}, 4},
		{"blocks that hold a forward alone", func(d *program) {
			times(4, func(i int) {
				d.in("block", func() {
					d.in("forward", func() { d.work(5) })
					d.in("norm", func() { d.work(5) })
				})
			})()
		}, 0},
		{"decode steps", func(d *program) {
			times(12, func(i int) { d.in(fmt.Sprint("decode step ", i), func() { d.work(10) }) })()
		}, 0},
		{"micro-batches", func(d *program) {
			times(12, func(i int) { d.in(fmt.Sprint("micro-batch ", i), func() { d.work(10) }) })()
		}, 0},
		{"validation steps after training that has no ranges", func(d *program) {
			d.work(60)
			times(4, func(i int) { d.in("validation step", func() { d.work(10) }) })()
		}, 0},
		{"mini-batches", func(d *program) {
			times(4, func(i int) { d.in(fmt.Sprint("minibatch ", i), func() { d.work(10) }) })()
		}, 4},
		{"steps after a long set-up", func(d *program) {
			d.work(60)
			times(4, func(i int) { d.in(fmt.Sprint("step ", i), func() { d.work(10) }) })()
		}, 4},
		{"epochs, which nothing finer parts", func(d *program) {
			times(3, func(i int) { d.in(fmt.Sprint("epoch ", i), func() { d.work(10) }) })()
		}, 3},
	} {
		d := &program{script: newScript(t), now: 100}
		c.draw(d)
		tr := onlyTrack(t, d.report(Options{Infer: InferOff}))
		if len(tr.Iterations) != c.want {
			t.Errorf("%s: %d iterations, want %d (%s)", c.name, len(tr.Iterations), c.want, tr.IterationsFrom.Why)
		}
		sure := tr.IterationsFrom.Confidence >= 0.9
		if doubted := c.name == "epochs, which nothing finer parts"; c.want > 0 && sure == doubted {
			t.Errorf("%s: confidence %.2f", c.name, tr.IterationsFrom.Confidence)
		}
	}
}

// rounds trains for some steps of several micro-batches each, more than are always asked of their work, with the optimizer's
// range inside the last of them or behind it.
func rounds(d *program, steps, micro int, inside bool) {
	optimizer := func() {
		d.in("optimizer", func() {
			for range 4 {
				d.named("multi_tensor_apply_kernel adam")
			}
		})
	}
	for range steps {
		d.copied(nsysdb.CopyHtoD, 4096)
		for m := range micro {
			d.in("batch", func() {
				d.in("forward", func() {
					for k := range cheapLaunches / (steps * micro) {
						d.named(fmt.Sprint("kernel_", k%30))
					}
				})
				d.in("backward", func() { d.named("kernel_back") })
				if inside && m == micro-1 {
					optimizer()
				}
			})
		}
		if !inside {
			optimizer()
		}
	}
}

// Ranges in doubt are held against the GPU work: steps that copy input, launch five kernels by another name each and read a
// loss, twelve times.
func TestRoundsAndWork(t *testing.T) {
	t.Parallel()
	step := func(d *program) {
		d.copied(nsysdb.CopyHtoD, 4096)
		for k := range 8 {
			d.named(fmt.Sprint("kernel_", k))
		}
		d.copied(nsysdb.CopyDtoH, 4)
	}
	for _, c := range []struct {
		name string
		draw func(d *program)
		how  Origin
		want int
		sure bool
	}{
		{"the ranges are the steps, by a name that does not say so", func(d *program) {
			for range 12 {
				d.in("schritt", func() { step(d) })
			}
		}, OriginRanges, 12, true},
		{"each range holds two steps", func(d *program) {
			for range 6 {
				d.in("paar", func() { step(d); step(d) })
			}
		}, OriginKernels, 12, true},
		{"epochs of four steps", func(d *program) {
			for e := range 3 {
				d.in(fmt.Sprint("epoch ", e), func() {
					for range 4 {
						step(d)
					}
				})
			}
		}, OriginKernels, 12, true},
		{"epochs of one step", func(d *program) {
			for e := range 12 {
				d.in(fmt.Sprint("epoch ", e), func() { step(d) })
			}
		}, OriginRanges, 12, true},
		{"a step range for one in four", func(d *program) {
			for i := range 12 {
				if i%4 != 0 {
					step(d)
					continue
				}
				d.in(fmt.Sprint("step ", i), func() { step(d) })
			}
		}, OriginKernels, 12, true},
		{"a step range for one in two", func(d *program) {
			for i := range 12 {
				if i%2 != 0 {
					step(d)
					continue
				}
				d.in(fmt.Sprint("step ", i), func() { step(d) })
			}
		}, OriginRanges, 6, false},
		{"a step range around a part of each", func(d *program) {
			for i := range 12 {
				d.in(fmt.Sprint("step ", i), func() { d.copied(nsysdb.CopyHtoD, 4096); d.named("kernel_a"); d.named("kernel_b") })
				d.named("kernel_c")
				d.named("kernel_d")
				d.copied(nsysdb.CopyDtoH, 4)
			}
		}, OriginRanges, 12, false},
		{"micro-batches of many launches, with an optimizer outside of them", func(d *program) { rounds(d, 12, 3, false) }, OriginRanges, 36, false},
		{"micro-batches of many launches, the optimizer inside of each third", func(d *program) { rounds(d, 12, 3, true) }, OriginRanges, 36, false},
		{"steps of many launches, the optimizer inside", func(d *program) { rounds(d, 12, 1, true) }, OriginRanges, 12, true},
		{"one range around all steps, named for them", func(d *program) {
			d.in("training steps", func() {
				for range 12 {
					d.in("forward", func() { step(d) })
				}
			})
		}, OriginKernels, 12, true},
		{"a single step, in which nothing recurs", func(d *program) {
			d.in("step 10", func() {
				for k := range 20 {
					d.named(fmt.Sprint("other_", k))
				}
			})
		}, OriginRanges, 1, false},
		{"step ranges, and work after them that does not recur", func(d *program) {
			for i := range 12 {
				d.in(fmt.Sprint("step ", i), func() { step(d) })
			}
			for k := range 40 {
				d.named(fmt.Sprint("other_", k))
			}
		}, OriginRanges, 12, true},
	} {
		d := &program{script: newScript(t), now: 100}
		d.rt(50, 60, tid(procP, 1), 0, "cuInit")
		d.now = 200
		d.work(3)
		c.draw(d)
		tr := onlyTrack(t, d.report(Options{}))
		from := tr.IterationsFrom
		if from.How != c.how || len(tr.Iterations) != c.want || from.Confidence >= 0.9 != c.sure {
			t.Errorf("%s: %d iterations by %q, confidence %.2f, want %d by %q (%s)", c.name, len(tr.Iterations), from.How, from.Confidence,
				c.want, c.how, from.Why)
		}
	}
}
