package phrase

import (
	"cmp"
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// Outside says how much memory others than PyTorch's allocator took, static memory of modules among it, as in
// align.Use.Gaps.
func Outside(o *tensor.Outside) string {
	end := o.Bytes + o.Static
	s := fmt.Sprintf("%s (%s bytes) at the end, %s at most, that others than PyTorch's allocator took",
		wording.Bytes(end), wording.Count(end), wording.Bytes(o.Peak+o.Static))
	if o.Static > 0 {
		s += fmt.Sprintf("; %s of it is static memory of modules", wording.Bytes(o.Static))
	}
	return s + "."
}

// ChainsHow says how call chains are recorded. The defaults of nsys leave out calls that take less than 80 µs, and its
// unwinder needs samples of the CPU (nsys profile --help).
const ChainsHow = "profile with nsys profile -t cuda,nvtx --cuda-memory-usage=true --sample=process-tree --cudabacktrace=memory:0"

// OutsideHow says how the libraries that took memory outside PyTorch, or all of them, can be told; empty where they are, or
// where no call took any.
func OutsideHow(o *tensor.Outside) string {
	switch {
	case len(o.Takers) == 0:
		return ""
	case o.Libraries == nil:
		return "which library asked for it is told where call chains are recorded: " + ChainsHow
	case slices.ContainsFunc(o.Libraries, func(l tensor.Library) bool { return l.Name == "" }):
		return "of some calls the chain was not recorded or does not tell: " + ChainsHow
	}
	return ""
}

// contextLibrary stands for who asks for static memory of modules, which the CUDA context loads by itself, noChain for what no
// chain tells.
const (
	contextLibrary = "CUDA context (" + staticTaker + ")"
	noChain        = "(not told by a call chain)"
)

// OutsideLibraries are who asked for memory outside PyTorch, largest first, with the CUDA context as the last; nil where no
// call chains were recorded. Their sums are those of Outside.
func OutsideLibraries(o *tensor.Outside) []tensor.Library {
	if o.Libraries == nil {
		return nil
	}
	list := slices.Clone(o.Libraries)
	if o.Static > 0 {
		list = append(list, tensor.Library{Static: true, Blocks: o.Blocks, Bytes: o.Static, AtPeak: o.Static, Live: o.Static})
	}
	return list
}

// Library is the name of who asked.
func Library(l *tensor.Library) string {
	if l.Static {
		return contextLibrary
	}
	return cmp.Or(l.Name, noChain)
}

// staticTaker is the Call of the taker that stands for static memory of modules.
const staticTaker = "static memory of modules"

// OutsideTakers are the takers of memory outside PyTorch, largest first, with static memory of modules as the last: no call
// took that.
func OutsideTakers(o *tensor.Outside) []tensor.Taker {
	list := slices.Clone(o.Takers)
	if o.Static > 0 {
		list = append(list, tensor.Taker{Call: staticTaker, Iteration: -1, Blocks: o.Blocks, Bytes: o.Static, Live: o.Static})
	}
	return list
}

// EndGaps says what the gaps between the levels at the end of an iteration or phase are.
func EndGaps(t *align.Track) string {
	if t.Level(align.LevelGraphs) == nil {
		return "(gaps at the end of each: unused in the allocator's cache, reserved less allocated; outside of it, traced less reserved)"
	}
	return "(gaps at the end of each: unused in the allocator's cache, reserved less allocated and graph pools; graph pools, free in private pools of CUDA graphs, which their replays need; outside of the allocator, traced less reserved)"
}
