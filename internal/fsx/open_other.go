//go:build !unix

package fsx

const (
	noBlock     = 0
	asDirectory = ""
)
