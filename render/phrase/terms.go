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
