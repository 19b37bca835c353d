package align

import (
	"cmp"
	"context"
	"slices"

	"nsysmem/nsysdb"
)

// ownPool says that the event tells of a pool of the process itself, rather than of one imported from another.
func (e *memEvent) ownPool() bool {
	return e.pool != nsysdb.Null && e.pool != 0 && (e.imported == nsysdb.Null || e.imported == 0)
}

// A poolUse is a pool at one time.
type poolUse struct{ size, used int64 } // bytes

// after is the pool after an event; what the event does not tell, nsysdb.Null, stays.
func (u poolUse) after(size, used int64) poolUse {
	if size != nsysdb.Null {
		u.size = size
	}
	if used != nsysdb.Null {
		u.used = used
	}
	return u
}

// poolSum follows the memory pools of a track.
type poolSum struct {
	pools map[int64]poolUse // by address; nil until there is one
	sum   poolUse
	out   Pool
}

// row takes in what a memory event says of its pool. A pool imported from another process is counted there.
func (s *poolSum) row(e *memEvent) {
	if e.ownPool() {
		s.set(e.pool, e.poolSize, e.poolUsed)
	}
}

func (s *poolSum) set(pool, size, used int64) {
	if s.pools == nil {
		s.pools = make(map[int64]poolUse)
	}
	old := s.pools[pool]
	now := old.after(size, used)
	s.pools[pool] = now
	s.sum.size += now.size - old.size
	s.sum.used += now.used - old.used
	s.out.PeakSize, s.out.PeakUsed = max(s.out.PeakSize, s.sum.size), max(s.out.PeakUsed, s.sum.used)
	s.out.EndSize, s.out.EndUsed, s.out.Pools = s.sum.size, s.sum.used, len(s.pools)
}

// poolEvents reads creations, trims and destructions of pools, in time order; there are few.
func poolEvents(ctx context.Context, db *nsysdb.DB) ([]memEvent, error) {
	var out []memEvent
	pools := table{needed: 3,
		missing: map[nsysdb.Column]int64{nsysdb.Operation: nsysdb.PoolInvalid, nsysdb.PoolSize: nsysdb.Null, nsysdb.PoolUsed: nsysdb.Null},
		Scan: nsysdb.Scan{Table: nsysdb.MemoryPool, Sorted: true, Columns: []nsysdb.Column{nsysdb.Start, nsysdb.GlobalPID,
			nsysdb.Address, nsysdb.DeviceID, nsysdb.Operation, nsysdb.PoolSize, nsysdb.PoolUsed}}}
	err := pools.read(ctx, db, func(b *nsysdb.Batch) error {
		for i := range b.Rows {
			c := b.Cols
			e := memEvent{time: c[0][i], gpid: c[1][i], address: c[2][i], device: c[3][i], op: c[4][i], poolSize: c[5][i], poolUsed: c[6][i]}
			if e.op == nsysdb.PoolDestroyed {
				e.poolSize, e.poolUsed = 0, 0
			}
			out = append(out, e)
		}
		return nil
	})
	slices.SortFunc(out, func(x, y memEvent) int {
		return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.gpid, y.gpid), cmp.Compare(x.address, y.address),
			cmp.Compare(x.op, y.op), cmp.Compare(x.poolSize, y.poolSize), cmp.Compare(x.poolUsed, y.poolUsed))
	})
	return out, err
}
