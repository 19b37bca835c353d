package summary

import (
	"encoding/json"
	"io"
	"math"
	"sort"
	"strconv"

	"nsysmem/align"
)

// Schema names the layout of WriteJSON's output. Fields may be added to it, none is renamed or removed.
const Schema = "nsysmem.summary/1"

// WriteJSON writes the report as one JSON object in the layout Schema. Bytes and nanoseconds are integers, times are on
// the report's clock. What is unknown or was not collected is null and never 0; the path alone may be an empty string.
//
// The object is written as it goes, each phase on a line of its own, so that a report with a million phase rows costs
// one buffer beside itself. The error is the writer's.
func WriteJSON(w io.Writer, rep *align.Report) error {
	e := &encoder{out: output{w: w}, c: rep.Collected}
	e.raw("{\"schema\":")
	e.text(Schema)
	e.raw(",\n\"report\":")
	e.source(&rep.Source)
	e.raw(",\n\"collected\":")
	e.collected()
	e.raw(",\n\"tracks\":[")
	for i, t := range rep.Tracks {
		e.next(i, "\n")
		e.track(t, rep.Families)
	}
	e.raw("],\n")
	e.remarks(rep.Findings, rep.Warnings)
	e.raw("}\n")
	return e.out.close()
}

// An encoder appends JSON to a buffer. Nothing in it allocates per row: a report may have a million of them.
type encoder struct {
	out output
	c   align.Collected
}

func (e *encoder) raw(s string) { e.out.b = append(e.out.b, s...) }

func (e *encoder) int(v int64) { e.out.b = strconv.AppendInt(e.out.b, v, 10) }

func (e *encoder) text(s string) { e.out.b = appendJSONString(e.out.b, s) }

func (e *encoder) bool(v bool) { e.out.b = strconv.AppendBool(e.out.b, v) }

// next parts the elements of an array, and is where the buffer is handed on.
func (e *encoder) next(i int, lead string) {
	if i > 0 {
		e.raw(",")
	}
	e.raw(lead)
	e.out.spill()
}

// textOrNull writes an empty string, which stands for unknown, as null.
func (e *encoder) textOrNull(s string) {
	if s == "" {
		e.raw("null")
		return
	}
	e.text(s)
}

// intOrNull writes 0, where that stands for unknown, as null.
func (e *encoder) intOrNull(v int64) {
	if v == 0 {
		e.raw("null")
		return
	}
	e.int(v)
}

func (e *encoder) float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.raw("null")
		return
	}
	e.out.b = strconv.AppendFloat(e.out.b, v, 'f', -1, 64)
}

func (e *encoder) source(s *align.Source) {
	e.raw(`{"path":`)
	e.text(s.Path)
	e.raw(`,"nsys_version":`)
	e.textOrNull(s.NsysVersion)
	e.raw(`,"export_schema":`)
	e.textOrNull(s.SchemaVersion)
	e.raw(`,"start_utc_ns":`)
	e.intOrNull(s.StartUTC)
	e.raw(`,"duration_ns":`)
	e.int(s.Duration())
	e.raw(`,"start_ns":`)
	e.int(s.Start)
	e.raw(`,"end_ns":`)
	e.int(s.End)
	e.raw(`,"time_shift_ns":`)
	e.int(s.TimeShift)
	e.raw(`,"os":`)
	e.textOrNull(s.OS)
	e.raw(`,"driver":`)
	e.textOrNull(s.Driver)
	e.raw(`,"cuda_driver":`)
	e.textOrNull(s.CUDADriver)
	e.raw("}")
}

func (e *encoder) collected() {
	e.raw(`{"memory":`)
	e.bool(e.c.Memory)
	e.raw(`,"nvtx":`)
	e.bool(e.c.NVTX)
	e.raw(`,"kernels":`)
	e.bool(e.c.Kernels)
	e.raw(`,"cuda_api":`)
	e.bool(e.c.API)
	e.raw(`,"copies":`)
	e.bool(e.c.Copies)
	e.raw("}")
}

func (e *encoder) track(t *align.Track, families []align.Family) {
	e.raw(`{"pid":`)
	e.int(t.PID)
	e.raw(`,"process":`)
	e.textOrNull(t.Process)
	e.raw(`,"device":`)
	e.int(t.Device)
	e.raw(`,"device_name":`)
	e.textOrNull(t.DeviceName)
	e.raw(`,"device_uuid":`)
	e.textOrNull(t.DeviceUUID)
	e.raw(`,"device_total_bytes":`)
	e.intOrNull(t.DeviceTotal)
	e.raw(",\n \"levels\":")
	e.levels(t)
	e.raw(",\n \"iterations_from\":")
	e.iterationsFrom(t, families)
	e.raw(",\n \"iterations\":[")
	for i := range t.Iterations {
		e.next(i, "\n  ")
		e.iteration(&t.Iterations[i])
	}
	e.raw("],\n \"phases\":[")
	for i := range t.Phases {
		e.next(i, "\n  ")
		e.phaseStat(&t.Phases[i])
	}
	e.raw("],\n \"ranges\":[")
	for i := range t.Ranges {
		e.next(i, "\n  ")
		e.rangeUse(&t.Ranges[i])
	}
	e.raw("],\n \"failed_allocs\":[")
	for i := range t.Failed {
		e.next(i, "\n  ")
		e.failed(t, &t.Failed[i])
	}
	e.raw("],\n \"attribution\":")
	e.attribution(&t.Attribution)
	e.tensors(t)
	e.raw(",\n \"total\":{")
	e.use(&t.Total, true)
	e.raw("}}")
}

func (e *encoder) levels(t *align.Track) {
	e.raw("{")
	if !e.c.Memory {
		e.raw("}")
		return
	}
	for i := range t.Levels {
		l := &t.Levels[i]
		e.next(i, "\n  ")
		e.text(l.Kind)
		e.raw(`:{"peak_bytes":`)
		e.int(l.Peak)
		e.raw(`,"peak_at_ns":`)
		e.int(l.PeakAt)
		e.raw(`,"end_bytes":`)
		e.int(l.End)
		e.raw(`,"baseline_bytes":`)
		e.int(l.Baseline)
		e.raw(`,"allocs":`)
		e.int(l.Allocs)
		e.raw(`,"alloc_bytes":`)
		e.int(l.AllocBytes)
		e.raw(`,"frees":`)
		e.int(l.Frees)
		e.raw(`,"free_bytes":`)
		e.int(l.FreeBytes)
		e.raw(`,"unmatched_frees":`)
		e.int(l.UnmatchedFrees)
		e.raw(`,"failed_allocs":`)
		if e.c.API {
			e.int(l.FailedAllocs)
		} else {
			e.raw("null")
		}
		e.raw(`,"lost_frees":`)
		e.int(l.LostFrees)
		e.raw(`,"partial":`)
		e.bool(l.Partial)
		e.raw("}")
	}
	if p := t.Pool; p != nil {
		e.next(len(t.Levels), "\n  ")
		e.raw(`"pool":{"peak_size_bytes":`)
		e.int(p.PeakSize)
		e.raw(`,"peak_used_bytes":`)
		e.int(p.PeakUsed)
		e.raw(`,"end_size_bytes":`)
		e.int(p.EndSize)
		e.raw(`,"end_used_bytes":`)
		e.int(p.EndUsed)
		e.raw(`,"pools":`)
		e.int(int64(p.Pools))
		e.raw("}")
	}
	e.raw("}")
}

// maxCandidates is how many range families a track lists, the chosen ones first; automatic ranges give thousands.
const maxCandidates = 50

func (e *encoder) iterationsFrom(t *align.Track, families []align.Family) {
	f := &t.IterationsFrom
	e.raw(`{"how":`)
	if f.How == "" {
		e.text("none")
	} else {
		e.text(f.How)
	}
	e.raw(`,"pattern":`)
	e.textOrNull(f.Pattern)
	e.raw(`,"confidence":`)
	e.float(f.Confidence)
	e.raw(`,"count":`)
	e.int(int64(f.Count))
	e.raw(`,"domain":`)
	e.textOrNull(f.Domain)
	e.raw(`,"tid":`)
	e.intOrNull(f.TID)
	e.raw(`,"why":`)
	e.textOrNull(f.Why)
	e.raw(`,"gaps":[`)
	for i, g := range f.Gaps {
		e.next(i, "")
		e.int(int64(g))
	}
	e.raw(`],"candidates":[`)
	n := 0
	for i := range families {
		c := &families[i]
		if c.PID != t.PID {
			continue
		}
		if n++; n > maxCandidates {
			continue
		}
		e.next(n-1, "\n  ")
		e.family(c)
	}
	e.raw(`],"candidates_left_out":`)
	e.int(int64(max(n-maxCandidates, 0)))
	e.raw("}")
}

func (e *encoder) family(c *align.Family) {
	e.raw(`{"pattern":`)
	e.text(c.Pattern)
	e.raw(`,"domain":`)
	e.textOrNull(c.Domain)
	e.raw(`,"tid":`)
	e.intOrNull(c.TID)
	e.raw(`,"count":`)
	e.int(int64(c.Count))
	e.raw(`,"total_ns":`)
	e.int(c.Total)
	e.raw(`,"launches":`)
	e.float(c.Launches)
	e.raw(`,"chosen":`)
	e.bool(c.Chosen)
	e.raw(`,"why":`)
	e.textOrNull(c.Why)
	e.raw("}")
}

func (e *encoder) iteration(it *align.Iteration) {
	e.raw(`{"index":`)
	e.int(int64(it.Index))
	e.raw(`,"name":`)
	e.text(it.Name)
	e.raw(`,"start_ns":`)
	e.int(it.Start)
	e.raw(`,"end_ns":`)
	e.int(it.End)
	e.raw(`,"duration_ns":`)
	e.int(it.End - it.Start)
	e.raw(`,"warmup":`)
	e.bool(it.Warmup)
	e.raw(`,"truncated":`)
	e.bool(it.Truncated)
	e.raw(",")
	e.use(&it.Use, true)
	e.raw(`,"phases":[`)
	for i := range it.Phases {
		e.next(i, "\n   ")
		e.phase(&it.Phases[i])
	}
	e.raw("]}")
}

func (e *encoder) phase(p *align.Phase) {
	e.raw(`{"path":`)
	e.text(p.Path)
	e.raw(`,"name":`)
	e.text(p.Name)
	e.raw(`,"depth":`)
	e.int(int64(p.Depth))
	e.raw(`,"calls":`)
	e.int(int64(p.Calls))
	e.from(p.Inferred)
	e.raw(`,"start_ns":`)
	e.int(p.Start)
	e.raw(`,"end_ns":`)
	e.int(p.End)
	e.raw(`,"duration_ns":`)
	e.int(p.Duration)
	e.raw(",")
	e.use(&p.Use, true)
	e.raw("}")
}

func (e *encoder) from(inferred bool) {
	if inferred {
		e.raw(`,"from":"inferred"`)
	} else {
		e.raw(`,"from":"nvtx"`)
	}
}

func (e *encoder) phaseStat(p *align.PhaseStat) {
	e.raw(`{"path":`)
	e.text(p.Path)
	e.raw(`,"name":`)
	e.text(p.Name)
	e.raw(`,"depth":`)
	e.int(int64(p.Depth))
	e.from(p.Inferred)
	e.raw(`,"iterations":`)
	e.int(int64(p.Iterations))
	e.raw(`,"calls":`)
	e.int(int64(p.Calls))
	e.raw(`,"duration_ns":`)
	e.int(p.DurationNS)
	e.raw(`,"median":{`)
	e.use(&p.Median, false)
	e.raw(`},"max":{`)
	e.use(&p.Max, false)
	e.raw("}}")
}

func (e *encoder) rangeUse(r *align.RangeUse) {
	e.raw(`{"name":`)
	e.text(r.Name)
	e.raw(`,"domain":`)
	e.textOrNull(r.Domain)
	e.raw(`,"tid":`)
	e.intOrNull(r.TID)
	e.raw(`,"calls":`)
	e.int(int64(r.Calls))
	e.raw(`,"start_ns":`)
	e.int(r.Start)
	e.raw(`,"end_ns":`)
	e.int(r.End)
	e.raw(`,"open":`)
	e.bool(r.Open)
	e.raw(`,"contains_iterations":`)
	e.int(int64(r.Contains))
	e.raw(",")
	e.use(&r.Use, true)
	e.raw("}")
}

func (e *encoder) failed(t *align.Track, f *align.FailedAlloc) {
	e.raw(`{"time_ns":`)
	e.int(f.Time)
	e.raw(`,"duration_ns":`)
	e.int(f.Duration)
	e.raw(`,"tid":`)
	e.intOrNull(f.TID)
	e.raw(`,"call":`)
	e.textOrNull(f.Call)
	e.raw(`,"return":`)
	e.int(f.Return)
	if it := iterationAt(t, f.Iteration); it != nil {
		e.raw(`,"iteration":`)
		e.int(int64(it.Index))
		e.raw(`,"iteration_name":`)
		e.text(it.Name)
	} else {
		e.raw(`,"iteration":null,"iteration_name":null`)
	}
	e.raw(`,"phase":`)
	e.textOrNull(f.Phase)
	e.raw(`,"range":`)
	e.textOrNull(f.Range)
	e.raw("}")
}

func (e *encoder) attribution(a *align.Attribution) {
	if !e.c.Kernels {
		e.raw("null")
		return
	}
	e.raw(`{"kernels":`)
	e.int(a.Kernels)
	e.raw(`,"same_thread":`)
	e.int(a.SameThread)
	e.raw(`,"other_thread":`)
	e.int(a.OtherThread)
	e.raw(`,"none":`)
	e.int(a.None)
	e.raw(`,"no_launch":`)
	e.int(a.NoLaunch)
	e.raw("}")
}

// use writes the parts of a row, without braces around them. Where timed is false the row stands for many, and has no
// time of its peak.
func (e *encoder) use(u *align.Use, timed bool) {
	e.raw(`"memory":`)
	e.memory(&u.Memory, timed)
	for i := range u.Other {
		o := &u.Other[i]
		e.raw(",")
		e.text(o.Level)
		e.raw(":")
		e.memory(&o.MemoryUse, timed)
	}
	if unused, outside, ok := LevelGaps(u); ok && timed {
		e.raw(`,"gaps":{"unused_end_bytes":`)
		e.int(unused)
		e.raw(`,"outside_end_bytes":`)
		e.int(outside)
		e.raw("}")
	}
	e.raw(`,"gpu":`)
	if knowsGPU(&e.c) {
		figures(e, &u.GPU, gpuFigures, true)
	} else {
		e.raw("null")
	}
	e.raw(`,"api":`)
	if e.c.API {
		figures(e, &u.API, apiFigures, true)
	} else {
		e.raw("null")
	}
}

func (e *encoder) memory(u *align.MemoryUse, timed bool) {
	if !e.c.Memory {
		e.raw("null")
		return
	}
	figures(e, u, memoryFigures, timed)
}

func figures[T any](e *encoder, u *T, list []figure[T], timed bool) {
	for i := range list {
		f := &list[i]
		if i == 0 {
			e.raw(`{"`)
		} else {
			e.raw(`,"`)
		}
		e.raw(f.key)
		e.raw(`":`)
		if (f.known != nil && !f.known(&e.c)) || (!timed && f.key == peakAtKey) {
			e.raw("null")
			continue
		}
		e.int(f.get(u))
	}
	e.raw("}")
}

// remarks writes the members "findings" and "warnings".
func (e *encoder) remarks(fs []align.Finding, ws []align.Warning) {
	e.raw("\"findings\":[")
	for i := range fs {
		e.next(i, "\n ")
		e.finding(&fs[i])
	}
	e.raw("],\n\"warnings\":[")
	for i := range ws {
		e.next(i, "\n ")
		e.raw(`{"code":`)
		e.text(ws[i].Code)
		e.raw(`,"text":`)
		e.text(ws[i].Text)
		e.raw("}")
	}
	e.raw("]")
}

func (e *encoder) finding(f *align.Finding) {
	e.raw(`{"id":`)
	e.text(f.ID)
	e.raw(`,"severity":`)
	e.text(f.Severity)
	e.raw(`,"text":`)
	e.text(f.Text)
	e.raw(`,"advice":`)
	e.textOrNull(f.Advice)
	e.raw(`,"evidence":{`)
	keys := make([]string, 0, len(f.Evidence))
	for k := range f.Evidence {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for i, k := range keys {
		e.next(i, "")
		e.text(k)
		e.raw(":")
		// A value that JSON has no form for, such as NaN, is one that nobody can use.
		v, err := json.Marshal(f.Evidence[k])
		if err != nil {
			v = []byte("null")
		}
		e.out.b = append(e.out.b, v...)
	}
	e.raw("}}")
}

// iterationAt is the iteration at a place of the track; nil for -1 and whatever else is no place.
func iterationAt(t *align.Track, place int) *align.Iteration {
	if place < 0 || place >= len(t.Iterations) {
		return nil
	}
	return &t.Iterations[place]
}
