//go:build !unix

package install

const noBlock = 0
