package tensor

import (
	"slices"
	"sort"

	"nsysmem/torchmem"
)

// A Cache is the allocator's cache at one time.
type Cache struct {
	Time        int64 // ns
	Iteration   int   // -1 for none
	Phase       string
	Request     int64 // bytes asked for; 0 where unknown or none
	Allocated   int64 // bytes
	Reserved    int64 // bytes
	Free        int64 // bytes in the cache; what lies free in private pools of CUDA graphs is not among them
	LargestFree int64 // bytes; largest free block that the request's stream and pool may use, else the largest of all
	Stuck       int64 // bytes of Free in segments that hold live blocks
	DeviceFree  int64 // bytes free on the card, of a failure; 0 where unknown
	Private     bool  // the request was for a private pool of a CUDA graph, which takes nothing from the cache
}

// splitAbove is the largest request of the small pool, in bytes. Its free blocks serve no larger one, so that a small
// request beside free bytes of the large pool says nothing.
const splitAbove = 1 << 20

// Misfit says that the cache had as many bytes free as were asked for, and still no block that would do: they lay in
// pieces, or in the blocks of another stream. A private pool may have none of them, however they lie.
func (c *Cache) Misfit() bool {
	return !c.Private && c.Request > splitAbove && c.Free >= c.Request && c.LargestFree < c.Request
}

// cache places what a replay says of the cache in the program.
func (m *Memory) cache(tl Timeline, c *torchmem.Cache) Cache {
	out := Cache{Time: m.ReportTime(c.Time), Request: c.Request, Allocated: c.Allocated, Reserved: c.Reserved,
		Free: c.Free, LargestFree: c.LargestUsable, Stuck: c.Stuck, DeviceFree: c.DeviceFree}
	if n := sort.Search(len(m.private), func(i int) bool { return m.private[i].Event >= c.Event }); n > 0 {
		out.Free -= m.private[n-1].Free
		out.LargestFree, out.Stuck = min(out.LargestFree, out.Free), min(out.Stuck, out.Free)
	}
	out.Private = slices.ContainsFunc(m.pools, func(p torchmem.PrivateSegment) bool { return p.Since == c.Event })
	out.Iteration, out.Phase = tl.Where(out.Time)
	return out
}

// cacheAt is the cache just after an entry of the trace; before the first one, that of -1.
func (m *Memory) cacheAt(tl Timeline, event int, reserved int64) *Cache {
	c := &Cache{Time: m.ReportTime(m.Replay.From), Reserved: reserved}
	if event >= 0 {
		c.Time = m.ReportTime(m.Replay.Trace().At(event).Time)
	}
	for _, s := range m.Replay.StateAt(event) {
		private := slices.ContainsFunc(m.pools, func(p torchmem.PrivateSegment) bool {
			return int(p.Since) <= event && p.Addr-s.Addr < uint64(s.Size)
		})
		free, live := int64(0), false
		for _, b := range s.Blocks {
			switch b.State {
			case torchmem.Inactive:
				if !private {
					free += b.Size
					c.LargestFree = max(c.LargestFree, b.Size)
				}
			case torchmem.Active:
				c.Allocated += b.Size
				live = true
			case torchmem.PendingFree:
				live = true
			}
		}
		c.Free += free
		if live {
			c.Stuck += free
		}
	}
	c.Iteration, c.Phase = tl.Where(c.Time)
	return c
}
