package align_test

import (
	"context"
	"fmt"
	"log"

	"nsysmem/align"
	"nsysmem/nsysdb"
)

// A program of one's own asks which iteration needs most, and in which phase of it the level is highest.
func Example() {
	db, err := nsysdb.Open("../testdata/cpp_mem.sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rep, err := align.Analyze(context.Background(), db, align.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range rep.Tracks {
		for i := range t.Iterations {
			it := &t.Iterations[i]
			fmt.Printf("%s: peak %d bytes in %s, %d bytes stay\n", it.Name, it.Memory.Peak, it.PeakPhase(align.LevelDevice), it.Memory.Net)
		}
	}
	// Output:
	// step 0: peak 147824640 bytes in backward, 4194304 bytes stay
	// step 1: peak 147824640 bytes in backward, 0 bytes stay
	// step 2: peak 147824640 bytes in backward, 0 bytes stay
	// step 3: peak 147824640 bytes in backward, 5242880 bytes stay
	// step 4: peak 153067520 bytes in backward, 0 bytes stay
	// step 5: peak 153067520 bytes in backward, 0 bytes stay
}

// What is said with confidence has to be known: a figure that was not collected is told from a zero.
func ExampleCollected() {
	db, err := nsysdb.Open("../testdata/cnn_2022.sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rep, err := align.Analyze(context.Background(), db, align.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if !rep.Collected.Memory {
		fmt.Println("memory events were not recorded")
	}
	// Output: memory events were not recorded
}

// A pattern that is none is an error of Analyze.
func ExampleOptions() {
	db, err := nsysdb.Open("../testdata/cpp_mem.sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, err = align.Analyze(context.Background(), db, align.Options{Iteration: "step ("})
	fmt.Println(err)
	// Output: align: iteration pattern "step (": error parsing regexp: missing closing ): `step (`
}
