package summary

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/wording"
	"nsysmem/render/tables"
)

// Schema names the layout of WriteJSON's output. Fields may be added to it, none is renamed or removed.
const Schema = "nsysmem.summary/1"

// WriteJSON writes the report as one JSON object in the layout Schema. Bytes and nanoseconds are integers, times are on
// the report's clock. What is unknown or was not collected is null and never 0; the path alone may be an empty string.
//
// The object is written as it goes, each phase on a line of its own, so that a report with a million phase rows costs
// one buffer beside itself. The error is the writer's.
func WriteJSON(w io.Writer, rep *findings.Report) error {
	e := &encoder{output: output{w: w}, c: rep.Collected, rep: rep.Report}
	e.raw("{\"schema\":")
	e.text(Schema)
	e.raw(",\n\"report\":")
	e.source(&rep.Source)
	e.raw(",\n\"collected\":")
	e.collected()
	e.raw(",\n\"tracks\":")
	e.array("\n", len(rep.Tracks), func(i int) { e.track(rep.Tracks[i], rep.Families) })
	e.raw(",\n")
	e.remarks(rep.Findings, rep.Warnings)
	e.raw("}\n")
	return e.close()
}

func (e *encoder) source(s *align.Source) {
	e.raw("{")
	e.textField("path", s.Path)
	e.textFieldOrNull("nsys_version", s.NsysVersion)
	e.textFieldOrNull("export_schema", s.SchemaVersion)
	e.intFieldOrNull("start_utc_ns", s.StartUTC)
	e.intField("duration_ns", s.Duration())
	e.intField("start_ns", s.Start)
	e.intField("end_ns", s.End)
	e.intField("time_shift_ns", s.TimeShift)
	e.textFieldOrNull("os", s.OS)
	e.textFieldOrNull("driver", s.Driver)
	e.textFieldOrNull("cuda_driver", s.CUDADriver)
	e.raw("}")
}

func (e *encoder) collected() {
	e.raw("{")
	e.boolField("memory", e.c.Memory)
	e.boolField("nvtx", e.c.NVTX)
	e.boolField("kernels", e.c.Kernels)
	e.boolField("cuda_api", e.c.API)
	e.boolField("copies", e.c.Copies)
	e.raw("}")
}

func (e *encoder) track(t *align.Track, families []align.Family) {
	e.raw("{")
	e.intField("pid", t.PID)
	e.textFieldOrNull("process", t.Process)
	e.intField("device", t.Device)
	e.textFieldOrNull("device_name", t.DeviceName)
	e.textFieldOrNull("device_uuid", t.DeviceUUID)
	e.intFieldOrNull("device_total_bytes", t.DeviceTotal)
	e.raw(",\n \"levels\":")
	e.levels(t)
	e.raw(",\n \"iterations_from\":")
	e.iterationsFrom(t, families)
	e.raw(",\n \"iterations\":")
	step := &tables.Step{Collected: &e.c, Track: t}
	e.array("\n  ", len(t.Iterations), func(i int) {
		step.Iteration, step.Phase = &t.Iterations[i], nil
		e.iteration(step)
	})
	e.raw(",\n \"phases\":")
	each(e, t, t.Phases, e.phaseStat)
	e.raw(",\n \"ranges\":")
	each(e, t, t.Ranges, e.rangeUse)
	e.raw(",\n \"failed_allocs\":")
	objects(e, "\n  ", tables.Failures.Columns(tables.JSON), tables.AllRows(e.rep, t, t.Failed))
	e.raw(",\n \"libraries\":")
	e.libraries(t, t.Libraries)
	e.raw(",\n \"attribution\":")
	e.attribution(&t.Attribution)
	e.tensors(t)
	e.raw(",\n \"total\":{")
	// Where memory events ended early, the level at the end is unknown; what is known stands among the levels.
	device := t.Level(align.LevelDevice)
	e.known(&t.Total, align.Lost{Memory: device != nil && device.Ended})
	e.raw("}}")
}

func (e *encoder) levels(t *align.Track) {
	e.raw("{")
	if !e.c.Memory {
		e.raw("}")
		return
	}
	for i, r := range tables.LevelRows(e.rep, t)[:len(t.Levels)] {
		e.next(i, "\n  ")
		e.text(levelKey(t.Levels[i].Kind))
		e.raw(":")
		object(e, tables.Levels.Columns(tables.JSON), r)
	}
	if p := t.Pool; p != nil {
		e.next(len(t.Levels), "\n  ")
		e.raw(`"pool":{`)
		e.intField("peak_size_bytes", p.PeakSize)
		e.intField("peak_used_bytes", p.PeakUsed)
		e.intField("end_size_bytes", p.EndSize)
		e.intField("end_used_bytes", p.EndUsed)
		e.intField("pools", int64(p.Pools))
		e.raw("}")
	}
	e.raw("}")
}

// maxCandidates is how many range families a track lists, the chosen ones first; automatic ranges give thousands.
const maxCandidates = 50

func (e *encoder) iterationsFrom(t *align.Track, families []align.Family) {
	f := &t.IterationsFrom
	e.raw("{")
	e.textField("how", cmp.Or(string(f.How), "none"))
	e.textFieldOrNull("pattern", f.Pattern)
	e.floatField("confidence", f.Confidence)
	e.intField("count", int64(f.Count))
	e.textFieldOrNull("domain", f.Domain)
	e.intFieldOrNull("tid", f.TID)
	e.textFieldOrNull("why", f.Why)
	e.key("gaps")
	e.array("", len(f.Gaps), func(i int) { e.int(int64(f.Gaps[i])) })
	var listed []align.Family
	left := int64(0)
	for i := range families {
		switch {
		case families[i].PID != t.PID:
		case len(listed) < maxCandidates:
			listed = append(listed, families[i])
		default:
			left++
		}
	}
	e.key("candidates")
	objects(e, "\n  ", tables.Families.Columns(tables.JSON), listed)
	e.intField("candidates_left_out", left)
	e.raw("}")
}

func (e *encoder) iteration(step *tables.Step) {
	e.raw("{")
	members(e, tables.Iterations.Columns(tables.JSON), step)
	if e.c.Memory {
		ties := step.PeakBy().Ties
		e.key("peak_ties")
		e.array("", len(ties), func(i int) { e.text(ties[i]) })
	}
	e.raw(",")
	e.known(&step.Iteration.Use, step.Iteration.Lost)
	e.key("phases")
	e.array("\n   ", len(step.Iteration.Phases), func(i int) {
		step.Phase = &step.Iteration.Phases[i]
		e.raw("{")
		members(e, tables.PhaseRows.Columns(tables.JSON), step)
		e.raw(",")
		e.known(&step.Phase.Use, step.Phase.Lost)
		e.raw("}")
	})
	e.raw("}")
}

func (e *encoder) phaseStat(r *tables.Row[align.PhaseStat]) {
	e.raw("{")
	members(e, tables.Phases.Columns(tables.JSON), r)
	e.raw(`,"median":{`)
	e.use(&r.Item.Median, false)
	e.raw(`},"max":{`)
	e.use(&r.Item.Max, false)
	e.raw("}}")
}

func (e *encoder) rangeUse(r *tables.Row[align.RangeUse]) {
	e.raw("{")
	members(e, tables.Ranges.Columns(tables.JSON), r)
	e.raw(",")
	e.known(&r.Item.Use, r.Item.Lost)
	e.raw("}")
}

func (e *encoder) attribution(a *align.Attribution) {
	if !e.c.Kernels {
		e.raw("null")
		return
	}
	e.raw("{")
	e.intField("kernels", a.Kernels)
	e.intField("same_thread", a.SameThread)
	e.intField("other_thread", a.OtherThread)
	e.intField("through", a.Through)
	e.intField("none", a.None)
	e.intField("no_launch", a.NoLaunch)
	e.raw("}")
}

// known writes the parts of a row of which something may be unknown that was collected of others.
func (e *encoder) known(u *align.Use, lost align.Lost) {
	all := e.c
	e.c, e.lost = all.Without(lost), lost.Memory
	e.use(u, true)
	e.c, e.lost = all, false
}

// levelKey is the name of a level as a key.
func levelKey(kind align.LevelKind) string { return strings.ReplaceAll(string(kind), " ", "_") }

// use writes the parts of a row, without braces around them. Where timed is false the row stands for many, and has no
// time of its peak.
func (e *encoder) use(u *align.Use, timed bool) {
	e.raw(`"memory":`)
	figures(e, e.c.Memory, &u.Memory, tables.Memory, timed)
	for i := range u.Other {
		o := &u.Other[i]
		e.raw(",")
		e.text(levelKey(o.Level))
		e.raw(":")
		figures(e, e.c.Memory || e.lost && o.Level.FromSnapshot(), &o.MemoryUse, tables.LevelFigures(o.Level), timed)
	}
	if g, ok := u.Gaps(); ok && timed {
		e.raw(`,"gaps":{"unused_end_bytes":`)
		e.int(g.Unused)
		e.key("graph_pools_end_bytes")
		e.int(g.Graphs)
		e.key("outside_end_bytes")
		if e.lost {
			e.raw("null")
		} else {
			e.int(g.Outside)
		}
		e.raw("}")
	}
	e.key("gpu")
	figures(e, e.c.Kernels || e.c.Copies, &u.GPU, tables.GPU, timed)
	e.key("api")
	figures(e, e.c.API, &u.API, tables.API, timed)
}

// remarks writes the members "findings" and "warnings".
func (e *encoder) remarks(fs []findings.Finding, ws []findings.Warning) {
	e.raw("\"findings\":")
	e.array("\n ", len(fs), func(i int) { e.finding(&fs[i]) })
	e.raw(",\n\"warnings\":")
	e.array("\n ", len(ws), func(i int) {
		e.raw("{")
		e.textField("code", ws[i].Code)
		e.textField("text", ws[i].Text)
		e.raw("}")
	})
}

func (e *encoder) finding(f *findings.Finding) {
	e.raw("{")
	e.textField("id", string(f.ID))
	e.textField("severity", string(f.Severity))
	e.textField("text", f.Text)
	e.textFieldOrNull("advice", f.Advice)
	e.raw(`,"evidence":{`)
	for i, x := range f.Facts() {
		e.next(i, "")
		e.text(x.Key)
		e.raw(":")
		// A value that JSON has no form for, such as NaN, is one that nobody can use.
		v, err := json.Marshal(x.Value)
		if err != nil {
			v = []byte("null")
		}
		e.b = wording.AppendShownJSON(e.b, v)
	}
	e.raw("}}")
}
