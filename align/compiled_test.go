package align

import (
	"fmt"
	"testing"
)

// compiled lays out a program that XLA compiles, trying kernels by the thousand, and executes; between the first two
// executions it compiles once more.
func compiled(t *testing.T, domain, module string, executions int) *Track {
	d := &program{script: newScript(t), now: 100}
	in := func(name string, inside func()) {
		n := len(d.nvs)
		d.in(name, inside)
		for i := n; i < len(d.nvs); i++ {
			d.nvs[i].domain = 5
		}
	}
	compile := func() {
		in("XlaCompile:#module=jit_train_step#", func() {
			for i := range 40 {
				in(fmt.Sprintf("XlaPass:#name=step-%d,module=jit_train_step,program_id=7#", i), func() { d.work(1) })
			}
			for range 9 {
				in("XlaModule:#hlo_module=step_fusion.3#", func() { d.work(20) })
			}
		})
	}
	compile()
	for i := range executions {
		in(module, func() { d.work(2) })
		d.work(1)
		if i == 0 {
			compile()
		}
	}
	d.nvRow(nvRow{1, null, nvDomain, domain, null, tid(procP, 1), null, 5})
	return onlyTrack(t, d.report(Options{Infer: InferOff}))
}

// Executions of a compiled step are rounds, however little work they are beside the compiler's; its passes and what it tries
// are not.
func TestCompiledSteps(t *testing.T) {
	t.Parallel()
	const step = "XlaModule:#hlo_module=jit_train_step,program_id=7290#"
	tr := compiled(t, "TSL", step, 6)
	equal(t, "steps", len(tr.Iterations), 6)
	equal(t, "pattern", tr.IterationsFrom.Pattern, pattern(step))
	equal(t, "kernels of a step", tr.Iterations[3].GPU.Kernels, 2)

	equal(t, "compiled alone", len(compiled(t, "TSL", step, 0).Iterations), 0)
	equal(t, "a function that nothing names a round", len(compiled(t, "TSL", "XlaModule:#hlo_module=jit_f,program_id=7290#", 6).Iterations), 0)
	equal(t, "evaluations", len(compiled(t, "TSL", "XlaModule:#hlo_module=jit_eval_step,program_id=7290#", 6).Iterations), 0)
	equal(t, "a range that is named as the function is", len(compiled(t, "solver", "jit_train_step", 6).Iterations), 0)
}
