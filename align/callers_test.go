package align

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nsysmem/align/caller"
	"nsysmem/align/tensor"
	"nsysmem/internal/fixture"
)

// chained adds the columns and the table of call chains. The calls with a correlation id name the chain of that number. Frames
// are "chain depth module symbol", symbols that begin with "0x" are unresolved.
func (s *script) chained(frames ...string) {
	s.sql(`ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN callchainId INTEGER; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = correlationId;
		CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, unresolved INTEGER, stackDepth INTEGER NOT NULL)`)
	for _, f := range frames {
		var chain, depth int64
		var module string
		if _, err := fmt.Sscan(f, &chain, &depth, &module); err != nil {
			s.t.Fatal(err)
		}
		symbol := strings.SplitN(f, " ", 4)[3]
		unresolved := "NULL"
		if strings.HasPrefix(symbol, "0x") {
			unresolved = "1"
		}
		s.sql("INSERT INTO CUDA_CALLCHAINS VALUES (%d, %d, %d, %s, %d)", chain, s.id(symbol), s.id(module), unresolved, depth)
	}
}

// allocs is a script of two blocks and a call that failed, with correlation ids 1, 2 and 3.
func allocs(t *testing.T) *script {
	s := newScript(t)
	s.alloc(10, tid(procP, 1), 1, 0x1000, 100)
	s.alloc(20, tid(procP, 1), 2, 0x2000, 200)
	s.rts = append(s.rts, rtRow{30, 31, tid(procP, 1), 3, "cudaMalloc_v3020", 2})
	return s
}

// TestCallers checks who asked for blocks and whose call failed, and that a chain which is damaged names nobody.
func TestCallers(t *testing.T) {
	t.Parallel()
	cublas := []string{"1 0 /x/libcuda.so.1 0x77", "1 1 /x/libcublas.so.12 0x78", "1 2 /x/libcublas.so.12 cublasCreate_v2", "1 3 /home/ann/train main"}
	program := []string{"2 0 /x/libcudart.so.12 cudaMalloc", "2 1 /home/ann/train fill(int)", "3 0 /x/libcudart.so.12 cudaMalloc", "3 1 /home/ann/train _ZN5Model4growEv"}
	create := caller.Caller{Library: "cuBLAS", Function: "cublasCreate_v2"}
	fill, grow := caller.Caller{Library: "train", Function: "fill"}, caller.Caller{Library: "train", Function: "Model::grow"}
	for name, c := range map[string]struct {
		frames []string
		sql    string
		want   [3]caller.Caller
	}{
		"all":               {append(cublas, program...), "", [3]caller.Caller{create, fill, grow}},
		"rows out of order": {append(program, cublas[3], cublas[1], cublas[0], cublas[2]), "", [3]caller.Caller{create, fill, grow}},
		"one dangles":       {program, "", [3]caller.Caller{{}, fill, grow}},
		"none is named":     {append(cublas, program...), "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = NULL", [3]caller.Caller{}},
		"no symbols":        {append(cublas, program...), "UPDATE CUDA_CALLCHAINS SET symbol = NULL", [3]caller.Caller{{Library: "cuBLAS"}, {Library: "train"}, {Library: "train"}}},
		"no modules":        {append(cublas, program...), "UPDATE CUDA_CALLCHAINS SET module = 999999", [3]caller.Caller{}},
		"all at one depth":  {append(cublas, program...), "UPDATE CUDA_CALLCHAINS SET stackDepth = 0", [3]caller.Caller{}},
		"wild depths":       {append(cublas, program...), "UPDATE CUDA_CALLCHAINS SET stackDepth = -9223372036854775807 + stackDepth WHERE id = 1", [3]caller.Caller{{}, fill, grow}},
		"not marked":        {append(cublas, program...), "UPDATE CUDA_CALLCHAINS SET unresolved = NULL", [3]caller.Caller{create, fill, grow}},
		"without the mark":  {append(cublas, program...), "ALTER TABLE CUDA_CALLCHAINS DROP COLUMN unresolved", [3]caller.Caller{create, fill, grow}},
		"without depths":    {append(cublas, program...), "ALTER TABLE CUDA_CALLCHAINS RENAME COLUMN stackDepth TO x", [3]caller.Caller{}},
		"no rows":           {nil, "", [3]caller.Caller{}},
		"a million frames": {append(cublas, program...), `INSERT INTO CUDA_CALLCHAINS WITH RECURSIVE k(i) AS (SELECT 4 UNION ALL SELECT i+1 FROM k WHERE i<1000000)
			SELECT 1, symbol, module, NULL, i FROM k, (SELECT symbol, module FROM CUDA_CALLCHAINS WHERE id = 1 AND stackDepth = 3)`, [3]caller.Caller{create, fill, grow}},
		"a million times": {append(cublas, program...), `INSERT INTO CUDA_CALLCHAINS WITH RECURSIVE k(i) AS (SELECT 4 UNION ALL SELECT i+1 FROM k WHERE i<1000000)
			SELECT 1, symbol, module, NULL, 3 FROM k, (SELECT symbol, module FROM CUDA_CALLCHAINS WHERE id = 1 AND stackDepth = 3)`, [3]caller.Caller{create, fill, grow}},
		"deep in CUDA": {program, `INSERT INTO StringIds VALUES (5000, '/usr/lib/libc.so.6'); INSERT INTO CUDA_CALLCHAINS WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM k WHERE i<1000)
			SELECT 1, 5000, 5000, NULL, i FROM k`, [3]caller.Caller{{}, fill, grow}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := allocs(t)
			s.chained(c.frames...)
			s.sql("%s", c.sql)
			tr := onlyTrack(t, s.report(Options{}))
			got := [3]caller.Caller{tr.Blocks[0].Caller, tr.Blocks[1].Caller, tr.Failed[0].Caller}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if tr.LiveAtEnd[0].Caller != c.want[1] || tr.LiveAtPeak[0].Caller != c.want[1] { // the larger one is the second
				t.Errorf("%+v", tr.LiveAtEnd)
			}
		})
	}
}

// TestNoChains checks that an export without chains is not asked for any, and gives nobody.
func TestNoChains(t *testing.T) {
	t.Parallel()
	tr := onlyTrack(t, allocs(t).report(Options{}))
	if none := (caller.Caller{}); tr.Libraries != nil || tr.Blocks[0].Caller != none || tr.Failed[0].Caller != none {
		t.Errorf("%+v %+v", tr.Blocks[0], tr.Failed[0])
	}
}

// TestRealChains checks who asked for memory in a recorded run of PyTorch: each call that allocates has its library and its
// function, none of PyTorch's own lies outside of it, and by library it is what traced leaves over reserved, to the byte.
func TestRealChains(t *testing.T) {
	t.Parallel()
	snap := snapshotOf(t, fixture.Unpack(t, "..", "conv.snapshot.pickle"))
	tr := onlyTrack(t, analyze(t, fixture.Unpack(t, "..", "conv.sqlite"), Options{Snapshots: []Snapshot{{Data: snap}}, Blocks: true}))
	calls := 0
	for _, b := range tr.Blocks {
		if b.Call == "" {
			continue // static memory of modules
		}
		calls++
		if b.Caller.Library == "" || b.Caller.Function == "" {
			t.Errorf("%+v", b)
		}
	}
	if calls != 25 {
		t.Errorf("%d calls", calls)
	}
	var all tensor.Library
	for _, l := range tr.Libraries {
		all.AtPeak, all.Live = all.AtPeak+l.AtPeak, all.Live+l.Live
	}
	if d := tr.Level(LevelDevice); all.AtPeak != d.Peak || all.Live != d.End || len(tr.Libraries) != 4 || !tr.Libraries[3].Static {
		t.Errorf("%+v for a level of %d, %d at the end", tr.Libraries, d.Peak, d.End)
	}
	if alone := onlyTrack(t, analyze(t, fixture.Unpack(t, "..", "conv.sqlite"), Options{})); !slices.Equal(alone.Libraries, tr.Libraries) || alone.Tensors != nil || alone.Stayed != nil {
		t.Errorf("without a snapshot %+v", alone.Libraries)
	}
	o := tr.Tensors.Outside
	want := []tensor.Library{{Name: "cuBLAS", Blocks: 6, Bytes: 134_481_920, AtPeak: 134_481_920, Live: 134_481_920},
		{Name: "cuDNN", Blocks: 4, Bytes: 50_696, AtPeak: 50_696, Live: 50_696}}
	if fmt.Sprint(o.Libraries) != fmt.Sprint(want) || o.Static != 12_365 {
		t.Errorf("%+v, static %d", o.Libraries, o.Static)
	}
	sum := o.Static
	for _, l := range o.Libraries {
		sum += l.Live
	}
	for i := range tr.Iterations { // nothing of it comes after the first
		if g, ok := tr.Iterations[i].Gaps(); !ok || g.Outside != sum {
			t.Errorf("iteration %d: %d by library, %d as the levels leave it", i, sum, g.Outside)
		}
	}
}
