package canvas

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFontRefused refuses what is no font before it fills the memory.
func TestFontRefused(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large.ttf")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxFont+1); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]string{large: "too large", t.TempDir(): "no regular file", os.DevNull: "no regular file", "nowhere.ttf": "nowhere.ttf"} {
		if _, err := NewFonts(name, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	f, _ := NewFonts("", false)
	sheet, _ := NewSheet(Size{}, 0)
	c, err := New("png", sheet, f)
	if err != nil {
		t.Fatal(err)
	}
	st := Small
	name := strings.Repeat("name", 100)
	cut := c.Fit(name, st, 100)
	if !strings.HasSuffix(cut, "…") || c.Width(cut, st) > 100 || len(cut) < 10 {
		t.Errorf("fit = %q of width %v", cut, c.Width(cut, st))
	}
	if got := c.Fit("short", st, 100); got != "short" {
		t.Errorf("fit = %q", got)
	}
	if got := c.Fit("short", st, 3); got != "" {
		t.Errorf("fit in no room = %q", got)
	}
	for _, line := range c.Wrap(strings.Repeat("some words ", 200)+name, st, 200, 3) {
		if c.Width(line, st) > 200 {
			t.Errorf("line %q is wider than 200", line)
		}
	}
	if n := len(c.Wrap(strings.Repeat("some words ", 200), st, 200, 3)); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}
