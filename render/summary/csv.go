package summary

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"nsysmem/align"
)

// WriteCSV writes one row for each iteration and each of its phases, in time order, with a header (RFC 4180, LF line
// ends). Figures are whole bytes and nanoseconds with all their digits, flags are 1 and 0, and what is unknown is empty.
// The row of an iteration has depth 0 and no path. A text that a spreadsheet would run as a formula gets a ' in front;
// numbers never do. The error is the writer's.
func WriteCSV(w io.Writer, rep *align.Report) error {
	t := &csvTable{out: output{w: w}, c: rep.Collected, others: otherLevels(rep)}
	for _, tr := range rep.Tracks {
		t.gaps = t.gaps || HasTensorLevels(tr)
	}
	t.header()
	for _, tr := range rep.Tracks {
		for i := range tr.Iterations {
			it := &tr.Iterations[i]
			t.row(rep, tr, it, nil)
			for j := range it.Phases {
				t.row(rep, tr, it, &it.Phases[j])
			}
		}
	}
	return t.out.close()
}

// otherLevels lists the levels beside the device level that any row has, in alphabetical order.
func otherLevels(rep *align.Report) []align.LevelKind {
	var names []align.LevelKind
	add := func(u *align.Use) {
		for i := range u.Other {
			if !slices.Contains(names, u.Other[i].Level) {
				names = append(names, u.Other[i].Level)
			}
		}
	}
	for _, tr := range rep.Tracks {
		for i := range tr.Iterations {
			add(&tr.Iterations[i].Use)
			for j := range tr.Iterations[i].Phases {
				add(&tr.Iterations[i].Phases[j].Use)
			}
		}
	}
	slices.Sort(names)
	return names
}

type csvTable struct {
	out    output
	c      align.Collected
	others []align.LevelKind
	gaps   bool // with what lies between the levels allocated, reserved and traced
	begun  bool // the row has a cell
}

func (t *csvTable) header() {
	for _, h := range []string{"report", "pid", "process", "device", "device_name", "iteration", "iteration_name",
		"warmup", "truncated", "path", "depth", "calls", "from", "start_ns", "end_ns", "duration_ns"} {
		t.text(h)
	}
	for _, f := range memoryFigures {
		t.text("memory_" + f.key)
	}
	for _, f := range gpuFigures {
		t.text("gpu_" + f.key)
	}
	for _, f := range apiFigures {
		t.text("api_" + f.key)
	}
	for _, o := range t.others {
		for _, f := range memoryFigures {
			t.text(strings.ReplaceAll(string(o), " ", "_") + "_" + f.key)
		}
	}
	if t.gaps {
		t.text("unused_end_bytes")
		t.text("outside_end_bytes")
	}
	t.end()
}

// row writes the row of an iteration, or of its phase p.
func (t *csvTable) row(rep *align.Report, tr *align.Track, it *align.Iteration, p *align.Phase) {
	t.text(rep.Source.Path)
	t.int(tr.PID)
	t.text(tr.Process)
	t.int(tr.Device)
	t.text(tr.DeviceName)
	t.int(int64(it.Index))
	t.text(it.Name)
	t.bool(it.Warmup)
	t.bool(it.Truncated)
	u := &it.Use
	if p == nil {
		t.empty()
		t.int(0)
		t.int(1)
		t.text(iterationSource(tr))
		t.int(it.Start)
		t.int(it.End)
		t.int(it.End - it.Start)
	} else {
		u = &p.Use
		t.text(p.Path)
		t.int(int64(p.Depth))
		t.int(int64(p.Calls))
		if p.Inferred || tr.IterationsFrom.Inferred() {
			t.text("inferred")
		} else {
			t.text("nvtx")
		}
		t.int(p.Start)
		t.int(p.End)
		t.int(p.Duration)
	}
	csvFigures(t, &u.Memory, memoryFigures, t.c.Memory)
	csvFigures(t, &u.GPU, gpuFigures, knowsGPU(&t.c))
	csvFigures(t, &u.API, apiFigures, t.c.API)
	for _, name := range t.others {
		o := u.Level(name)
		csvFigures(t, o, memoryFigures, t.c.Memory && o != nil)
	}
	if t.gaps {
		if unused, outside, ok := LevelGaps(u); ok {
			t.int(unused)
			t.int(outside)
		} else {
			t.empty()
			t.empty()
		}
	}
	t.end()
	t.out.spill()
}

// iterationSource says where a track's iterations come from, in the words that phases use.
func iterationSource(tr *align.Track) string {
	if tr.IterationsFrom.Inferred() {
		return "inferred"
	}
	return "nvtx"
}

func csvFigures[T any](t *csvTable, u *T, list []figure[T], known bool) {
	for i := range list {
		if !known || list[i].known != nil && !list[i].known(&t.c) {
			t.empty()
			continue
		}
		t.int(list[i].get(u))
	}
}

func (t *csvTable) empty() {
	if t.begun {
		t.out.b = append(t.out.b, ',')
	}
	t.begun = true
}

func (t *csvTable) int(v int64) {
	t.empty()
	t.out.b = strconv.AppendInt(t.out.b, v, 10)
}

func (t *csvTable) bool(v bool) {
	if v {
		t.int(1)
	} else {
		t.int(0)
	}
}

// text writes a name. What a terminal would obey is escaped, as in text output: CSV goes to a terminal too.
func (t *csvTable) text(s string) {
	t.empty()
	guard := s != "" && strings.IndexByte("=+-@\t\r\n", s[0]) >= 0
	s = clean(s)
	quote := strings.ContainsAny(s, ",\"\r\n") || s != "" && (s[0] == ' ' || s[len(s)-1] == ' ')
	if quote {
		t.out.b = append(t.out.b, '"')
	}
	if guard {
		t.out.b = append(t.out.b, '\'')
	}
	if quote {
		t.out.b = append(t.out.b, strings.ReplaceAll(s, `"`, `""`)...)
		t.out.b = append(t.out.b, '"')
	} else {
		t.out.b = append(t.out.b, s...)
	}
}

func (t *csvTable) end() {
	t.out.b = append(t.out.b, '\n')
	t.begun = false
}
