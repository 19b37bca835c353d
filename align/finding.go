package align

import (
	"fmt"

	"nsysmem/internal/wording"
	"nsysmem/nsysdb"
)

// findings says what the user should know, and what the figures cannot tell.
func (a *analysis) findings() {
	a.doubts()
	for _, t := range a.rep.Tracks {
		if a.rep.Collected.Memory {
			driver := a.growth(t)
			kept := a.growthAllocated(t)
			pieces := a.fragmentation(t)
			if driver >= 0 {
				a.rep.Findings[driver].Advice = growthAdvice(t, a.rep.Findings[driver].Evidence, kept, pieces)
			}
			a.flat(t)
			a.failures(t)
		}
		for i := range t.Iterations {
			if it := &t.Iterations[i]; it.Truncated {
				a.find(t, "truncated", "warn", fmt.Sprintf("%s is cut off and left out of medians", it.Name), "", map[string]any{"iteration": it.Index})
			}
		}
	}
}

func (a *analysis) find(t *Track, id, severity, text, advice string, evidence map[string]any) {
	if len(a.rep.Tracks) > 1 {
		text = fmt.Sprintf("process %d device %d: %s", t.PID, t.Device, text)
	}
	if evidence == nil {
		evidence = map[string]any{}
	}
	evidence["pid"], evidence["device"] = t.PID, t.Device
	a.rep.Findings = append(a.rep.Findings, Finding{PID: t.PID, ID: id, Severity: severity, Text: text, Advice: advice, Evidence: evidence})
}

// doubts turns what was and was not collected, and what was lost, into warnings.
func (a *analysis) doubts() {
	c, db, meta := &a.rep.Collected, a.db, a.db.Meta()
	for _, w := range db.Warnings() {
		a.warn(w.Code, "%s", w.Text)
	}
	for _, d := range meta.Diagnostics {
		if d.Severity == "warning" || d.Severity == "error" || d.Severity == "fatal" {
			a.warn("profiler_"+d.Severity, "the profiler said: %s", d.Text)
		}
	}
	switch {
	case !c.Memory:
		a.warn("memory_not_collected", "memory events were not collected: record with nsys profile -t cuda,nvtx --cuda-memory-usage=true")
	case a.memoryRows == 0:
		a.warn("no_memory_events", "memory events were collected, but there is none in the recorded time")
	case !db.Has(nsysdb.MemoryUsage, nsysdb.MemKind):
		a.warn("no_memory_kind", "the export does not say the kind of memory: host and device memory cannot be told apart")
	}
	launched := int64(0)
	for _, n := range a.launches {
		launched += n
	}
	if !c.Kernels && launched > 0 {
		a.warn("no_gpu_activity", "%d launches were seen, but no GPU activity was recorded: the driver or its permissions did not allow it", launched)
	}
	if !c.API {
		a.warn("api_not_collected", "CUDA API calls were not collected: GPU work and memory events cannot be joined to ranges; record with -t cuda,nvtx")
	}
	if !c.NVTX {
		a.warn("nvtx_not_collected", "NVTX ranges were not collected: record with -t cuda,nvtx and mark iterations with NVTX ranges")
	}
	if meta.GraphMode == "Graph" && !db.Missing(nsysdb.GraphTrace) && db.Rows(nsysdb.GraphTrace) > 0 {
		a.warn("graphs_whole", "CUDA graphs are traced whole: record with --cuda-graph-trace=node to see their kernels")
	}
	for _, t := range a.rep.Tracks {
		for i := range t.Levels {
			l := &t.Levels[i]
			if l.UnmatchedFrees > 0 {
				a.warnOf(t.PID, "unmatched_frees", "process %d device %d: %d frees of %s memory (%s) have no allocation in the report: the level starts at that baseline, and levels and peak are lower bounds",
					t.PID, t.Device, l.UnmatchedFrees, l.Kind, size(l.Baseline))
			}
			if l.LostFrees > 0 {
				a.warnOf(t.PID, "lost_frees", "process %d device %d: %d blocks of %s memory were never freed in the report, but their address was allocated anew: they end there",
					t.PID, t.Device, l.LostFrees, l.Kind)
			}
			if levelOrder(l.Kind) >= levelOrder(LevelUnknown) {
				a.warnOf(t.PID, "unknown_kind", "process %d device %d: %d allocations are of memory %q and count for no known level", t.PID, t.Device, l.Allocs, l.Kind)
			}
		}
		if n := t.Attribution.NoLaunch; n > 0 {
			a.warnOf(t.PID, "no_launch", "process %d device %d: %d of %d kernels have no launching call in the report: they are in the totals, in no phase",
				t.PID, t.Device, n, t.Attribution.Kernels)
		}
	}
	for _, p := range a.procs {
		if a.vmm != nil && int(p.index) < len(a.vmm) && a.vmm[p.index] > 0 && c.Memory && !a.hasVMMRows(p) {
			a.warnOf(p.pid, "vmm_unseen", "process %d: %d virtual-memory calls (cuMemCreate and alike) were seen without memory events: the curve leaves that memory out", p.pid, a.vmm[p.index])
		}
	}
}

// hasVMMRows says that a process has memory events at all through which virtual memory could show; exports of 2023.4 and
// later write rows for it (observed), older ones may not.
func (a *analysis) hasVMMRows(p *process) bool {
	for _, t := range p.tracks {
		for _, l := range t.levels {
			if l.vmm {
				return true
			}
		}
	}
	return false
}

// flat tells of a driver level that does not move, although work goes on: a framework's cache.
func (a *analysis) flat(t *Track) {
	if t.Tensors != nil { // what tensors use is known
		return
	}
	steady, moves, net := 0, int64(0), int64(0)
	for i := range t.Iterations {
		if it := &t.Iterations[i]; it.Steady() {
			steady++
			moves += it.Memory.Allocs + it.Memory.Frees
			net += it.Memory.Net
		}
	}
	if steady < 2 || moves > int64(steady) || max(net, -net) > t.Total.Memory.Peak/100 || t.Total.Memory.Peak == 0 {
		return
	}
	a.find(t, "flat_cache", "info", fmt.Sprintf("the driver's level is flat over %d steady iterations: a framework keeps the memory in its cache, and what its tensors use in each phase is not visible here", steady),
		flatAdvice, map[string]any{"steady_iterations": steady, "events": moves})
}

// flatAdvice says how to look into a framework's cache.
const flatAdvice = "in PyTorch, record a memory snapshot in the profiled run: torch.cuda.memory._record_memory_history(max_entries=1000000) before the model is built, " +
	"torch.cuda.memory._dump_snapshot(\"s.pickle\") at the end, then add --snapshot s.pickle; or profile once with PYTORCH_NO_CUDA_MEMORY_CACHING=1"

func (a *analysis) failures(t *Track) {
	if len(t.Failed) == 0 {
		return
	}
	f := &t.Failed[len(t.Failed)-1]
	text := fmt.Sprintf("%d allocations failed", len(t.Failed))
	if f.Iteration >= 0 {
		text += fmt.Sprintf(", the last in %s, %s", t.Iterations[f.Iteration].Name, f.Phase)
	}
	advice := "look up the returned errors: none of them says that memory ran out"
	for i := range t.Failed {
		if t.Failed[i].Return == outOfMemory {
			advice = "the card was full for the process at that time: look at what was live at the peak"
			if t.DeviceTotal > 0 && t.Total.Memory.Peak < t.DeviceTotal/2 {
				advice = fmt.Sprintf("the process had traced %s at most on a card of %s: another process, or a limit set for this one, held the rest", size(t.Total.Memory.Peak), size(t.DeviceTotal))
			}
			break
		}
	}
	advice += "; a report does not hold the sizes that were asked for, a PyTorch memory snapshot does"
	a.find(t, "failed_allocs", "error", text, advice,
		map[string]any{"count": len(t.Failed), "last_ns": f.Time})
}

// size writes bytes for a sentence.
func size(b int64) string { return wording.Bytes(b) }
