//go:build !unix

package module

import "os/exec"

// isolate does nothing: only the command itself is killed, and its memory has no limit.
func isolate(cmd *exec.Cmd, memory int64) {}
