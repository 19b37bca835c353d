package workbook

import (
	"context"
	"io"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/amplify"
	"nsysmem/nsysdb"
)

// BenchmarkWorkbook writes the workbook of an analyzed report.
func BenchmarkWorkbook(b *testing.B) {
	db, err := nsysdb.Open(amplify.Export(b, "../../testdata/gpt_amp.sqlite", 20))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rep, err := align.Analyze(context.Background(), db, align.Options{Blocks: true, Kernels: true})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, findings.Of(rep), Options{TempDir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
	}
	blocks := 0
	for _, t := range rep.Tracks {
		blocks += len(t.Blocks)
	}
	b.ReportMetric(float64(blocks)*float64(b.N)/b.Elapsed().Seconds(), "blocks/s")
}
