package findings

import "fmt"

// FlatCache is the figures behind a driver level that does not move, although work goes on.
type FlatCache struct {
	SteadyIterations int   `json:"steady_iterations"`
	Events           int64 `json:"events"` // allocations and frees in those
}

const (
	// flatMoves is how many allocations and frees an iteration may have at most for the level to count as flat.
	// Libraries take a workspace now and then; a program without a caching allocator has one for each tensor.
	flatMoves = 1

	// flatShare is the part of the peak that the level may gain or lose over all steady iterations: 1 in 100.
	flatShare = 100
)

// flatAdvice says how to look into a framework's cache.
const flatAdvice = "in PyTorch, record a memory snapshot in the profiled run: torch.cuda.memory._record_memory_history(max_entries=1000000) before the model is built, " +
	"torch.cuda.memory._dump_snapshot(\"s.pickle\") at the end, then add --snapshot s.pickle; or profile once with PYTORCH_NO_CUDA_MEMORY_CACHING=1"

// flatCache tells of a driver level that does not move, although work goes on: a framework's cache. Where it is known
// what tensors use, there is nothing to tell; nor on a device on which a snapshot of the process has nothing.
func flatCache(s *subject) []Finding {
	for _, t := range s.rep.Tracks {
		if t == s.Track && t.Tensors != nil || t.PID == s.PID && snapshotOf(t) != nil {
			return nil
		}
	}
	e, net := FlatCache{}, int64(0)
	for i := range s.Iterations {
		if it := &s.Iterations[i]; it.Steady() {
			e.SteadyIterations++
			e.Events += it.Memory.Allocs + it.Memory.Frees
			net += it.Memory.Net
		}
	}
	peak := s.Total.Memory.Peak
	moves := e.Events > flatMoves*int64(e.SteadyIterations) || max(net, -net) > peak/flatShare
	if e.SteadyIterations < 2 || moves || peak == 0 {
		return nil
	}
	return []Finding{{Severity: Info, Advice: flatAdvice, Evidence: e,
		Text: fmt.Sprintf("the driver's level is flat over %d steady iterations: a framework keeps the memory in its cache, and what its tensors use in each phase is not visible here", e.SteadyIterations)}}
}
