package torchmem_test

import (
	"fmt"
	"log"
	"os"

	"nsysmem/torchmem"
)

// A snapshot is replayed to see when the allocated level was highest, and what was live then.
func Example() {
	f, err := os.Open("../testdata/cnn_default.snapshot.pickle")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	snap, err := torchmem.Read(f, torchmem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := snap.Replay(0)
	if err != nil {
		log.Fatal(err)
	}
	use := r.Whole()
	fmt.Println(r.Events, "entries")
	fmt.Println(use.AllocatedPeak, "bytes allocated at most,", use.ReservedPeak, "reserved")
	fmt.Println(len(r.LiveAt(int(use.AllocatedPeakEvent))), "blocks live then")
	// Output:
	// 2743 entries
	// 275564032 bytes allocated at most, 356515840 reserved
	// 114 blocks live then
}
