package phrase

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// A Gap is something that a report does not hold.
type Gap struct {
	What string // such as "device memory"
	Cost string // what is not known for that, one clause
	How  string // how to record it, one clause
}

// Missing lists what the report does not hold and how to record it, in the order of the tables that need it; nil where
// everything is there.
func Missing(c align.Collected) []Gap {
	var gaps []Gap
	if !c.Memory {
		g := Gap{"device memory", "no level, peak or allocation is known",
			"profile with nsys profile -t cuda,nvtx --cuda-memory-usage=true"}
		switch {
		case c.Allocs > 0:
			g.Cost = fmt.Sprintf("memory usage was to be recorded, but %s of device memory left no event: %s", wording.Plural(c.Allocs, "allocation"), g.Cost)
			g.How = "profile where the profiler may trace the GPU"
		case c.Launches > 0:
			g.How = "profile where the profiler may trace the GPU, with nsys profile -t cuda,nvtx --cuda-memory-usage=true"
		}
		gaps = append(gaps, g)
	}
	if !c.NVTX {
		gaps = append(gaps, Gap{"NVTX ranges", "iterations and phases have no names of the program",
			"profile with -t cuda,nvtx, and mark iterations and phases (in PyTorch: torch.cuda.nvtx.range_push)"})
	}
	if !c.Kernels {
		g := Gap{"GPU kernels", "no kernel and no GPU time is known",
			"profile with -t cuda where the profiler may trace the GPU (it tells in its diagnostics why it could not)"}
		if c.Launches > 0 {
			g.How = "profile where the profiler may trace the GPU: the warnings say why it could not"
		}
		gaps = append(gaps, g)
	}
	if !c.API {
		gaps = append(gaps, Gap{"CUDA API calls", "nothing can be attributed by thread, and failed allocations are not known",
			"profile with -t cuda"})
	}
	return gaps
}
