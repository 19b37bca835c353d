package align

import (
	"context"
	"slices"

	"nsysmem/nsysdb"
)

// A table is how a stage reads a table of the export. It is the one place that knows of tables and columns that an export
// lacks.
type table struct {
	nsysdb.Scan
	needed  int                     // so many of the first columns are those without which rows mean nothing
	missing map[nsysdb.Column]int64 // what the values of others are where the table lacks the column; 0 for those not named
	told    func(rows int)          // of more rows read; may be nil
}

// noColumn is a column that no table has, for a place whose values are not wanted.
const noColumn = ^nsysdb.Column(0)

// read calls f for each batch, all of whose columns have values; for none where the export lacks the table or a column that
// is needed.
func (t table) read(ctx context.Context, db *nsysdb.DB, f func(*nsysdb.Batch) error) error {
	if !db.Has(t.Table, t.Columns[:t.needed]...) {
		return nil
	}
	return db.Scan(ctx, t.Scan, func(b *nsysdb.Batch) error {
		if t.told != nil {
			t.told(b.Rows)
		}
		for k, c := range b.Cols {
			if len(c) < b.Rows { // where batches are one reused, only now and then
				b.Cols[k] = slices.Repeat([]int64{t.missing[t.Columns[k]]}, b.Rows)
			}
		}
		return f(b)
	})
}
