//go:build unix

package export

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the end of a command that of everything it started: nsys is a script that starts other programs.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
