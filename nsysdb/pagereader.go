package nsysdb

import (
	"context"
	"sync/atomic"
)

// A pageReader reads rows from the pages of a plain table. Single rows that are unusual (a value that is no number, a
// row that goes on in another page, a column added later) it has SQLite read.
type pageReader struct {
	db      *DB
	q       *request
	nodes   []uint32 // subtrees that hold all rows, in order, depth levels below the root
	depth   int
	parts   int
	visited atomic.Int64 // pages seen by all parts
}

func (r *pageReader) split(wanted int) (int, error) {
	var err error
	r.nodes, r.depth, err = r.db.file.split(r.q.t.root, wanted)
	r.parts = min(wanted, len(r.nodes))
	return r.parts, err
}

func (r *pageReader) read(ctx context.Context, part int, fn func(*block) error) error {
	p := &pagePart{
		r: r, fn: fn, b: newBlock(r.q),
		dec: decoder{cols: r.q.cols, text: r.q.text, utf8: r.db.file.utf8},
		odd: seeker{pool: r.db.pool, sql: r.q.sql("rowid=?")},
	}
	defer p.odd.close()
	w := &walk{treeFile: r.db.file, ctx: ctx, visited: &r.visited, leaf: p.leaf}
	// Each part takes a run of subtrees that follow each other, so parts are in order of rowids.
	own := r.nodes[len(r.nodes)*part/r.parts : len(r.nodes)*(part+1)/r.parts]
	if err := w.leaves(own, r.depth); err != nil {
		return err
	}
	if p.b.rows == 0 {
		return nil
	}
	return fn(p.b)
}

// A pagePart reads one part of a request.
type pagePart struct {
	r   *pageReader
	fn  func(*block) error
	b   *block
	dec decoder
	odd seeker
}

func (p *pagePart) leaf(page []byte) error { return p.r.db.file.cells(page, p.row) }

// row adds a record to the block.
func (p *pagePart) row(rowid int64, rec []byte, whole bool) error {
	b := p.b
	s := p.dec.shape(rec)
	switch {
	case whole && !s.fits(rec):
		return p.r.db.file.damaged("table %s has a row that makes no sense", p.r.q.t.name)
	case s == nil || s.odd || int(s.end) > len(rec):
		found, err := p.odd.find(rowid, func(s *stmt) { s.addTo(b) })
		if err == nil && !found {
			err = p.r.db.file.damaged("row %d is not where it should be", rowid)
		}
		if err != nil {
			return err
		}
	default:
		n := b.rows
		for i, c := range b.ints {
			c[n] = s.slots[i].value(rec)
		}
		var text []byte
		if p.dec.text {
			text = s.slots[len(b.ints)].text(rec)
		}
		b.endRow(text)
	}
	if b.rows < batchRows {
		return nil
	}
	err := p.fn(b)
	b.reset()
	return err
}
