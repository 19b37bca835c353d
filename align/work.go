package align

import (
	"context"

	"nsysmem/nsysdb"
)

// A work is one kernel, graph launch, copy or memset.
type work struct {
	start, end, gpid, device int64
	corr                     int64 // nsysdb.Null where unknown
	what                     int64 // of a kernel its nameId, -1 where unknown; of a copy its kind
	bytes                    int64 // of a copy or memset
	graph                    bool
}

// workTable is a table of GPU work, with the column for work.what and what that is where the table lacks it.
func workTable(t nsysdb.Table, what nsysdb.Column, missing int64) table {
	return table{needed: 2, missing: map[nsysdb.Column]int64{nsysdb.CorrelationID: nsysdb.Null, what: missing},
		Scan: nsysdb.Scan{Table: t, Columns: []nsysdb.Column{nsysdb.Start, nsysdb.End, nsysdb.GlobalPID, nsysdb.DeviceID,
			nsysdb.CorrelationID, what, nsysdb.Bytes}}}
}

// readWork calls f for each row of a workTable that has a time. f must not keep its argument.
func (t table) readWork(ctx context.Context, db *nsysdb.DB, f func(*work) error) error {
	return t.read(ctx, db, func(b *nsysdb.Batch) error {
		c := b.Cols
		var w work // one for all rows: f has it only until it returns
		for i, start := range c[0] {
			if start == nsysdb.Null {
				continue
			}
			w = work{start: start, end: max(start, c[1][i]), gpid: c[2][i], device: c[3][i], corr: c[4][i], what: c[5][i], bytes: c[6][i]}
			if w.bytes == nsysdb.Null {
				w.bytes = 0
			}
			if err := f(&w); err != nil {
				return err
			}
		}
		return nil
	})
}

// A statKey is one kernel or direction of copy in one group of rows.
type statKey struct {
	group int32 // place in rows.groups
	what  int64 // work.what; wholeGraph for a graph traced whole
}

// wholeGraph is the statKey.what of graphs that are traced whole.
const wholeGraph = -2
