package period

// A proof is what tells, besides their likeness, that the repetitions of a thread are steps and not the layers of one pass.
type proof uint8

const (
	noProof        proof = iota
	proofOptimizer       // each holds an optimizer's kernels
	proofFed             // the host feeds each
	proofRead            // the host reads from each
	proofGraphs          // each launches a graph
	proofMany            // there are more than a network has layers
	proofLayers          // each holds layers itself
	proofRequests        // prefills and decode steps
	proofGroups          // groups of steps that begin alike
)

// proofs is how far each is believed, and how it is told.
//
// The confidence of repetitions that match in full is drawn from labelled recordings and public exports, so that what is
// told at 0.9 and above is right in 95 of 100: what has an optimizer is a training step. The host also feeds and reads
// what is none: the inner loops of a solver, sorts, the set-up of a program.
var proofs = [...]struct {
	confidence float64
	sure       bool // enough to outweigh ranges that are doubted
	unit, why  string
}{
	proofOptimizer: {1, true, "step", "a run of GPU operations with an optimizer recurs"},
	proofFed:       {0.95, true, "step", "a run of GPU operations that the host feeds recurs"},
	proofRead:      {0.8, false, "step", "a run of GPU operations from which the host reads recurs"},
	proofGraphs:    {0.85, false, "graph launch", "launches of a graph recur"},
	proofMany:      {0.6, false, "step", "a run of GPU operations recurs more often than a network has layers"},
	proofLayers:    {0.6, false, "step", "a run of GPU operations that holds layers recurs"},
	proofRequests:  {0.95, true, "request", "a prefill is followed by decode steps that recur"},
	proofGroups:    {0.85, false, "request", "steps that recur come in groups that begin alike"},
}

// Repetitions of two to four different kernels, and of a single one, are believed less.
const (
	fewKinds   = 0.85
	loneKernel = 0.7
)
