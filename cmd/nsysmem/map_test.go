package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// aFile is a file or folder that a page names, such as `align/report.go` or `render/plot`.
var aFile = regexp.MustCompile("`((?:align|batch|cmd|internal|nsysdb|render|testdata|torchmem)(?:/[A-Za-z0-9_*.]+)*)`")

// TestMap looks whether the files and folders that ARCHITECTURE.md names are there: a map of another house is worse than none.
func TestMap(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := aFile.FindAllStringSubmatch(string(text), -1)
	if len(named) < 30 {
		t.Errorf("only %d files named", len(named))
	}
	for _, m := range named {
		if found, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(m[1]))); err != nil || len(found) == 0 {
			t.Errorf("no %s", m[1])
		}
	}
	// And each package is on it.
	for _, room := range strings.Fields("nsysdb torchmem torchmem/pickle torchmem/category torchmem/allocator align align/period align/tensor align/theory align/whatif " +
		"align/findings internal/wording internal/await internal/export internal/fixture internal/amplify render/phrase render/tables render/inventory render/summary render/workbook render/plot " +
		"render/plot/internal/canvas render/internal/sample batch cmd/nsysmem") {
		if !strings.Contains(string(text), "`"+room+"`") {
			t.Errorf("%s is not on the map", room)
		}
	}
}
