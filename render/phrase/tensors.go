package phrase

import (
	"cmp"
	"fmt"
	"slices"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/align/tensor"
	"nsysmem/internal/wording"
)

// Tensors says in a sentence where a track's tensors come from.
func Tensors(ten *tensor.Memory) string {
	n := wording.Count(len(ten.Blocks))
	if ten.From == tensor.ByDriver {
		return n + " blocks that the driver handed out one by one: the program runs without a caching allocator " +
			"of its own, so that the device level is its tensors, with libraries' workspaces among them"
	}
	return n + " blocks from PyTorch's memory snapshot" + named(ten.File)
}

// named puts a name behind what it is of; empty where there is none.
func named(name string) string {
	if name == "" {
		return ""
	}
	return " " + name
}

// Snapshots says which memory snapshots are used, each with its process and device; empty without one.
func Snapshots(rep *findings.Report) string {
	var of []string
	for _, t := range rep.Tracks {
		if ten := t.Tensors; ten != nil && ten.From == tensor.BySnapshot {
			of = append(of, fmt.Sprintf("process %d device %d from%s", t.PID, t.Device, named(cmp.Or(ten.File, "a snapshot"))))
		}
	}
	if len(of) == 0 {
		return ""
	}
	return "tensors of " + wording.And(of)
}

// Unknown says what the category unknown is; empty where no block is of it.
func Unknown(ten *tensor.Memory) string {
	if !slices.ContainsFunc(ten.Categories, func(c tensor.CategoryUse) bool { return c.Name == "unknown" }) {
		return ""
	}
	s := "unknown is what no rule names: "
	if ten.ByStacks() {
		return s + "blocks that were there before recording began, whose stacks it does not have"
	}
	return s + "blocks kept from one iteration to the next that are neither " +
		"parameter, gradient nor optimizer state, such as a growing list or what was born in no phase"
}

// Clock says how well a snapshot's clock goes with the report's; empty without a snapshot.
func Clock(c *tensor.Clock) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("the snapshot's stamps are %s late, spread %s; %d of %d segments of the snapshot are in "+
		"the report with address and size",
		wording.Duration(c.Offset), wording.Duration(c.Spread), c.Matched, c.Segments)
}

// Settings is what PYTORCH_CUDA_ALLOC_CONF was; empty without a snapshot.
func Settings(ten *tensor.Memory) string {
	switch {
	case ten.Conf != "":
		return ten.Conf
	case ten.Replay == nil:
		return ""
	case ten.Replay.Settings.Known:
		return "the defaults"
	}
	return "n/a: the snapshot does not say"
}

// Fragmentation says how the cache is at the reserved level's peak.
func Fragmentation(t *align.Track) string {
	ten := t.Tensors
	c := ten.AtReserved
	s := fmt.Sprintf("At the peak of reserved (%s, in %s): %s allocated, %s free in the cache, the largest free "+
		"block %s; %s of the free bytes are stuck in segments that hold live blocks.",
		wording.Bytes(c.Reserved), At(t, c.Iteration, c.Phase), wording.Bytes(c.Allocated), wording.Bytes(c.Free),
		wording.Bytes(c.LargestFree), wording.Bytes(c.Stuck))
	if n := len(ten.Growth); n > 0 {
		s += fmt.Sprintf(" Segments that were added: %s; for %s of them the cache had as many bytes free as "+
			"were asked for, but in no single block that would do.", wording.Count(n), wording.Count(misfits(ten)))
	}
	return s
}

// misfits counts the segments that were added although the cache had as many bytes free as were asked for.
func misfits(ten *tensor.Memory) int {
	n := 0
	for i := range ten.Growth {
		if ten.Growth[i].Misfit() {
			n++
		}
	}
	return n
}

// A ShareGroup is one way to tell who holds memory.
type ShareGroup struct {
	By     string // "module", "frame", "phase of birth" or "category"
	Shares []tensor.Share
}

// ShareGroups are the ways in which a holding is told. Where no block has a frame, there is none by frame, and where the
// program noted no modules, none by module. Layers that repeat are one share.
func ShareGroups(h *tensor.Holding) []ShareGroup {
	var out []ShareGroup
	if HasModules(h) {
		out = append(out, ShareGroup{"module", tensor.FoldModules(h.ByModule)})
	}
	if len(h.ByFrame) > 1 || len(h.ByFrame) == 1 && h.ByFrame[0].Name != tensor.NoFrame {
		out = append(out, ShareGroup{"frame", h.ByFrame})
	}
	return append(out, ShareGroup{"phase of birth", h.ByPhase}, ShareGroup{"category", h.ByCategory})
}

// HasModules says that the program noted which module asked for some of the blocks.
func HasModules(h *tensor.Holding) bool {
	return len(h.ByModule) > 1 || len(h.ByModule) == 1 && h.ByModule[0].Name != tensor.NoModule
}
