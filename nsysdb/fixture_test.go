package nsysdb

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite"
)

// build makes an export of a script and gives its path.
func build(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	run(t, path, script)
	return path
}

// run runs a script on a database file. No test outlives a crash of the machine, so nothing waits for the disk.
func run(t testing.TB, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA synchronous=OFF; " + script); err != nil {
		t.Fatalf("%v in %s", err, script)
	}
}

// open opens an export for one test.
func open(t testing.TB, path string, way ...Option) *DB {
	t.Helper()
	db, err := Open(path, way...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// rows reads a table as rows, in order of rowid or start.
func rows(t testing.TB, db *DB, scan Scan) [][]int64 {
	t.Helper()
	parts := make([][][]int64, max(scan.Parts, 1))
	err := db.Scan(context.Background(), scan, func(b *Batch) error {
		for i := range b.Rows {
			var row []int64
			for _, c := range b.Cols {
				if c != nil {
					row = append(row, c[i])
				}
			}
			parts[b.Part] = append(parts[b.Part], row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(parts...)
}

// content is what a file holds.
func content(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write makes a file of that content.
func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// allColumns is every column that a scan may ask for.
func allColumns() []Column {
	all := make([]Column, numColumns)
	for i := range all {
		all[i] = Column(i)
	}
	return all
}

// ways are the options of opening that choose a reader.
var ways = map[string][]Option{"pages": nil, "sqlite": {BySQLite}}

// bothWays runs a test with rows read from pages and with rows read by SQLite.
func bothWays(t *testing.T, f func(t *testing.T, way ...Option)) {
	t.Helper()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, way...)
		})
	}
}

// listing is the names of all files of a folder, with their content.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			files[e.Name()] = "(folder)"
			continue
		}
		files[e.Name()] = string(content(t, filepath.Join(dir, e.Name())))
	}
	return files
}

// codes are the codes of warnings.
func codes(ws []Warning) (list []string) {
	for _, w := range ws {
		list = append(list, w.Code)
	}
	return list
}
