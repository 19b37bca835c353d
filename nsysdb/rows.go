package nsysdb

import "context"

// This file is the door to the rows of a table. Two readers stand behind it: one takes the rows from the pages of the
// file (pagereader.go), the other has SQLite select them (sqlreader.go). They give the same rows in the same order. A third
// has SQLite seek a few call chains (seekreader.go).

// batchRows is the number of rows of a full block: few enough for its columns to stay in the processor's cache.
const batchRows = 4096

// A request says what to read of one table.
type request struct {
	t     *table
	cols  []int // positions in the table; one may come twice
	text  bool  // the last of cols is read as text, all others as integers
	order int   // position of the column to sort by; -1 for the order of rowids

	chains []int64 // values of the column to sort by whose rows are wanted, in rising order; nil for all
}

// ints is the number of columns that are read as integers.
func (q *request) ints() int {
	if q.text {
		return len(q.cols) - 1
	}
	return len(q.cols)
}

// A rowReader serves the rows of one request.
type rowReader interface {
	// split shares the rows out among parts, as many as wanted or fewer, and says among how many. It comes before read.
	split(wanted int) (parts int, err error)
	// read gives the rows of a part to fn, in order. Parts may be read at once. It ends with the first error, fn's own
	// as it is; a done context ends it between blocks with the context's cause.
	read(ctx context.Context, part int, fn func(*block) error) error
}

// reader chooses the reader of a request. The pages serve whatever they can, for they are four times as fast: a table
// that is not plain goes to SQLite, and so does a sort, unless the rows turn out to be in order as they are. A few call
// chains are sought (seekreader.go).
func (db *DB) reader(ctx context.Context, q *request) rowReader {
	if few := db.seeks(q); few != nil {
		return few
	}
	if db.plain(q.t) && (q.order < 0 || db.inOrder(ctx, q)) {
		return &pageReader{db: db, q: q}
	}
	return &sqlReader{db: db, q: q}
}

// plain says whether a table's rows can be read from its pages: an ordinary table, whose columns are all stored, in
// the order in which they are declared, with NULL for those added later.
func (db *DB) plain(t *table) bool {
	return db.file != nil && t.root > 0 && t.plain && !t.view && !t.noRowid
}

// inOrder says whether the rows of a plain table are in the requested order already, as most exports have them. To find
// out takes far less time than to sort.
func (db *DB) inOrder(ctx context.Context, q *request) bool {
	r := &pageReader{db: db, q: &request{t: q.t, cols: []int{q.order}, order: -1}}
	if _, err := r.split(1); err != nil {
		return false
	}
	last := int64(Null)
	err := r.read(ctx, 0, func(b *block) error {
		for _, v := range b.ints[0][:b.rows] {
			// Null is below all times, which is where SQLite sorts NULL to.
			if v = within(v, maxTime); v < last {
				return errOutOfOrder
			}
			last = v
		}
		return nil
	})
	return err == nil
}

// A block is consecutive rows of a request, by column. It is valid only until the callback returns.
type block struct {
	rows int
	ints [][]int64 // for each column of integers batchRows values, of which the first rows count
	text []byte    // the texts of all rows, one after the other: NULL is no text
	ends []int     // where in text each row's own ends; nil where the request asks for no text
}

// newBlock makes a block for a request, with the memory of all its columns in one piece.
func newBlock(q *request) *block {
	n := q.ints()
	store := make([]int64, n*batchRows)
	b := &block{ints: make([][]int64, n)}
	for i := range b.ints {
		b.ints[i] = store[i*batchRows : (i+1)*batchRows : (i+1)*batchRows]
	}
	if q.text {
		b.ends = make([]int, batchRows)
	}
	return b
}

// rowText is the text of row i, empty for NULL and where the request asks for none.
func (b *block) rowText(i int) []byte {
	if b.ends == nil {
		return nil
	}
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.text[from:b.ends[i]]
}

// endRow ends a row whose integers are in place, with its text.
func (b *block) endRow(text []byte) {
	if b.ends != nil {
		b.text = append(b.text, text...)
		b.ends[b.rows] = len(b.text)
	}
	b.rows++
}

// reset makes room for the next rows.
func (b *block) reset() { b.rows, b.text = 0, b.text[:0] }
