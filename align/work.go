package align

import "nsysmem/nsysdb"

// A work is one kernel, graph launch, copy or memset.
type work struct {
	start, end, gpid, device int64
	corr                     int64 // nsysdb.Null where unknown
	what                     int64 // of a kernel its nameId, -1 where unknown; of a copy its kind
	bytes                    int64 // of a copy or memset
	graph                    bool
}

// workColumns begin any scan of GPU work. A column for work.what and Bytes may follow.
var workColumns = []nsysdb.Column{nsysdb.Start, nsysdb.End, nsysdb.GlobalPID, nsysdb.DeviceID, nsysdb.CorrelationID}

// eachWork calls f for each row of a batch that has a time; what stands for a missing column. f must not keep its argument.
func eachWork(b *nsysdb.Batch, c *columns, what int64, f func(*work) error) error {
	if !hasColumns(b, 0, 1) {
		return nil
	}
	start, end := b.Cols[0], b.Cols[1]
	gpid, device, corr := c.of(b, 2, 0), c.of(b, 3, 0), c.of(b, 4, nsysdb.Null)
	whats, bytes := c.of(b, 5, what), c.of(b, 6, 0)
	var w work // one for all rows: f has it only until it returns
	for i := range b.Rows {
		if start[i] == nsysdb.Null {
			continue
		}
		w = work{start: start[i], end: max(start[i], end[i]), gpid: gpid[i], device: device[i], corr: corr[i], what: whats[i], bytes: bytes[i]}
		if w.bytes == nsysdb.Null {
			w.bytes = 0
		}
		if err := f(&w); err != nil {
			return err
		}
	}
	return nil
}

// A statKey is one kernel or direction of copy in one group of rows.
type statKey struct {
	group int32 // place in rows.groups
	what  int64 // work.what; wholeGraph for a graph traced whole
}

// wholeGraph is the statKey.what of graphs that are traced whole.
const wholeGraph = -2
