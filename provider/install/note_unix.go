//go:build unix

package install

import (
	"io/fs"
	"os"
	"syscall"
)

// own reports whether a file belongs to the user of this process.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}
