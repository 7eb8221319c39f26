package install

import (
	"io/fs"
	"syscall"
	"time"
)

// accessTime returns the access time of a file, or the zero time if the system does not tell it.
func accessTime(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		return time.Unix(0, s.LastAccessTime.Nanoseconds())
	}
	return time.Time{}
}
