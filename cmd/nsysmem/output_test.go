package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestExitCodes(t *testing.T) {
	path := sample(t, "cnn_default")
	bare := sample(t, "cnn_2022") // neither memory events nor GPU work
	missing := filepath.Join(t.TempDir(), "typo.sqlite")
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		code int
		says string // on stderr; empty for nothing
		args []string
	}{
		{exitDone, "", []string{"summary", path, "-q"}},
		{exitDone, "", []string{"info", bare}},
		{exitDone, "", []string{"--version"}},
		{exitLacking, "--cuda-memory-usage=true", []string{"plot", bare}},
		{exitLacking, "--cuda-memory-usage=true", []string{"report", bare}},
		{exitLacking, "--cuda-memory-usage=true", []string{"summary", bare}},
		{exitLacking, "nsysmem info lists", []string{"summary", path, "--iteration", "nothing"}},
		{exitLacking, "no such process", []string{"plot", path, "--process", "nobody"}},
		{exitLacking, "the report runs from", []string{"plot", path, "--from", "1000s"}},
		{exitFailed, "not found", []string{"summary", missing}},
		{exitFailed, "not found", []string{"plot", missing}},
		{exitFailed, "is a folder", []string{"summary", path, "--snapshot", "."}},
		{exitFailed, "no such file", []string{"summary", path, "--snapshot", "typo.pickle"}},
		{exitUsage, "no report given", []string{"plot"}},
		{exitUsage, "unknown command", []string{"draw", path}},
		{exitUsage, "unknown flag", []string{"plot", path, "--colour"}},
		{exitUsage, "must end in .png", []string{"plot", path, "-o", "x.jpg"}},
		{exitUsage, "must end in .xlsx", []string{"report", path, "-o", "x.xls"}},
		{exitUsage, "--format", []string{"summary", path, "-f", "yaml"}},
		{exitUsage, "--iteration", []string{"summary", path, "--iteration", "("}},
		{exitUsage, "is not after", []string{"plot", path, "--from", "2s", "--to", "1s"}},
		{exitUsage, "a snapshot is of one report", []string{"summary", path, bare, "--snapshot", "s.pickle"}},
		{exitUsage, "a snapshot is of one report", []string{"report", path, bare, "--snapshot", "s.pickle", "-o", "."}},
		{exitUsage, "a snapshot is of one report", []string{"plot", path, bare, "--snapshot", "s.pickle"}},
		{exitUsage, "several reports need a folder", []string{"plot", path, bare, "-o", "x.png"}},
	} {
		code, out, errs := command(t, c.args...)
		lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
		last := lines[len(lines)-1]
		switch {
		case code != c.code:
			t.Errorf("%v: exit %d, want %d: %s", c.args, code, c.code, errs)
		case c.says == "" && errs != "":
			t.Errorf("%v: said %q", c.args, errs)
		case !strings.Contains(last, c.says) || code != exitDone && !strings.HasPrefix(last, "nsysmem: "):
			t.Errorf("%v: said %q", c.args, last)
		case code != exitDone && out != "":
			t.Errorf("%v: failed, and wrote %q", c.args, out)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("files were made: %v", left)
	}
}

// Every place for an output, and what may not be replaced.
func TestOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	path := sample(t, "cnn_default")
	report, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, err := range []error{
		os.Mkdir("folder", 0o755), os.Mkdir("folder.png", 0o755), os.MkdirAll("full/run.png", 0o755), os.WriteFile("old.png", []byte("old"), 0o600),
		os.Symlink("new.png", "dangling.png"), os.Symlink("old.png", "link.png"), os.Symlink("loop.png", "loop.png"), os.Symlink(os.DevNull, "null.png"),
		os.Symlink(path, "report.png"), os.Link(path, "hard.png"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args  string
		says  string // of the error; empty for none
		wrote string
	}{
		{"", "", "run.png"},
		{"", "exists", ""},
		{"--force", "", "run.png"},
		{"-o folder", "", "folder/run.png"},
		{"-o folder/", "exists", ""},
		{"-o folder.png", "", "folder.png/run.png"},
		{"-o full --force", "is a folder", ""},
		{"-o none/x.png", `no folder "none"`, ""},
		{"-o run.png/x.png", "not a directory", ""},
		{"-o old.png", "exists", ""},
		{"-o dangling.png", "", "new.png"},
		{"-o link.png", "exists", ""},
		{"-o link.png --force", "", "old.png"},
		{"-o loop.png --force", "symbolic links", ""},
		{"-o null.png --force", "no regular file", ""},
		{"-o report.png --force", "the report itself", ""},
		{"-o hard.png --force", "the report itself", ""},
	} {
		code, _, errs := command(t, append([]string{"plot", path, "-q", "--view", "timeline", "--size", "400x300"}, strings.Fields(c.args)...)...)
		if c.says != "" {
			if code != exitFailed || !strings.Contains(errs, c.says) || strings.Contains(errs, ".tmp") || strings.Count(errs, "\n") != 1 {
				t.Errorf("%s: exit %d: %q", c.args, code, errs)
			}
			continue
		}
		data, err := os.ReadFile(c.wrote)
		if code != exitDone || err != nil || checkPNG(data) != nil {
			t.Errorf("%s: exit %d: %q, %v", c.args, code, errs, err)
		}
	}
	if info, err := os.Lstat("dangling.png"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	if info, err := os.Stat("old.png"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a replaced file lost its permissions: %v, %v", info.Mode(), err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(report) {
		t.Error("the report changed")
	}
	for _, pattern := range []string{".nsysmem*", "*/.nsysmem*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A file is whole or not there: neither a failure nor an interruption leaves anything, and what was there stays.
func TestWriteWholeOrNot(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x.png", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := &output{force: true}
	broken := errors.New("broken")
	err := o.write(context.Background(), "x.png", "", io.Discard, func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	release := make(chan struct{})
	defer close(release)
	err = o.write(ctx, "x.png", "", io.Discard, func(w io.Writer) error {
		io.WriteString(w, "half")
		<-release // a large workbook does not look whether it should stop
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile("x.png"); string(data) != "old" {
		t.Errorf("the file is now %q", data)
	}
	if left, _ := os.ReadDir("."); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// One report that cannot be read costs the others nothing, and two of one name do not overwrite each other.
func TestSeveralReports(t *testing.T) {
	a, b := sample(t, "cnn_default"), filepath.Join(t.TempDir(), "other.sqlite")
	data, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b, data, 0o644); err != nil {
		t.Fatal(err)
	}
	bare, twin := sample(t, "cnn_2022"), sample(t, "cpp_mem")
	t.Chdir(t.TempDir())
	code, _, errs := command(t, "report", a, "typo.sqlite", b, "-q")
	if code != exitFailed || !strings.Contains(errs, `"typo.sqlite": file not found`) || !strings.Contains(errs, "1 of 3 reports failed") {
		t.Errorf("exit %d: %s", code, errs)
	}
	for _, name := range []string{"run.xlsx", "other.xlsx"} {
		if data, err := os.ReadFile(name); err != nil || checkWorkbook(data) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, out, _ := command(t, "summary", "typo.sqlite", a, "-f", "json"); code != exitFailed || checkJSON([]byte(out)) != nil {
		t.Errorf("exit %d, %.80q", code, out)
	}
	if code, _, errs := command(t, "summary", a, bare, "-q"); code != exitLacking {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := command(t, "plot", b, twin, a, "--force", "-q"); code != exitFailed || !strings.Contains(errs, "another report of this run") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Two machines may have processes of one number: each gets its own picture.
func TestPlotSameNumber(t *testing.T) {
	path := sample(t, "cnn_default")
	for _, table := range []string{"CUDA_GPU_MEMORY_USAGE_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"} {
		change(t, path, "INSERT INTO "+table+" SELECT * FROM "+table)
		change(t, path, "UPDATE "+table+" SET globalPid=globalPid+(1<<48) WHERE rowid>(SELECT max(rowid)/2 FROM "+table+")")
	}
	t.Chdir(t.TempDir())
	if code, _, errs := command(t, "plot", path, "-q", "--view", "timeline", "--size", "400x300"); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if made, _ := filepath.Glob("run.*.png"); len(made) != 2 {
		t.Errorf("pictures %v", made)
	}
}

// A stream that fails after some bytes.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, f.err
	}
	return len(p), nil
}

// A full disk under stdout is told; a reader that has seen enough is not.
func TestStdoutFails(t *testing.T) {
	t.Parallel()
	path := sample(t, "cnn_default")
	for _, args := range [][]string{{"summary", path}, {"summary", path, "-f", "json"}, {"summary", path, "-f", "csv"}, {"summary", path, "-f", "md"}, {"info", path},
		{"info", path, "-f", "json"}, {"plot", path, "-o", "-"}, {"report", path, "-o", "-"}, {"--help"}, {"--version"}, {"completion", "bash"}, {"plot", "--help"}} {
		var errs strings.Builder
		if code := run(t.Context(), args, streams{out: &failing{err: syscall.ENOSPC}, err: &errs}); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v on a full disk: exit %d: %q", args, code, errs.String())
		}
		errs.Reset()
		if code := run(t.Context(), args, streams{out: &failing{err: syscall.EPIPE, left: 10}, err: &errs}); code != exitFailed || strings.Contains(errs.String(), "pipe") {
			t.Errorf("%v into a closed pipe: exit %d: %q", args, code, errs.String())
		}
	}
}

func TestInterrupted(t *testing.T) {
	path := sample(t, "cnn_default")
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"summary", "info", "plot", "report"} {
		var out, errs strings.Builder
		if code := run(ctx, []string{name, path}, streams{out: &out, err: &errs}); code != exitFailed || out.Len() > 0 || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%s: exit %d: %q", name, code, errs.String())
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, end string
		width     int
		want      string
	}{
		{"run", ": 5%", 20, "run: 5%"}, {strings.Repeat("x", 30), ": 5%", 20, "xxxxxxxxxxxxx…: 5%"}, {"日本語日本語日本語", ": 5%", 20, "日本語日本語…: 5%"},
		{"run", ": reading kernels 5%", 10, ": reading"}, {"run", "x", 1, ""},
	} {
		if got := fit(c.text, c.end, c.width); got != c.want {
			t.Errorf("fit(%q, %q, %d) = %q, want %q", c.text, c.end, c.width, got, c.want)
		}
	}
}
