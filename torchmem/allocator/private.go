package allocator

import (
	"cmp"
	"slices"
	"sort"

	"nsysmem/torchmem"
)

// poolPlaces are the segments of private pools, by address. CUDA graphs have such pools: their memory serves no others.
type poolPlaces []poolPlace

type poolPlace struct {
	addr uint64
	size int64 // bytes
	no   int   // of the pool, from 1
}

// privatePools are those of the snapshot's segments.
func privatePools(s *torchmem.Snapshot, device int) poolPlaces {
	var out poolPlaces
	no := map[[2]int64]int{}
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Device != device || g.PoolID == [2]int64{} {
			continue
		}
		if no[g.PoolID] == 0 {
			no[g.PoolID] = len(no) + 1
		}
		out = append(out, poolPlace{g.Addr, g.Size, no[g.PoolID]})
	}
	slices.SortStableFunc(out, func(a, b poolPlace) int { return cmp.Compare(a.addr, b.addr) })
	return out
}

// of is the pool that an address lies in; 0 for the common ones.
func (p poolPlaces) of(addr uint64) int {
	i := sort.Search(len(p), func(i int) bool { return p[i].addr > addr }) - 1
	if i >= 0 && addr-p[i].addr < uint64(p[i].size) {
		return p[i].no
	}
	return 0
}

// countPrivate sums what private pools hold.
func (m *model) countPrivate() {
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.pool == nil || n.pool.group.private == 0 || n.state == torchmem.NotMapped {
			continue
		}
		m.result.PrivateReserved += n.size
		if n.state == torchmem.Inactive {
			m.result.PrivateFree += n.size
		}
	}
}
