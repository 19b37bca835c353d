package tables

import (
	"slices"

	"nsysmem/align"
)

// A sum is what kernels, copies and API calls of one phase and name have in common.
type sum struct {
	path  string
	where align.Where
	name  string
	count int64
	ns    int64
}

// sumPhase names the phase of a sum: a path, or what stands for none.
func sumPhase(s sum) string {
	if s.where == align.InNone || s.path == "" && s.where != align.InIteration {
		return "(no range)"
	}
	return s.path
}

// sumColumns are the columns that lead a table of sums, and those of its time.
func sumColumns[T any](name string, of func(*T) sum) []Column[*Row[T]] {
	get := func(r *Row[T]) sum { return of(r.Item) }
	return slices.Concat(trackColumns[T](), []Column[*Row[T]]{
		{Key: "path", Head: "phase", Text: func(r *Row[T]) string { return sumPhase(get(r)) }},
		{Key: "where", Head: "inside", Text: func(r *Row[T]) string { return string(get(r).where) }},
		{Key: "from", Head: "from", Unit: Origin, Int: func(r *Row[T]) int64 { return one(get(r).where == align.InIteration && r.origins().paths[get(r).path]) },
			Known: func(r *Row[T]) bool { return get(r).where != align.InNone }},
		{Key: "name", Head: name, Text: func(r *Row[T]) string { return get(r).name }},
		{Key: "count", Head: "count", Unit: Count, Int: func(r *Row[T]) int64 { return get(r).count }},
		{Key: "total_ns", Head: "total", Unit: Time, Bar: true, Int: func(r *Row[T]) int64 { return get(r).ns }},
		{Key: "mean_ns", Head: "mean", Unit: Short, Real: func(r *Row[T]) float64 { return float64(get(r).ns) / float64(get(r).count) },
			Known: func(r *Row[T]) bool { return get(r).count > 0 }},
	})
}

// The tables of GPU work and API calls, a row for each name in each phase over all iterations.
var (
	Kernels = define(append(sumColumns("kernel", func(k *align.KernelStat) sum { return sum{k.Path, k.Where, k.Name, k.Count, k.NS} }),
		Column[*Row[align.KernelStat]]{Key: "least_ns", Head: "least", Unit: Short, Int: func(r *Row[align.KernelStat]) int64 { return r.Item.MinNS }},
		Column[*Row[align.KernelStat]]{Key: "most_ns", Head: "most", Unit: Short, Int: func(r *Row[align.KernelStat]) int64 { return r.Item.MaxNS }},
	), Views{Workbook: "pid, device, path, where, from, name, count, total_ns, mean_ns, least_ns, most_ns, total_ns!"})[0]

	Copies = define(append(sumColumns("direction", func(k *align.CopyStat) sum { return sum{k.Path, k.Where, k.Kind, k.Count, k.NS} }),
		Column[*Row[align.CopyStat]]{Key: "size", Head: "size", Unit: Bytes, Bar: true, Int: func(r *Row[align.CopyStat]) int64 { return r.Item.Bytes }},
		Column[*Row[align.CopyStat]]{Key: "bytes", Head: "bytes", Unit: Count, Int: func(r *Row[align.CopyStat]) int64 { return r.Item.Bytes }},
		Column[*Row[align.CopyStat]]{Key: "rate", Head: "rate", Unit: Rate, Known: func(r *Row[align.CopyStat]) bool { return r.Item.NS > 0 },
			Real: func(r *Row[align.CopyStat]) float64 {
				return float64(r.Item.Bytes) / (1 << 30) / (float64(r.Item.NS) / 1e9)
			}},
	), Views{Workbook: "pid, device, path, where, from, name, count, size, bytes, total_ns, mean_ns, rate, total_ns!"})[0]

	Calls = define(append(sumColumns("call", func(k *align.CallStat) sum { return sum{k.Path, k.Where, k.Name, k.Count, k.NS} }),
		Column[*Row[align.CallStat]]{Key: "most_ns", Head: "most", Unit: Short, Int: func(r *Row[align.CallStat]) int64 { return r.Item.MaxNS }},
		Column[*Row[align.CallStat]]{Key: "failed", Head: "failed", Unit: Count, Int: func(r *Row[align.CallStat]) int64 { return r.Item.Failed }},
	), Views{Workbook: "pid, device, path, where, from, name, count, total_ns, mean_ns, most_ns, failed, total_ns!"})[0]
)
