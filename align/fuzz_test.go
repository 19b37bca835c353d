package align

import (
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"testing"
)

// scriptOf makes an export of any bytes: ranges that nest, overlap, are never closed, damaged or empty, on several
// threads of two processes; calls, kernels, copies and memory events at times that often coincide.
func scriptOf(t testing.TB, data []byte) *script {
	s := newScript(t)
	s.table("CUDA_GPU_MEMORY_USAGE_EVENTS")
	pos := 0
	next := func(n int) int64 {
		if pos >= len(data) {
			return 0
		}
		v := int64(data[pos]) % int64(n)
		pos++
		return v
	}
	pids := []int64{procP, procQ}
	corr := map[int64]int64{}
	used := map[int64]int{}
	// The ranges named "iteration" stand on one thread of each process.
	names := []string{"forward", "backward", "layer0", "optimizer"}
	for _, pid := range pids {
		s.nv(1+next(40), 20+next(60), "iteration 0", tid(pid, 1))
	}
	for pos < len(data) && len(s.nvs)+len(s.rts)+len(s.mems) < 400 {
		op := next(12)
		pid := pids[next(8)/6] // mostly the first
		thread := tid(pid, 1+next(6)/3)
		at := 1 + next(90)
		switch op {
		case 0, 1: // a range
			end := at + next(30)
			switch next(12) {
			case 0:
				end = null
			case 1:
				end = 0
			case 2:
				end = at - 1
			}
			typ := int64(nvPushPop)
			if next(4) == 0 {
				typ = nvStartEnd
			}
			s.nvRow(nvRow{at, end, typ, names[next(len(names))], null, thread, null, 0})
		case 2: // an iteration
			end := at + next(25)
			if next(10) == 0 {
				end = null
			}
			used[pid]++
			s.nvRow(nvRow{at, end, nvPushPop, fmt.Sprintf("iteration %d", used[pid]), null, tid(pid, 1), null, 0})
		case 3, 4, 5: // an allocation or free with its call
			corr[pid]++
			c := corr[pid]
			name := "cudaMalloc_v3020"
			free := next(2)
			if free == 1 {
				name = "cudaFree_v3020"
			}
			s.rt(at, at+next(4), thread, c, name)
			kinds := []int64{2, 2, 2, 3, 5, 4, 1, 9}
			s.mem(at, pid, next(6)/5, 0x1000*(1+next(5)), next(200), kinds[next(len(kinds))], free, c)
		case 6: // one without a call
			s.mem(at, pid, next(2), 0x1000*(1+next(5)), next(200), 2, next(3), 0)
		case 7, 8: // a kernel with its launch
			corr[pid]++
			s.rt(at, at+next(3), thread, corr[pid], "cudaLaunchKernel_v7000")
			start := at + next(20)
			s.kernel(start, start+next(10), next(6)/5, pid, corr[pid])
		case 9: // a kernel of an earlier launch, or of none
			start := at + next(20)
			s.kernel(start, start+next(10), next(6)/5, pid, next(8))
		case 10: // a failed allocation
			corr[pid]++
			s.rts = append(s.rts, rtRow{at, at + 1, thread, corr[pid], "cudaMalloc_v3020", 2})
		case 11:
			g := gpuRow{start: at, end: at + next(5), dev: next(6) / 5, pid: pid, corr: next(8), kind: 1 + next(10), bytes: next(100)}
			if next(2) == 0 {
				s.copies = append(s.copies, g)
			} else {
				s.memsets = append(s.memsets, g)
			}
		}
	}
	return s
}

// checkScript compares an export with the reference, with itself in another order, and with its own curves.
func checkScript(t *testing.T, s *script) {
	opts := Options{Iteration: refIteration.String(), Infer: InferOff, Blocks: true, Kernels: true, Spans: true}
	path := s.export()
	rep := analyze(t, path, opts)
	compareReference(t, s, rep)
	for _, tr := range rep.Tracks {
		checkCurves(t, path, rep, tr)
	}
	back := *s
	back.reversed = true
	other := analyze(t, back.export(), opts)
	other.Source.Path = rep.Source.Path
	if !reflect.DeepEqual(rep, other) {
		t.Errorf("rows in reverse order give another report: %s", firstDifference(rep, other))
	}
}

// TestScripts does what FuzzAnalyze does for a fixed number of exports; NSYSMEM_SCRIPTS asks for more, from another
// seed. It does many times more of them in a minute than fuzzing does, which watches the code of SQLite too.
func TestScripts(t *testing.T) {
	t.Parallel()
	n, seed := 100, int64(1)
	if testing.Short() {
		n = 30
	}
	if v, err := strconv.Atoi(os.Getenv("NSYSMEM_SCRIPTS")); err == nil {
		n, seed = v, int64(v)
	}
	r := rand.New(rand.NewSource(seed))
	for i := range n {
		data := make([]byte, 40+r.Intn(600))
		r.Read(data)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			checkScript(t, scriptOf(t, data))
		})
	}
}

func FuzzAnalyze(f *testing.F) {
	r := rand.New(rand.NewSource(2))
	for range 20 {
		data := make([]byte, 100+r.Intn(200))
		r.Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkScript(t, scriptOf(t, data)) })
}
