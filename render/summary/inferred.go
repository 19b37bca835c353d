package summary

import (
	"nsysmem/align"
	"nsysmem/render/tables"
)

// inferred writes what was found in the GPU work alone, and beside it what the ranges say.
func (e *encoder) inferred(t *align.Track, x *align.Inferred) {
	e.raw("{")
	e.floatField("confidence", x.Confidence)
	e.textField("why", x.Why)
	e.intField("annotated_iterations", int64(x.Annotated))
	e.intField("count", int64(len(x.Iterations)))
	e.intField("boundaries_in_gap", int64(x.Boundaries))
	e.intField("kernels_compared", x.Kernels)
	e.intField("kernels_agreeing", x.Agree)
	e.key("phases")
	objects(e, "", tables.PhaseMedians.Columns(tables.JSON), tables.AllRows(e.rep, t, x.Phases))
	e.key("iterations")
	memory := x.Memory
	e.array("", len(x.Iterations), func(i int) {
		n := 0
		for n < len(memory) && memory[n].Inferred == i {
			n++
		}
		e.inferredIteration(&x.Iterations[i], memory[:n])
		memory = memory[n:]
	})
	e.raw("}")
}

func (e *encoder) inferredIteration(it *align.InferredIteration, memory []align.PhaseMemory) {
	e.raw("{")
	e.intField("start_ns", it.Start)
	e.intField("end_ns", it.End)
	e.boolField("truncated", it.Truncated)
	e.key("phases")
	e.array("", len(it.Phases), func(k int) {
		p := &it.Phases[k]
		e.raw("{")
		e.textField("path", p.Name)
		e.intField("calls", int64(p.Calls))
		e.intField("start_ns", p.Start)
		e.intField("end_ns", p.End)
		e.intField("kernels", p.Kernels)
		e.phaseMemory(p.Name, memory)
		e.raw("}")
	})
	e.raw("}")
}

// phaseMemory writes the levels over an inferred phase, named as those of annotated ones are, and the annotated phase's own.
func (e *encoder) phaseMemory(path string, memory []align.PhaseMemory) {
	levels := func(of func(*align.PhaseMemory) *align.Amounts) {
		for i := range memory {
			m := &memory[i]
			a := of(m)
			if m.Path != path || a == nil {
				continue
			}
			if m.Level == align.LevelDevice {
				e.key("memory")
			} else {
				e.key(levelKey(m.Level))
			}
			e.amounts(a)
		}
	}
	levels(func(m *align.PhaseMemory) *align.Amounts { return &m.Found })
	for i := range memory {
		if memory[i].Path == path && memory[i].Annotated != nil {
			e.key("annotated")
			e.raw("{")
			levels(func(m *align.PhaseMemory) *align.Amounts { return m.Annotated })
			e.raw("}")
			return
		}
	}
	e.key("annotated")
	e.raw("null")
}

func (e *encoder) amounts(a *align.Amounts) {
	e.raw("{")
	e.intField("start_bytes", a.Start)
	e.intField("end_bytes", a.End)
	e.intField("net_bytes", a.Net)
	e.intField("peak_bytes", a.Peak)
	e.intField("peak_at_ns", a.PeakAt)
	e.intField("need_bytes", a.Need)
	e.raw("}")
}
