//go:build unix

package auth

import (
	"os"
	"os/exec"
	"syscall"
)

// A processTree is a program and the processes of its group.
type processTree struct{ group int }

// prepare makes the program the leader of a session, and so of a group that it
// cannot leave. A group alone would keep the terminal, and the first attempt to
// read from it in the background would stop the program instead of failing.
func (t *processTree) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func (t *processTree) adopt(p *os.Process) { t.group = p.Pid }

// kill may come after the program has ended: as long as one process is in the
// group, the system gives its number to nobody else. If none is, that takes
// until process numbers have come full circle.
func (t *processTree) kill() { _ = syscall.Kill(-t.group, syscall.SIGKILL) }

func (t *processTree) release() {}
