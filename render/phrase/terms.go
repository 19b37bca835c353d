package phrase

import (
	"fmt"

	"nsysmem/align"
)

// What figures mean, in a clause each, for the places where they stand.
const (
	Median     = "median over the steady iterations: " + steady
	KernelTime = "sum of durations, overlapping kernels count twice"
	Busy       = "time in which at least one kernel ran, without copies"

	steady = "all but warm-up and truncated ones"
)

// categories are what each category of tensors is.
var categories = map[string]string{
	"parameter":       "weights of modules, and their buffers, such as running statistics",
	"weight copy":     "copies of weights that get no gradient: averages, master copies, target networks, a state read from a file",
	"optimizer state": "what an optimizer keeps from step to step",
	"gradient":        "gradients of parameters; with gradient_as_bucket_view the reduction buckets, which hold them",
	"activation":      "what a forward pass keeps, mostly for its backward pass, and what that makes anew when it recomputes",
	"input":           "batches and other data that modules are given",
	"communication":   "buffers of collectives: reduction buckets, gathered and unsharded copies",
	"workspace":       "scratch memory that libraries keep in PyTorch's allocator: cuBLAS, cuBLASLt, cuDNN",
	"graph pool":      "memory in the private pool of a CUDA graph that nothing else tells",
	"autograd detail": "what is made in a backward pass and gone with it",
	"temporary":       "what is gone soon, elsewhere",
	"unknown":         "what no rule names",
}

// Category says in a clause what a category of tensors is; empty for a name that is none.
func Category(name string) string { return categories[name] }

// Terms says below a table of phases what its medians and its kernel time are; c tells whether there is such.
func Terms(c *align.Collected, t *align.Track) string {
	n := 0
	for i := range t.Iterations {
		if t.Iterations[i].Steady() {
			n++
		}
	}
	s := fmt.Sprintf("median over %d steady iterations: ", n)
	if n == 1 {
		s = "of the one steady iteration: "
	}
	s += steady
	if c.Kernels {
		s += "; kernel time: " + KernelTime
	}
	return s
}
