package findings_test

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/align/findings"
)

// A report that align.Analyze made is asked for what should be known of it. Here it is made by hand: its last iteration
// is cut off, and no NVTX ranges were recorded.
func ExampleOf() {
	rep := &align.Report{
		Collected: align.Collected{Kernels: true, API: true, Memory: true},
		Recording: align.Recording{MemoryEvents: 12, MemoryKinds: true},
		Tracks: []*align.Track{{PID: 734, Iterations: []align.Iteration{
			{Index: 0, Name: "step 0"}, {Index: 1, Name: "step 1", Truncated: true}}}},
	}
	said := findings.Of(rep)
	for _, f := range said.Findings {
		fmt.Printf("%s %s: %s\n", f.Severity, f.ID, f.Text)
		for _, x := range f.Facts() {
			fmt.Println(" ", x.Key, x.Value)
		}
	}
	for _, w := range said.Warnings {
		fmt.Println(w.Code)
	}
	// Output:
	// warn truncated: step 1 is cut off and left out of medians
	//   device 0
	//   iteration 1
	//   pid 734
	// nvtx_not_collected
}
