package align

import (
	"errors"

	"nsysmem/nsysdb"
)

// A memEvent is one row of memory usage.
type memEvent struct {
	time, gpid, device, address, bytes, kind, op, corr, stream int64
	context                                                    int64
	pool, poolSize, poolUsed, imported                         int64
}

// vmmContext is the contextId of memory mapped with cuMemMap (observed in exports of 2023.4 and 2025.3).
const vmmContext = 1<<32 - 1

// noDevice is the deviceId of a row that names no device: the free of mapped memory in exports of 2023.4 (observed).
const noDevice = 1<<31 - 1

var errUnordered = errors.New("rows out of order")

var memoryColumns = []nsysdb.Column{nsysdb.Start, nsysdb.GlobalPID, nsysdb.DeviceID, nsysdb.Address, nsysdb.Bytes,
	nsysdb.MemKind, nsysdb.Operation, nsysdb.CorrelationID, nsysdb.PoolAddress, nsysdb.PoolSize, nsysdb.PoolUsed,
	nsysdb.ImportedPool, nsysdb.ContextID, nsysdb.StreamID}

// hasMemoryRows says that a batch has the columns without which an event means nothing.
func hasMemoryRows(c [][]int64) bool { return c[0] != nil && c[3] != nil && c[4] != nil && c[6] != nil }

// column is a column's value in a row; missing where the table or the scan lacks the column.
func column(c [][]int64, k, i int, missing int64) int64 {
	if k >= len(c) || c[k] == nil {
		return missing
	}
	return c[k][i]
}

// memoryRow is a row of a batch of memoryColumns, or of the first of them. Its time may be nsysdb.Null.
func memoryRow(c [][]int64, i int) memEvent {
	e := memEvent{time: c[0][i], gpid: column(c, 1, i, 0), device: column(c, 2, i, 0), address: c[3][i], bytes: c[4][i],
		kind: column(c, 5, i, nsysdb.KindDevice), op: c[6][i], corr: column(c, 7, i, 0), pool: column(c, 8, i, nsysdb.Null),
		imported: column(c, 11, i, nsysdb.Null), context: column(c, 12, i, 0), stream: column(c, 13, i, -1)}
	if e.pool != nsysdb.Null {
		e.poolSize, e.poolUsed = column(c, 9, i, nsysdb.Null), column(c, 10, i, nsysdb.Null)
	}
	return e
}

// lastDevices knows of each process the device that its last event names.
type lastDevices struct {
	proc, device int64 // of the last event
	of           map[int64]int64
}

// name gives an event that names no device the one of the process's last event.
func (d *lastDevices) name(e *memEvent) {
	p := nsysdb.Process(e.gpid)
	if d.of == nil {
		d.of = make(map[int64]int64)
	} else if p == d.proc && (e.device == d.device || e.device == noDevice) {
		e.device = d.device
		return
	}
	if e.device == noDevice {
		e.device = d.of[p]
	}
	d.of[p] = e.device
	d.proc, d.device = p, e.device
}
