//go:build !unix

package install_test

import (
	"context"

	"github.com/tofureg/tofureg/internal/fsx"
)

func lockAsCLI(path string) error {
	_, err := fsx.AcquireLock(context.Background(), path)
	return err
}

func cpu(f func()) float64 { f(); return 0 }
