package allocator_test

import (
	"fmt"
	"log"
	"os"

	"nsysmem/torchmem"
	"nsysmem/torchmem/allocator"
)

// A recorded program is given to the allocator's model under two settings.
func Example() {
	f, err := os.Open("../../testdata/cnn_default.snapshot.pickle")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	replay, err := snap.Replay(0)
	if err != nil {
		log.Fatal(err)
	}
	requests := allocator.RequestsOf(replay)
	for _, conf := range []string{"", "expandable_segments:True"} {
		cfg, err := allocator.ParseConfig(conf)
		if err != nil {
			log.Fatal(err)
		}
		res := requests.Simulate(cfg, allocator.Options{})
		fmt.Printf("%q: %d MiB reserved at most, %d calls of the driver\n", conf, res.PeakReserved>>20, res.CUDAMallocs)
	}
	// Output:
	// "": 340 MiB reserved at most, 19 calls of the driver
	// "expandable_segments:True": 288 MiB reserved at most, 17 calls of the driver
}
