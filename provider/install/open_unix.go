//go:build unix

package install

import (
	"io/fs"
	"os"
	"syscall"
)

// noBlock keeps the opening of a file that turns out to be a pipe from waiting for ever.
const noBlock = syscall.O_NONBLOCK

// onlyOurs reports whether the file is this user's and nobody else may open it.
func onlyOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
