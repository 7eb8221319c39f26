package memtest

import (
	"os"

	"golang.org/x/sys/unix"
)

// inMemory returns a new directory in memory.
func inMemory() (dir string, ok bool) {
	const shm, room = "/dev/shm", 1 << 30
	var fs unix.Statfs_t
	if unix.Statfs(shm, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || fs.Flags&unix.ST_NOEXEC != 0 || fs.Bavail*uint64(fs.Bsize) < room {
		return "", false
	}
	dir, err := os.MkdirTemp(shm, "tofureg-test-")
	// As in /tmp: some tests give up the rights of root.
	return dir, err == nil && os.Chmod(dir, 0o777|os.ModeSticky) == nil
}
