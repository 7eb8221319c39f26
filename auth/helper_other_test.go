//go:build !unix

package auth_test

import "os/exec"

func leaveGroup(*exec.Cmd) {}
