package nsysdb

// Values beyond these are damage, whatever wrote them. They are read as Null, so that no sum or difference of what is
// left leaves the range of int64: half of it is left for differences of two times, and for sums of as many sizes as
// there can be.
const (
	maxTime  = 1<<62 - 1 // ns; 146 years to either side of the clock's zero: times counted from 1970 are well within
	maxBytes = 1 << 47   // what a program can address
)

// most is the highest possible value of a column, and of its negative; 0 where any is possible.
func (c Column) most() int64 {
	switch c {
	case Start, End:
		return maxTime
	case Bytes, PoolSize, PoolUsed:
		return maxBytes
	}
	return 0
}

// within is v, or Null where it is beyond a limit.
func within(v, most int64) int64 {
	if v > most || v < -most {
		return Null
	}
	return v
}
