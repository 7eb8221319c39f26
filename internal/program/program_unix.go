//go:build unix

package program

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// A Group is a running program with the programs that it has started, except programs that have left
// its process group.
type Group struct{ leader int }

// Start starts a command of [exec.CommandContext]. The program has no terminal. When the context
// ends, the group is killed. If memory is positive, each program gets at most so many bytes, where
// the system has such a limit. The shell sets it, because the program could start others before
// another process sets it.
func Start(cmd *exec.Cmd, memory int64) (*Group, error) {
	if _, err := exec.LookPath(cmd.Path); err == nil && memory > 0 {
		const limited = `ulimit -d "$0" 2>/dev/null; exec "$@"`
		cmd.Args = append([]string{"sh", "-c", limited, strconv.FormatInt(memory>>10, 10), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
	// With a process group alone, the program would keep the terminal, and reading from it in the
	// background would stop it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return (&Group{cmd.Process.Pid}).Kill() }
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Group{cmd.Process.Pid}, nil
}

// Kill kills the group. Its number stays valid after the end of the program while the group has
// processes. The error is [os.ErrProcessDone] if it has none.
func (g *Group) Kill() error {
	err := syscall.Kill(-g.leader, syscall.SIGKILL)
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

// Close releases resources after the end of the program. Programs of the group run on.
func (g *Group) Close() {}
