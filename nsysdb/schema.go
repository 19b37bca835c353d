package nsysdb

import (
	"strconv"
	"strings"
)

// A table is a table or view of the export.
type table struct {
	name    string
	columns []column
	byName  map[string]int // lower-case column name → index in columns
	view    bool
	noRowid bool
	root    uint32 // page of the root of its b-tree; 0 for a view
	plain   bool   // every column is stored, and none has a default or is the rowid
	min     int64  // lowest rowid
	max     int64  // highest rowid
	rows    int64  // upper bound of the number of rows
}

type column struct {
	name    string
	primary int // place in the primary key, from 1; 0 where it is not part of it
}

// col is the index of the first of the names that the table has as a column, -1 where there is none.
func (t *table) col(names ...string) int {
	if t == nil {
		return -1
	}
	for _, n := range names {
		if i, ok := t.byName[strings.ToLower(n)]; ok {
			return i
		}
	}
	return -1
}

// tableNames are the tables' names without a version suffix.
var tableNames = [numTables]string{
	MemoryUsage: "CUDA_GPU_MEMORY_USAGE_EVENTS",
	MemoryPool:  "CUDA_GPU_MEMORY_POOL_EVENTS",
	Kernel:      "CUPTI_ACTIVITY_KIND_KERNEL",
	Memcpy:      "CUPTI_ACTIVITY_KIND_MEMCPY",
	Memset:      "CUPTI_ACTIVITY_KIND_MEMSET",
	GraphTrace:  "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
	API:         "CUPTI_ACTIVITY_KIND_RUNTIME",
	CallChain:   "CUDA_CALLCHAINS",
}

// String is the table's name without a version suffix.
func (t Table) String() string {
	if t < numTables {
		return tableNames[t]
	}
	return "table " + strconv.Itoa(int(t))
}

// advice says how to record what a table holds.
var advice = [numTables]string{
	MemoryUsage: "profile with --cuda-memory-usage=true",
	MemoryPool:  "profile with --cuda-memory-usage=true a program that uses memory pools",
	Kernel:      "profile with --trace=cuda",
	Memcpy:      "profile with --trace=cuda a program that copies memory",
	Memset:      "profile with --trace=cuda a program that sets memory",
	GraphTrace:  "profile with --trace=cuda --cuda-graph-trace=graph a program that launches CUDA graphs",
	API:         "profile with --trace=cuda",
	CallChain:   "profile with --sample=process-tree --cudabacktrace=memory:0",
}

// columnNames are the names that a column has, in one table or the other.
var columnNames = [numColumns][]string{
	Start: {"start"}, End: {"end"}, GlobalPID: {"globalPid"}, GlobalTID: {"globalTid"}, DeviceID: {"deviceId"},
	ContextID: {"contextId"}, StreamID: {"streamId"}, CorrelationID: {"correlationId"}, Address: {"address"},
	Bytes: {"bytes"}, MemKind: {"memKind"}, Operation: {"memoryOperationType", "operationType"},
	PoolAddress: {"localMemoryPoolAddress"}, PoolSize: {"localMemoryPoolSize"}, PoolUsed: {"localMemoryPoolUtilizedSize"},
	ImportedPool: {"importedMemoryPoolAddress"}, NameID: {"nameId", "shortName"}, FullNameID: {"demangledName"},
	ReturnValue: {"returnValue"}, CopyKind: {"copyKind"},
	GridX: {"gridX"}, GridY: {"gridY"}, GridZ: {"gridZ"}, BlockX: {"blockX"}, BlockY: {"blockY"},
	BlockZ: {"blockZ"}, GraphID: {"graphId"}, ChainID: {"callchainId"}, ID: {"id"}, Depth: {"stackDepth"}, Symbol: {"symbol"},
	Module: {"module"}, Unresolved: {"unresolved"},
}

// version is the number n of a table named base_Vn, 1 for base itself, 0 for any other name. So …_MEMCPY2 is no
// version of …_MEMCPY.
func version(base, name string) int {
	if len(name) < len(base) || !strings.EqualFold(name[:len(base)], base) {
		return 0
	}
	rest := name[len(base):]
	if rest == "" {
		return 1
	}
	if len(rest) < 3 || !strings.EqualFold(rest[:2], "_V") {
		return 0
	}
	n, err := strconv.Atoi(rest[2:])
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// schema is all tables and views of the export, each described when it is first asked for.
type schema struct {
	c     *conn
	size  int64 // bytes of the file
	names []string
	views map[string]bool
	roots map[string]uint32
	known map[string]*table
}

// readSchema lists tables and views without those of SQLite's own.
func readSchema(c *conn, size int64) (*schema, error) {
	s := &schema{c: c, size: size, views: map[string]bool{}, roots: map[string]uint32{}, known: map[string]*table{}}
	const all = `SELECT type, name, rootpage FROM sqlite_master
		WHERE type IN ('table','view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`
	err := c.query(all, func(r *stmt) {
		name := r.string(1)
		s.names = append(s.names, name)
		s.views[name] = r.string(0) == "view"
		if root := r.int(2); root > 1 && root < 1<<32 {
			s.roots[name] = uint32(root)
		}
	})
	return s, err
}

// describe reads the columns of a table and the bounds of its rowids.
func (s *schema) describe(name string) (*table, error) {
	if t, ok := s.known[name]; ok {
		return t, nil
	}
	t := &table{name: name, view: s.views[name], root: s.roots[name], plain: true, byName: map[string]int{}}
	keys := 0
	err := s.c.query("PRAGMA table_xinfo("+ident(name)+")", func(r *stmt) {
		primary, hidden := int(r.int(5)), r.int(6)
		keys = max(keys, primary)
		// The pages lack what is computed, and a default of a column that was added later.
		t.plain = t.plain && hidden == 0 && r.text(4) == nil
		if hidden != 1 {
			c := column{name: r.string(1), primary: primary}
			t.byName[strings.ToLower(c.name)] = len(t.columns)
			t.columns = append(t.columns, c)
		}
	})
	if err != nil {
		return nil, err
	}
	t.plain = t.plain && keys != 1 // one column alone may be the rowid, which the pages lack too
	s.known[name] = t
	return t, s.bound(t)
}

// bound finds the bounds of a table's rowids, and of the number of its rows.
func (s *schema) bound(t *table) error {
	// A table WITHOUT ROWID refuses the name; one that has a column of the name hides the rowid behind it.
	if t.noRowid = t.col("rowid") >= 0; !t.view && !t.noRowid {
		from := " FROM " + ident(t.name)
		err := s.c.query("SELECT (SELECT min(rowid)"+from+"), (SELECT max(rowid)"+from+")", func(r *stmt) {
			t.min, t.max = r.int(0), r.int(1)
		})
		if isDamage(err) {
			return err
		}
		t.noRowid = err != nil
	}
	if t.view || t.noRowid {
		return s.c.query("SELECT count(*) FROM "+ident(t.name), func(r *stmt) { t.rows = r.int(0) })
	}
	if t.min == Null || t.max == Null {
		t.min, t.max = 0, -1
		return nil
	}
	// Gaps between rowids may be wide, so the size of the file bounds the number too: a row is never under 8 bytes.
	if t.rows = t.max - t.min + 1; t.rows <= 0 || t.rows > s.size/8 {
		t.rows = s.size / 8
	}
	return nil
}

// find is the table of that name, or the newest version of it that has rows; nil where there is none. It also says
// which other versions have rows, which is a doubt.
func (s *schema) find(base string) (best *table, others []string, err error) {
	bestVersion := 0
	for _, name := range s.names {
		v := version(base, name)
		if v == 0 {
			continue
		}
		t, err := s.describe(name)
		if err != nil {
			return nil, nil, err
		}
		better := best == nil || t.rows > 0 && best.rows == 0 || v > bestVersion && (t.rows > 0) == (best.rows > 0)
		if better {
			best, t = t, best
			bestVersion = v
		}
		if t != nil && t.rows > 0 {
			others = append(others, t.name)
		}
	}
	return best, others, nil
}
