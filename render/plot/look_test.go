package plot

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLook writes pictures to look at into the folder that NSYSMEM_LOOK names.
func TestLook(t *testing.T) {
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
