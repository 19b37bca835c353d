// Package period finds the iterations and phases of a program that nobody annotated, in the sequence of its GPU
// operations alone. It is pure: operations in, cuts out.
//
// Times are int64 nanoseconds on the CPU clock of the launching calls. Iterations and phases are half-open [start, end)
// in time; their operation indexes First and Last are both inclusive.
//
// There are two searches. A training step of PyTorch is told by its threads: the backward pass is launched by a thread
// of its own, so that the sequence falls into turns (train.go). Everything else is told by what recurs (repeat.go). No
// iterations are better than wrong ones: both searches compare what they cut and give up where it does not match.
package period

import "strings"

// Class is the kind of a GPU operation.
type Class uint8

// The classes. Copies of other directions than these count as DtoD.
const (
	Kernel Class = iota
	HtoD         // copy from host memory to the device
	DtoH         // copy from the device to host memory
	DtoD         // copy within or between devices
	Memset
	Graph // launch of a whole CUDA graph; the kernels of one launch must be one Op
)

// Flags is what the caller knows of an operation beyond its identity.
type Flags uint8

// The flags.
const (
	Optimizer Flags = 1 << iota // its name is one that optimizers use, see FlagsOf
	Fill                        // it fills a single small tensor with a value: one block, see FlagsOf
	Forward                     // a range of an operator says that it belongs to the forward pass
	Backward                    // a range of an operator says that it belongs to the backward pass
)

// An Op is one GPU operation as it was launched.
type Op struct {
	Key    uint64 // kernel by full name, grid and block; copy by direction and size class; memset by size class
	Loose  uint64 // kernel by full name alone; copy by direction alone; memset one value
	Kind   uint64 // kernel by what it computes, see KindOf; 0 where unknown
	Start  int64  // ns; start of the launching call
	End    int64  // ns; end of the launching call; 0 where unknown
	Thread int32  // launching thread, by any numbering
	Stream int32  // stream it runs on, by any numbering
	Class  Class
	Flags  Flags
}

// work says that an operation computes, unlike copies and memsets.
func (o *Op) work() bool { return o.Class == Kernel || o.Class == Graph }

// end is the end of the launching call, or its start where that is unknown.
func (o *Op) end() int64 { return max(o.Start, o.End) }

// The names of phases.
const (
	DataPhase      = "data"
	ForwardPhase   = "forward"
	BackwardPhase  = "backward"
	OptimizerPhase = "optimizer"
	PrefillPhase   = "prefill" // of a request: its prompt
	DecodePhase    = "decode"  // of a request: one call a token
)

// A Phase is one call of a phase: with several micro-batches a step has several of each.
type Phase struct {
	Name        string
	First, Last int   // operations, inclusive; other threads' may lie between
	Start, End  int64 // ns; calls of one iteration are in time order and do not overlap
}

// An Iteration is one training step, request or other repetition.
type Iteration struct {
	First, Last int   // operations, inclusive; other threads' may lie between
	Start       int64 // ns; start of the call that launches its first operation
	End         int64 // ns; the next iteration's Start, or the end of its own last launching call where others lie between
	Earliest    int64 // ns; end of the launching call before its first one: Start may be moved back to here; Start where there is none
	Truncated   bool  // the recording or the program ended before its optimizer
	Phases      []Phase
}

// A Result is what was found.
type Result struct {
	Iterations []Iteration // in time order, without overlap; nil where none were found
	Confidence float64     // 0 to 1: how well the repetitions match; 0 where none were found
	Period     int         // median number of operations of an iteration; 0 where none were found
	Unit       string      // "training step", "request", "step" or "graph launch"; empty where none were found
	Why        string      // one clause for a caption: what they are, or why there are none
}

// MinConfidence is the least confidence with which iterations are given.
const MinConfidence = 0.35

// Find searches the operations of one process, given in launch order (by Start). It takes time about linear in their
// number.
func Find(ops []Op) Result {
	if len(ops) < 4 {
		return none("too few GPU operations to repeat")
	}
	for i := 1; i < len(ops); i++ {
		if ops[i].Start < ops[i-1].Start {
			return none("the GPU operations are not in launch order")
		}
	}
	train, found := findTraining(ops)
	if found && len(train.Iterations) >= 4 {
		return train
	}
	// Three eager steps may be the warm-up of a captured graph that is replayed many times: then the replays are the
	// iterations. Replays of other kinds (an evaluation, say) do not outweigh training.
	other := findRepeats(ops, train.Why != "")
	switch {
	case !found && len(other.Iterations) > 0:
		return other
	case found && len(other.Iterations) > 2*len(train.Iterations) && hasGraphs(ops, other.Iterations):
		return other
	case found:
		return train
	}
	if train.Why != "" {
		other.Why = train.Why + "; " + other.Why
	}
	return other
}

func hasGraphs(ops []Op, its []Iteration) bool {
	n := 0
	for _, it := range its {
		for i := it.First; i <= it.Last; i++ {
			if ops[i].Class == Graph {
				n++
				break
			}
		}
	}
	return 2*n > len(its)
}

func none(why string) Result { return Result{Why: why} }

// FlagsOf tells Optimizer and Fill from a kernel's full name and its number of blocks. The names are those of PyTorch's
// and Apex's multi-tensor kernels and of fused optimizers.
func FlagsOf(name string, blocks int64) Flags {
	var f Flags
	low := strings.ToLower(name)
	for _, s := range [...]string{"multi_tensor_apply", "multitensorapply", "foreach", "adam", "sgd", "adagrad", "adadelta", "rmsprop"} {
		if strings.Contains(low, s) {
			f |= Optimizer
			break
		}
	}
	if blocks == 1 && strings.Contains(low, "fillfunctor") {
		f |= Fill
	}
	return f
}
