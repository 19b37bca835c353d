package plot

import (
	"context"
	"io"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/internal/amplify"
	"nsysmem/nsysdb"
)

// BenchmarkPicture reads the curves of an analyzed report and draws them.
func BenchmarkPicture(b *testing.B) {
	db, err := nsysdb.Open(amplify.Export(b, "../../testdata/gpt_amp.sqlite", 20))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	aligned, err := align.Analyze(context.Background(), db, align.Options{Spans: true})
	if err != nil {
		b.Fatal(err)
	}
	rep := findings.Of(aligned)
	b.ReportAllocs()
	for b.Loop() {
		windows, err := Windows(rep, rep.Tracks[0], Options{})
		if err != nil {
			b.Fatal(err)
		}
		curves, err := align.Curves(context.Background(), db, aligned, windows)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Write(io.Discard, "png", rep, rep.Tracks[0], curves, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
