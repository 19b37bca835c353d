package nsysdb

import "context"

// chainCost is how many rows of call chains are read from the pages in the time that one chain takes to be sought: a chain
// of PyTorch has 40 frames on average (3856 + 1619 frames of 141 chains, as counted in a report), and SQLite takes some 6
// times as long for a row that it looks up in an index (measured).
const chainCost = 256

// A seekReader has SQLite look up the rows of a few call chains by their ids. It saves reading a table in which every launch
// of a kernel has its chain, where only those of allocations are wanted.
type seekReader struct {
	sqlReader
	where string
}

// seeks is a reader of the wanted chains alone; nil where it is faster to read them all, or nothing but that is possible.
func (db *DB) seeks(q *request) *seekReader {
	if q.chains == nil || q.order < 0 || q.t.view {
		return nil
	}
	id := q.t.columns[q.order]
	if id.primary != 1 || int64(len(q.chains)) > q.t.rows/chainCost {
		return nil
	}
	return &seekReader{sqlReader{db: db, q: q}, ident(id.name) + "=?"}
}

// read gives the chains to fn one after the other.
func (r *seekReader) read(ctx context.Context, _ int, fn func(*block) error) error {
	c, err := r.db.pool.get()
	if err != nil {
		return err
	}
	defer r.db.pool.put(c)
	s, err := c.prepare(r.q.sql(r.where))
	if err != nil {
		return err
	}
	defer s.close()
	for _, id := range r.q.chains {
		if err := c.guard(func() error { s.bind(1, id); return nil }); err != nil {
			return err
		}
		if err := r.blocks(ctx, s, fn); err != nil {
			return err
		}
	}
	return nil
}
