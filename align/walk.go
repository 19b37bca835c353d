package align

// A walk goes over the ranges of a thread in opening order, with those that are open; the innermost is the last.
type walk struct {
	open []openRange

	iter    int32 // iteration at hand; -1 for none
	iterEnd int64 // ns
}

type openRange struct {
	end  int64 // ns; clipped
	row  int32
	wrap bool // holds iterations
}

// closeUntil closes what has ended by a time.
func (w *walk) closeUntil(time int64) {
	for n := len(w.open); n > 0 && w.open[n-1].end <= time; n-- {
		w.open = w.open[:n-1]
	}
}

// holder is the innermost open range that lasts until an end; nil for none.
func (w *walk) holder(start, end int64) *openRange {
	for k := len(w.open) - 1; k >= 0; k-- {
		if o := &w.open[k]; o.end >= end && o.end > start {
			return o
		}
	}
	return nil
}

// wrap is the row of the innermost open range that holds iterations; -1 for none.
func (w *walk) wrap() int32 {
	for k := len(w.open) - 1; k >= 0; k-- {
		if w.open[k].wrap {
			return w.open[k].row
		}
	}
	return -1
}
