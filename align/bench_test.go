package align

import (
	"context"
	"testing"

	"nsysmem/nsysdb"
)

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
