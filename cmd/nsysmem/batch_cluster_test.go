package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScriptFile checks that a script replaces no file that it was not told to, and nothing that is no file.
func TestScriptFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train.py", "folder/x"} {
		file := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink(filepath.Join(dir, "train.py"), filepath.Join(dir, "link"))
	os.Symlink(os.DevNull, filepath.Join(dir, "device"))
	t.Chdir(dir)
	for _, command := range []string{"slurm", "kubernetes"} {
		args := []string{command, ".", "-o", "out"}
		if command == "kubernetes" {
			args = []string{command, "/data/runs", "-o", "/data/out", "--image", "i", "--claim", "c"}
		}
		said := func(script string, more ...string) (int, string) {
			return batchRun(append(append(args, "--script", script), more...)...)
		}
		for script, want := range map[string]string{"train.py": "--force", "link": "--force", "folder": "no regular file", "device": "no regular file", "nowhere/x": "nowhere/x"} {
			if code, errs := said(script); code != exitFailed || !strings.Contains(errs, want) || strings.Contains(errs, ".tmp") {
				t.Errorf("%s --script %s: exit %d: %s", command, script, code, errs)
			}
		}
		if info, err := os.Stat("device"); err == nil && info.Mode().IsRegular() {
			t.Fatal("a device was replaced")
		}
		if code, errs := said(command+".sh", "--quiet"); code != exitDone {
			t.Errorf("%s: exit %d: %s", command, code, errs)
		}
		if b, err := os.ReadFile(command + ".sh"); err != nil || strings.Contains(string(b), "force") {
			t.Errorf("%s: %v, %s", command, err, b)
		}
		if code, out := said("-"); code != exitDone || !strings.HasPrefix(out, "#") {
			t.Errorf("%s --script -: exit %d: %s", command, code, out)
		}
	}
	if code, errs := batchRun("slurm", ".", "-o", "out", "--script", "link", "--force"); code != exitDone {
		t.Errorf("exit %d: %s", code, errs)
	}
	if b, _ := os.ReadFile("train.py"); !strings.HasPrefix(string(b), "#!/bin/sh") {
		t.Error("--force left the file of the link as it was")
	}
	if code, _ := batchRun("slurm", ".", "-o", "a\nb"); code != exitUsage {
		t.Errorf("a line break in a name: exit %d", code)
	}
}
