package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSlurm does a batch as an array on a real cluster of two nodes. One task is killed in the middle of its share and
// requeued. What comes of it is what one machine makes.
func TestSlurm(t *testing.T) {
	if os.Getenv("SLURM_CONF") == "" {
		t.Skip("no cluster: export SLURM_CONF=$(batch/testdata/slurm/start.sh FOLDER)")
	}
	dir := t.TempDir()
	nsysmem := build(t)
	copies(t, filepath.Join(dir, "runs"), 40)
	one, many := filepath.Join(dir, "one"), filepath.Join(dir, "many")

	// The nodes call a wrapper, which notes where it ran. Task 2, when first started, dies once it has done a report, and
	// stays as a job that hangs.
	wrapper := filepath.Join(dir, "nsysmem.sh")
	script := fmt.Sprintf(`#!/bin/sh
echo "$SLURMD_NODENAME $SLURM_ARRAY_TASK_ID $SLURM_RESTART_COUNT" >>%[1]s/started
if [ "$SLURM_ARRAY_TASK_ID" = 2 ] && [ -z "$SLURM_RESTART_COUNT" ]; then
	%[2]s "$@" 2>%[1]s/first.log &
	until grep -q ": done in" %[1]s/first.log; do :; done
	kill -9 $!
	echo "$SLURM_ARRAY_JOB_ID" >%[1]s/hanging
	sleep 600
fi
exec %[2]s "$@"
`, dir, nsysmem)
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, dir, nil, nsysmem, "batch", "runs", "-o", "one", "--allocations", "--plot")
	must(t, dir, nil, nsysmem, "batch", "slurm", "runs", "-o", "many", "--allocations", "--plot", "--tasks", "4", "--command", wrapper, "--script", "job.sh")
	t.Logf("%s", must(t, dir, nil, "sh", "job.sh"))

	var array string
	for range 600 {
		if b, err := os.ReadFile(filepath.Join(dir, "hanging")); err == nil && strings.HasSuffix(string(b), "\n") {
			array = strings.TrimSpace(string(b))
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if array == "" {
		t.Fatalf("no task hangs: %s", must(t, dir, nil, "squeue", "--all"))
	}
	first, _ := os.ReadFile(filepath.Join(dir, "first.log"))
	if n := strings.Count(string(first), ": done in"); n == 0 || n >= 10 {
		t.Errorf("the task was killed after %d of its 10 reports", n)
	}
	must(t, dir, nil, "scontrol", "requeue", array+"_2")
	// A requeued task waits for two minutes until its old credential has expired, unless an administrator tells it not to.
	for range 100 {
		if state := must(t, dir, nil, "squeue", "--noheader", "--all", "--format=%T", "--jobs="+array+"_2"); strings.TrimSpace(string(state)) == "PENDING" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(1500 * time.Millisecond) // credentials count seconds
	must(t, dir, nil, "scontrol", "update", "JobId="+array+"_2", "StartTime=now")
	merged := filepath.Join(many, "batch.xlsx")
	for range 1800 {
		if _, err := os.Stat(merged); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for range 300 { // the merge job ends after it has written
		if strings.TrimSpace(string(must(t, dir, nil, "squeue", "--noheader", "--all"))) == "" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	started, _ := os.ReadFile(filepath.Join(dir, "started"))
	t.Logf("node, task, restarts:\n%s", started)
	for _, want := range []string{"1 ", "\n2 ", " 2 1\n"} {
		if !strings.Contains("\n"+string(started), want) {
			t.Errorf("no start with %q: %q", want, started)
		}
	}
	if _, err := os.Stat(merged); err != nil {
		logs, _ := filepath.Glob(filepath.Join(many, "logs", "*"))
		for _, l := range logs {
			b, _ := os.ReadFile(l)
			t.Logf("%s:\n%s", l, b)
		}
		t.Fatal("the merge job wrote nothing")
	}
	os.RemoveAll(filepath.Join(many, "logs"))
	sameTree(t, one, many)
}

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nsysmem")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return name
}

func must(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}
