//go:build !windows

package fsx

// Only on Windows an open file can prevent other processes from opening, renaming and removing it.

func retryOpen(open func() error) error     { return open() }
func retryChange(change func() error) error { return change() }

func isInUse(error) bool  { return false }
func isDenied(error) bool { return false }
