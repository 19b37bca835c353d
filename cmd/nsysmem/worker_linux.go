package main

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends a worker where this process is killed, in the middle of its report if need be: whoever starts the
// batch anew would do the same report beside it. The system looks at the thread that started the worker, so that the
// caller must keep to one.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
