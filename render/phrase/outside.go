package phrase

import (
	"fmt"
	"slices"

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
