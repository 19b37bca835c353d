package nsysdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var errOutOfOrder = errors.New("out of order")

// A sqlReader has SQLite select the rows, whatever kind of table or view they are in.
type sqlReader struct {
	db    *DB
	q     *request
	parts int
}

// split takes ranges of rowids as parts; whoever asks for more than one knows that there are rowids.
func (r *sqlReader) split(wanted int) (int, error) {
	r.parts = wanted
	return wanted, nil
}

func (r *sqlReader) read(ctx context.Context, part int, fn func(*block) error) error {
	c, err := r.db.pool.get()
	if err != nil {
		return err
	}
	defer r.db.pool.put(c)
	// A sort does all its work before the first row, so it must be told from outside when to stop.
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { c.interrupt(); close(stopped) })
	defer func() {
		if !stop() {
			<-stopped // interrupt must not meet the connection's next user
		}
	}()
	var where string
	if r.parts > 1 {
		lo, hi := r.q.t.bounds(part, r.parts)
		where = fmt.Sprintf("rowid BETWEEN %d AND %d", lo, hi)
	}
	s, err := c.prepare(r.q.sql(where))
	if err != nil {
		return err
	}
	defer s.close()
	return r.blocks(ctx, s, fn)
}

// blocks gives all rows of a statement to fn.
func (r *sqlReader) blocks(ctx context.Context, s *stmt, fn func(*block) error) error {
	b := newBlock(r.q)
	var total int64
	for more := true; more; b.reset() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := s.c.guard(func() (err error) {
			for more = true; more && b.rows < batchRows; {
				if more, err = s.next(); more {
					s.addTo(b)
				}
			}
			return err
		})
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause // interrupted
		}
		if err != nil || b.rows == 0 {
			return err
		}
		// Pages that refer to each other in circles would give rows for ever.
		if total += int64(b.rows); total > r.db.info.size && !r.q.t.view {
			return damaged("read", r.db.path, "table "+r.q.t.name+" has more rows than the file has room for")
		}
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

// sql is the statement that selects the columns of a request, in its order, from rows that meet a condition, or from
// all where it is empty.
func (q *request) sql(where string) string {
	names := make([]string, len(q.cols))
	for i, c := range q.cols {
		names[i] = ident(q.t.columns[c].name)
	}
	if len(names) == 0 {
		names = []string{"1"} // rows count even where none of their columns is wanted
	}
	sql := "SELECT " + strings.Join(names, ",") + " FROM " + ident(q.t.name)
	if where != "" {
		sql += " WHERE " + where
	}
	if q.order >= 0 {
		sql += " ORDER BY " + ident(q.t.columns[q.order].name)
	}
	return sql
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

// addTo adds the row that the statement is at to a block.
func (s *stmt) addTo(b *block) {
	for i, c := range b.ints {
		c[b.rows] = s.int(i)
	}
	var text []byte
	if b.ends != nil {
		text = s.text(len(b.ints))
	}
	b.endRow(text)
}
