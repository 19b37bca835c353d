package plot

import (
	"bytes"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-text/typesetting/fontscan"
)

func named(name string) *synth {
	s := training("x.sqlite", 3, 0)
	for i := range s.track.Iterations {
		s.track.Iterations[i].Phases[1].Path = name
	}
	for i := range s.track.Spans {
		if s.track.Spans[i].Path == "forward" {
			s.track.Spans[i].Path = name
		}
	}
	return s
}

// TestNoFont draws boxes, and says so, where no font has the characters.
func TestNoFont(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"png", "svg", "pdf"} {
		data, warnings := render(t, named("日本語"), format, Options{Size: halfSize.Size, DPI: halfSize.DPI, noScan: true})
		if len(data) == 0 || len(warnings) != 1 || warnings[0].Code != "no_font" {
			t.Fatalf("%s: %d bytes, warnings %v", format, len(data), warnings)
		}
		for _, want := range []string{"日 (U+65E5)", "本", "語", "--font"} {
			if !strings.Contains(warnings[0].Text, want) {
				t.Errorf("warning %q does not have %q", warnings[0].Text, want)
			}
		}
	}
	if _, warnings := render(t, named("forward für été ±"), "png", Options{Size: halfSize.Size, DPI: halfSize.DPI, noScan: true}); len(warnings) > 0 {
		t.Errorf("western text: %v", warnings)
	}
}

// TestInstalledFont needs a font with Japanese characters on the machine.
func TestInstalledFont(t *testing.T) {
	if _, warnings := render(t, named("日本語"), "png", Options{}); len(warnings) > 0 {
		t.Skip("no installed font has 日本語")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	boxes := first(render(t, named("日本語"), "png", Options{noScan: true}))
	for _, format := range []string{"png", "svg", "pdf"} {
		data, warnings := render(t, named("日本語"), format, Options{})
		if len(warnings) > 0 {
			t.Errorf("%s: %v", format, warnings)
		}
		if format == "png" && bytes.Equal(data, boxes) {
			t.Error("boxes are drawn though a font has the characters")
		}
		if dir := os.Getenv("NSYSMEM_LOOK"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, "japanese."+format), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("file %s was made", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFontFile takes characters from the file that the user names. The built-in font without its own characters would be
// no test: the outlines must come from the file.
func TestFontFile(t *testing.T) {
	t.Parallel()
	found, err := fontscan.SystemFonts(log.New(io.Discard, "", 0), t.TempDir())
	if err != nil {
		t.Skip(err)
	}
	files := 0
	for _, fp := range found {
		if !fp.Runes.Contains('語') {
			continue
		}
		files++
		if _, warnings := render(t, named("日本語"), "png", Options{Font: fp.Location.File, noScan: true}); len(warnings) == 0 {
			return
		}
	}
	if files == 0 {
		t.Skip("no installed font has 語")
	}
	t.Errorf("none of %d files with the character is of use", files)
}

func TestClean(t *testing.T) {
	t.Parallel()
	if got := clean("a\tb\x00\u202e\xffc"); got != "a b\uFFFD\uFFFDc" {
		t.Errorf("clean = %q", got)
	}
}
