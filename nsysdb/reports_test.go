package nsysdb

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nsysmem/internal/fixture"
)

// reports are the real exports at hand.
func reports(t testing.TB) []string { return fixture.Files(t, "..", "*.sqlite") }

// Every column of every event table of every real export reads as it does through database/sql, from pages and by
// SQLite, in one part and in several.
func TestRealExports(t *testing.T) {
	t.Parallel()
	all := allColumns()
	for _, path := range reports(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			db := open(t, path)
			plain, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			if ws := db.Warnings(); len(ws) > 0 {
				t.Errorf("warnings %v", ws)
			}
			for table := range numTables {
				if db.Missing(table) {
					continue
				}
				if !db.plain(db.tables[table]) {
					t.Errorf("%v is not read from its pages", table)
				}
				var names []string
				for _, c := range all {
					if at := db.cols[table][c]; at >= 0 {
						names = append(names, ident(db.tables[table].columns[at].name))
					}
				}
				want := query(t, plain, "SELECT "+strings.Join(names, ",")+" FROM "+table.String())
				if int64(len(want)) > db.Rows(table) {
					t.Errorf("%v: %d rows, not bounded by %d", table, len(want), db.Rows(table))
				}
				bothWays(t, func(t *testing.T, way ...Option) {
					db := open(t, path, way...)
					for _, scan := range []Scan{{}, {Parts: 1}, {Parts: 2}, {Parts: 7}, {Sorted: true}} {
						scan.Table, scan.Columns = table, all
						if got := rows(t, db, scan); !slices.EqualFunc(got, want, slices.Equal) {
							t.Errorf("%v with %d parts, sorted %v: %d rows differ from the %d wanted", table, scan.Parts, scan.Sorted, len(got), len(want))
						}
					}
				})
			}
		})
	}
}

// query reads integers through database/sql.
func query(t testing.TB, db *sql.DB, text string) (list [][]int64) {
	t.Helper()
	rs, err := db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rs.Close()
	cols, err := rs.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rs.Next() {
		vals := make([]sql.NullInt64, len(cols))
		ptrs := make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rs.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		row := make([]int64, len(cols))
		for i, v := range vals {
			if row[i] = Null; v.Valid {
				row[i] = v.Int64
			}
		}
		list = append(list, row)
	}
	if err := rs.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// The three versions at hand, each with what only it has.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, nsys, schema string
		memory             Setting
		missing            []Table
		process            string
		duration           int64
		ranges             int
		cudaIDs            bool
	}{
		{"cnn_2022", "2022.4.2.1", "3.0.0", NotSaid, []Table{MemoryUsage, MemoryPool, Kernel, Memcpy, Memset, GraphTrace, CallChain}, "python3", 11343262788, 27, false},
		{"cpp_mem_2023", "2023.4.4.54", "3.7.2", On, []Table{GraphTrace, CallChain}, "mem", 557949890, 35, false},
		{"cpp_mem", "2025.3.2.0", "3.20.3", On, []Table{GraphTrace, CallChain}, "mem", 832693126, 35, true},
		{"cnn_default", "2025.3.2.0", "3.20.3", On, []Table{MemoryPool, GraphTrace, CallChain}, "python3", 14769499961, 42, true},
	} {
		t.Run(c.file, func(t *testing.T) {
			db := open(t, "../testdata/"+c.file+".sqlite")
			m := db.Meta()
			if m.NsysVersion != c.nsys || m.SchemaVersion != c.schema || m.CollectMemory != c.memory {
				t.Errorf("%q %q %v", m.NsysVersion, m.SchemaVersion, m.CollectMemory)
			}
			var missing []Table
			for table := range numTables {
				if db.Missing(table) {
					missing = append(missing, table)
				}
			}
			if !slices.Equal(missing, c.missing) {
				t.Errorf("missing %v", missing)
			}
			if len(m.Processes) != 1 || m.Processes[0].Name != c.process || m.Processes[0].PID != PID(m.Processes[0].GlobalPID) {
				t.Errorf("processes %+v", m.Processes)
			}
			if m.CaptureStart != 0 || m.CaptureEnd != c.duration || m.StartUTC < 1795950000e9 || m.StartUTC > 1795960000e9 {
				t.Errorf("from %d to %d, at %d", m.CaptureStart, m.CaptureEnd, m.StartUTC)
			}
			if m.OS != "Ubuntu 24.04.3 LTS" || m.Driver != "580.159.04" || m.CUDADriver != "13.0" {
				t.Errorf("%q %q %q", m.OS, m.Driver, m.CUDADriver)
			}
			if len(m.GPUs) != 1 || m.GPUs[0].Name != "NVIDIA H200" || m.GPUs[0].TotalMemory != 150109880320 || (m.GPUs[0].CUDAIDs != nil) != c.cudaIDs {
				t.Errorf("GPUs %+v", m.GPUs)
			}
			if !slices.ContainsFunc(m.Threads, func(th ThreadInfo) bool {
				return th.Name == c.process && Process(th.GlobalTID) == m.Processes[0].GlobalPID
			}) {
				t.Errorf("threads %+v", m.Threads)
			}
			n, err := db.NVTX(context.Background())
			if err != nil || len(n.Ranges) != c.ranges {
				t.Errorf("%d ranges, %v", len(n.Ranges), err)
			}
		})
	}
}

// The domain, names and threads of the C++ program's ranges.
func TestRealNVTX(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"cpp_mem", "cpp_mem_2023"} {
		db := open(t, "../testdata/"+file+".sqlite")
		n, err := db.NVTX(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		pid := db.Meta().Processes[0].GlobalPID
		if len(n.Domains) != 1 || n.Domains[DomainID{pid, 1}] != "solver" {
			t.Errorf("%s: domains %v", file, n.Domains)
		}
		var steps []string
		for _, r := range n.Ranges {
			if r.Domain == 1 && strings.HasPrefix(n.Names[r.Name], "step ") {
				steps = append(steps, n.Names[r.Name])
			}
			if r.Damaged || r.End < r.Start || Process(r.TID) != pid {
				t.Errorf("%s: range %+v", file, r)
			}
		}
		if !slices.Equal(steps, []string{"step 0", "step 1", "step 2", "step 3", "step 4", "step 5"}) {
			t.Errorf("%s: steps %v", file, steps)
		}
		if slices.Contains(n.Names, "end of step") {
			t.Errorf("%s: a mark is a range", file)
		}
	}
}

// Tables lists every table with its number of rows and columns.
func TestTables(t *testing.T) {
	t.Parallel()
	list, err := open(t, "../testdata/cpp_mem.sqlite").Tables()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(x TableInfo) bool { return x.Name == "CUDA_GPU_MEMORY_USAGE_EVENTS" })
	if i < 0 || list[i].Rows != 132 || len(list[i].Columns) != 18 || list[i].Columns[17] != "importedMemoryPoolProcessId" {
		t.Errorf("got %+v", list)
	}
	if !slices.IsSortedFunc(list, func(a, b TableInfo) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not in order")
	}
}
