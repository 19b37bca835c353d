package align

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // writes the fixtures

	"nsysmem/nsysdb"
)

// null is SQL NULL in a fixture's column.
const null = nsysdb.Null

// Processes of the fixtures.
const (
	procP = 100
	procQ = 200
)

// Kinds of NVTX rows, as exports number them.
const (
	nvMark     = 34
	nvCategory = 33
	nvPushPop  = 59
	nvStartEnd = 60
	nvDomain   = 75
)

// tid is a globalTid.
func tid(pid, n int64) int64 { return pid<<24 | n }

// A memRow is a row of CUDA_GPU_MEMORY_USAGE_EVENTS; null stands for NULL.
type memRow struct {
	start, pid, dev, ctx, addr, bytes, kind, op, corr int64
	stream, pool, poolSize, poolUsed, imported        int64
}

// An rtRow is a row of CUPTI_ACTIVITY_KIND_RUNTIME.
type rtRow struct {
	start, end, tid, corr int64
	name                  string
	ret                   int64
}

// A gpuRow is a row of the tables of kernels, copies, memsets and graphs.
type gpuRow struct {
	start, end, dev, pid, corr int64
	kind, bytes                int64 // of copies and memsets
	name                       string
}

// An nvRow is a row of NVTX_EVENTS. A text of "" is NULL.
type nvRow struct {
	start, end, typ int64
	text            string
	textID          int64
	tid, endTID     int64
	domain          int64
}

// A script builds a small export, row by row. Tables are made with their first row, as Nsight Systems does.
type script struct {
	t       testing.TB
	mems    []memRow
	rts     []rtRow
	kernels []gpuRow
	copies  []gpuRow
	memsets []gpuRow
	graphs  []gpuRow
	nvs     []nvRow

	ids      map[string]int64 // StringIds
	extra    []string         // SQL run last
	made     []string         // tables that are there without rows
	dropped  []string         // columns left out, "table.column"
	renames  map[string]string
	reversed bool // rows in the reverse order
	path     string
}

func newScript(t testing.TB) *script {
	return &script{t: t, ids: make(map[string]int64), renames: make(map[string]string)}
}

func (s *script) mem(start, pid, dev, addr, bytes, kind, op, corr int64) {
	s.mems = append(s.mems, memRow{start, pid, dev, 1, addr, bytes, kind, op, corr, null, null, null, null, null})
}

func (s *script) rt(start, end, tid, corr int64, name string) {
	s.rts = append(s.rts, rtRow{start, end, tid, corr, name, 0})
}

func (s *script) kernel(start, end, dev, pid, corr int64) {
	s.kernels = append(s.kernels, gpuRow{start: start, end: end, dev: dev, pid: pid, corr: corr, name: "k"})
}

// nv adds a push/pop range of the default domain.
func (s *script) nv(start, end int64, text string, tid int64) {
	s.nvs = append(s.nvs, nvRow{start, end, nvPushPop, text, null, tid, null, 0})
}

func (s *script) nvRow(r nvRow) { s.nvs = append(s.nvs, r) }

// launch adds a launching call and its kernel.
func (s *script) launch(at, tid, corr, kernelStart, kernelEnd int64) {
	s.rt(at, at+1, tid, corr, "cudaLaunchKernel_v7000")
	s.kernel(kernelStart, kernelEnd, 0, nsysdb.PID(tid), corr)
}

// alloc adds a cudaMalloc call of 1 ns and its memory row.
func (s *script) alloc(at, tid, corr, addr, bytes int64) {
	s.rt(at, at+1, tid, corr, "cudaMalloc_v3020")
	s.mem(at, nsysdb.PID(tid), 0, addr, bytes, nsysdb.KindDevice, nsysdb.OpAlloc, corr)
}

// free adds a cudaFree call and its memory row.
func (s *script) free(at, tid, corr, addr, bytes int64) {
	s.rt(at, at+1, tid, corr, "cudaFree_v3020")
	s.mem(at, nsysdb.PID(tid), 0, addr, bytes, nsysdb.KindDevice, nsysdb.OpFree, corr)
}

func (s *script) sql(format string, args ...any) {
	s.extra = append(s.extra, fmt.Sprintf(format, args...))
}

// capture adds a capture setting.
func (s *script) capture(name, value string) {
	s.sql("CREATE TABLE IF NOT EXISTS META_DATA_CAPTURE (name TEXT, value TEXT); INSERT INTO META_DATA_CAPTURE VALUES ('%s', '%s')", name, value)
}

func (s *script) threadName(tid int64, name string) {
	s.sql("CREATE TABLE IF NOT EXISTS ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER); INSERT INTO ThreadNames VALUES (%d, 0, %d)", s.id(name), tid)
}

// table makes a table even without rows.
func (s *script) table(name string) { s.made = append(s.made, name) }

// drop leaves columns out of a table.
func (s *script) drop(table string, columns ...string) {
	for _, c := range columns {
		s.dropped = append(s.dropped, table+"."+c)
	}
}

func (s *script) id(text string) int64 {
	n, ok := s.ids[text]
	if !ok {
		n = int64(len(s.ids) + 1)
		s.ids[text] = n
	}
	return n
}

// fixtureTables are the tables that a script writes. All columns may be NULL, as scripts damage what they like.
var fixtureTables = []struct{ name, columns string }{
	{"CUDA_GPU_MEMORY_USAGE_EVENTS", "start globalPid deviceId contextId address bytes memKind memoryOperationType correlationId streamId localMemoryPoolAddress localMemoryPoolSize localMemoryPoolUtilizedSize importedMemoryPoolAddress"},
	{"CUPTI_ACTIVITY_KIND_RUNTIME", "start end globalTid correlationId nameId returnValue"},
	{"CUPTI_ACTIVITY_KIND_KERNEL", "start end deviceId globalPid correlationId shortName"},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", "start end deviceId globalPid correlationId copyKind bytes"},
	{"CUPTI_ACTIVITY_KIND_MEMSET", "start end deviceId globalPid correlationId bytes"},
	{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start end deviceId globalPid correlationId graphId"},
	{"NVTX_EVENTS", "start end eventType text textId globalTid endGlobalTid domainId"},
}

func (s *script) rows(table string) [][]any {
	var out [][]any
	gpu := func(rows []gpuRow, more func(gpuRow) []any) {
		for _, r := range rows {
			out = append(out, append([]any{r.start, r.end, r.dev, r.pid << 24, r.corr}, more(r)...))
		}
	}
	switch table {
	case "CUDA_GPU_MEMORY_USAGE_EVENTS":
		for _, r := range s.mems {
			out = append(out, []any{r.start, r.pid << 24, r.dev, r.ctx, r.addr, r.bytes, r.kind, r.op, r.corr, r.stream, r.pool, r.poolSize, r.poolUsed, r.imported})
		}
	case "CUPTI_ACTIVITY_KIND_RUNTIME":
		for _, r := range s.rts {
			out = append(out, []any{r.start, r.end, r.tid, r.corr, s.id(r.name), r.ret})
		}
	case "CUPTI_ACTIVITY_KIND_KERNEL":
		gpu(s.kernels, func(r gpuRow) []any { return []any{s.id(r.name)} })
	case "CUPTI_ACTIVITY_KIND_MEMCPY":
		gpu(s.copies, func(r gpuRow) []any { return []any{r.kind, r.bytes} })
	case "CUPTI_ACTIVITY_KIND_MEMSET":
		gpu(s.memsets, func(r gpuRow) []any { return []any{r.bytes} })
	case "CUPTI_ACTIVITY_KIND_GRAPH_TRACE":
		gpu(s.graphs, func(r gpuRow) []any { return []any{int64(1)} })
	case "NVTX_EVENTS":
		for _, r := range s.nvs {
			text := any(r.text)
			if r.text == "" {
				text = nil
			}
			out = append(out, []any{r.start, r.end, r.typ, text, r.textID, r.tid, r.endTID, r.domain})
		}
	}
	for _, r := range out {
		for i := range r {
			if r[i] == any(int64(null)) {
				r[i] = nil
			}
		}
	}
	if s.reversed {
		slices.Reverse(out)
	}
	return out
}

// export writes the database and returns its path.
func (s *script) export() string {
	s.t.Helper()
	s.path = filepath.Join(s.t.TempDir(), "r.sqlite")
	s.write(s.path)
	return s.path
}

func (s *script) write(path string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(q string, args ...any) {
		if _, err := db.Exec(q, args...); err != nil {
			s.t.Fatalf("%s: %v", q, err)
		}
	}
	exec("PRAGMA journal_mode=OFF")
	exec("PRAGMA synchronous=OFF")
	exec("BEGIN")
	for _, ft := range fixtureTables {
		rows := s.rows(ft.name)
		if len(rows) == 0 && !slices.Contains(s.made, ft.name) {
			continue
		}
		var cols []string
		var keep []int
		for i, c := range strings.Fields(ft.columns) {
			if slices.Contains(s.dropped, ft.name+"."+c) {
				continue
			}
			typ := "INTEGER"
			if c == "text" {
				typ = "TEXT"
			}
			cols, keep = append(cols, `"`+c+`" `+typ), append(keep, i)
		}
		name := ft.name
		if as := s.renames[name]; as != "" {
			name = as
		}
		exec("CREATE TABLE " + name + " (" + strings.Join(cols, ", ") + ")")
		ins, err := db.Prepare("INSERT INTO " + name + " VALUES (?" + strings.Repeat(",?", len(keep)-1) + ")")
		if err != nil {
			s.t.Fatal(err)
		}
		args := make([]any, len(keep))
		for _, r := range rows {
			for k, i := range keep {
				args[k] = r[i]
			}
			if _, err := ins.Exec(args...); err != nil {
				s.t.Fatal(err)
			}
		}
		ins.Close()
	}
	exec("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
	for text, id := range s.ids {
		exec("INSERT INTO StringIds VALUES (?, ?)", id, text)
	}
	for _, q := range s.extra {
		exec(q)
	}
	exec("COMMIT")
}

// report writes the export and analyzes it with all details.
func (s *script) report(opts Options) *Report {
	s.t.Helper()
	opts.Blocks, opts.Kernels, opts.Spans = true, true, true
	return analyze(s.t, s.export(), opts)
}

// sqlReport analyzes an export built by an SQL script of the package's testdata.
func sqlReport(t testing.TB, file string) *Report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t)
	s.sql("%s", text)
	return s.report(Options{})
}

// curve reads one level of a track of an export over the whole time.
func curve(t testing.TB, path string, rep *Report, tr *Track, kind LevelKind, points int) *Curve {
	t.Helper()
	return ofKind(curves(t, path, rep, tr, points), kind)
}

// curves are all curves of a track.
func curves(t testing.TB, path string, rep *Report, tr *Track, points int) []Curve {
	t.Helper()
	db, err := nsysdb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cs, err := Curves(context.Background(), db, rep, []Window{{PID: tr.PID, Device: tr.Device, From: -maxTime / 4, To: maxTime / 4, Points: points}})
	if err != nil {
		t.Fatal(err)
	}
	return cs[0]
}

// ofKind is the curve of one kind, or nil.
func ofKind(curves []Curve, kind LevelKind) *Curve {
	for i := range curves {
		if curves[i].Kind == kind {
			return &curves[i]
		}
	}
	return nil
}

// onlyTrack is the one track of a report.
func onlyTrack(t testing.TB, rep *Report) *Track {
	t.Helper()
	if len(rep.Tracks) != 1 {
		t.Fatalf("%d tracks, want 1", len(rep.Tracks))
	}
	return rep.Tracks[0]
}

// use finds a row: "iteration 1" or "iteration 1: forward/layer0", else an outer range.
func (t *Track) use(name string) *Use {
	it, path, inside := strings.Cut(name, ": ")
	for i := range t.Iterations {
		n := &t.Iterations[i]
		if n.Name != it {
			continue
		}
		if !inside {
			return &n.Use
		}
		for k := range n.Phases {
			if n.Phases[k].Path == path {
				return &n.Phases[k].Use
			}
		}
		return nil
	}
	for i := range t.Ranges {
		if t.Ranges[i].Name == name {
			return &t.Ranges[i].Use
		}
	}
	return nil
}
