//go:build unix

package auth

import (
	"os"
	"os/exec"
	"syscall"
)

// detach makes the program the leader of a session, and so of a process group. In a
// group alone it would keep the terminal, and its first attempt to read from it in the
// background would stop the program instead of failing.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// kill ends the process group that p leads, also after p has ended: as long as one
// process is in the group, the system gives its number to no other.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
