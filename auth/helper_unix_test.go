//go:build unix

package auth_test

import (
	"os/exec"
	"syscall"
)

// leaveGroup lets a process escape from what kills its parent.
func leaveGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
