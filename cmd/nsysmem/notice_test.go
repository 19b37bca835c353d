package main

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestNotice holds the file NOTICE against the modules that the program is made of, as far as this test is made of them.
func TestNotice(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		t.Skip("the test was built without a list of modules")
	}
	for _, m := range info.Deps {
		if !strings.Contains(string(text), "\n"+m.Path+"\n") {
			t.Errorf("NOTICE does not name %s", m.Path)
		}
	}
}
