package nsysdb

import (
	"context"
	"sync"
)

// Scan reads rows of one table and gives them to fn in batches. With several parts fn is called from as many
// goroutines at once, but for each part from one only, in the order of its rows. It ends with the first error, fn's
// own as it is; a done context ends it between batches with the context's error. Without the table it is an *Error that
// says how to record it.
func (db *DB) Scan(ctx context.Context, scan Scan, fn func(*Batch) error) error {
	if err := db.need(scan.Table); err != nil {
		return err
	}
	q, fields := db.request(&scan)
	r := db.reader(ctx, q)
	parts, err := r.split(q.parts(&scan))
	if err != nil {
		return db.reading(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read := func(part int) {
		batch := &Batch{Part: part, Cols: make([][]int64, len(scan.Columns))}
		err := r.read(ctx, part, func(b *block) error {
			batch.take(b, fields)
			return fn(batch)
		})
		if err != nil {
			cancel(err) // the first one stays the cause, and ends the other parts
		}
	}
	if parts == 1 {
		read(0)
	} else {
		var wg sync.WaitGroup
		for p := range parts {
			wg.Go(func() { read(p) })
		}
		wg.Wait()
	}
	if err := context.Cause(ctx); err != nil {
		return db.reading(err)
	}
	return db.changed()
}

// A field is a column that a scan wants and the table has: the column of a block with the field's own index.
type field struct {
	dst  int // index in Scan.Columns
	enum *enum
	most int64 // as of Column.most
}

// request says what a scan reads.
func (db *DB) request(scan *Scan) (*request, []field) {
	q := &request{t: db.tables[scan.Table], order: -1}
	cols := &db.cols[scan.Table]
	switch {
	case scan.Sorted && scan.Table == CallChain:
		q.order, q.chains = cols[ID], scan.Chains
	case scan.Sorted:
		q.order = cols[Start]
	}
	var fields []field
	for i, c := range scan.Columns {
		if c < numColumns && cols[c] >= 0 {
			q.cols = append(q.cols, cols[c])
			fields = append(fields, field{i, db.enums[scan.Table][c], c.most()})
		}
	}
	return q, fields
}

// parts is among how many parts the rows of a scan may be shared out: each has a range of rowids, and enough rows to be
// worth a goroutine.
func (q *request) parts(scan *Scan) int {
	t := q.t
	if scan.Parts <= 1 || scan.Sorted || t.view || t.noRowid {
		return 1
	}
	return int(min(uint64(scan.Parts), uint64(t.max-t.min+1)/batchRows+1))
}

// take makes what was read what is given.
func (x *Batch) take(b *block, fields []field) {
	x.Rows = b.rows
	for i, f := range fields {
		vs := b.ints[i][:b.rows]
		f.enum.apply(vs)
		if f.most > 0 {
			for k, v := range vs {
				vs[k] = within(v, f.most)
			}
		}
		x.Cols[f.dst] = vs
	}
}
