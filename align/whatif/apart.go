package whatif

import (
	"iter"

	"nsysmem/torchmem/allocator"
)

// compare finds where each setting first and most differs from the base.
func (w *Comparison) compare() {
	base := w.Base()
	for i := range w.Settings {
		if i == base {
			continue
		}
		s, widest := &w.Settings[i], int64(0)
		for event, level := range together(s.Curve, w.Settings[base].Curve) {
			by := max(level[0]-level[1], level[1]-level[0])
			if by <= widest {
				continue
			}
			widest, s.Most = by, &Apart{Moment: Moment{Event: event}, Reserved: level[0], Base: level[1]}
			if s.First == nil {
				first := *s.Most
				s.First = &first
			}
		}
		if s.First != nil {
			s.First.Moment, s.Most.Moment = w.moment(s.First.Event), w.moment(s.Most.Event)
		}
	}
}

// together goes through two curves at once: at each event of either it gives what both have reserved after it, in
// bytes.
func together(a, b []allocator.CurvePoint) iter.Seq2[int32, [2]int64] {
	return func(yield func(int32, [2]int64) bool) {
		var level [2]int64
		for len(a)+len(b) > 0 {
			var event int32
			if len(b) == 0 || len(a) > 0 && a[0].Event < b[0].Event {
				event = a[0].Event
			} else {
				event = b[0].Event
			}
			for ; len(a) > 0 && a[0].Event == event; a = a[1:] {
				level[0] = a[0].Reserved
			}
			for ; len(b) > 0 && b[0].Event == event; b = b[1:] {
				level[1] = b[0].Reserved
			}
			if !yield(event, level) {
				return
			}
		}
	}
}
