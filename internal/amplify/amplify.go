// Package amplify makes exports of any size from a real one, to measure with.
package amplify

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Report writes to out, which must not exist, the export in with each of its event tables repeated copies times along
// the time axis. Each copy is the one before it later by the span of the report, with correlation ids of its own. Where
// memory is still live at the end of a copy, free rows are added there, so that a copy's rows do not depend on the
// others. Names of ranges stay as they are.
//
// told is called after every few rows written; it may be nil.
func Report(ctx context.Context, in, out string, copies int, told func(table string, done int)) (err error) {
	if copies < 1 {
		return fmt.Errorf("amplify %q: %d copies: ask for 1 or more", in, copies)
	}
	if err := copyFile(in, out); err != nil {
		return fmt.Errorf("amplify %q: %w", in, err)
	}
	defer func() {
		if err != nil {
			os.Remove(out)
			err = fmt.Errorf("amplify %q: %w", in, err)
		}
	}()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(out))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // the settings and temporary tables below belong to a connection
	r := &repeater{ctx: ctx, db: db, copies: copies, told: told}
	r.exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; BEGIN`)
	r.find()
	for i := range r.events {
		r.table(&r.events[i])
	}
	r.capture()
	r.exec("COMMIT")
	if r.err != nil {
		return r.err
	}
	return db.Close()
}

func copyFile(in, out string) error {
	src, err := os.Open(in)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		os.Remove(out)
		return err
	}
	return dst.Close()
}

// A repeater keeps the first error; after it, it does nothing more.
type repeater struct {
	ctx    context.Context
	db     *sql.DB
	copies int
	told   func(string, int)
	err    error

	events []table
	span   int64 // ns from one copy to the next
	last   int64 // ns; last moment of the report
	ids    int64 // from a correlation id to that of the next copy
}

type table struct {
	name string
	cols []string // those to be written
}

func (r *repeater) exec(query string, args ...any) {
	if r.err == nil {
		_, r.err = r.db.ExecContext(r.ctx, query, args...)
	}
}

// strings reads the first column of a query.
func (r *repeater) strings(query string, args ...any) (list []string) {
	if r.err != nil {
		return nil
	}
	rows, err := r.db.QueryContext(r.ctx, query, args...)
	if err != nil {
		r.err = err
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if r.err = rows.Scan(&s); r.err != nil {
			return nil
		}
		list = append(list, s)
	}
	r.err = rows.Err()
	return list
}

// int reads one number, 0 for NULL.
func (r *repeater) int(query string, args ...any) (v int64) {
	if r.err == nil {
		r.err = r.db.QueryRowContext(r.ctx, "SELECT coalesce(("+query+"),0)", args...).Scan(&v)
	}
	return v
}

// find finds the event tables, the span of the report and its highest correlation id.
func (r *repeater) find() {
	first := int64(1<<63 - 1)
	for _, name := range r.strings("SELECT name FROM sqlite_master WHERE type='table' ORDER BY rootpage") {
		t := table{name: name}
		timed := false
		for _, col := range r.strings("SELECT name FROM pragma_table_info(?) WHERE pk=0", name) {
			t.cols = append(t.cols, col)
			timed = timed || col == "start" || col == "timestamp"
		}
		if !timed || !repeats(name) {
			continue
		}
		r.events = append(r.events, t)
		if r.int("SELECT count(*) FROM (SELECT 1 FROM "+ident(name)+" LIMIT 1)") == 0 {
			continue
		}
		for _, col := range t.cols {
			switch {
			case isTime(col):
				if col == "start" || col == "timestamp" {
					first = min(first, r.int("SELECT min("+ident(col)+") FROM "+ident(name)))
				}
				r.last = max(r.last, r.int("SELECT max("+ident(col)+") FROM "+ident(name)))
			case isID(col):
				r.ids = max(r.ids, r.int("SELECT max("+ident(col)+") FROM "+ident(name)))
			}
		}
	}
	if r.err == nil && r.last < first {
		r.err = fmt.Errorf("the report has no events")
	}
	r.span = r.last - first + 1
	r.ids++
}

// repeats says whether a table that has times is one of events. What the profiler said of itself is not.
func repeats(table string) bool {
	others := []string{"TARGET_INFO_", "META_DATA_", "ENUM_", "ANALYSIS_", "DIAGNOSTIC_", "sqlite_"}
	return !slices.ContainsFunc(others, func(prefix string) bool { return strings.HasPrefix(table, prefix) })
}

func isTime(col string) bool {
	return col == "start" || col == "end" || col == "timestamp" || col == "rawTimestamp"
}

// isID says whether a column joins the rows of one copy with each other.
func isID(col string) bool {
	return col == "correlationId" || col == "endCorrelationId" || col == "rangeId"
}

const memoryTable = "CUDA_GPU_MEMORY_USAGE_EVENTS"

// table repeats the rows of one table. They are kept aside in memory, so that each copy is one statement.
func (r *repeater) table(t *table) {
	if len(t.cols) == 0 || r.err != nil {
		return
	}
	cols, exprs := make([]string, len(t.cols)), make([]string, len(t.cols))
	for i, c := range t.cols {
		cols[i] = ident(c)
		exprs[i] = cols[i]
		switch {
		case c == "end": // 0 says in older exports that there is none
			exprs[i] = fmt.Sprintf("CASE WHEN %s=0 THEN 0 ELSE %[1]s+?1 END", cols[i])
		case isTime(c):
			exprs[i] = cols[i] + "+?1"
		case isID(c): // 0 says that there is none
			exprs[i] = fmt.Sprintf("CASE WHEN %s=0 THEN 0 ELSE %[1]s+?2 END", cols[i])
		}
	}
	list := strings.Join(cols, ",")
	r.exec("CREATE TEMP TABLE src AS SELECT " + list + " FROM " + ident(t.name) + " ORDER BY rowid")
	if t.name == memoryTable {
		r.free(list)
	}
	insert := "INSERT INTO main." + ident(t.name) + "(" + list + ") SELECT " + strings.Join(exprs, ",") + " FROM src ORDER BY rowid"
	// The first copy is there already, but for its frees.
	if t.name == memoryTable {
		r.exec("DELETE FROM main." + ident(t.name))
		r.exec(insert, 0, 0)
	}
	for k := 1; k < r.copies && r.err == nil; k++ {
		r.exec(insert, int64(k)*r.span, int64(k)*r.ids)
		if r.told != nil {
			r.told(t.name, k+1)
		}
	}
	r.exec("DROP TABLE temp.src")
}

// free adds to src a free row for each block that is live at the end: whose address has an allocation as its last event.
func (r *repeater) free(list string) {
	has := func(name string) bool { return slices.Contains(strings.Split(list, ","), ident(name)) }
	if !has("memoryOperationType") || !has("address") || !has("globalPid") {
		return
	}
	corr := ""
	if has("correlationId") {
		corr = ", correlationId=0"
	}
	// At one time stamp allocations count first, whatever the order of the rows.
	r.exec(`CREATE TEMP TABLE freed AS SELECT ` + list + ` FROM (SELECT *, row_number() OVER
		(PARTITION BY globalPid, address ORDER BY start DESC, memoryOperationType DESC, rowid DESC) AS newest, rowid AS place FROM src)
		WHERE newest=1 AND memoryOperationType=0 ORDER BY place`)
	r.exec("UPDATE freed SET start=?, memoryOperationType=1"+corr, r.last)
	r.exec("INSERT INTO src SELECT * FROM freed ORDER BY rowid; DROP TABLE freed")
}

// capture makes the recorded time what the copies take.
func (r *repeater) capture() {
	if r.int("SELECT count(*) FROM sqlite_master WHERE name='ANALYSIS_DETAILS'") == 0 {
		return
	}
	more := int64(r.copies-1) * r.span
	r.exec("UPDATE ANALYSIS_DETAILS SET duration=duration+?1, stopTime=stopTime+?1", more)
}

// ident quotes a name for SQL.
func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
