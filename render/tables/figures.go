package tables

import (
	"slices"

	"nsysmem/align"
)

// A Figure is one whole number that is counted for a row of any kind: an iteration, a phase, a range, a whole track. T is
// the part of align.Use that holds it.
type Figure[T any] struct {
	Key   string // in JSON; in CSV with the name of its part before it
	Head  string
	Unit  Unit
	Get   func(*T) int64
	Needs func(*align.Collected) bool // what must have been collected beside what the part needs; nil for nothing
	Bar   bool
	Stamp bool // a point in time: it has no median and no maximum
}

// The figures, in the order in which machine-readable outputs have them. A failed allocation leaves no memory event; only
// its API call tells of it.
var (
	Memory = []Figure[align.MemoryUse]{
		{Key: "start_bytes", Head: "start", Unit: Bytes, Get: func(u *align.MemoryUse) int64 { return u.Start }},
		{Key: "end_bytes", Head: "end", Unit: Bytes, Get: func(u *align.MemoryUse) int64 { return u.End }},
		{Key: "net_bytes", Head: "net", Unit: Change, Get: func(u *align.MemoryUse) int64 { return u.Net }},
		{Key: "peak_bytes", Head: "peak", Unit: Bytes, Bar: true, Get: func(u *align.MemoryUse) int64 { return u.Peak }},
		{Key: "peak_at_ns", Head: "peak at", Unit: Time, Stamp: true, Get: func(u *align.MemoryUse) int64 { return u.PeakAt }},
		{Key: "need_bytes", Head: "need", Unit: Bytes, Bar: true, Get: func(u *align.MemoryUse) int64 { return u.Need }},
		{Key: "allocs", Head: "allocs", Unit: Count, Get: func(u *align.MemoryUse) int64 { return u.Allocs }},
		{Key: "alloc_bytes", Head: "allocated", Unit: Bytes, Get: func(u *align.MemoryUse) int64 { return u.AllocBytes }},
		{Key: "frees", Head: "frees", Unit: Count, Get: func(u *align.MemoryUse) int64 { return u.Frees }},
		{Key: "free_bytes", Head: "freed", Unit: Bytes, Get: func(u *align.MemoryUse) int64 { return u.FreeBytes }},
		{Key: "failed_allocs", Head: "failed allocs", Unit: Count, Needs: knowsAPI, Get: func(u *align.MemoryUse) int64 { return u.FailedAllocs }},
		{Key: "static_allocs", Head: "of them static", Unit: Count, Get: func(u *align.MemoryUse) int64 { return u.StaticAllocs }},
		{Key: "static_alloc_bytes", Head: "static", Unit: Bytes, Get: func(u *align.MemoryUse) int64 { return u.StaticAllocBytes }},
	}
	GPU = []Figure[align.GPUUse]{
		{Key: "kernels", Head: "kernels", Unit: Count, Needs: knowsKernels, Get: func(u *align.GPUUse) int64 { return u.Kernels }},
		{Key: "kernel_ns", Head: "kernel time", Unit: Time, Needs: knowsKernels, Get: func(u *align.GPUUse) int64 { return u.KernelNS }},
		{Key: "busy_ns", Head: "GPU busy", Unit: Time, Needs: knowsKernels, Get: func(u *align.GPUUse) int64 { return u.BusyNS }},
		{Key: "graphs", Head: "graph launches", Unit: Count, Needs: knowsKernels, Get: func(u *align.GPUUse) int64 { return u.Graphs }},
		{Key: "graph_ns", Head: "graph time", Unit: Time, Needs: knowsKernels, Get: func(u *align.GPUUse) int64 { return u.GraphNS }},
		{Key: "copies", Head: "copies", Unit: Count, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.Copies }},
		{Key: "h2d_bytes", Head: "to device", Unit: Bytes, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.H2D }},
		{Key: "d2h_bytes", Head: "to host", Unit: Bytes, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.D2H }},
		{Key: "d2d_bytes", Head: "on device", Unit: Bytes, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.D2D }},
		{Key: "memcpy_ns", Head: "copy time", Unit: Time, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.MemcpyNS }},
		{Key: "memsets", Head: "memsets", Unit: Count, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.Memsets }},
		{Key: "memset_bytes", Head: "memset", Unit: Bytes, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.MemsetBytes }},
		{Key: "memset_ns", Head: "memset time", Unit: Time, Needs: knowsCopies, Get: func(u *align.GPUUse) int64 { return u.MemsetNS }},
	}
	API = []Figure[align.APIUse]{
		{Key: "calls", Head: "API calls", Unit: Count, Get: func(u *align.APIUse) int64 { return u.Calls }},
		{Key: "alloc_ns", Head: "API alloc time", Unit: Time, Get: func(u *align.APIUse) int64 { return u.AllocNS }},
		{Key: "free_ns", Head: "API free time", Unit: Time, Get: func(u *align.APIUse) int64 { return u.FreeNS }},
		{Key: "sync_ns", Head: "API sync time", Unit: Time, Get: func(u *align.APIUse) int64 { return u.SyncNS }},
	}
)

// requested are the figures of what a caching allocator handed out: its snapshot tells the requests that failed, whether or
// not calls were traced.
var requested = func() []Figure[align.MemoryUse] {
	out := slices.Clone(Memory)
	for i := range out {
		if out[i].Key == "failed_allocs" {
			out[i].Needs = nil
		}
	}
	return out
}()

// cached are the figures of what the allocator holds: none of them tells of requests that failed.
var cached = func() []Figure[align.MemoryUse] {
	out := slices.Clone(Memory)
	for i := range out {
		if out[i].Key == "failed_allocs" {
			out[i].Needs = func(*align.Collected) bool { return false }
		}
	}
	return out
}()

// LevelFigures are the figures Memory as they are known of a level.
func LevelFigures(kind align.LevelKind) []Figure[align.MemoryUse] {
	switch {
	case kind == align.LevelAllocated:
		return requested
	case !failsByKind(kind):
		return cached
	}
	return Memory
}

// A part is where rows R hold some figures.
type part[R, T any] struct {
	key       string     // before the keys of the figures, such as "median."; empty for none
	of        string     // as Column.Of
	group     string     // as Column.Group
	use       func(R) *T // the part of a row; nil where the row has none
	collected func(R) *align.Collected
	needs     func(*align.Collected) bool // what the whole part needs
}

// columns are the figures of a part as columns of its rows.
func (p part[R, T]) columns(figures []Figure[T]) []Column[R] {
	var out []Column[R]
	for _, f := range figures {
		if f.Stamp && p.of != "" {
			continue
		}
		out = append(out, Column[R]{Key: p.key + f.Key, Head: f.Head, Unit: f.Unit, Of: p.of, Group: p.group, Bar: f.Bar, Named: p.of != "",
			Int: func(r R) int64 { return f.Get(p.use(r)) },
			Known: func(r R) bool {
				c := p.collected(r)
				return p.needs(c) && (f.Needs == nil || f.Needs(c)) && p.use(r) != nil
			}})
	}
	return out
}

// useColumns are the figures of the device level, of GPU work and of API calls as columns of rows that hold them.
func useColumns[R any](key, of string, use func(R) *align.Use, collected func(R) *align.Collected) []Column[R] {
	memory := part[R, align.MemoryUse]{key, of, "memory", func(r R) *align.MemoryUse { return &use(r).Memory }, collected, knowsMemory}
	gpu := part[R, align.GPUUse]{key, of, "gpu", func(r R) *align.GPUUse { return &use(r).GPU }, collected, knowsGPU}
	api := part[R, align.APIUse]{key + "api_", of, "api", func(r R) *align.APIUse { return &use(r).API }, collected, knowsAPI}
	return append(append(memory.columns(Memory), gpu.columns(GPU)...), api.columns(API)...)
}
