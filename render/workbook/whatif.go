package workbook

import (
	"strings"

	"nsysmem/align/whatif"
	"nsysmem/render/phrase"
)

// whatIf adds the sheets that compare settings of the allocator, behind all others; none where nothing was compared.
func (b *book) whatIf(list []*whatif.Comparison) error {
	if len(list) == 0 {
		return nil
	}
	if err := b.table(whatIfTable(list)); err != nil {
		return err
	}
	return b.table(whatIfIterations(list))
}

// whatIfTrack takes the columns that say whose settings a row is about.
func (r *row) whatIfTrack(w *whatif.Comparison) {
	if w.Track == nil {
		r.none()
		r.int(int64(w.Device))
		return
	}
	r.track(w.Track)
}

func whatIfTable(list []*whatif.Comparison) *table {
	type line struct {
		w *whatif.Comparison
		i int
	}
	var lines []line
	for _, w := range list {
		for i := range w.Settings {
			lines = append(lines, line{w, i})
		}
	}
	return &table{
		sheet: "What if", name: "What_if", tab: tabMemory, n: len(lines), fixed: 4, none: "none",
		cols: columns(
			column{head: "Rank", as: asID}, column{head: "Setting"}, column{head: "Is"},
			column{head: "Peak reserved (MiB)", as: asMiB, bar: true}, column{head: "Lowest (MiB)", as: asMiB}, column{head: "Highest (MiB)", as: asMiB},
			column{head: "Peak allocated (MiB)", as: asMiB}, column{head: "Cache at the peak of tensors (MiB)", as: asMiB}, column{head: "Largest gap (MiB)", as: asMiB}, column{head: "Segments", as: asCount},
			column{head: "cudaMalloc calls", as: asCount}, column{head: "Smallest card (MiB)", as: asMiB, bar: true},
			column{head: "Capacity (MiB)", as: asMiB}, column{head: "Failed requests there", as: asCount}, column{head: "Fails in"},
			column{head: "Peak in"}, column{head: "Differs first in"}, column{head: "by (MiB)", as: asChange},
			column{head: "Differs most in"}, column{head: "by (MiB) at most", as: asChange},
			column{head: "Peak reserved (bytes)", as: asCount}, column{head: "Smallest card (bytes)", as: asCount}, column{head: "Notes", as: asLong}),
		fill: func(i int, r *row) {
			w := lines[i].w
			s := &w.Settings[lines[i].i]
			r.whatIfTrack(w)
			r.int(int64(lines[i].i + 1))
			r.text(phrase.Conf(s.Conf))
			var is []string
			if s.IsRecorded {
				is = append(is, "recorded")
			}
			if s.IsDefault {
				is = append(is, "default")
			}
			r.text(strings.Join(is, ", "))
			for _, v := range []int64{s.PeakReserved, s.ReservedRange[0], s.ReservedRange[1], s.PeakAllocated, s.CacheAtPeak, s.LargestGap} {
				r.mib(true, v)
			}
			r.int(int64(s.Segments))
			r.int(int64(s.CUDAMallocs))
			r.mib(true, s.SmallestCard)
			limited := s.Limited != nil
			r.mib(limited, w.Capacity)
			r.intIf(limited, int64(s.Failed()))
			if s.Failed() > 0 {
				r.text(phrase.Moment(w, &s.Limited.Failures[0].Moment))
			} else {
				r.none()
			}
			r.text(phrase.Moment(w, &s.Peak))
			for _, a := range []*whatif.Apart{s.First, s.Most} {
				if a == nil {
					r.none()
					r.none()
					continue
				}
				r.text(phrase.ShortMoment(w, &a.Moment))
				r.mib(true, a.Reserved-a.Base)
			}
			r.int(s.PeakReserved)
			r.int(s.SmallestCard)
			notes := s.Notes
			if lines[i].i == w.Base() {
				notes = append(append(append([]string(nil), w.Notes...), s.Notes...), w.CannotKnow...)
			}
			r.text(strings.Join(notes, "; "))
		},
	}
}

// whatIfIterations has a row for each iteration and, for each setting, a column with the highest reserved level in it.
func whatIfIterations(list []*whatif.Comparison) *table {
	var confs []string
	at := map[string]int{}
	type line struct {
		w *whatif.Comparison
		i int
	}
	var lines []line
	for _, w := range list {
		for i := range w.Settings {
			if c := w.Settings[i].Conf; at[c] == 0 {
				confs = append(confs, c)
				at[c] = len(confs)
			}
		}
		if w.Track == nil || !w.Timed {
			continue
		}
		for i := range w.Track.Iterations {
			lines = append(lines, line{w, i})
		}
	}
	t := &table{
		sheet: "What if by iteration", name: "What_if_by_iteration", tab: tabMemory, n: len(lines), fixed: 4, none: "none found",
		cols: columns(column{head: "Iteration", as: asID}, column{head: "Name"}),
	}
	first := len(t.cols)
	for _, c := range confs {
		t.cols = append(t.cols, column{head: phrase.Conf(c) + " (MiB)", as: asMiB})
	}
	t.scales = []scale{{first: first, last: len(t.cols) - 1}}
	t.fill = func(i int, r *row) {
		w, k := lines[i].w, lines[i].i
		it := &w.Track.Iterations[k]
		r.whatIfTrack(w)
		r.int(int64(it.Index))
		r.text(it.Name)
		byConf := map[string]int64{}
		for n := range w.Settings {
			byConf[w.Settings[n].Conf] = w.Settings[n].Iterations[k]
		}
		for _, c := range confs {
			v, ok := byConf[c]
			r.mib(ok, v)
		}
	}
	return t
}
