//go:build unix

package install

import (
	"io/fs"
	"os"
	"syscall"
)

// onlyOurs reports whether the file belongs to this user and other users cannot open it.
func onlyOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
