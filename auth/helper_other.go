//go:build !unix

package auth

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// kill ends p alone.
func kill(p *os.Process) { _ = p.Kill() }
