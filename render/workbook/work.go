package workbook

import (
	"nsysmem/align"
	"nsysmem/align/findings"
)

func kernelsTable(rep *findings.Report) *table {
	n, at := flatten(rep, func(t *align.Track) int { return len(t.Kernels) })
	origin := pathFrom(rep)
	return &table{
		sheet: "Kernels by phase", name: "Kernels_by_phase", tab: tabGPU, n: n, fixed: 3,
		none: missing(rep, rep.Collected.Kernels, "GPU kernels", "none traced one by one"),
		cols: columns(
			column{head: "Phase"}, column{head: "Inside"}, column{head: "From"}, column{head: "Kernel"}, column{head: "Count", as: asCount},
			column{head: "Total (ms)", as: asTime, bar: true}, column{head: "Mean (µs)", as: asTime}, column{head: "Least (µs)", as: asTime},
			column{head: "Most (µs)", as: asTime}, column{head: "Total (ns)", as: asCount}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &t.Kernels[j]
			r.track(t)
			r.group(origin, t, k.Path, k.Where)
			r.text(k.Name)
			r.int(k.Count)
			r.ms(true, k.NS)
			r.mean(k.NS, k.Count)
			r.us(true, k.MinNS)
			r.us(true, k.MaxNS)
			r.int(k.NS)
		},
	}
}

// group takes the columns Phase, Inside and From.
func (r *row) group(origin func(t *align.Track, path string, where align.Where) string, t *align.Track, path string, where align.Where) {
	r.text(phaseText(path, where))
	r.text(string(where))
	r.text(origin(t, path, where))
}

// mean takes the mean of durations in µs.
func (r *row) mean(ns, count int64) {
	if count == 0 {
		r.none()
		return
	}
	r.cells = append(r.cells, float64(ns)/float64(count)/1e3)
}

func copiesTable(rep *findings.Report) *table {
	n, at := flatten(rep, func(t *align.Track) int { return len(t.Copies) })
	origin := pathFrom(rep)
	return &table{
		sheet: "Copies by phase", name: "Copies_by_phase", tab: tabGPU, n: n, fixed: 3,
		none: missing(rep, rep.Collected.Copies, "copies and memsets", "none in the recorded time"),
		cols: columns(
			column{head: "Phase"}, column{head: "Inside"}, column{head: "From"}, column{head: "Direction"}, column{head: "Count", as: asCount},
			column{head: "Size (MiB)", as: asMiB, bar: true}, column{head: "Bytes", as: asCount}, column{head: "Total (ms)", as: asTime, bar: true},
			column{head: "Mean (µs)", as: asTime}, column{head: "Rate (GiB/s)", as: asMiB}, column{head: "Total (ns)", as: asCount}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &t.Copies[j]
			r.track(t)
			r.group(origin, t, k.Path, k.Where)
			r.text(k.Kind)
			r.int(k.Count)
			r.mib(true, k.Bytes)
			r.int(k.Bytes)
			r.ms(true, k.NS)
			r.mean(k.NS, k.Count)
			if k.NS > 0 {
				r.cells = append(r.cells, float64(k.Bytes)/(1<<30)/(float64(k.NS)/1e9))
			} else {
				r.none()
			}
			r.int(k.NS)
		},
	}
}

func callsTable(rep *findings.Report) *table {
	n, at := flatten(rep, func(t *align.Track) int { return len(t.Calls) })
	origin := pathFrom(rep)
	return &table{
		sheet: "CUDA API by phase", name: "CUDA_API_by_phase", tab: tabGPU, n: n, fixed: 3,
		none: missing(rep, rep.Collected.API, "CUDA API calls", "none in the recorded time"),
		cols: columns(
			column{head: "Phase"}, column{head: "Inside"}, column{head: "From"}, column{head: "Call"}, column{head: "Count", as: asCount},
			column{head: "Total (ms)", as: asTime, bar: true}, column{head: "Mean (µs)", as: asTime}, column{head: "Most (µs)", as: asTime},
			column{head: "Failed", as: asCount}, column{head: "Total (ns)", as: asCount}),
		fill: func(i int, r *row) {
			t, j := at(i)
			k := &t.Calls[j]
			r.track(t)
			r.group(origin, t, k.Path, k.Where)
			r.text(k.Name)
			r.int(k.Count)
			r.ms(true, k.NS)
			r.mean(k.NS, k.Count)
			r.us(true, k.MaxNS)
			r.int(k.Failed)
			r.int(k.NS)
		},
	}
}
