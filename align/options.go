package align

import "nsysmem/torchmem"

// Options say how to analyze a report.
type Options struct {
	Iteration  string // regular expression that the names of iteration ranges match; empty to find them
	Domain     string // use only ranges of this NVTX domain for iterations; empty for all
	SameThread bool   // attribute only to ranges on the launching thread, as NVIDIA's own scripts do
	Through    bool   // let operators' and libraries' ranges on other threads give way to the phase of the main thread
	Infer      Infer  // when to infer iterations and phases from GPU work

	Snapshot     *torchmem.Snapshot // PyTorch's memory snapshot of the same run; nil for none
	SnapshotName string             // its file, for messages

	Params    int64  // parameters of the model, to put theory beside measurement; 0 for none
	DType     string // type of the parameters, such as "float32"
	Optimizer string // such as "adamw"

	Blocks  bool // fill Track.Blocks, LiveAtPeak and LiveAtEnd
	Kernels bool // fill Track.Kernels, Copies and Calls
	Spans   bool // fill Track.Spans

	Progress func(stage string, done, total int64) // called now and then from one goroutine; may be nil
}

// Infer says when iterations and phases are inferred from GPU work.
type Infer uint8

// The values of Infer.
const (
	InferAuto   Infer = iota // where there are no ranges for them
	InferOff                 // never
	InferAlways              // also where there are ranges, to compare the two
)

// A Window is a stretch of time of one track for which a curve is wanted.
type Window struct {
	PID    int64
	Device int64
	From   int64 // ns
	To     int64 // ns
	Points int   // at most so many points a curve; 0 for every event
}
