package summary

import "nsysmem/align"

// A figure is one integer of a row: its key in JSON, and the last part of its column name in CSV.
type figure[T any] struct {
	key   string
	get   func(*T) int64
	known func(*align.Collected) bool // nil where the figure is known whenever the row's part is
}

func knowsAPI(c *align.Collected) bool     { return c.API }
func knowsKernels(c *align.Collected) bool { return c.Kernels }
func knowsCopies(c *align.Collected) bool  { return c.Copies }
func knowsGPU(c *align.Collected) bool     { return c.Kernels || c.Copies }

// The figures of a row, in the order in which every format writes them. A failed allocation leaves no memory event;
// only its API call tells of it.
var (
	memoryFigures = []figure[align.MemoryUse]{
		{"start_bytes", func(u *align.MemoryUse) int64 { return u.Start }, nil},
		{"end_bytes", func(u *align.MemoryUse) int64 { return u.End }, nil},
		{"net_bytes", func(u *align.MemoryUse) int64 { return u.Net }, nil},
		{"peak_bytes", func(u *align.MemoryUse) int64 { return u.Peak }, nil},
		{peakAtKey, func(u *align.MemoryUse) int64 { return u.PeakAt }, nil},
		{"need_bytes", func(u *align.MemoryUse) int64 { return u.Need }, nil},
		{"allocs", func(u *align.MemoryUse) int64 { return u.Allocs }, nil},
		{"alloc_bytes", func(u *align.MemoryUse) int64 { return u.AllocBytes }, nil},
		{"frees", func(u *align.MemoryUse) int64 { return u.Frees }, nil},
		{"free_bytes", func(u *align.MemoryUse) int64 { return u.FreeBytes }, nil},
		{"failed_allocs", func(u *align.MemoryUse) int64 { return u.FailedAllocs }, knowsAPI},
	}
	gpuFigures = []figure[align.GPUUse]{
		{"kernels", func(u *align.GPUUse) int64 { return u.Kernels }, knowsKernels},
		{"kernel_ns", func(u *align.GPUUse) int64 { return u.KernelNS }, knowsKernels},
		{"busy_ns", func(u *align.GPUUse) int64 { return u.BusyNS }, knowsKernels},
		{"graphs", func(u *align.GPUUse) int64 { return u.Graphs }, knowsKernels},
		{"graph_ns", func(u *align.GPUUse) int64 { return u.GraphNS }, knowsKernels},
		{"copies", func(u *align.GPUUse) int64 { return u.Copies }, knowsCopies},
		{"h2d_bytes", func(u *align.GPUUse) int64 { return u.H2D }, knowsCopies},
		{"d2h_bytes", func(u *align.GPUUse) int64 { return u.D2H }, knowsCopies},
		{"d2d_bytes", func(u *align.GPUUse) int64 { return u.D2D }, knowsCopies},
		{"memcpy_ns", func(u *align.GPUUse) int64 { return u.MemcpyNS }, knowsCopies},
		{"memsets", func(u *align.GPUUse) int64 { return u.Memsets }, knowsCopies},
		{"memset_bytes", func(u *align.GPUUse) int64 { return u.MemsetBytes }, knowsCopies},
		{"memset_ns", func(u *align.GPUUse) int64 { return u.MemsetNS }, knowsCopies},
	}
	apiFigures = []figure[align.APIUse]{
		{"calls", func(u *align.APIUse) int64 { return u.Calls }, nil},
		{"alloc_ns", func(u *align.APIUse) int64 { return u.AllocNS }, nil},
		{"free_ns", func(u *align.APIUse) int64 { return u.FreeNS }, nil},
		{"sync_ns", func(u *align.APIUse) int64 { return u.SyncNS }, nil},
	}
)

// peakAtKey is the one figure of a row that has no median and no maximum: it is a time stamp.
const peakAtKey = "peak_at_ns"
