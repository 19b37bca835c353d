package main

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSnapshotPipeBeside: a pipe that lies beside a report is not waited for.
func TestSnapshotPipeBeside(t *testing.T) {
	t.Parallel()
	path := sample(t, "cpp_mem")
	if err := syscall.Mkfifo(filepath.Join(filepath.Dir(path), "run.pickle"), 0o600); err != nil {
		t.Skip(err)
	}
	code, out, errs := command(t, "summary", path)
	if code != exitDone || errs != "" || !strings.Contains(out, "[snapshot_left_out]") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// TestSnapshotPipe interrupts commands that wait for a snapshot from a pipe that nobody writes to.
func TestSnapshotPipe(t *testing.T) {
	t.Parallel()
	path := sample(t, "cnn_default")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"whatif", pipe}, {"summary", path, "--snapshot", pipe}, {"info", path, "--snapshot", pipe}, {"plot", path, "--snapshot", pipe, "-o", "-"}} {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(50*time.Millisecond, cancel)
		code := make(chan int, 1)
		var out, errs strings.Builder
		go func() { code <- run(ctx, args, streams{out: &out, err: &errs}) }()
		select {
		case c := <-code:
			if c != exitFailed || out.Len() > 0 || !strings.Contains(errs.String(), "interrupted") {
				t.Errorf("%v: exit %d: %q", args, c, errs.String())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%v: still waiting after the interrupt", args)
		}
		cancel()
	}
}
