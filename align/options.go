package align

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"nsysmem/align/theory"
)

// Options say how to analyze a report.
type Options struct {
	Iteration string  // regular expression that the names of iteration ranges match; empty to find them
	Domain    string  // use only ranges of this NVTX domain for iterations; empty for all
	Threads   Threads // to which range work of other threads than the one with the iterations belongs
	Infer     Infer   // when to infer iterations and phases from GPU work

	Snapshots []Snapshot // PyTorch's memory snapshots of the same run, in any order; nil for none

	Params    int64  // parameters of the model, to put theory beside measurement; 0 for none, never negative
	DType     string // type of the parameters, such as "float32"
	Optimizer string // such as "adamw"

	Blocks  bool // fill Track.Blocks, LiveAtPeak and LiveAtEnd
	Kernels bool // fill Track.Kernels, Copies and Calls
	Spans   bool // fill Track.Spans

	Progress func(stage string, done, total int64) // called now and then from one goroutine; may be nil
}

// Threads says to which range the work of a thread belongs that does not carry the iterations. A range of the program's own
// on that thread keeps its work in any case.
type Threads uint8

// The values of Threads.
const (
	ThreadsThrough Threads = iota // to the range open on the iterations' thread, also where a framework's or library's is open on its own
	ThreadsAny                    // likewise, but a framework's or library's range keeps its work
	ThreadsSame                   // to ranges on its own thread alone, as NVIDIA's own scripts do
)

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

// check says what is wrong with the options. It gives the expression of Iteration; nil for none.
func (o *Options) check() (*regexp.Regexp, error) {
	var wrong error
	switch {
	case o.Threads > ThreadsSame:
		wrong = fmt.Errorf("unknown Threads %d", o.Threads)
	case o.Infer > InferAlways:
		wrong = fmt.Errorf("unknown Infer %d", o.Infer)
	case o.Params < 0:
		wrong = fmt.Errorf("%d parameters: a model has some, and 0 asks for no theory", o.Params)
	case o.Params > 0:
		wrong = theory.Check(strings.ToLower(o.DType), o.Optimizer)
	}
	var re *regexp.Regexp
	if o.Iteration != "" {
		var err error
		if re, err = regexp.Compile(o.Iteration); err != nil {
			wrong = cmp.Or(wrong, fmt.Errorf("iteration pattern %q: %w", o.Iteration, err))
		}
	}
	if wrong != nil {
		return nil, fmt.Errorf("align: %w", wrong)
	}
	return re, nil
}
