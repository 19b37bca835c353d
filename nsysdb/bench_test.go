package nsysdb

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// BenchmarkScan reads a million API calls, in one part and in two, from pages and by SQLite.
func BenchmarkScan(b *testing.B) {
	path := amplified(b)
	cols := []Column{Start, End, CorrelationID, GlobalTID, NameID}
	for name, way := range ways {
		for _, parts := range []int{1, 2} {
			b.Run(fmt.Sprintf("by=%s/parts=%d", name, parts), func(b *testing.B) {
				db := open(b, path, way...)
				b.ReportAllocs()
				var rows, sum atomic.Int64
				for b.Loop() {
					err := db.Scan(context.Background(), Scan{Table: API, Columns: cols, Parts: parts}, func(x *Batch) error {
						rows.Add(int64(x.Rows))
						s := int64(0)
						for _, c := range x.Cols {
							for _, v := range c {
								s += v & 1
							}
						}
						sum.Add(s)
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(rows.Load())/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkNVTX reads 200,000 ranges.
func BenchmarkNVTX(b *testing.B) {
	path := amplified(b)
	for name, way := range ways {
		b.Run("by="+name, func(b *testing.B) {
			db := open(b, path, way...)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				x, err := db.NVTX(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				n += len(x.Ranges)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ranges/s")
		})
	}
}

// BenchmarkOpen opens a real export.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		db, err := Open("../testdata/cnn_default.sqlite")
		if err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

// amplified is a real export whose API calls and ranges are repeated.
func amplified(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "amplified.sqlite")
	write(b, path, content(b, "../testdata/cnn_default.sqlite"))
	repeat := func(table, shifted, others string, copies int) string {
		return fmt.Sprintf(`INSERT INTO %[1]s(start, "end", %[3]s) WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<%[4]d)
SELECT start+i*15000000000, "end"+i*15000000000, %[2]s FROM k CROSS JOIN (SELECT * FROM %[1]s);`, table, shifted, others, copies-1)
	}
	run(b, path, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"+
		repeat("CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass, globalTid, correlationId+i*10000, nameId, returnValue, callchainId",
			"eventClass, globalTid, correlationId, nameId, returnValue, callchainId", 220)+
		repeat("NVTX_EVENTS", "eventType, text, globalTid, domainId", "eventType, text, globalTid, domainId", 5000))
	return path
}
