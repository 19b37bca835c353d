package plot

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nsysmem/align"
	"nsysmem/align/findings"
	"nsysmem/nsysdb"
)

// drawExport draws a real export as the command does.
func drawExport(t *testing.T, file, format string, o Options) map[string][]byte {
	t.Helper()
	ctx := context.Background()
	db, err := nsysdb.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	aligned, err := align.Analyze(ctx, db, align.Options{Spans: true})
	if err != nil {
		t.Fatal(err)
	}
	rep := findings.Of(aligned)
	out := map[string][]byte{}
	for i, track := range rep.Tracks {
		windows, err := Windows(rep, track, o)
		if err != nil {
			t.Fatal(err)
		}
		curves, err := align.Curves(ctx, db, aligned, windows)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if _, err := Write(&buf, format, rep, track, curves, o); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".sqlite")
		if i > 0 {
			name += "." + string(rune('0'+i))
		}
		out[name] = buf.Bytes()
	}
	return out
}

// TestLookReal draws the exports that match the pattern in NSYSMEM_LOOK_REPORTS.
func TestLookReal(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("NSYSMEM_LOOK")
	files, err := filepath.Glob(os.Getenv("NSYSMEM_LOOK_REPORTS"))
	if err != nil || dir == "" || len(files) == 0 {
		t.Skip("set NSYSMEM_LOOK and NSYSMEM_LOOK_REPORTS to get pictures to look at")
	}
	for _, file := range files {
		if strings.Contains(file, "cnn_2022") {
			continue
		}
		for name, data := range drawExport(t, file, "png", Options{}) {
			if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLook writes pictures to look at into the folder that NSYSMEM_LOOK names.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("NSYSMEM_LOOK")
	if dir == "" {
		t.Skip("set NSYSMEM_LOOK to a folder to get pictures to look at")
	}
	for _, c := range []struct {
		name, format string
		s            *synth
		o            Options
	}{
		{"train", "png", training("cnn.sqlite", 8, 0), Options{}},
		{"stopped", "png", stopped(), Options{SinceFirst: true}},
		{"small", "png", stopped(), Options{Size: Size{W: 800, H: 500}}},
		{"many", "png", training("many.sqlite", 3000, 1<<16), Options{}},
		{"train", "svg", training("cnn.sqlite", 8, 0), Options{}},
		{"train", "pdf", training("cnn.sqlite", 8, 0), Options{}},
	} {
		var buf bytes.Buffer
		windows, err := Windows(c.s.rep, c.s.track, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Write(&buf, c.format, c.s.rep, c.s.track, c.s.curves(windows), c.o); err != nil {
			t.Fatal(c.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.name+"."+c.format), buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
