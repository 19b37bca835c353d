package align

import "nsysmem/nsysdb"

// A memEvent is one row of memory usage, or of what became of a memory pool.
type memEvent struct {
	time, gpid, device, address, bytes, kind, op, corr, stream int64
	context                                                    int64
	pool, poolSize, poolUsed, imported                         int64
}

// vmmContext is the contextId of memory mapped with cuMemMap (observed in exports of 2023.4 and 2025.3).
const vmmContext = 1<<32 - 1

// noDevice is the deviceId of a row that names no device: the free of mapped memory in exports of 2023.4 (observed).
const noDevice = 1<<31 - 1

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
