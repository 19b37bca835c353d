package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// withoutGPU is a report whose launches were traced and whose GPU work was not, as under WSL.
func withoutGPU(t *testing.T) string {
	t.Helper()
	path := sample(t, "cnn_default")
	for _, table := range []string{"KERNEL", "MEMCPY", "MEMSET"} {
		change(t, path, "DROP TABLE CUPTI_ACTIVITY_KIND_"+table)
	}
	return path
}

// TestLaunchesWithoutGPU checks that every command says why GPU work is missing, and does not advise what was done.
func TestLaunchesWithoutGPU(t *testing.T) {
	const why = "CUDA launches were traced (964 calls), GPU activity was not: as under WSL, in containers without CUPTI permissions (ERR_NVGPUCTRPERM)"
	memory, none, whole := withoutGPU(t), withoutGPU(t), sample(t, "cnn_default")
	change(t, none, "DROP TABLE CUDA_GPU_MEMORY_USAGE_EVENTS")
	t.Chdir(t.TempDir())
	check := func(want int, args ...string) {
		t.Helper()
		code, out, errs := command(t, args...)
		said := strings.ReplaceAll(strings.Join(strings.Fields(out+errs), " "), `\`, "")
		if code != want || !strings.Contains(said, why) || strings.Contains(said, "record with nsys profile -t cuda") {
			t.Errorf("%v: exit %d, want %d: %s", args, code, want, said)
		}
	}
	for _, path := range []string{memory, none} {
		code := exitLacking
		if path == memory {
			code = exitDone
		}
		check(exitDone, "info", path)
		check(exitDone, "info", path, "--format", "json")
		for _, format := range []string{"text", "json", "md", "csv"} {
			check(code, "summary", path, "--format", format)
		}
		check(code, "plot", path, "--force")
		check(code, "report", path, "--force")
	}
	check(exitFailed, "batch", none, "-o", "out")
	if code, out, _ := command(t, "summary", whole); code != exitDone || strings.Contains(out, "WSL") {
		t.Errorf("exit %d, it speaks of WSL where GPU work was recorded", code)
	}
}

// TestSettingsAreBelievedLess checks that what the events show to be on is on, whatever the export's settings say.
func TestSettingsAreBelievedLess(t *testing.T) {
	path := sample(t, "cnn_default")
	change(t, path, "UPDATE META_DATA_CAPTURE SET value = 'false' WHERE name LIKE '%COLLECT_%'")
	_, out, _ := command(t, "info", path)
	for _, want := range []string{"CUDA trace  on", "memory usage  on", "NVTX trace  on"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	if code, _, errs := command(t, "summary", path, "-f", "json"); code != exitDone || errs != "" {
		t.Errorf("exit %d, said %q", code, errs)
	}
}

// TestDiagnosticsSaid checks that the profiler's messages come once each, and not on stderr where that is asked for.
func TestDiagnosticsSaid(t *testing.T) {
	path, out := sample(t, "cnn_default"), t.TempDir()
	change(t, path, "INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid) "+
		"SELECT start, 0, 3, 2, 'Not all CUDA events might have been collected.', globalTid FROM NVTX_EVENTS LIMIT 20")
	change(t, path, "INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid) "+
		"SELECT start, 0, 3, 2, 'No CUDA events collected. Does the process use CUDA?', rowid << 24 FROM NVTX_EVENTS LIMIT 20")
	const want = "the profiler said 20 times, of process 440: Not all CUDA events might have been collected."
	for _, args := range [][]string{{"plot", path, "-o", filepath.Join(out, "a.png"), "--force"}, {"report", path, "-o", filepath.Join(out, "a.xlsx"), "--force"}, {"summary", path, "-f", "csv"}} {
		_, _, errs := command(t, args...)
		if strings.Count(errs, "the profiler said") != 1 || !strings.Contains(errs, want) {
			t.Errorf("%v: said %q", args, errs)
		}
		if code, _, errs := command(t, append(args, "-q")...); code != exitDone || errs != "" {
			t.Errorf("%v -q: exit %d, said %q", args, code, errs)
		}
	}
}

// TestNoEmptyPicture checks that a process without device memory gets no picture beside one that has some, and that this
// is said; asked for by its number it gets one.
func TestNoEmptyPicture(t *testing.T) {
	path, dir := sample(t, "cnn_default"), t.TempDir()
	change(t, path, "CREATE TABLE worker AS SELECT * FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memKind = 1 LIMIT 1")
	change(t, path, "UPDATE worker SET globalPid = 900 << 24, correlationId = 0")
	change(t, path, "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS SELECT * FROM worker")
	for _, c := range []struct {
		want string
		said string
		args []string
	}{
		{"run.png", "no picture of process 900 on device 0: it has no device memory and no GPU work there", nil},
		{"run.png", "", []string{"--process", "440"}},
		{"run.png", "", []string{"--process", "900"}},
	} {
		out := t.TempDir()
		t.Chdir(out)
		code, _, errs := command(t, append([]string{"plot", path}, c.args...)...)
		files, _ := filepath.Glob(filepath.Join(out, "*"))
		if code != exitDone || len(files) != 1 || filepath.Base(files[0]) != c.want || strings.Contains(errs, "no picture") != (c.said != "") || !strings.Contains(errs, c.said) {
			t.Errorf("%v: exit %d, %q: %s", c.args, code, files, errs)
		}
	}
	out := filepath.Join(dir, "out")
	if code, said := batchRun(path, "-o", out, "--plot"); code != exitDone {
		t.Fatal(said)
	}
	n := 0
	for name := range tree(t, out) {
		if strings.HasSuffix(name, "run.png") || strings.Contains(name, "gpu0.png") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the batch draws %d pictures of the report, want 1", n)
	}
}
