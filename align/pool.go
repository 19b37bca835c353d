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

// poolSum follows the memory pools of a track.
type poolSum struct {
	pools map[int64][2]int64 // address → size and used part, in bytes
	size  int64
	used  int64
	out   Pool
}

// row takes in what a memory event says of its pool. A pool imported from another process is counted there.
func (s *poolSum) row(e *memEvent) {
	if e.ownPool() {
		s.set(e.pool, e.poolSize, e.poolUsed)
	}
}

func (s *poolSum) set(pool, size, used int64) {
	old := s.pools[pool]
	if size == nsysdb.Null {
		size = old[0]
	}
	if used == nsysdb.Null {
		used = old[1]
	}
	if s.pools == nil {
		s.pools = make(map[int64][2]int64)
	}
	s.pools[pool] = [2]int64{size, used}
	s.size += size - old[0]
	s.used += used - old[1]
	s.out.PeakSize, s.out.PeakUsed = max(s.out.PeakSize, s.size), max(s.out.PeakUsed, s.used)
	s.out.EndSize, s.out.EndUsed, s.out.Pools = s.size, s.used, len(s.pools)
}

func (m *memory) poolEvent(e *memEvent) {
	t := m.a.track(m.a.process(nsysdb.Process(e.gpid)), e.device)
	t.pool.set(e.address, e.poolSize, e.poolUsed)
}

// poolEvents reads creations, trims and destructions of pools, in time order; there are few.
func poolEvents(ctx context.Context, db *nsysdb.DB) ([]memEvent, error) {
	if db.Missing(nsysdb.MemoryPool) {
		return nil, nil
	}
	var out []memEvent
	scan := nsysdb.Scan{Table: nsysdb.MemoryPool, Sorted: true, Columns: []nsysdb.Column{nsysdb.Start, nsysdb.GlobalPID,
		nsysdb.DeviceID, nsysdb.Address, nsysdb.Operation, nsysdb.PoolSize, nsysdb.PoolUsed}}
	err := db.Scan(ctx, scan, func(b *nsysdb.Batch) error {
		c := b.Cols
		if c[0] == nil || c[1] == nil || c[3] == nil {
			return nil
		}
		for i := 0; i < b.Rows; i++ {
			e := memEvent{time: c[0][i], gpid: c[1][i], device: column(c, 2, i, 0), address: c[3][i],
				op: column(c, 4, i, nsysdb.PoolInvalid), poolSize: column(c, 5, i, nsysdb.Null), poolUsed: column(c, 6, i, nsysdb.Null)}
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
