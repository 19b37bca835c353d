package nsysdb

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// damagedExport is a small export with tables of several pages, texts, and a row that goes on in other pages.
const damagedExport = `PRAGMA page_size=512;` + nvtxTable + `
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.3');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT); INSERT INTO ENUM_CUDA_MEM_KIND VALUES (2, 'MEMORY_KIND_DEVICE', '');
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT); INSERT INTO PROCESSES VALUES (83886080, 5, 'train');
INSERT INTO StringIds VALUES (1, 'forward');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<400) SELECT 1000000*i, 1000000*i+5, 83886081, i, 1 FROM k;
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, bytes INTEGER, memKind INTEGER, address INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<50) SELECT 1000-i, 64*i, 2, i<<40 FROM k;
INSERT INTO NVTX_EVENTS WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<40) SELECT i, i+1, 59, printf('%*c', 1+(i%9)*(i%9)*20, 'x'), 1, 83886081, NULL, 0 FROM k;`

// readAll reads everything that a report has, in every way.
func readAll(db *DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	for table := range numTables {
		if db.Missing(table) {
			continue
		}
		for _, scan := range []Scan{{}, {Parts: 3}, {Sorted: true}} {
			scan.Table, scan.Columns = table, allColumns()
			errs = append(errs, db.Scan(ctx, scan, func(b *Batch) error {
				for i, c := range b.Cols {
					if c != nil && len(c) != b.Rows {
						panic(columnNames[i][0] + " has another number of rows")
					}
				}
				return nil
			}))
		}
	}
	_, err := db.NVTX(ctx)
	errs = append(errs, err)
	_, err = db.Tables()
	errs = append(errs, err)
	_, err = db.strs.lookup([]int64{0, 1, 2})
	db.String(1)
	return errors.Join(append(errs, err, ctx.Err())...)
}

// checkDamaged opens and reads a damaged copy: it must end, without a panic, with errors of this package only, and
// leave the file and its folder alone.
func checkDamaged(t *testing.T, damaged []byte) (failed bool) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.sqlite")
	write(t, path, damaged)
	db, err := Open(path)
	if err == nil {
		err = readAll(db)
		db.Close()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reading does not end")
	}
	var e *Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("an error of another kind: %v", err)
	}
	if files := listing(t, dir); len(files) != 1 || files["x.sqlite"] != string(damaged) {
		t.Error("the folder changed")
	}
	return err != nil
}

func FuzzOpen(f *testing.F) {
	seed := content(f, build(f, damagedExport))
	f.Add(uint32(0), byte(0), uint32(len(seed)), uint32(0), byte(0))
	f.Add(uint32(29), byte(1), uint32(len(seed)), uint32(100), byte(8))
	f.Add(uint32(1024), byte(0xff), uint32(len(seed)), uint32(1536), byte(5))
	f.Add(uint32(4000), byte(0x80), uint32(3000), uint32(0), byte(0))
	f.Fuzz(func(t *testing.T, at uint32, mask byte, length, at2 uint32, mask2 byte) {
		content := slices.Clone(seed)
		content[int(at)%len(content)] ^= mask
		content[int(at2)%len(content)] ^= mask2
		checkDamaged(t, content[:int(length)%(len(content)+1)])
	})
}

// Damage all over the file.
func TestDamaged(t *testing.T) {
	t.Parallel()
	seed := content(t, build(t, damagedExport))
	if checkDamaged(t, seed) {
		t.Fatal("the whole file does not read")
	}
	failed := 0
	for i := 0; i < len(seed); i += 97 {
		content := slices.Clone(seed)
		content[i] ^= byte(1 << (i % 8))
		content[(i*31)%len(seed)] ^= 0xff
		if checkDamaged(t, content) {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
}

// Reading from pages finds damage where SQLite does, and else gives the same rows, but for a few places where one of
// them looks closer than the other.
func TestDamagedBothWays(t *testing.T) {
	t.Parallel()
	seed := content(t, build(t, damagedExport))
	dir := t.TempDir()
	same, differ := 0, 0
	for i := 512; i < len(seed); i += 41 {
		content := slices.Clone(seed)
		content[i] ^= byte(1 << (i % 8))
		path := filepath.Join(dir, "x.sqlite")
		write(t, path, content)
		bySQLite, sqliteErr := scanned(path, BySQLite)
		byPages, pagesErr := scanned(path)
		switch {
		case sqliteErr == nil && pagesErr == nil && slices.Equal(bySQLite, byPages):
			same++
		case sqliteErr != nil && pagesErr != nil:
		default:
			differ++
			t.Logf("byte %d: SQLite says %v, the pages %v", i, sqliteErr, pagesErr)
		}
	}
	if differ > same/50 {
		t.Errorf("%d files read alike, %d do not", same, differ)
	}
}

// scanned opens a report and reads some columns of its API calls.
func scanned(path string, way ...Option) (values []int64, err error) {
	db, err := Open(path, way...)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	err = db.Scan(context.Background(), Scan{Table: API, Columns: []Column{Start, End, NameID}}, func(b *Batch) error {
		for _, c := range b.Cols {
			values = append(values, c...)
		}
		return nil
	})
	return values, err
}
