package summary

import (
	"encoding/json"
	"strings"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
	"nsysmem/render/phrase"
)

// maxTops is how many frames, phases and takers of memory a list has: the largest ones.
const maxTops = 20

// The types below are the parts of a track that come from a snapshot or from inference: few values a track, so that they
// are written by reflection. Rows by the million are not.

type categoryJSON struct {
	Max    int64 `json:"max_bytes"`
	AtPeak int64 `json:"at_peak_bytes"`
}

type shareJSON struct {
	Name   string `json:"name"`
	Blocks int    `json:"blocks"`
	Bytes  int64  `json:"bytes"`
}

type cacheJSON struct {
	Time        int64   `json:"time_ns"`
	Iteration   *string `json:"iteration"`
	Phase       *string `json:"phase"`
	Request     *int64  `json:"request_bytes"`
	Allocated   int64   `json:"allocated_bytes"`
	Reserved    int64   `json:"reserved_bytes"`
	Free        int64   `json:"free_bytes"`
	LargestFree int64   `json:"largest_free_bytes"`
	Stuck       int64   `json:"stuck_bytes"`
	DeviceFree  *int64  `json:"device_free_bytes"`
}

type holdingJSON struct {
	Time       int64       `json:"time_ns"`
	Iteration  *string     `json:"iteration"`
	Phase      *string     `json:"phase"`
	Bytes      int64       `json:"bytes"`
	Request    *int64      `json:"request_bytes"`
	ByFrame    []shareJSON `json:"by_frame"`
	ByPhase    []shareJSON `json:"by_phase"`
	ByCategory []shareJSON `json:"by_category"`
	Cache      *cacheJSON  `json:"cache"`
}

type takerJSON struct {
	Call      *string `json:"call"`
	Iteration *string `json:"iteration"`
	Phase     *string `json:"phase"`
	Blocks    int     `json:"blocks"`
	Bytes     int64   `json:"bytes"`
	Live      int64   `json:"live_bytes"`
}

type outsideJSON struct {
	Bytes  int64       `json:"bytes"`
	Peak   int64       `json:"peak_bytes"`
	Static int64       `json:"static_bytes"`
	Takers []takerJSON `json:"takers"`
}

type clockJSON struct {
	Offset   int64 `json:"offset_ns"`
	Spread   int64 `json:"spread_ns"`
	Matched  int   `json:"matched"`
	Segments int   `json:"segments"`
}

type tensorsJSON struct {
	From       string        `json:"from"`
	Conf       *string       `json:"allocator_conf"`
	Clock      *clockJSON    `json:"clock"`
	Blocks     int           `json:"blocks"`
	Peak       holdingJSON   `json:"peak"`
	Failures   []holdingJSON `json:"failures"`
	AtReserved *cacheJSON    `json:"at_reserved_peak"`
	Growth     []cacheJSON   `json:"growth"`
	Outside    *outsideJSON  `json:"outside"`
}

type theoryJSON struct {
	Params    int64  `json:"params"`
	DType     string `json:"dtype"`
	Optimizer string `json:"optimizer"`
	Parameter int64  `json:"parameter_bytes"`
	Gradient  int64  `json:"gradient_bytes"`
	State     int64  `json:"optimizer_state_bytes"`

	Beside []besideJSON `json:"beside"`
}

type besideJSON struct {
	Category   string  `json:"category"`
	Formula    string  `json:"formula"`
	Expected   int64   `json:"expected_bytes"`
	Measured   *int64  `json:"measured_bytes"`
	Difference *int64  `json:"difference_bytes"`
	Note       *string `json:"note"`
}

func theoryOf(t *align.Track) theoryJSON {
	th := t.Theory
	out := theoryJSON{th.Params, th.DType, th.Optimizer, th.Parameter, th.Gradient, th.State, []besideJSON{}}
	for _, b := range phrase.BesideTheory(t) {
		n := besideJSON{Category: b.Category, Formula: b.Formula, Expected: b.Expected, Note: nonEmpty(b.Note)}
		if b.Known {
			d := b.Difference()
			n.Measured, n.Difference = &b.Measured, &d
		}
		out.Beside = append(out.Beside, n)
	}
	return out
}

type inferredPhaseJSON struct {
	Path    string `json:"path"`
	Calls   int    `json:"calls"`
	Start   int64  `json:"start_ns"`
	End     int64  `json:"end_ns"`
	Kernels int64  `json:"kernels"`
}

type inferredIterationJSON struct {
	Start     int64               `json:"start_ns"`
	End       int64               `json:"end_ns"`
	Truncated bool                `json:"truncated"`
	Phases    []inferredPhaseJSON `json:"phases"`
}

type inferredJSON struct {
	Confidence float64                 `json:"confidence"`
	Why        string                  `json:"why"`
	Annotated  int                     `json:"annotated_iterations"`
	Count      int                     `json:"count"`
	Boundaries int                     `json:"boundaries_in_gap"`
	Kernels    int64                   `json:"kernels_compared"`
	Agree      int64                   `json:"kernels_agreeing"`
	Iterations []inferredIterationJSON `json:"iterations"`
}

// value writes a small value by reflection. What is in these types always marshals.
func (e *encoder) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		e.raw("null")
		return
	}
	e.out.b = wording.AppendShownJSON(e.out.b, b)
}

// tensors writes what a track's tensors hold, theory and inference; nothing where there is neither.
func (e *encoder) tensors(t *align.Track) {
	if ten := t.Tensors; ten != nil {
		cats := make(map[string]categoryJSON) // encoding/json sorts the keys
		for _, c := range ten.Categories {
			cats[strings.ReplaceAll(c.Name, " ", "_")] = categoryJSON{c.Max, c.AtPeak}
		}
		e.raw(",\n \"categories\":")
		e.value(cats)
		e.raw(",\n \"tensors\":")
		e.value(tensorsOf(t, ten))
	}
	if t.Theory != nil {
		e.raw(",\n \"theory\":")
		e.value(theoryOf(t))
	}
	if x := t.Inferred; x != nil {
		e.raw(",\n \"inferred\":")
		e.value(inferredOf(x))
	}
}

func tensorsOf(t *align.Track, ten *tensor.Memory) tensorsJSON {
	out := tensorsJSON{From: string(ten.From), Conf: nonEmpty(ten.Conf), Blocks: len(ten.Blocks), Peak: holdingOf(t, &ten.Peak),
		AtReserved: cacheOf(t, ten.AtReserved), Failures: []holdingJSON{}, Growth: []cacheJSON{}}
	if c := ten.Clock; c != nil {
		out.Clock = &clockJSON{c.Offset, c.Spread, c.Matched, c.Segments}
	}
	for i := range ten.Failures {
		out.Failures = append(out.Failures, holdingOf(t, &ten.Failures[i]))
	}
	for i := range ten.Growth {
		out.Growth = append(out.Growth, *cacheOf(t, &ten.Growth[i]))
	}
	if o := ten.Outside; o != nil {
		out.Outside = &outsideJSON{Bytes: o.Bytes, Peak: o.Peak, Static: o.Static, Takers: []takerJSON{}}
		for i := range o.Takers {
			x := &o.Takers[i]
			out.Outside.Takers = append(out.Outside.Takers, takerJSON{nonEmpty(x.Call), iterationName(t, x.Iteration), nonEmpty(x.Phase), x.Blocks, x.Bytes, x.Live})
		}
	}
	return out
}

func holdingOf(t *align.Track, h *tensor.Holding) holdingJSON {
	return holdingJSON{Time: h.Time, Iteration: iterationName(t, h.Iteration), Phase: nonEmpty(h.Phase), Bytes: h.Bytes, Request: nonZero(h.Request),
		ByFrame: sharesOf(h.ByFrame), ByPhase: sharesOf(h.ByPhase), ByCategory: sharesOf(h.ByCategory), Cache: cacheOf(t, h.Cache)}
}

func sharesOf(list []tensor.Share) []shareJSON {
	out := []shareJSON{}
	for i, s := range list {
		if i == maxTops {
			rest := shareJSON{Name: "(others)"}
			for _, s := range list[i:] {
				rest.Blocks += s.Blocks
				rest.Bytes += s.Bytes
			}
			return append(out, rest)
		}
		out = append(out, shareJSON{s.Name, s.Blocks, s.Bytes})
	}
	return out
}

func cacheOf(t *align.Track, c *tensor.Cache) *cacheJSON {
	if c == nil {
		return nil
	}
	return &cacheJSON{Time: c.Time, Iteration: iterationName(t, c.Iteration), Phase: nonEmpty(c.Phase), Request: nonZero(c.Request),
		Allocated: c.Allocated, Reserved: c.Reserved, Free: c.Free, LargestFree: c.LargestFree, Stuck: c.Stuck, DeviceFree: nonZero(c.DeviceFree)}
}

func inferredOf(x *align.Inferred) inferredJSON {
	out := inferredJSON{Confidence: x.Confidence, Why: x.Why, Annotated: x.Annotated, Count: len(x.Iterations), Boundaries: x.Boundaries,
		Kernels: x.Kernels, Agree: x.Agree, Iterations: []inferredIterationJSON{}}
	for _, it := range x.Iterations {
		n := inferredIterationJSON{Start: it.Start, End: it.End, Truncated: it.Truncated, Phases: []inferredPhaseJSON{}}
		for _, p := range it.Phases {
			n.Phases = append(n.Phases, inferredPhaseJSON{p.Name, p.Calls, p.Start, p.End, p.Kernels})
		}
		out.Iterations = append(out.Iterations, n)
	}
	return out
}

func iterationName(t *align.Track, i int) *string {
	if it := t.IterationAt(i); it != nil {
		return &it.Name
	}
	return nil
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nonZero(v int64) *int64 {
	if v == 0 {
		return nil
	}
	return &v
}
