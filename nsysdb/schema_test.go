package nsysdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, name string
		want       int
	}{
		{"NVTX_EVENTS", "NVTX_EVENTS", 1}, {"NVTX_EVENTS", "nvtx_events", 1}, {"NVTX_EVENTS", "NVTX_EVENTS_V2", 2},
		{"NVTX_EVENTS", "NVTX_EVENTS_V10", 10}, {"NVTX_EVENTS", "NVTX_EVENTS_V", 0}, {"NVTX_EVENTS", "NVTX_EVENTS_VX", 0},
		{"NVTX_EVENTS", "NVTX_EVENTS_2", 0}, {"NVTX_EVENTS", "NVTX", 0},
		{"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMCPY2", 0},
	} {
		if got := version(c.base, c.name); got != c.want {
			t.Errorf("version(%q, %q) = %d, want %d", c.base, c.name, got, c.want)
		}
	}
}

// Tables with a version suffix are found, the newest that has rows, and that is told; _MEMCPY2 is another table.
func TestTableVersions(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		db := open(t, build(t, `
CREATE TABLE NVTX_EVENTS_V2 (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
INSERT INTO NVTX_EVENTS_V2 VALUES (1, 2, 59, 'forward', 16777217);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2 (start INTEGER, bytes INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES (1, 64);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2 (start INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V2 VALUES (22);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3 (start INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET_V2 (start INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET_V2 VALUES (2);`), way...)
		n, err := db.NVTX(context.Background())
		if err != nil || !slices.Equal(n.Names, []string{"forward"}) || len(n.Ranges) != 1 {
			t.Errorf("%+v, %v", n, err)
		}
		if !db.Missing(Memcpy) {
			t.Error("MEMCPY2 was taken for MEMCPY")
		}
		if got := rows(t, db, Scan{Table: Kernel, Columns: []Column{Start}}); len(got) != 1 || got[0][0] != 22 {
			t.Errorf("kernels %v", got)
		}
		if got := rows(t, db, Scan{Table: Memset, Columns: []Column{Start}}); len(got) != 1 || got[0][0] != 2 {
			t.Errorf("memsets %v", got)
		}
		var texts []string
		for _, w := range db.Warnings() {
			if w.Code != "table-version" {
				t.Errorf("warning %v", w)
			}
			texts = append(texts, w.Text)
		}
		all := strings.Join(texts, "\n")
		for _, want := range []string{"NVTX_EVENTS_V2", "KERNEL_V2", "CUPTI_ACTIVITY_KIND_MEMSET has rows too"} {
			if !strings.Contains(all, want) {
				t.Errorf("no word of %s in %q", want, all)
			}
		}
	})
}

// A table that is not there is an error that says how to record it; when it was recorded, that nothing came.
func TestNeed(t *testing.T) {
	t.Parallel()
	const memory = `CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COLLECT_GPU_MEMORY_USAGE', '%s');`
	for setting, want := range map[string]string{
		"false": "no table CUDA_GPU_MEMORY_USAGE_EVENTS: profile with --cuda-memory-usage=true",
		"true":  "no table CUDA_GPU_MEMORY_USAGE_EVENTS: such events were recorded, but none came",
	} {
		db := open(t, build(t, fmt.Sprintf(memory, setting)))
		err := db.Scan(context.Background(), Scan{Table: MemoryUsage}, func(*Batch) error { return nil })
		if !errors.Is(err, errNoTable) || err.Error() != fmt.Sprintf("nsysdb: read %q: %s", db.Path(), want) {
			t.Errorf("got %v", err)
		}
		if db.Rows(MemoryUsage) != 0 || db.Has(MemoryUsage) {
			t.Error("a table that is not there has rows")
		}
	}
}

// A table with no rows is there, and gives none.
func TestEmptyTable(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		db := open(t, build(t, "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, bytes INTEGER)"), way...)
		for _, scan := range []Scan{{Parts: 3}, {Sorted: true}} {
			scan.Table, scan.Columns = MemoryUsage, []Column{Start}
			if got := rows(t, db, scan); db.Missing(MemoryUsage) || db.Rows(MemoryUsage) != 0 || len(got) != 0 {
				t.Errorf("%v, at most %d", got, db.Rows(MemoryUsage))
			}
		}
	})
}

// Columns come and go, in any order and case; those that are not there give nil slices, and rows still count.
func TestColumns(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		db := open(t, build(t, `CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (BYTES INTEGER NOT NULL, extra TEXT, "Start" INTEGER NOT NULL, globalpid INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (64, 'x', 1, NULL), (0, NULL, 2, 5)`), way...)
		if !db.Has(MemoryUsage, Start, Bytes, GlobalPID) || db.Has(MemoryUsage, Start, MemKind) || db.Has(numTables) || db.Has(MemoryUsage, numColumns) {
			t.Error("Has is wrong")
		}
		calls := 0
		err := db.Scan(context.Background(), Scan{Table: MemoryUsage, Columns: []Column{MemKind, Start, GlobalPID, Bytes, Start}}, func(b *Batch) error {
			calls++
			if b.Rows != 2 || b.Cols[0] != nil || !slices.Equal(b.Cols[1], []int64{1, 2}) || !slices.Equal(b.Cols[2], []int64{Null, 5}) ||
				!slices.Equal(b.Cols[3], []int64{64, 0}) || !slices.Equal(b.Cols[4], []int64{1, 2}) {
				t.Errorf("got %+v", b)
			}
			return nil
		})
		if err != nil || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
		total := 0
		err = db.Scan(context.Background(), Scan{Table: MemoryUsage, Columns: []Column{MemKind}}, func(b *Batch) error {
			total += b.Rows
			return nil
		})
		if err != nil || total != 2 {
			t.Errorf("without any column: %d rows, %v", total, err)
		}
	})
}

// Whatever stands in an integer column, it reads as SQLite converts it, and as Null where there is no number in it.
func TestOddValues(t *testing.T) {
	t.Parallel()
	script := `CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end BLOB, bytes REAL, streamId TEXT);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES
 (0, 1, 2, 3), (NULL, NULL, NULL, NULL), (-1, -128, -32769, '-8'), (4611686018427387903, -4611686018427387903, 1e14, '12abc'),
 ('words', x'00ff', 2.5, 'words'), (8388608, 140737488355328, 0.0, '0'), ('7', '7.9', -7.9, ''), (1, 0, 1, ' 4');`
	want := [][]int64{{0, 1, 2, 3}, {Null, Null, Null, Null}, {-1, -128, -32769, -8}, {1<<62 - 1, -1<<62 + 1, 1e14, 12},
		{Null, Null, 2, Null}, {8388608, 140737488355328, 0, 0}, {7, 7, -7, Null}, {1, 0, 1, 4}}
	for _, encoding := range []string{"UTF-8", "UTF-16le", "UTF-16be"} {
		bothWays(t, func(t *testing.T, way ...Option) {
			db := open(t, build(t, "PRAGMA encoding='"+encoding+"';"+script), way...)
			got := rows(t, db, Scan{Table: Memset, Columns: []Column{Start, End, Bytes, StreamID}})
			for i := range want {
				if i >= len(got) || !slices.Equal(got[i], want[i]) {
					t.Errorf("%s: row %d of %v, want %v", encoding, i, got, want[i])
				}
			}
		})
	}
}

// Times and sizes that no recording can have are read as Null: sums and differences of the others stay within int64.
func TestImpossibleValues(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		db := open(t, build(t, nvtxTable+`CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, address INTEGER, bytes INTEGER, localMemoryPoolSize INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 9223372036854775807, 140737488355328, 1e300), (4611686018427387904, -9223372036854775807, 4611686018427387904, 1),
 (-9223372036854775807, 0, -9223372036854775807, -9223372036854775807);
INSERT INTO NVTX_EVENTS (start, end, eventType, text) VALUES (9223372036854775807, 9223372036854775807, 59, 'a'), (-9223372036854775807, 5, 59, 'b'), (5, 9223372036854775807, 59, 'c'), (5, 6, 59, 'd')`), way...)
		want := [][]int64{{1, 1<<63 - 1, 1 << 47, Null}, {Null, -1<<63 + 1, Null, 1}, {Null, 0, Null, Null}}
		if got := rows(t, db, Scan{Table: MemoryUsage, Columns: []Column{Start, Address, Bytes, PoolSize}}); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("got %v, want %v", got, want)
		}
		nv, err := db.NVTX(context.Background())
		if err != nil || len(nv.Ranges) != 2 || nv.Ranges[0].End != Null || !nv.Ranges[0].Damaged || nv.Ranges[1].End != 6 {
			t.Errorf("%+v, %v", nv, err)
		}
	})
}

// A view that cannot be read costs the listing nothing else.
func TestTablesWithBrokenView(t *testing.T) {
	t.Parallel()
	db := open(t, build(t, small+"CREATE VIEW a AS SELECT * FROM nowhere; CREATE VIEW b AS SELECT abs(-9223372036854775808) AS x; CREATE VIEW z AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME"))
	tables, err := db.Tables()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, info := range tables {
		names = append(names, info.Name)
	}
	if !slices.Contains(names, "z") || slices.Contains(names, "a") {
		t.Errorf("tables %v", names)
	}
}

// Kinds of table that are not plain: views, without rowid, with the rowid as a column, with columns added or computed,
// with gaps between rowids, with rows longer than a page, with the name of the rowid taken.
func TestOddTables(t *testing.T) {
	t.Parallel()
	numbers := `WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<10000) `
	const name = "CUPTI_ACTIVITY_KIND_RUNTIME"
	for what, script := range map[string]string{
		"view": `CREATE TABLE t (start INTEGER, nameId INTEGER); ` + `INSERT INTO t ` + numbers + `SELECT i, 2*i FROM k;
			CREATE VIEW ` + name + ` AS SELECT * FROM t`,
		"without rowid": `CREATE TABLE ` + name + ` (start INTEGER PRIMARY KEY, nameId INTEGER) WITHOUT ROWID;
			INSERT INTO ` + name + ` ` + numbers + `SELECT i, 2*i FROM k`,
		"primary key": `CREATE TABLE ` + name + ` (nameId INTEGER, start INTEGER PRIMARY KEY);
			INSERT INTO ` + name + ` ` + numbers + `SELECT 2*i, i FROM k`,
		"added column": `CREATE TABLE ` + name + ` (start INTEGER); INSERT INTO ` + name + ` ` + numbers + `SELECT i FROM k WHERE i<=5000;
			ALTER TABLE ` + name + ` ADD COLUMN nameId INTEGER; UPDATE ` + name + ` SET nameId=2*start WHERE start%2=0;
			INSERT INTO ` + name + ` ` + numbers + `SELECT i, 2*i FROM k WHERE i>5000; UPDATE ` + name + ` SET nameId=2*start`,
		"default": `CREATE TABLE ` + name + ` (start INTEGER); INSERT INTO ` + name + ` ` + numbers + `SELECT i FROM k;
			ALTER TABLE ` + name + ` ADD COLUMN nameId INTEGER DEFAULT 8; UPDATE ` + name + ` SET nameId=2*start WHERE start<>4`,
		"computed": `CREATE TABLE ` + name + ` (x INTEGER AS (start+1), start INTEGER, nameId INTEGER AS (2*start));
			INSERT INTO ` + name + `(start) ` + numbers + `SELECT i FROM k`,
		"gaps": `CREATE TABLE ` + name + ` (start INTEGER, nameId INTEGER); INSERT INTO ` + name + `(rowid, start, nameId) ` + numbers + `
			SELECT (i-5000)*900000000000000, i, 2*i FROM k`,
		"long rows": `CREATE TABLE ` + name + ` (start INTEGER, x TEXT, nameId INTEGER); INSERT INTO ` + name + ` ` + numbers + `
			SELECT i, CASE WHEN i%1000=7 THEN printf('%9000c', 'x') END, 2*i FROM k`,
		"rowid taken": `CREATE TABLE ` + name + ` (rowid TEXT, start INTEGER, nameId INTEGER); INSERT INTO ` + name + ` ` + numbers + `
			SELECT 'x', i, 2*i FROM k`,
		"small pages": `PRAGMA page_size=512; CREATE TABLE ` + name + ` (start INTEGER, nameId INTEGER); INSERT INTO ` + name + ` ` + numbers + `
			SELECT i, 2*i FROM k`,
		"large pages": `PRAGMA page_size=65536; CREATE TABLE ` + name + ` (start INTEGER, nameId INTEGER); INSERT INTO ` + name + ` ` + numbers + `
			SELECT i, 2*i FROM k`,
		"auto vacuum": `PRAGMA auto_vacuum=FULL; PRAGMA page_size=1024; CREATE TABLE ` + name + ` (start INTEGER, nameId INTEGER); INSERT INTO ` + name + ` ` + numbers + `
			SELECT i, 2*i FROM k; DELETE FROM ` + name + ` WHERE start>9000; INSERT INTO ` + name + ` ` + numbers + `SELECT i, 2*i FROM k WHERE i>9000`,
		"many columns": `CREATE TABLE ` + name + ` (` + manyColumns(200) + `, start INTEGER, nameId INTEGER); INSERT INTO ` + name + `(start, nameId) ` + numbers + `SELECT i, 2*i FROM k`,
	} {
		t.Run(what, func(t *testing.T) {
			path := build(t, script)
			bothWays(t, func(t *testing.T, way ...Option) {
				db := open(t, path, way...)
				for _, scan := range []Scan{{Parts: 1}, {Parts: 4}, {Sorted: true}} {
					scan.Table, scan.Columns = API, []Column{NameID, Start}
					got := rows(t, db, scan)
					if len(got) != 10000 || db.Rows(API) < 10000 {
						t.Fatalf("%d rows, at most %d", len(got), db.Rows(API))
					}
					for i, r := range got {
						if r[1] != int64(i+1) || r[0] != 2*r[1] {
							t.Fatalf("row %d is %v", i, r)
						}
					}
				}
			})
		})
	}
}

func manyColumns(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("c%d INTEGER", i)
	}
	return strings.Join(list, ",")
}

// Rows out of order come sorted when asked for, with NULL first.
func TestSorted(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, way ...Option) {
		db := open(t, build(t, `CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (30, 3), (10, 1), (NULL, 0), (20, 2)`), way...)
		got := rows(t, db, Scan{Table: API, Columns: []Column{NameID, Start}, Sorted: true, Parts: 4})
		if want := [][]int64{{0, Null}, {1, 10}, {2, 20}, {3, 30}}; !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("got %v", got)
		}
		if got := rows(t, db, Scan{Table: API, Columns: []Column{NameID}}); got[0][0] != 3 {
			t.Errorf("unsorted %v", got)
		}
	})
}

// Numbers of kinds and operations are translated by the names that the export gives them, never by its labels.
func TestEnums(t *testing.T) {
	t.Parallel()
	const events = `CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, memKind INTEGER, memoryOperationType INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 2, 0), (2, 3, 1), (3, 9, 7), (4, NULL, NULL), (5, 5, 2), (6, 1, 1);
CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER, operationType INTEGER); INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (1, 1), (2, 2), (3, 3);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, copyKind INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 1), (2, 8), (3, 40);`
	shifted := `CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE','Device'), (2,'CUDA_MEMOPR_MEMORY_KIND_PINNED','x'), (3,'CUDA_MEMOPR_MEMORY_KIND_DEVICE',NULL),
 (6,'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC','Device Static'), (9,'CUDA_MEMOPR_MEMORY_KIND_HOLOGRAPHIC','Device');
CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES (1,'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION','Deallocation'), (2,'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION','Allocation');
CREATE TABLE ENUM_CUDA_MEMPOOL_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMPOOL_OPER VALUES (1,'CUDA_MEMPOOL_OPERATION_TYPE_TRIMMED',''), (2,'CUDA_MEMPOOL_OPERATION_TYPE_CREATED',''), (3,'CUDA_MEMPOOL_OPERATION_TYPE_DESTROYED','');
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1,'CUDA_MEMCPY_KIND_UVM_HTOD',''), (8,'CUDA_MEMCPY_KIND_HTOD','');`
	for _, c := range []struct {
		name, script           string
		kinds, ops, pool, copy []int64
		warnings               []string
	}{
		{"built-in", events, []int64{KindDevice, KindArray, 9, Null, KindDeviceStatic, KindPinned}, []int64{OpAlloc, OpFree, 7, Null, 2, OpFree},
			[]int64{PoolCreated, PoolDestroyed, PoolTrimmed}, []int64{CopyHtoD, CopyDtoD, 40}, nil},
		// The export does not name kind 5 or operation 0: they must not pass for what these numbers mean here.
		{"shifted", events + shifted, []int64{KindPinned, KindDevice, 9, Null, 1005, KindPageable}, []int64{1000, OpAlloc, 7, Null, OpFree, OpAlloc},
			[]int64{PoolTrimmed, PoolCreated, PoolDestroyed}, []int64{CopyUMHtoD, CopyHtoD, 40}, []string{"unknown-enum"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, way ...Option) {
				db := open(t, build(t, c.script), way...)
				column := func(table Table, col Column) (vs []int64) {
					for _, r := range rows(t, db, Scan{Table: table, Columns: []Column{col}}) {
						vs = append(vs, r[0])
					}
					return vs
				}
				for what, got := range map[string][2][]int64{
					"kinds": {column(MemoryUsage, MemKind), c.kinds}, "operations": {column(MemoryUsage, Operation), c.ops},
					"pool operations": {column(MemoryPool, Operation), c.pool}, "copies": {column(Memcpy, CopyKind), c.copy},
				} {
					if !slices.Equal(got[0], got[1]) {
						t.Errorf("%s %v, want %v", what, got[0], got[1])
					}
				}
				if got := codes(db.Warnings()); !slices.Equal(got, c.warnings) {
					t.Errorf("warnings %v", db.Warnings())
				}
			})
		})
	}
}

func TestMemKindName(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{KindDevice: "device", KindDeviceStatic: "device static", KindManagedStatic: "managed static",
		9: "kind 9", 1005: "kind 5", 1999: "kind 1999", Null: "unknown", KindUnknown: "unknown", -3: "kind -3"} {
		if got := MemKindName(n); got != want {
			t.Errorf("MemKindName(%d) = %q, want %q", n, got, want)
		}
	}
}

// Strings are found one by one, many at once, and where the id is no key; an id without a row is told from one.
func TestStrings(t *testing.T) {
	t.Parallel()
	for what, script := range map[string]string{
		"key":    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
		"no key": "CREATE TABLE StringIds (id INTEGER, value TEXT)",
	} {
		t.Run(what, func(t *testing.T) {
			db := open(t, build(t, script+`; INSERT INTO StringIds WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM k WHERE i<999) SELECT 2*i, 'name ' || (2*i) FROM k`))
			if got := db.String(4); got != "name 4" {
				t.Errorf("got %q", got)
			}
			if got := db.String(99); got != "<string 99>" {
				t.Errorf("got %q", got)
			}
			if got, err := db.strs.lookup([]int64{99, Null}); len(got) > 0 || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
			var ids []int64
			for id := range int64(2002) {
				ids = append(ids, id)
			}
			got, err := db.strs.lookup(ids)
			if err != nil || len(got) != 1000 || got[1998] != "name 1998" {
				t.Errorf("%d strings, %v", len(got), err)
			}
		})
	}
	if got := open(t, build(t, "CREATE TABLE NVTX_EVENTS (start INTEGER)")).String(3); got != "<string 3>" {
		t.Errorf("without a table: %q", got)
	}
}

// The callback's error and the context's end a scan, in every part.
func TestScanEnds(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<100000) SELECT -i FROM k`)
	stop := errors.New("enough")
	bothWays(t, func(t *testing.T, way ...Option) {
		db := open(t, path, way...)
		for _, scan := range []Scan{{}, {Parts: 4}, {Sorted: true}} {
			scan.Table, scan.Columns = API, []Column{Start}
			if err := db.Scan(context.Background(), scan, func(*Batch) error { return stop }); err != stop {
				t.Errorf("got %v", err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			err := db.Scan(ctx, scan, func(*Batch) error { cancel(); return nil })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			// The connections are good for another scan.
			if got := rows(t, db, scan); len(got) != 100000 {
				t.Errorf("%d rows", len(got))
			}
		}
		if _, err := db.NVTX(context.Background()); err != nil || db.HasNVTX() {
			t.Errorf("without NVTX: %v", err)
		}
	})
}
