//go:build unix

package module

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate runs the command in a session of its own: it has no terminal, and is killed
// together with the programs that it starts.
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
