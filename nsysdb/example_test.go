package nsysdb_test

import (
	"context"
	"fmt"
	"log"

	"nsysmem/nsysdb"
)

// A program of one's own adds up the time of all kernels and finds the longest.
func ExampleDB_Scan() {
	db, err := nsysdb.Open("../testdata/cpp_mem.sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	var kernels, total, longest, name int64
	scan := nsysdb.Scan{Table: nsysdb.Kernel, Columns: []nsysdb.Column{nsysdb.Start, nsysdb.End, nsysdb.NameID}}
	err = db.Scan(context.Background(), scan, func(b *nsysdb.Batch) error {
		start, end, names := b.Cols[0], b.Cols[1], b.Cols[2] // in the order of Columns; nil where the table lacks one
		for i := range b.Rows {
			took := end[i] - start[i] // ns
			total += took
			if took > longest {
				longest, name = took, names[i]
			}
		}
		kernels += int64(b.Rows)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d kernels, %d ns\nlongest: %s, %d ns\n", kernels, total, db.String(name), longest)
	// Output:
	// 61 kernels, 157344 ns
	// longest: fill, 4032 ns
}

// Whether a table is there, and what the export says of the recording, is known on opening.
func ExampleOpen() {
	db, err := nsysdb.Open("../testdata/cpp_mem.sqlite", nsysdb.BySQLite)
	if err != nil {
		log.Fatal(err) // one line: which file, what is wrong, what to do
	}
	defer db.Close()

	meta := db.Meta()
	fmt.Println(meta.NsysVersion, meta.GPUs[0].Name)
	fmt.Println("memory events:", !db.Missing(nsysdb.MemoryUsage))
	fmt.Println("graph launches:", !db.Missing(nsysdb.GraphTrace))
	// Output:
	// 2025.3.2.0 NVIDIA H200
	// memory events: true
	// graph launches: false
}
