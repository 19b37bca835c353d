package export

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// fake puts an nsys on PATH that is a shell script, in which $out is the file to make, and gives a report and the folder
// for temporary files.
func fake(t *testing.T, script string) (report, temp string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	find := "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --output) out=$2; shift;; esac; shift; done\n"
	if err := os.WriteFile(filepath.Join(dir, "nsys"), []byte(find+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	report = filepath.Join(t.TempDir(), "-odd %h name.nsys-rep")
	if err := os.WriteFile(report, []byte("a recording"), 0o644); err != nil {
		t.Fatal(err)
	}
	return report, t.TempDir()
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestOpenExports(t *testing.T) {
	sample, err := filepath.Abs("../../testdata/cpp_mem.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	report, temp := fake(t, "cp '"+sample+"' \"$out\"")
	told := 0
	r, err := Open(t.Context(), report, temp, func() { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if told != 1 || r.Meta().NsysVersion == "" {
		t.Errorf("told %d times, %+v", told, r.Meta())
	}
	r.Close()
	empty(t, temp)
	if left, _ := os.ReadDir(filepath.Dir(report)); len(left) != 1 {
		t.Errorf("beside the report: %v", left)
	}
}

// Whatever nsys does, the error is one line that names the report, and nothing is left.
func TestOpenFails(t *testing.T) {
	for script, want := range map[string]string{
		"echo one; echo 'it is broken' >&2; echo; exit 3": "it is broken", "exit 1": "exit status 1", "exit 0": "made no file", "kill -9 $$": "killed",
		`echo rubbish > "$out"`: "not a SQLite file", `: > "$out"`: "empty", `mkdir "$out"`: "directory", "yes x | head -c 3000000; exit 1": ": x: ",
		"head -c 100000 /dev/zero | tr '\\0' y; exit 1": "yyy…",
	} {
		t.Run(script, func(t *testing.T) {
			report, temp := fake(t, script)
			_, err := Open(t.Context(), report, temp, nil)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(report)) ||
				strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), temp) || len(err.Error()) > 1000 {
				t.Errorf("got %v", err)
			}
			empty(t, temp)
		})
	}
	report, _ := fake(t, "exit 0")
	if _, err := Open(t.Context(), report, filepath.Join(t.TempDir(), "none"), nil); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("without a temporary folder: %v", err)
	}
}

// An nsys that hangs, with children that hold its output open, ends when it is told to.
func TestOpenInterrupted(t *testing.T) {
	report, temp := fake(t, "sleep 60 & sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	began := time.Now()
	_, err := Open(ctx, report, temp, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	empty(t, temp)
}

func TestTail(t *testing.T) {
	var s tail
	for range 10000 {
		s.Write([]byte("some words\n"))
	}
	s.Write([]byte("the last\n \n"))
	if len(s.b) > 2*tailSize || s.lastLine() != ": the last" {
		t.Errorf("%d bytes, %q", len(s.b), s.lastLine())
	}
}
