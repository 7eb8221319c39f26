//go:build !unix && !windows

package auth

import (
	"os"
	"os/exec"
)

// A processTree is the program alone: this system has neither process groups
// nor jobs.
type processTree struct{ program *os.Process }

func (t *processTree) prepare(*exec.Cmd) {}

func (t *processTree) adopt(p *os.Process) { t.program = p }

func (t *processTree) kill() { _ = t.program.Kill() }

func (t *processTree) release() {}
