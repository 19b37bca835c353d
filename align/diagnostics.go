package align

import (
	"cmp"
	"regexp"
	"slices"

	"nsysmem/nsysdb"
)

// A Diagnostic is what the profiler said of its own work: a message once, of all processes of which it said so.
type Diagnostic struct {
	Severity string  // "warning", "error" or "fatal"
	Text     string  // one line, without commands, folders, hosts and users
	Count    int64   // how many times
	PIDs     []int64 // of which processes, rising; nil where it does not say
}

// nothingSeen is what nsys says of a process of which it saw no event of a kind (its words in exports of 2021 to 2026).
var nothingSeen = regexp.MustCompile(`^(?:No (CUDA|NVTX) events collected\b|(CUDA|NVTX) profiling might have not been started correctly)`)

// A witness knows which processes have events.
type witness struct {
	cuda, nvtx map[int64]bool // by globalPid
}

func newWitness(src *source, a *alignment, u *uses) *witness {
	w := &witness{make(map[int64]bool), make(map[int64]bool)}
	procs := src.processes.all()
	for _, p := range procs {
		if at(a.calls.names, p) != nil {
			w.cuda[p.gpid] = true
		}
	}
	last := int32(-1) // the next range mostly is of the same process
	for i := range a.ranges.spans {
		if s := &a.ranges.spans[i]; s.proc != last && !s.inferred {
			last = s.proc
			w.nvtx[procs[last].gpid] = true
		}
	}
	for _, t := range u.tracks {
		w.cuda[t.proc.gpid] = true
	}
	return w
}

// contradicts says that a message is not so, or of a process of which nobody expects anything else. nsys asks of every
// process of the tree whether it uses CUDA and NVTX, data loaders and compilers too: that one does which has none of both
// is no news where others have them. A process with ranges of its own and without CUDA may be one that was not traced.
func (w *witness) contradicts(d *nsysdb.Diagnostic) bool {
	m := nothingSeen.FindStringSubmatch(d.Text)
	if m == nil {
		return false
	}
	has, other := w.cuda, w.nvtx
	if cmp.Or(m[1], m[2]) == "NVTX" {
		has, other = w.nvtx, w.cuda
	}
	gpid := nsysdb.Process(d.GlobalPID)
	return has[gpid] || len(has) > 0 && !other[gpid]
}

// said are the messages of the profiler, each once, without those that the report contradicts.
func (w *witness) said(list []nsysdb.Diagnostic) []Diagnostic {
	type key struct{ severity, text string }
	places := make(map[key]int)
	var out []Diagnostic
	for i := range list {
		d := &list[i]
		if d.Text == "" || w.contradicts(d) {
			continue
		}
		k := key{d.Severity, d.Text}
		n, ok := places[k]
		if !ok {
			n = len(out)
			places[k] = n
			out = append(out, Diagnostic{Severity: d.Severity, Text: d.Text})
		}
		out[n].Count += max(d.Count, 1)
		if pid := nsysdb.PID(d.GlobalPID); pid != 0 {
			out[n].PIDs = append(out[n].PIDs, pid)
		}
	}
	for i := range out {
		slices.Sort(out[i].PIDs)
		out[i].PIDs = slices.Compact(out[i].PIDs)
	}
	return out
}
