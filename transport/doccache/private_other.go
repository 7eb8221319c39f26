//go:build !unix

package doccache

import "io/fs"

// private relies on the directory, which usually lies in the profile of the user.
func private(string, fs.FileInfo) error { return nil }
