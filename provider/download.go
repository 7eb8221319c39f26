// Package provider is what a provider package is, wherever it comes from.
package provider

import (
	"context"
	"os"

	"github.com/tofureg/tofureg/verify"
)

// Options for the verbs of this package. The zero value is strict and silent.
type Options struct {
	Policy   verify.Policy
	Progress func(Event) // nil: none
}

// Download fetches the archive of pkg, verifies it and puts it at path.
func Download(ctx context.Context, src Fetcher, pkg *Package, path string, o Options) (*verify.Report, error) {
	panic("stub")
}

// Received is an archive that has arrived but that nobody has judged yet.
type Received struct {
	Size     int64           // bytes
	ZH       verify.Hash     // of those bytes
	Evidence verify.Evidence // about them
}

// Receive fetches the archive of pkg into f, and the evidence beside it.
func Receive(ctx context.Context, src Fetcher, pkg *Package, f *os.File, o Options) (*Received, error) {
	panic("stub")
}
