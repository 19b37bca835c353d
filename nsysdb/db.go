// Package nsysdb reads the SQLite exports of Nsight Systems. It finds tables and columns instead of assuming a
// version, gives event tables as columns of integers in batches, and never writes to the export or beside it.
package nsysdb

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"
)

// An Option changes how Open reads an export.
type Option uint8

// BySQLite has SQLite select all rows, also those of ordinary tables, which else are taken from the pages of the file.
// That gives the same rows in the same order, four times as slowly. It is for comparing the two, and for a file that the
// reader of pages should not be trusted with.
const BySQLite Option = 1

// A DB is an open export. Its methods may be called from several goroutines at once.
type DB struct {
	path     string
	info     *exportFile
	pool     *pool
	file     *treeFile // nil where only SQLite may read the pages
	meta     *Meta
	warnings []Warning
	tables   [numTables]*table // nil where the export has none
	cols     [numTables][numColumns]int
	enums    [numTables][numColumns]*enum
	nvtx     *table
	nvtxKind map[int64]nvtxKind
	strs     *stringTable

	mu     sync.Mutex
	schema *schema // with a connection of its own, both under mu
}

// Open opens an export for reading and reads its Meta. It creates no file and writes none. While another process writes
// the export it waits, for seconds. Its errors are *Error.
func Open(path string, options ...Option) (*DB, error) {
	return openWithin(path, lockWait, options...)
}

// openWithin is Open with a bound for how long it waits.
func openWithin(path string, wait time.Duration, options ...Option) (*DB, error) {
	f, err := openFile(path, wait)
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, info: f, pool: &pool{path: path}, warnings: f.warnings}
	if !slices.Contains(options, BySQLite) {
		db.file = newTreeFile(f)
	}
	if err := db.load(); err != nil {
		db.Close()
		return nil, db.opening(err)
	}
	return db, nil
}

// load reads all that is known without events: the schema, where the events are, and Meta. Meta comes last, as the time
// of the recording is held against the events.
func (db *DB) load() error {
	c, err := dial(db.path)
	if err != nil {
		return err
	}
	if db.schema, err = readSchema(c, db.info.size); err != nil {
		return err
	}
	if !slices.ContainsFunc(db.schema.names, ofExport) {
		return openError(db.path, errNotExport, "is a SQLite file but not an export of Nsight Systems"+exportSQLite)
	}
	if err := db.discover(); err != nil {
		return err
	}
	return db.readMeta()
}

// opening makes an error of the first reads one of opening.
func (db *DB) opening(err error) error {
	if e, ok := err.(*Error); ok {
		e.Op = "open"
		return e
	}
	return openError(db.path, errRead, "%v", err)
}

// Close gives back what the DB holds. No other method may run or be called any more.
func (db *DB) Close() error {
	db.pool.close()
	if db.strs != nil {
		db.strs.close()
	}
	db.info.Close() // only now: connections and the reader of pages are done
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.schema != nil {
		db.schema.c.close()
	}
	return nil
}

// Path is the path as given to Open.
func (db *DB) Path() string { return db.path }

// Meta is what the export says of itself. The caller must not change it.
func (db *DB) Meta() *Meta { return db.meta }

// Warnings are the doubts found on opening.
func (db *DB) Warnings() []Warning { return slices.Clone(db.warnings) }

// Has says whether the export has a table, with all of the columns.
func (db *DB) Has(t Table, cols ...Column) bool {
	if t >= numTables || db.tables[t] == nil {
		return false
	}
	for _, c := range cols {
		if c >= numColumns || db.cols[t][c] < 0 {
			return false
		}
	}
	return true
}

// Missing says whether the export lacks a table.
func (db *DB) Missing(t Table) bool { return !db.Has(t) }

// need is nil where the export has a table, and otherwise an *Error that says how to record it.
func (db *DB) need(t Table) error {
	if db.Has(t) {
		return nil
	}
	return readError(db.path, errNoTable, "no table "+t.String()+": "+db.absence(t))
}

// absence says why a table is not there. Nsight Systems makes a table with its first row.
func (db *DB) absence(t Table) string {
	said := db.meta.CollectCUDA
	if t == MemoryUsage || t == MemoryPool {
		said = db.meta.CollectMemory
	}
	if said == On {
		return "such events were recorded, but none came"
	}
	if t >= numTables {
		return "not known here"
	}
	return advice[t]
}

// Rows is an upper bound of a table's number of rows, known without reading them; 0 where there is no table.
func (db *DB) Rows(t Table) int64 {
	if !db.Has(t) {
		return 0
	}
	return db.tables[t].rows
}

// HasNVTX says whether the export has a table of NVTX events.
func (db *DB) HasNVTX() bool { return db.nvtx != nil }

// Tables lists all tables and views of the export by name, with exact numbers of rows: it reads the whole file. Views
// that cannot be read, such as for want of a table, are left out.
func (db *DB) Tables() ([]TableInfo, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	var list []TableInfo
	for _, name := range db.schema.names {
		info, err := db.listed(name)
		if err != nil && (isDamage(err) || !db.schema.views[name]) {
			return nil, db.reading(err)
		}
		if err == nil {
			list = append(list, info)
		}
	}
	return list, nil
}

// listed is one line of Tables.
func (db *DB) listed(name string) (TableInfo, error) {
	info := TableInfo{Name: name}
	t, err := db.schema.describe(name)
	if err != nil {
		return info, err
	}
	for _, c := range t.columns {
		info.Columns = append(info.Columns, c.name)
	}
	err = db.schema.c.query("SELECT count(*) FROM "+ident(name), func(r *stmt) { info.Rows = r.int(0) })
	return info, err
}

// reading adds to an error whether the file changed meanwhile, which explains any damage and any end before its time.
func (db *DB) reading(err error) error {
	if err == nil || !isDamage(err) && !errors.Is(err, errRead) {
		return err
	}
	if changed := db.changed(); changed != nil {
		return changed
	}
	return err
}

// changed is an error where the file is no longer the one that was opened.
func (db *DB) changed() error {
	fi, err := os.Stat(db.path)
	if err == nil && fi.Size() == db.info.size && fi.ModTime().Equal(db.info.modTime) {
		return nil
	}
	return readError(db.path, errChanged,
		"the file changed while it was read: let the other program finish, then run again")
}
