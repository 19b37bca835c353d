package nsysdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	sqlite3 "modernc.org/sqlite/lib"
)

// batchRows is the number of rows of a full batch: few enough for its columns to stay in the processor's cache.
const batchRows = 4096

// Scan reads rows of one table and gives them to fn in batches. With several parts fn is called from as many
// goroutines at once, but for each part from one only, in the order of its rows. It ends with the first error, fn's
// own as it is; a done context ends it between batches with the context's error.
func (db *DB) Scan(ctx context.Context, scan Scan, fn func(*Batch) error) error {
	if err := db.Need(scan.Table); err != nil {
		return err
	}
	t := db.tables[scan.Table]
	parts := max(scan.Parts, 1)
	if scan.Sorted || t.view || t.noRowid {
		parts = 1
	}
	if n := (t.max-t.min)/batchRows + 1; !t.view && !t.noRowid && n > 0 {
		parts = int(min(int64(parts), n))
	}
	read := func(ctx context.Context, part int) error { return db.scanPart(ctx, &scan, t, part, parts, fn) }
	if db.plain(t) && (!scan.Sorted || db.inOrder(ctx, scan.Table)) {
		nodes, depth, err := db.file.split(t.root, parts)
		if err != nil {
			return db.reading(err)
		}
		parts = min(parts, len(nodes))
		visited := new(atomic.Int64)
		read = func(ctx context.Context, part int) error {
			return db.scanPages(ctx, &scan, t, share(nodes, part, parts), depth, part, visited, fn)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for p := range parts {
		part := func() {
			if err := read(ctx, p); err != nil {
				cancel(err) // the first one stays the cause
			}
		}
		if parts == 1 {
			part()
			break
		}
		wg.Go(part)
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return db.reading(err)
	}
	return db.changed()
}

// inOrder says whether the rows of a table are in the order of start already, as most exports have them. To find out
// takes far less time than to sort.
func (db *DB) inOrder(ctx context.Context, t Table) bool {
	if db.cols[t][Start] < 0 {
		return true
	}
	last := int64(Null)
	err := db.Scan(ctx, Scan{Table: t, Columns: []Column{Start}}, func(b *Batch) error {
		for _, v := range b.Cols[0] {
			if v < last {
				return errOutOfOrder
			}
			last = v
		}
		return nil
	})
	return err == nil
}

var errOutOfOrder = errors.New("out of order")

// field says how one column of a scan is read.
type field struct {
	dst  int // index in Scan.Columns
	enum *enum
	most int64 // as of Column.most
}

// finish makes what was read what is given.
func (f *field) finish(vs []int64) {
	f.enum.apply(vs)
	if f.most == 0 {
		return
	}
	for i, v := range vs {
		if v > f.most || v < -f.most {
			vs[i] = Null
		}
	}
}

// plan makes the statement for a part of a scan.
func (db *DB) plan(scan *Scan, t *table, part, parts int) (string, []field) {
	var fields []field
	var names []string
	for i, c := range scan.Columns {
		if c >= numColumns || db.cols[scan.Table][c] < 0 {
			continue
		}
		col := t.columns[db.cols[scan.Table][c]]
		fields = append(fields, field{i, db.enums[scan.Table][c], c.most()})
		names = append(names, ident(col.name))
	}
	if names == nil {
		names = []string{"1"}
	}
	sql := "SELECT " + strings.Join(names, ",") + " FROM " + ident(t.name)
	if parts > 1 {
		lo, hi := t.bounds(part, parts)
		sql += fmt.Sprintf(" WHERE rowid BETWEEN %d AND %d", lo, hi)
	}
	if scan.Sorted && db.cols[scan.Table][Start] >= 0 {
		sql += " ORDER BY " + ident(t.columns[db.cols[scan.Table][Start]].name)
	}
	return sql, fields
}

// bounds are the first and last rowid of a part.
func (t *table) bounds(part, parts int) (lo, hi int64) {
	width := uint64(t.max-t.min)/uint64(parts) + 1
	lo = int64(uint64(t.min) + width*uint64(part))
	if part == parts-1 {
		return lo, t.max
	}
	return lo, lo + int64(width) - 1
}

func (db *DB) scanPart(ctx context.Context, scan *Scan, t *table, part, parts int, fn func(*Batch) error) error {
	c, err := db.pool.get()
	if err != nil {
		return err
	}
	defer db.pool.put(c)
	// A sort does all its work before the first row, so it must be told from outside when to stop.
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { c.interrupt(); close(stopped) })
	defer func() {
		if !stop() {
			<-stopped // interrupt must not meet the connection's next user
		}
	}()
	sql, fields := db.plan(scan, t, part, parts)
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer s.close()

	full := newColumns(len(fields))
	b := &Batch{Part: part, Cols: make([][]int64, len(scan.Columns))}
	var total int64
	for more := true; more; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n := 0
		err := c.guard(func() (err error) {
			n, more, err = s.fill(fields, full)
			return err
		})
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause // interrupted
			}
			return err
		}
		if n == 0 {
			return nil
		}
		// Pages that refer to each other in circles would give rows for ever.
		if total += int64(n); total > db.info.size && !t.view {
			return &Error{Op: "read", Path: db.path, Kind: ErrDamaged, Text: damagedText("table " + t.name + " has more rows than the file has room for")}
		}
		b.Rows = n
		for i, f := range fields {
			f.finish(full[i][:n])
			b.Cols[f.dst] = full[i][:n]
		}
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

// fill reads rows until the columns are full; more is false after the last row.
func (s *stmt) fill(fields []field, cols [][]int64) (n int, more bool, err error) {
	tls, p := s.c.tls, s.p
	for n < batchRows {
		if rc := sqlite3.Xsqlite3_step(tls, p); rc != sqlite3.SQLITE_ROW {
			if rc == sqlite3.SQLITE_DONE {
				return n, false, nil
			}
			return n, false, s.c.fail("read", rc)
		}
		for i := range fields {
			v := sqlite3.Xsqlite3_column_int64(tls, p, int32(i))
			if v == 0 && s.isNull(i) {
				v = Null
			}
			cols[i][n] = v
		}
		n++
	}
	return n, true, nil
}
