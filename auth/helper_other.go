//go:build !unix

package auth

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// kill kills only p.
func kill(p *os.Process) { _ = p.Kill() }
