//go:build unix

package module

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// isolate runs the command in a session of its own: it has no terminal, and is killed
// together with the programs that it starts. Each of them gets at most memory bytes, where the
// system has such a limit. The shell sets it, because git could start programs before another
// process sets it.
func isolate(cmd *exec.Cmd, memory int64) {
	if _, err := exec.LookPath(cmd.Path); err == nil && memory > 0 {
		const limited = `ulimit -d "$0" 2>/dev/null; exec "$@"`
		cmd.Args = append([]string{"sh", "-c", limited, strconv.FormatInt(memory>>10, 10), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if err == syscall.ESRCH {
			return os.ErrProcessDone
		}
		return err
	}
}
