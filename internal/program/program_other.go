//go:build !unix && !windows

package program

import (
	"os"
	"os/exec"
)

// A Group is a running program.
type Group struct{ process *os.Process }

// Start starts a command of [exec.CommandContext]. When the context ends, only the program itself
// is killed, and its memory has no limit.
func Start(cmd *exec.Cmd, memory int64) (*Group, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Group{cmd.Process}, nil
}

// Kill kills the program.
func (g *Group) Kill() error { return g.process.Kill() }

// Close does nothing.
func (g *Group) Close() {}
