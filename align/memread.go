package align

import (
	"context"
	"errors"

	"nsysmem/nsysdb"
)

// errUnordered says that the rows of a table are not in time order.
var errUnordered = errors.New("rows out of order")

// ordered reads a table in the order of its rows and, where read says that they are out of order, anew in that of time.
func ordered[T any](read func(sorted bool) (T, error)) (T, error) {
	out, err := read(false)
	if errors.Is(err, errUnordered) {
		return read(true)
	}
	return out, err
}

// memoryColumns are those that memoryReader knows; curves need no more than the first of them.
var memoryColumns = []nsysdb.Column{nsysdb.Start, nsysdb.GlobalPID, nsysdb.DeviceID, nsysdb.Address, nsysdb.Bytes,
	nsysdb.MemKind, nsysdb.Operation, nsysdb.CorrelationID, nsysdb.PoolAddress, nsysdb.PoolSize, nsysdb.PoolUsed,
	nsysdb.ImportedPool, nsysdb.ContextID, nsysdb.StreamID}

// A memoryReader reads the memory events of a report in time order.
type memoryReader struct {
	db            *nsysdb.DB
	columns       []nsysdb.Column // the first of memoryColumns
	rows          func(n int)     // told of n more rows; may be nil
	event         func(*memEvent) // called for each event, those of one time stamp in an order that is not the table's
	damaged, read int64           // rows without a time, and with one
	unreadable    bool            // a column is missing without which no event counts
}

// scan reads the table. Where it is not in time order and sorted is not set, the error is errUnordered.
func (r *memoryReader) scan(ctx context.Context, sorted bool) error {
	var same sameTime
	var columns columns
	values := make([][]int64, len(memoryColumns))
	missing := [...]int64{5: nsysdb.KindDevice, 8: nsysdb.Null, 9: nsysdb.Null, 10: nsysdb.Null, 11: nsysdb.Null, 13: -1}
	flush := func() {
		same.order()
		for i := range same.events {
			r.event(&same.events[i])
		}
		same.events = same.events[:0]
	}
	err := r.db.Scan(ctx, nsysdb.Scan{Table: nsysdb.MemoryUsage, Columns: r.columns, Sorted: sorted}, func(b *nsysdb.Batch) error {
		if r.rows != nil {
			r.rows(b.Rows)
		}
		if !hasColumns(b, 0, 3, 4, 6) {
			r.unreadable = true
			return nil
		}
		for k := range values {
			values[k] = columns.of(b, k, missing[k])
		}
		for i := range b.Rows {
			e := memoryRow(values, i)
			if e.time == nsysdb.Null {
				r.damaged++
				continue
			}
			if err := same.add(&e, flush); err != nil {
				return err
			}
			r.read++
		}
		return nil
	})
	if err == nil {
		flush()
	}
	return err
}

// memoryRow is a row of memoryColumns. Its time may be nsysdb.Null.
func memoryRow(c [][]int64, i int) memEvent {
	e := memEvent{time: c[0][i], gpid: c[1][i], device: c[2][i], address: c[3][i], bytes: c[4][i], kind: c[5][i], op: c[6][i],
		corr: c[7][i], pool: c[8][i], imported: c[11][i], context: c[12][i], stream: c[13][i]}
	if e.pool != nsysdb.Null {
		e.poolSize, e.poolUsed = c[9][i], c[10][i]
	}
	return e
}
