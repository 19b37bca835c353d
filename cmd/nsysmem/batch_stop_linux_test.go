package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBatchStopsExports interrupts a batch whose processes wait for nsys: nsys ends too, and nothing half made is left.
func TestBatchStopsExports(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for processes")
	}
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	for name, text := range map[string]string{
		"bin/nsys":         "#!/bin/sh\nsleep 300 &\necho \"$!\" >> '" + pids + "'\nwait\n", // a script that starts another program, as the real one
		"runs/a.nsys-rep":  "NSR\x00",
		"runs/b.nsys-rep":  "NSR\x00",
		"runs/c1.nsys-rep": "NSR\x00",
	} {
		file := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	cmd := program(t, dir, "batch", "runs", "-o", "out", "-j", "2")
	cmd.Stderr = &said
	cmd.Env = append(cmd.Env, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := func(what string, ready func() bool) {
		t.Helper()
		for range 300 {
			if ready() {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		cmd.Process.Kill()
		t.Fatalf("%s: not in 30 s: %s", what, said.String())
	}
	var started []string
	wait("exports", func() bool {
		text, _ := os.ReadFile(pids)
		started = strings.Fields(string(text))
		return len(started) == 2
	})
	cmd.Process.Signal(os.Interrupt)
	begin := time.Now()
	err := cmd.Wait()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("%v: %s", err, said.String())
	}
	for _, p := range started {
		pid, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		wait("the end of what nsys started", func() bool { return ended(pid) })
	}
	left, err := filepath.Glob(filepath.Join(dir, "out", ".nsysmem", "making", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// ended says that a process is gone, or waits only for somebody to ask how it ended.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
