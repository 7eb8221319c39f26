//go:build unix

package fsx

import "syscall"

// noBlock opens a pipe without waiting for a writer.
const noBlock = syscall.O_NONBLOCK
