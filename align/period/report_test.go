package period

import (
	"database/sql"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"nsysmem/internal/fixture"
)

// A recorded is one process of a report: its operations and the ranges that annotate it.
type recorded struct {
	ops   []Op
	phase []string // by operation: innermost of the four phases, by the ranges
	iter  []int    // by operation: number of its iteration, -1 for none
	iters int
}

// reportPath is the path of a real export, or skips the test where it is not at hand.
func reportPath(t testing.TB, name string) string {
	path := fixture.Find(t, "../..", name+".sqlite")
	if path == "" {
		t.Skipf("no export %s.sqlite in testdata, or in a folder that %s names", name, fixture.Folders)
	}
	return path
}

func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// readReport gives the processes of a report by process id.
func readReport(t testing.TB, name string) map[int64]*recorded {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+reportPath(t, name)+"?mode=ro&immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type raw struct {
		Op
		tid int64
	}
	ops := map[int64][]raw{}
	scan := func(q string, class func(kind int64) Class) {
		rows, err := db.Query(q)
		if err != nil {
			if strings.Contains(err.Error(), "no such table") {
				return
			}
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var start, end, tid, kind, size, blocks int64
			var full string
			if err := rows.Scan(&start, &end, &tid, &full, &kind, &size, &blocks); err != nil {
				t.Fatal(err)
			}
			o := raw{tid: tid}
			o.Start, o.End, o.Class = start, end, class(kind)
			switch o.Class {
			case Kernel:
				at := strings.LastIndex(full, "|")
				o.Loose, o.Key = hash(full[:at]), hash(full)
				o.Kind, o.Flags = KindOf(full[:at]), FlagsOf(full[:at], blocks)
			case Graph:
				o.Loose, o.Key = hash("graph"+full), hash("graph"+full)
			default:
				o.Loose = uint64(o.Class) + 1<<40
				o.Key = o.Loose<<8 + uint64(bits.Len64(uint64(size)))
				if o.Class != Memset && size <= TinyCopy {
					o.Flags = Tiny
				}
			}
			ops[tid>>24] = append(ops[tid>>24], o)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	const join = " JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId=x.correlationId AND r.globalTid>>24=x.globalPid>>24"
	scan(`SELECT r.start, r.end, r.globalTid, (SELECT value FROM StringIds WHERE id=demangledName)||'|'||gridX||'x'||gridY||'x'||gridZ||'/'||blockX||'x'||blockY||'x'||blockZ, 0, 0, gridX*gridY*gridZ
		FROM CUPTI_ACTIVITY_KIND_KERNEL x`+join, func(int64) Class { return Kernel })
	scan(`SELECT r.start, r.end, r.globalTid, '', copyKind, bytes, 0 FROM CUPTI_ACTIVITY_KIND_MEMCPY x`+join, func(k int64) Class {
		switch k {
		case 1, 3, 11:
			return HtoD
		case 2, 4, 12:
			return DtoH
		}
		return DtoD
	})
	scan(`SELECT r.start, r.end, r.globalTid, '', 0, bytes, 0 FROM CUPTI_ACTIVITY_KIND_MEMSET x`+join, func(int64) Class { return Memset })
	scan(`SELECT r.start, r.end, r.globalTid, graphExecId, 0, 0, 0 FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE x`+join, func(int64) Class { return Graph })

	type rng struct {
		start, end int64
		name       string
	}
	ranges := map[int64][]rng{}
	rows, err := db.Query(`SELECT start, coalesce(end, 1<<62), globalTid, coalesce(text, (SELECT value FROM StringIds WHERE id=textId), '') FROM NVTX_EVENTS WHERE eventType IN (59,60)`)
	if err == nil {
		for rows.Next() {
			var r rng
			var tid int64
			if err := rows.Scan(&r.start, &r.end, &tid, &r.name); err != nil {
				t.Fatal(err)
			}
			ranges[tid>>24] = append(ranges[tid>>24], r)
		}
		rows.Close()
	}
	out := map[int64]*recorded{}
	for pid, list := range ops {
		slices.SortStableFunc(list, func(a, b raw) int { return int(a.Start - b.Start) })
		p := &recorded{}
		for _, o := range list {
			o.Thread = int32(o.tid & 0xFFFFFF)
			p.ops = append(p.ops, o.Op)
			it, ph := -1, ""
			for _, r := range ranges[pid] {
				if r.start > o.Start || r.end <= o.Start {
					continue
				}
				var n int
				if _, err := fmt.Sscanf(r.name, "iteration %d", &n); err == nil {
					it = n
				} else if _, err := fmt.Sscanf(r.name, "step %d", &n); err == nil {
					it = n
				}
				switch r.name {
				case dataPhase, forwardPhase, backwardPhase, optimizerPhase:
					ph = r.name
				}
			}
			p.iter, p.phase = append(p.iter, it), append(p.phase, ph)
			p.iters = max(p.iters, it+1)
		}
		out[pid&0xFFFFFF] = p
	}
	return out
}

// phaseOf gives each operation the phase that a result puts it in, by time as callers do, "" outside iterations.
func phaseOf(ops []Op, r Result) (phase []string, iter []int) {
	phase, iter = make([]string, len(ops)), make([]int, len(ops))
	for i := range ops {
		iter[i] = -1
		for k, it := range r.Iterations {
			if it.Start <= ops[i].Start && ops[i].Start < it.End {
				iter[i] = k
				for _, p := range it.Phases {
					if p.Start <= ops[i].Start && ops[i].Start < p.End {
						phase[i] = p.Name
					}
				}
			}
		}
	}
	return phase, iter
}

// TestAnnotated compares what is found with what the ranges say.
func TestAnnotated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		report string
		iters  []int // by process id ascending
		phases bool
	}{
		{"cnn_default", []int{8}, true},
		{"cnn_nocache", []int{8}, true},
		{"gpt_amp", []int{6}, true},
		{"gpt_async", []int{6}, true},
		{"unet_grow", []int{9}, true},
		{"unet_realoom", []int{3}, true},
		{"two_proc", []int{4, 4}, true},
		{"graph_graph", []int{10}, false},
		{"cpp_mem", []int{6}, false},
		{"cpp_mem_2023", []int{6}, false},
	} {
		t.Run(c.report, func(t *testing.T) {
			t.Parallel()
			procs := readReport(t, c.report)
			pids := make([]int64, 0, len(procs))
			for pid := range procs {
				pids = append(pids, pid)
			}
			slices.Sort(pids)
			if len(pids) != len(c.iters) {
				t.Fatalf("%d processes", len(pids))
			}
			for n, pid := range pids {
				p := procs[pid]
				r := Find(p.ops, true)
				t.Logf("pid %d: %d iterations, confidence %.3f, period %d: %s", pid, len(r.Iterations), r.Confidence, r.Period, r.Why)
				if len(r.Iterations) != c.iters[n] {
					t.Errorf("pid %d: %d iterations, want %d (%s)", pid, len(r.Iterations), c.iters[n], r.Why)
					continue
				}
				if p.iters != c.iters[n] {
					t.Fatalf("ranges say %d", p.iters)
				}
				phase, iter := phaseOf(p.ops, r)
				same, all, wrongIter := 0, 0, 0
				for i := range p.ops {
					if iter[i] != p.iter[i] {
						wrongIter++
						t.Logf("op %d class %d: iteration %d, want %d", i, p.ops[i].Class, iter[i], p.iter[i])
					}
					if p.iter[i] < 0 || p.ops[i].Class != Kernel {
						continue
					}
					all++
					if phase[i] == p.phase[i] {
						same++
					} else if c.phases {
						t.Logf("op %d: phase %q, want %q", i, phase[i], p.phase[i])
					}
				}
				// Every cut lies between the annotated iterations: no operation is in the wrong one.
				if wrongIter > 0 {
					t.Errorf("pid %d: %d operations in the wrong iteration", pid, wrongIter)
				}
				if c.phases {
					t.Logf("pid %d: %d of %d kernels in the annotated phase", pid, same, all)
					if float64(same) < 0.98*float64(all) {
						t.Errorf("pid %d: only %d of %d kernels in the annotated phase", pid, same, all)
					}
				} else {
					for _, it := range r.Iterations {
						if len(it.Phases) > 0 {
							t.Errorf("pid %d: phases without a backward thread", pid)
							break
						}
					}
				}
				checkResult(t, p.ops, r)
			}
		})
	}
}

// TestUnannotated: the report without a range gives the steps of its annotated twin.
func TestUnannotated(t *testing.T) {
	t.Parallel()
	p := readReport(t, "cnn_none")
	for _, p := range p {
		r := Find(p.ops, true)
		t.Logf("%d iterations, confidence %.3f, period %d: %s", len(r.Iterations), r.Confidence, r.Period, r.Why)
		if len(r.Iterations) != 12 {
			t.Fatalf("%d iterations, want 12", len(r.Iterations))
		}
		phase, iter := phaseOf(p.ops, r)
		for k := range r.Iterations {
			n := map[string]int{}
			for i := range p.ops {
				if iter[i] == k && p.ops[i].Class == Kernel {
					n[phase[i]]++
				}
			}
			t.Logf("iteration %d: %v", k, n)
			if k > 0 && (n[dataPhase] != 0 || n[forwardPhase] != 37 || n[backwardPhase] < 68 || n[backwardPhase] > 72 || n[optimizerPhase] != 8 || n[""] != 0) {
				t.Errorf("iteration %d: %v", k, n)
			}
			if len(r.Iterations[k].Phases) != 4 || r.Iterations[k].Phases[0].Name != dataPhase {
				t.Errorf("iteration %d: phases %v", k, r.Iterations[k].Phases)
			}
		}
	}
}

// checkResult holds for every result.
func checkResult(t testing.TB, ops []Op, r Result) {
	t.Helper()
	if len(r.Iterations) == 0 {
		if r.Why == "" || r.Confidence != 0 || r.Period != 0 || r.Unit != "" {
			t.Errorf("none found, but %+v", r)
		}
		return
	}
	if r.Confidence < minConfidence || r.Confidence > 1 || r.Why == "" || r.Unit == "" || r.Period < 1 {
		t.Errorf("confidence %v, unit %q, period %d, why %q", r.Confidence, r.Unit, r.Period, r.Why)
	}
	if len(r.Iterations) < 2 {
		t.Errorf("a single iteration")
	}
	for k, it := range r.Iterations {
		if it.Start != ops[it.First].Start {
			t.Fatalf("iteration %d begins at %d, not with its first operation at %d", k, it.Start, ops[it.First].Start)
		}
	}
	checkOrder(t, ops, r)
}

// checkOrder: iterations and their phases are in order, each in operations and in time, and hold their launches.
func checkOrder(t testing.TB, ops []Op, r Result) {
	t.Helper()
	last, end := -1, int64(-1<<63)
	for k, it := range r.Iterations {
		if it.First <= last || it.Last < it.First || it.Last >= len(ops) {
			t.Fatalf("iteration %d: operations %d to %d after %d, of %d", k, it.First, it.Last, last, len(ops))
		}
		if it.Start < end || it.End < it.Start || it.Earliest > it.Start || it.Start > ops[it.First].Start {
			t.Fatalf("iteration %d: [%d, %d) earliest %d after %d", k, it.Start, it.End, it.Earliest, end)
		}
		last, end = it.Last, it.End
		pf, pe := it.First-1, it.Start
		for _, p := range it.Phases {
			if p.First <= pf || p.Last < p.First || p.Last > it.Last || p.Start < pe || p.End < p.Start || p.End > it.End {
				t.Fatalf("iteration %d [%d %d] [%d, %d): phase %+v after %d, %d", k, it.First, it.Last, it.Start, it.End, p, pf, pe)
			}
			pf, pe = p.Last, p.End
		}
	}
}
