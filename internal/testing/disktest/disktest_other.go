//go:build !unix

package disktest

import (
	"errors"
	"testing"
)

// Mkfifo fails.
func Mkfifo(string) error { return errors.ErrUnsupported }

func skipUnlessSupported(t *testing.T) {
	t.Skip("skipped: this system can neither limit nor drop rights")
}

func limitFileSize(*testing.T, int64) {}

func dropRoot(*testing.T) {}

func makeReadOnly(*testing.T, string) {}
