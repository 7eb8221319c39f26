//go:build unix

package fsx

import "syscall"

const (
	// noBlock opens a pipe without waiting for a writer.
	noBlock = syscall.O_NONBLOCK

	// asDirectory after a path lets the system open a directory only.
	asDirectory = "/."
)
