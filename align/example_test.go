package align_test

import (
	"context"
	"fmt"
	"log"

	"nsysmem/align"
	"nsysmem/nsysdb"
)

// How high the memory of a program rises, and which kernels the phases of a steady iteration launch.
func ExampleAnalyze() {
	db, err := nsysdb.Open("../testdata/cnn_default.sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rep, err := align.Analyze(context.Background(), db, align.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range rep.Tracks {
		fmt.Printf("device %d: %d iterations %q\n", t.Device, len(t.Iterations), t.IterationsFrom.Pattern)
		fmt.Printf("peak %d bytes\n", t.Level(align.LevelDevice).Peak)
		for _, p := range t.Phases {
			if p.Depth == 1 {
				fmt.Printf("%s: %d kernels, up to %d bytes\n", p.Path, p.Median.GPU.Kernels, p.Max.Memory.Peak)
			}
		}
	}
	// Output:
	// device 0: 8 iterations "iteration #"
	// peak 491061497 bytes
	// data: 0 kernels, up to 491061497 bytes
	// forward: 37 kernels, up to 491061497 bytes
	// backward: 70 kernels, up to 491061497 bytes
	// optimizer: 8 kernels, up to 491061497 bytes
	// (other): 0 kernels, up to 491061497 bytes
}
