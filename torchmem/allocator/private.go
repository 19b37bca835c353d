package allocator

import (
	"sort"

	"nsysmem/torchmem"
)

// poolPlaces are the segments of private pools, by address. CUDA graphs have such pools: their memory serves no others.
type poolPlaces []poolPlace

type poolPlace struct {
	torchmem.PrivateSegment
	no int // of the pool, from 1
}

// privatePools are those that the snapshot still holds.
func privatePools(r *torchmem.Replay) poolPlaces {
	var out poolPlaces
	no := map[[2]int64]int{}
	for _, g := range r.PrivateSegments() {
		if no[g.Pool] == 0 {
			no[g.Pool] = len(no) + 1
		}
		out = append(out, poolPlace{g, no[g.Pool]})
	}
	return out
}

// of is the pool that an address lies in at an entry of the trace, -1 before the first; 0 for the common ones. What was
// there at the same address before, and given back, was of those.
func (p poolPlaces) of(addr uint64, event int32) int {
	i := sort.Search(len(p), func(i int) bool { return p[i].Addr > addr }) - 1
	if i >= 0 && addr-p[i].Addr < uint64(p[i].Size) && p[i].Since <= event {
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
