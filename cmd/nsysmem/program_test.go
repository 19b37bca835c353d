package main

import (
	"os"
	"os/exec"
	"testing"
)

// asProgram is the environment variable that makes this test's own binary the program: linking another one, for the tests
// that need processes, would take longer than most tests.
const asProgram = "NSYSMEM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main() // it exits
	}
	os.Exit(m.Run())
}

// program is nsysmem as a process of its own, to be started in a folder. Processes that it starts are nsysmem too.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
	return cmd
}
