//go:build unix

package workdir

import "syscall"

const (
	noBlock     = syscall.O_NONBLOCK // opens a pipe without waiting for a writer
	asDirectory = "/."               // after a path: the system opens nothing but a directory
)
