//go:build unix

package auth

import (
	"os"
	"os/exec"
	"syscall"
)

// detach makes the program the leader of a session and a process group. With a group alone,
// the program would keep the terminal, and reading from it in the background would stop it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// kill kills the process group of p. The group's number stays valid after the end of p while
// the group has processes.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
