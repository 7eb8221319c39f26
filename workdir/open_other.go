//go:build !unix

package workdir

const (
	noBlock     = 0
	asDirectory = ""
)
