package disktest

import (
	"fmt"
	"os"
)

// Symlink is [os.Symlink] with an error if no link was made: under Wine os.Symlink returns nil and
// makes nothing. On Windows it takes a privilege.
func Symlink(target, path string) error {
	if err := os.Symlink(target, path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err != nil {
		return fmt.Errorf("os.Symlink made no link: %w", err)
	}
	return nil
}
