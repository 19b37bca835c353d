package plot

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
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
	for _, format := range []string{"png", "svg", "pdf"} {
		data, warnings := render(t, named("日本語"), format, Options{noScan: true})
		if len(data) == 0 || len(warnings) != 1 || warnings[0].Code != "no_font" {
			t.Fatalf("%s: %d bytes, warnings %v", format, len(data), warnings)
		}
		for _, want := range []string{"日 (U+65E5)", "本", "語", "--font"} {
			if !strings.Contains(warnings[0].Text, want) {
				t.Errorf("warning %q does not have %q", warnings[0].Text, want)
			}
		}
	}
	if _, warnings := render(t, named("forward für été ±"), "png", Options{noScan: true}); len(warnings) > 0 {
		t.Errorf("western text: %v", warnings)
	}
}

// TestInstalledFont needs a font with Japanese characters on the machine.
func TestInstalledFont(t *testing.T) {
	f, err := newFonts("", true)
	if err != nil {
		t.Fatal(err)
	}
	if f.face('語', 0) == nil {
		t.Skip("no installed font has 語")
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
	err = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
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
	f, err := newFonts("", true)
	if err != nil {
		t.Fatal(err)
	}
	if f.face('語', 0) == nil {
		t.Skip("no installed font has 語")
	}
	var file string
	for name, faces := range f.installed.files {
		for _, face := range faces {
			var buf sfnt.Buffer
			if i, err := face.GlyphIndex(&buf, '語'); err == nil && i != 0 {
				file = name
			}
		}
	}
	if _, warnings := render(t, named("日本語"), "png", Options{Font: file, noScan: true}); len(warnings) > 0 {
		t.Errorf("with font %s: %v", file, warnings)
	}
}

// TestFontRefused refuses what is no font before it fills the memory.
func TestFontRefused(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.ttf")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxFont+1); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]string{large: "too large", t.TempDir(): "no regular file", os.DevNull: "no regular file", "nowhere.ttf": "nowhere.ttf"} {
		if _, err := newFonts(name, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFit(t *testing.T) {
	f, _ := newFonts("", false)
	l, _ := newLayout(Options{})
	p, err := newPainter("png", l, f)
	if err != nil {
		t.Fatal(err)
	}
	st := style{size: small}
	name := strings.Repeat("name", 100)
	cut := p.fit(name, st, 100)
	if !strings.HasSuffix(cut, "…") || p.width(cut, st) > 100 || len(cut) < 10 {
		t.Errorf("fit = %q of width %v", cut, p.width(cut, st))
	}
	if got := p.fit("short", st, 100); got != "short" {
		t.Errorf("fit = %q", got)
	}
	if got := p.fit("short", st, 3); got != "" {
		t.Errorf("fit in no room = %q", got)
	}
	for _, line := range p.wrap(strings.Repeat("some words ", 200)+name, st, 200, 3) {
		if p.width(line, st) > 200 {
			t.Errorf("line %q is wider than 200", line)
		}
	}
	if n := len(p.wrap(strings.Repeat("some words ", 200), st, 200, 3)); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	if got := clean("a\tb\x00\u202e\xffc"); got != "a b\uFFFD\uFFFDc" {
		t.Errorf("clean = %q", got)
	}
}
