package nsysdb

import (
	"fmt"
	"slices"
	"testing"
)

// chains is a script of so many call chains of 40 frames, with a primary key or without.
func chains(n int, key string) string {
	return fmt.Sprintf(`CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
		CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, unresolved INTEGER, stackDepth INTEGER NOT NULL%s);
		INSERT INTO CUDA_CALLCHAINS WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM k WHERE i<%d)
		SELECT i/40, i, 7, CASE WHEN i%%3=0 THEN 1 END, i%%40 FROM k`, key, 40*n-1)
}

var chainColumns = []Column{ID, Depth, Symbol, Unresolved}

// A few chains of many are sought; many, or those of a table without an index, are read with all others. Both give all rows
// of the chains that are wanted, by id.
func TestChains(t *testing.T) {
	t.Parallel()
	const key = ", PRIMARY KEY (id, stackDepth)"
	for what, c := range map[string]struct {
		script string
		wanted []int64
		sought bool
	}{
		"few":           {chains(1000, key), []int64{3, 500, 999}, true},
		"none of them":  {chains(1000, key), []int64{}, true},
		"dangling":      {chains(1000, key), []int64{-5, 3, 4000}, true},
		"many":          {chains(1000, key), slices.Collect(evens(1000)), false},
		"no index":      {chains(1000, ""), []int64{3, 500, 999}, false},
		"other index":   {chains(1000, ", PRIMARY KEY (stackDepth, id)"), []int64{3, 500, 999}, false},
		"out of order":  {chains(1000, "") + "; UPDATE CUDA_CALLCHAINS SET id=999-id", []int64{3, 500, 999}, false},
		"without rowid": {chains(1000, key+") WITHOUT ROWID; CREATE TABLE x (i INTEGER"), []int64{3, 500, 999}, true},
	} {
		t.Run(what, func(t *testing.T) {
			path := build(t, c.script)
			bothWays(t, func(t *testing.T, way ...Option) {
				db := open(t, path, way...)
				got := rows(t, db, Scan{Table: CallChain, Columns: chainColumns, Sorted: true, Chains: c.wanted})
				if sought := len(got) < 40*1000; sought != c.sought {
					t.Errorf("%d rows, sought %v", len(got), sought)
				}
				if !slices.IsSortedFunc(got, func(x, y []int64) int { return int(x[0] - y[0]) }) {
					t.Error("not by id")
				}
				frames := map[int64]int{}
				for _, r := range got {
					frames[r[0]]++
				}
				for _, id := range c.wanted {
					want := 40
					if id < 0 || id >= 1000 {
						want = 0
					}
					if frames[id] != want {
						t.Errorf("chain %d has %d frames", id, frames[id])
					}
				}
			})
		})
	}
}

func evens(n int64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		for i := int64(0); i < n; i += 2 {
			if !yield(i) {
				return
			}
		}
	}
}

// A table with a primary key of two columns is read from the pages: none of them is the rowid.
func TestTwoKeysArePlain(t *testing.T) {
	t.Parallel()
	for script, plain := range map[string]bool{
		chains(3, ", PRIMARY KEY (id, stackDepth)"): true,
		`CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE CUDA_CALLCHAINS (id INTEGER PRIMARY KEY, symbol INTEGER)`: false,
	} {
		db := open(t, build(t, script))
		if got := db.plain(db.tables[CallChain]); got != plain {
			t.Errorf("plain %v of %s", got, script)
		}
	}
}

// A string is told from none.
func TestLookup(t *testing.T) {
	t.Parallel()
	db := open(t, build(t, chains(1, "")+"; INSERT INTO StringIds VALUES (1, 'cudaMalloc'), (2, '')"))
	for id, want := range map[int64]string{1: "cudaMalloc", 2: ""} {
		if got, ok := db.Lookup(id); got != want || !ok {
			t.Errorf("%d: %q %v", id, got, ok)
		}
	}
	for _, id := range []int64{3, Null} {
		if got, ok := db.Lookup(id); ok || got != "" {
			t.Errorf("%d: %q", id, got)
		}
	}
}

// Chains that cannot be read are no reason not to open a report: they tell of few of its figures.
func TestBrokenChains(t *testing.T) {
	t.Parallel()
	const broken = "CREATE VIEW %s AS SELECT * FROM nothere"
	db := open(t, build(t, chains(1, "")+"; DROP TABLE CUDA_CALLCHAINS; "+fmt.Sprintf(broken, "CUDA_CALLCHAINS")))
	if !db.Missing(CallChain) {
		t.Error("there are chains")
	}
	if _, err := Open(build(t, chains(1, "")+"; "+fmt.Sprintf(broken, "CUPTI_ACTIVITY_KIND_RUNTIME"))); err == nil {
		t.Error("a broken view of calls is no error")
	}
}
