//go:build unix

package fsx

import "syscall"

// noBlock keeps the opening of a pipe from waiting for somebody at its other end.
const noBlock = syscall.O_NONBLOCK
