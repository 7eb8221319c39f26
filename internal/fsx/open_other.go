//go:build !unix && !windows

package fsx

import (
	"io/fs"
	"os"
)

const noBlock = 0

func openNoLink(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
