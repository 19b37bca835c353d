package align

import "nsysmem/nsysdb"

// columns gives the columns of the batches of one scan, and is the one place that knows of columns that a table lacks:
// those read as a value that their reader chooses. It serves one goroutine.
type columns struct {
	blank [][]int64 // by place of a missing column: as many values as the longest batch had rows
}

// of is the column at a place of a batch; missing in each row where there is no such column.
func (c *columns) of(b *nsysdb.Batch, place int, missing int64) []int64 {
	if place < len(b.Cols) && b.Cols[place] != nil {
		return b.Cols[place]
	}
	for len(c.blank) <= place {
		c.blank = append(c.blank, nil)
	}
	v := c.blank[place]
	for len(v) < b.Rows {
		v = append(v, missing)
	}
	c.blank[place] = v
	return v
}

// hasColumns says that a batch has the columns at some places, without which its rows mean nothing.
func hasColumns(b *nsysdb.Batch, places ...int) bool {
	for _, p := range places {
		if b.Cols[p] == nil {
			return false
		}
	}
	return true
}
