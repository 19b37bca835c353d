package nsysdb

import (
	"context"
	"strings"
	"sync/atomic"
)

// usePages is false in tests that compare the two ways to read.
var usePages = true

// plain says whether a table's rows can be read from its pages: an ordinary table, whose columns are all stored, in
// the order in which they are declared, with NULL for those added later.
func (db *DB) plain(t *table) bool {
	return usePages && !db.bySQLite && db.file != nil && t.root > 0 && t.plain && !t.view && !t.noRowid
}

// pageScan reads one part of a scan from the pages.
type pageScan struct {
	db     *DB
	t      *table
	fields []field
	dec    decoder
	full   [][]int64
	b      *Batch
	n      int
	fn     func(*Batch) error
	odd    oddRows
}

func (db *DB) scanPages(ctx context.Context, scan *Scan, t *table, nodes []uint32, depth, part int, visited *atomic.Int64, fn func(*Batch) error) error {
	_, fields := db.plan(scan, t, 0, 1)
	p := &pageScan{db: db, t: t, fields: fields, fn: fn, b: &Batch{Part: part, Cols: make([][]int64, len(scan.Columns))}}
	p.full = newColumns(len(fields))
	names := make([]string, len(fields))
	for i, f := range fields {
		at := db.cols[scan.Table][scan.Columns[f.dst]]
		p.dec.cols = append(p.dec.cols, at)
		names[i] = ident(t.columns[at].name)
	}
	p.odd = oddRows{db: db, sql: "SELECT " + strings.Join(append(names, "1"), ",") + " FROM " + ident(t.name) + " WHERE rowid=?"}
	defer p.odd.close()
	w := &walk{treeFile: db.file, ctx: ctx, visited: visited, leaf: p.leaf}
	if err := w.leaves(nodes, depth); err != nil {
		return err
	}
	return p.flush()
}

// newColumns makes n columns of batchRows values.
func newColumns(n int) [][]int64 {
	store := make([]int64, n*batchRows)
	full := make([][]int64, n)
	for i := range full {
		full[i] = store[i*batchRows : (i+1)*batchRows : (i+1)*batchRows]
	}
	return full
}

func (p *pageScan) leaf(page []byte) error { return p.db.file.cells(page, p.row) }

func (p *pageScan) row(rowid int64, rec []byte, whole bool) error {
	n := p.n
	s := p.dec.shape(rec)
	switch {
	case whole && !s.fits(rec):
		return p.db.file.damaged("table %s has a row that makes no sense", p.t.name)
	case s != nil && !s.odd && !s.texts && int(s.end) <= len(rec):
		for i := range s.slots {
			p.full[i][n] = s.slots[i].value(rec)
		}
	default:
		err := p.odd.read(rowid, func(r *stmt) {
			for i := range p.fields {
				p.full[i][n] = r.int(i)
			}
		})
		if err != nil {
			return err
		}
	}
	if p.n++; p.n == batchRows {
		return p.flush()
	}
	return nil
}

// flush gives the rows so far to the callback.
func (p *pageScan) flush() error {
	if p.n == 0 {
		return nil
	}
	p.b.Rows = p.n
	for i, f := range p.fields {
		f.finish(p.full[i][:p.n])
		p.b.Cols[f.dst] = p.full[i][:p.n]
	}
	p.n = 0
	return p.fn(p.b)
}

// oddRows has SQLite read single rows.
type oddRows struct {
	db  *DB
	sql string
	c   *conn
	s   *stmt
}

// read finds the row and gives it to f, which may only read its columns.
func (o *oddRows) read(rowid int64, f func(*stmt)) error {
	if o.s == nil {
		var err error
		if o.c, err = o.db.pool.get(); err != nil {
			return err
		}
		if o.s, err = o.c.prepare(o.sql); err != nil {
			return err
		}
	}
	return o.c.guard(func() error {
		o.s.bind(1, rowid)
		more, err := o.s.next()
		if err == nil && !more {
			err = o.db.file.damaged("row %d is not where it should be", rowid)
		}
		if err == nil {
			f(o.s)
		}
		return err
	})
}

func (o *oddRows) close() {
	if o.s != nil {
		o.s.close()
	}
	if o.c != nil {
		o.db.pool.put(o.c)
	}
}

// share cuts a list into parts of nearly equal length.
func share(nodes []uint32, part, parts int) []uint32 {
	return nodes[len(nodes)*part/parts : len(nodes)*(part+1)/parts]
}
