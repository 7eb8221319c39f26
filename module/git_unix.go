//go:build unix

package module

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts the command and what it starts into a session of their own: they have
// no terminal to ask on, and are killed together.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if err == syscall.ESRCH {
			return os.ErrProcessDone
		}
		return err
	}
}
