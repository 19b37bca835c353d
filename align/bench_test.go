package align

import (
	"context"
	"testing"

	"nsysmem/internal/amplify"
	"nsysmem/nsysdb"
)

// benchCopies of gpt_amp are 360,000 API calls, 130,000 kernels and 84,000 memory events.
const benchCopies = 20

func benchExport(b *testing.B) *nsysdb.DB {
	db, err := nsysdb.Open(amplify.Export(b, "../testdata/gpt_amp.sqlite", benchCopies))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	b.ReportAllocs()
	return db
}

// benchRows reads ranges and calls of an export and makes the rows of iterations and phases.
func benchRows(b *testing.B, db *nsysdb.DB) (*source, *alignment, *rows, *places) {
	ctx := context.Background()
	src, err := newSource(db, Options{})
	if err != nil {
		b.Fatal(err)
	}
	r, err := readRanges(ctx, src)
	if err != nil {
		b.Fatal(err)
	}
	a, at, err := iterate(ctx, src, r)
	if err != nil {
		b.Fatal(err)
	}
	return src, a, makeRows(src, a), at
}

// BenchmarkAttribution joins all API calls to ranges and makes the rows of iterations and phases.
func BenchmarkAttribution(b *testing.B) {
	db := benchExport(b)
	for b.Loop() {
		benchRows(b, db)
	}
	b.ReportMetric(float64(db.Rows(nsysdb.API))*float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkAccounting counts memory events, kernels and copies, and makes the report of them.
func BenchmarkAccounting(b *testing.B) {
	db := benchExport(b)
	for b.Loop() {
		b.StopTimer()
		src, a, r, at := benchRows(b, db)
		b.StartTimer()
		u, err := readUses(context.Background(), src, a, r, at)
		if err != nil {
			b.Fatal(err)
		}
		assemble(src, a, r, u, nil, nil)
	}
	b.ReportMetric(float64(db.Rows(nsysdb.Kernel)+db.Rows(nsysdb.MemoryUsage))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkAnalyze reads and aligns 6 iterations of a language model: 6,484 kernels, 18,000 calls.
func BenchmarkAnalyze(b *testing.B) {
	for _, bench := range []struct {
		name string
		opts Options
	}{{"figures", Options{}}, {"everything", Options{Blocks: true, Kernels: true, Spans: true}}} {
		b.Run(bench.name, func(b *testing.B) {
			db, err := nsysdb.Open("../testdata/gpt_amp.sqlite")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyze(context.Background(), db, bench.opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCurves(b *testing.B) {
	db, err := nsysdb.Open("../testdata/cnn_default.sqlite")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rep, err := Analyze(context.Background(), db, Options{})
	if err != nil {
		b.Fatal(err)
	}
	tr := rep.Tracks[0]
	w := []Window{{PID: tr.PID, Device: tr.Device, From: rep.Source.Start, To: rep.Source.End, Points: 1000}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Curves(context.Background(), db, rep, w); err != nil {
			b.Fatal(err)
		}
	}
}
