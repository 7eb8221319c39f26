//go:build !linux

package memtest

func inMemory() (string, bool) { return "", false }
