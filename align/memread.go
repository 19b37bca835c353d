package align

import (
	"context"
	"errors"
	"slices"

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
var memoryColumns = []nsysdb.Column{nsysdb.Start, nsysdb.Address, nsysdb.Bytes, nsysdb.Operation, nsysdb.GlobalPID,
	nsysdb.DeviceID, nsysdb.MemKind, nsysdb.CorrelationID, nsysdb.PoolAddress, nsysdb.PoolSize, nsysdb.PoolUsed,
	nsysdb.ImportedPool, nsysdb.ContextID, nsysdb.StreamID}

const (
	memoryNeeded = 4  // of memoryColumns: without one of these no event counts
	memoryDrawn  = 12 // of memoryColumns: what curves need
)

// memoryMissing is what events have in columns that the table lacks.
var memoryMissing = map[nsysdb.Column]int64{nsysdb.MemKind: nsysdb.KindDevice, nsysdb.PoolAddress: nsysdb.Null,
	nsysdb.PoolSize: nsysdb.Null, nsysdb.PoolUsed: nsysdb.Null, nsysdb.ImportedPool: nsysdb.Null, nsysdb.StreamID: -1}

// A memoryReader reads the memory events of a report in time order.
type memoryReader struct {
	db            *nsysdb.DB
	columns       []nsysdb.Column // the first of memoryColumns
	rows          func(n int)     // told of n more rows; may be nil
	event         func(*memEvent) // called for each event, those of one time stamp in an order that is not the table's
	damaged, read int64           // rows without a time, and with one
}

// scan reads the table. Where it is not in time order and sorted is not set, the error is errUnordered.
func (r *memoryReader) scan(ctx context.Context, sorted bool) error {
	var same sameTime
	flush := func() {
		same.order()
		for i := range same.events {
			r.event(&same.events[i])
		}
		same.events = same.events[:0]
	}
	unwanted := slices.Repeat([]nsysdb.Column{noColumn}, len(memoryColumns)-len(r.columns))
	events := table{needed: memoryNeeded, missing: memoryMissing, told: r.rows,
		Scan: nsysdb.Scan{Table: nsysdb.MemoryUsage, Columns: slices.Concat(r.columns, unwanted), Sorted: sorted}}
	err := events.read(ctx, r.db, func(b *nsysdb.Batch) error {
		for i := range b.Rows {
			e := memoryRow(b.Cols, i)
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
	e := memEvent{time: c[0][i], address: c[1][i], bytes: c[2][i], op: c[3][i], gpid: c[4][i], device: c[5][i], kind: c[6][i],
		corr: c[7][i], pool: c[8][i], imported: c[11][i], context: c[12][i], stream: c[13][i]}
	if e.pool != nsysdb.Null {
		e.poolSize, e.poolUsed = c[9][i], c[10][i]
	}
	return e
}
