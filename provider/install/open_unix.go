//go:build unix

package install

import "syscall"

// noBlock keeps the opening of a file that turns out to be a pipe from waiting for ever.
const noBlock = syscall.O_NONBLOCK
