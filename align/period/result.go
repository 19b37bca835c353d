package period

// The names of phases.
const (
	dataPhase      = "data"
	forwardPhase   = "forward"
	backwardPhase  = "backward"
	optimizerPhase = "optimizer"
	prefillPhase   = "prefill" // of a request: its prompt
	decodePhase    = "decode"  // of a request: one call for each token
)

// A Phase is one call of a phase: with several micro-batches a training step has several of each.
type Phase struct {
	Name        string // "data", "forward", "backward" or "optimizer"; of a request "prefill" or "decode"
	First, Last int    // operations, inclusive; other threads' may lie between
	Start, End  int64  // ns, half-open; calls of one iteration are in time order and do not overlap
}

// An Iteration is one training step, request or other repetition.
type Iteration struct {
	First, Last int     // operations, inclusive; other threads' may lie between
	Start       int64   // ns; start of the call that launches its first operation
	End         int64   // ns; the next iteration's Start, or the end of its own last launching call where others lie between
	Earliest    int64   // ns; end of the launching call before, to which Start may be moved back; Start where there is none
	Truncated   bool    // the recording or the program ended before its optimizer
	Phases      []Phase // nil where phases cannot be told
}

// A Result is what was found.
type Result struct {
	Iterations []Iteration // in time order, without overlap; nil where none were found
	Confidence float64     // 0 to 1: how well the repetitions match; 0 where none were found
	Sure       bool        // more than resemblance tells: threads in turn, an optimizer, what the host feeds
	Period     int         // median number of operations of an iteration; 0 where none were found
	Unit       string      // "training step", "request", "step" or "graph launch"; empty where none were found
	Why        string      // one clause for a caption: what they are, or why there are none
}

// none is the result that gives no iterations, and the reason.
func none(why string) Result { return Result{Why: why} }
